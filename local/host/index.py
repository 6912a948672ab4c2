"""Read an app's host.json and function.json files, as the real host does at its start, and say what is wrong.

Formats: https://learn.microsoft.com/azure/azure-functions/functions-host-json and
https://github.com/Azure/azure-functions-host/wiki/function.json
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.host.settings import AppError, connection_string, expand, read_json

TRIGGERS = ("httpTrigger", "blobTrigger", "timerTrigger")
_DIRECTIONS = {"httpTrigger": "in", "blobTrigger": "in", "timerTrigger": "in", "http": "out"}
_NEEDED = {"httpTrigger": (), "blobTrigger": ("path",), "timerTrigger": ("schedule",), "http": ()}
_AUTH_LEVELS = ("anonymous", "function", "admin")
_BLOB_SOURCES = ("LogsAndContainerScan", "EventGrid")
_EXPANDED = ("path", "schedule", "route")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One binding of a function.json, its settings expanded; `data` has the properties of its type."""

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
        """Its only trigger: the index refuses folders with none or several."""
        return next(binding for binding in self.bindings if binding.type in TRIGGERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """What this host uses of host.json, with the real defaults."""

    route_prefix: str = "api"
    blob_parallelism: int = 8 * (os.cpu_count() or 1)
    poison_threshold: int = 5
    log_level: str = "Information"


def read_host_json(root: Path) -> HostConfig:
    """Return the app's host.json; AppError when it is missing or wrong."""
    content: dict[str, Any] = read_json(root / "host.json")
    if content.get("version") != "2.0":
        raise AppError(['host.json: "version" must be "2.0"'])
    extensions = content.get("extensions", {})
    blobs = extensions.get("blobs", {})
    default = HostConfig()
    config = HostConfig(
        route_prefix=extensions.get("http", {}).get("routePrefix", default.route_prefix).strip("/"),
        blob_parallelism=blobs.get("maxDegreeOfParallelism", default.blob_parallelism),
        poison_threshold=blobs.get("poisonBlobThreshold", default.poison_threshold),
        log_level=content.get("logging", {}).get("logLevel", {}).get("default", default.log_level),
    )
    numbers = {"maxDegreeOfParallelism": config.blob_parallelism, "poisonBlobThreshold": config.poison_threshold}
    problems = [
        f"host.json: extensions.blobs.{name} must be a whole number above 0, not {value!r}"
        for name, value in numbers.items()
        if type(value) is not int or value < 1
    ]
    if problems:
        raise AppError(problems)
    return config


def read_functions(root: Path) -> tuple[Function, ...]:
    """Return the enabled functions of the app, in the order of their names; AppError lists every problem at once."""
    functions, problems = [], []
    for path in sorted(root.glob("*/function.json")):
        try:
            content: dict[str, Any] = read_json(path)
        except AppError as error:
            problems += error.problems
            continue
        name = path.parent.name
        found = list(_problems(path.parent, content))
        problems += [f"{name}/function.json: {problem}" for problem in found]
        if not found and not _disabled(name, content):
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


def _disabled(name: str, content: Mapping[str, Any]) -> bool:
    return content.get("disabled") is True or os.environ.get(f"AzureWebJobs.{name}.Disabled", "").lower() == "true"


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
        yield f"a function has exactly one trigger, this has {len(triggers)} (known here: {', '.join(TRIGGERS)})"
    names = [binding.get("name") for binding in bindings]
    if len(set(names)) != len(names):
        yield "two bindings have the same name"
    for binding in bindings:
        for problem in _binding_problems(binding):
            yield f"binding {binding.get('name')!r}: {problem}"


def _binding_problems(binding: Mapping[str, Any]) -> Iterator[str]:
    kind = binding.get("type")
    if not isinstance(binding.get("name"), str) or not binding["name"]:
        yield '"name" is missing'
    if kind not in _DIRECTIONS:
        yield f"type {kind!r} is not known here, only {', '.join(_DIRECTIONS)}"
        return
    if binding.get("direction") != _DIRECTIONS[kind]:
        yield f'"direction" must be {_DIRECTIONS[kind]!r} for {kind}, not {binding.get("direction")!r}'
    for key in _NEEDED[kind]:
        if not isinstance(binding.get(key), str) or not binding[key]:
            yield f"{key!r} is missing, {kind} needs it"
    for key in _EXPANDED:
        try:
            expand(str(binding.get(key, "")))
        except KeyError as error:
            yield f"{key} names %{error.args[0]}%, which is no app setting"
    if kind == "httpTrigger" and binding.get("authLevel", "function").lower() not in _AUTH_LEVELS:
        yield f'"authLevel" must be one of {", ".join(_AUTH_LEVELS)}'
    if kind == "blobTrigger":
        yield from _blob_problems(binding)


def _blob_problems(binding: Mapping[str, Any]) -> Iterator[str]:
    if binding.get("source", _BLOB_SOURCES[0]) not in _BLOB_SOURCES:
        yield f'"source" must be one of {", ".join(_BLOB_SOURCES)}'
    if "{" in str(binding.get("path", "")).partition("/")[0]:
        yield '"path" must begin with the name of a container'
    for setting in {binding.get("connection") or "AzureWebJobsStorage", "AzureWebJobsStorage"}:
        try:
            connection_string(setting)
        except KeyError as error:
            yield str(error.args[0])
