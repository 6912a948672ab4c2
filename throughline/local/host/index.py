"""Read an app's function.json files, as the real host does at its start, and report every problem.

Format: https://github.com/Azure/azure-functions-host/wiki/function.json
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from throughline.local.host.logs import logger
from throughline.local.host.settings import AppError, connection_string, expand, read_json

TRIGGERS = ("httpTrigger", "blobTrigger", "queueTrigger", "timerTrigger")
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "http": (),
    "httpTrigger": (),
    "blobTrigger": ("path",),
    "queueTrigger": ("queueName",),
    "timerTrigger": ("schedule",),
}
"""The supported bindings, with the properties that they need."""
_EXPANDED = ("path", "queueName", "schedule", "route")
_TRUE = ("true", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One binding of a function.json with its settings expanded; `data` has the properties of its type."""

    name: str
    type: str
    direction: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function folder."""

    name: str
    directory: Path
    script: Path
    entry_point: str
    bindings: tuple[Binding, ...]

    @property
    def id(self) -> str:
        """The id that receipts and queue messages carry."""
        return f"Host.Functions.{self.name}"

    @property
    def trigger(self) -> Binding:
        """Its only trigger: a folder without one, or with several, is refused."""
        return next(binding for binding in self.bindings if binding.type in TRIGGERS)


def read_functions(root: Path) -> tuple[Function, ...]:
    """Return the enabled functions of the app, ordered by name. Raises AppError, which lists every problem."""
    functions, problems = [], []
    for path in sorted(root.glob("*/function.json")):
        try:
            content: dict[str, Any] = read_json(path)
        except AppError as error:
            problems += error.problems
            continue
        name = path.parent.name
        folder_problems = list(_problems(path.parent, content))
        problems += [f"{name}/function.json: {problem}" for problem in folder_problems]
        if folder_problems or disabled(name, content, os.environ):
            continue
        missing = _missing_settings(content)
        if missing:  # as in Azure, the others run
            logger.error("The '%s' function is in error: there is no app setting %%%s%%", name, missing[0])
            continue
        functions.append(_function(path.parent, content))
    if problems:
        raise AppError(problems)
    if not functions:
        raise AppError([f"no function in {root}: it has no folder with an enabled function.json"])
    return tuple(functions)


def _function(folder: Path, content: Mapping[str, Any]) -> Function:
    return Function(
        name=folder.name,
        directory=folder,
        script=folder / content.get("scriptFile", "__init__.py"),
        entry_point=content.get("entryPoint", ""),
        bindings=tuple(_binding(binding) for binding in content["bindings"]),
    )


def _binding(content: Mapping[str, Any]) -> Binding:
    data = {key: expand(value) if key in _EXPANDED else value for key, value in content.items()}
    return Binding(name=content["name"], type=content["type"], direction=content["direction"], data=data)


def disabled(name: str, content: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Whether a function is disabled by its function.json or by a setting, in one of the two valid spellings."""
    spellings = (f"AzureWebJobs.{name}.Disabled", f"AzureWebJobs_{name}_Disabled")
    by_setting = any(environment.get(spelling, "").lower() in _TRUE for spelling in spellings)
    return content.get("disabled") is True or by_setting


def _missing_settings(content: Mapping[str, Any]) -> list[str]:
    """Return the settings that a function.json names as %X% and that are not set."""
    missing = []
    for binding in content["bindings"]:
        for key in _EXPANDED:
            try:
                expand(str(binding.get(key, "")))
            except KeyError as error:
                missing.append(error.args[0])
    return missing


def _problems(folder: Path, content: Mapping[str, Any]) -> Iterator[str]:
    script = content.get("scriptFile", "__init__.py")
    if not (folder / script).is_file():
        yield f"scriptFile {script!r} does not exist"
    bindings = content.get("bindings")
    if not isinstance(bindings, list) or not all(isinstance(binding, dict) for binding in bindings):
        yield '"bindings" must be a list of objects'
        return
    triggers = [binding for binding in bindings if binding.get("type") in TRIGGERS]
    if len(triggers) != 1:
        yield f"a function has exactly one trigger, this has {len(triggers)} (supported here: {', '.join(TRIGGERS)})"
    for binding in bindings:
        for problem in _binding_problems(binding):
            yield f"binding {binding.get('name')!r}: {problem}"


def _binding_problems(binding: Mapping[str, Any]) -> Iterator[str]:
    kind = str(binding.get("type"))
    if kind not in _NEEDED:
        yield f"type {kind!r} is not supported here, only {', '.join(_NEEDED)}"
        return
    for key in ("name", "direction", *_NEEDED[kind]):
        if not isinstance(binding.get(key), str) or not binding[key]:
            yield f"{key!r} is missing, {kind} needs it"
    if kind in {"blobTrigger", "queueTrigger"}:
        yield from _storage_problems(binding)


def _storage_problems(binding: Mapping[str, Any]) -> Iterator[str]:
    for setting in {binding.get("connection") or "AzureWebJobsStorage", "AzureWebJobsStorage"}:
        try:
            connection_string(setting)
        except KeyError as error:
            yield str(error.args[0])
