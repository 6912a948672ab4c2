"""Read an app's function.json files, as the real host does at its start.

Format: https://github.com/Azure/azure-functions-host/wiki/function.json
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from throughline.local.host.logs import logger
from throughline.local.host.settings import AppError, UnsetError, expand, read_json

TRIGGERS = frozenset({"httpTrigger", "blobTrigger", "queueTrigger", "timerTrigger"})
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
    bindings: tuple[Binding, ...]

    @property
    def id(self) -> str:
        """The id that receipts and queue messages carry."""
        return f"Host.Functions.{self.name}"

    @property
    def trigger(self) -> Binding:
        """Its only trigger."""
        return next(binding for binding in self.bindings if binding.type in TRIGGERS)


def read_functions(root: Path, environment: Mapping[str, str] = os.environ) -> tuple[Function, ...]:
    """Return the enabled functions of the app, ordered by name.

    Raises AppError for a folder that this host can't run, and when there is no function.
    """
    functions = []
    for path in sorted(root.glob("*/function.json")):
        name, content = path.parent.name, read_json(path)
        if _disabled(name, content, environment):
            continue
        try:
            function = _function(path.parent, content, environment)
        except UnsetError as error:  # as in Azure, the others run
            logger.error("The '%s' function is in error: there is no app setting %%%s%%", name, error)
            continue
        triggers = sum(binding.type in TRIGGERS for binding in function.bindings)
        if triggers != 1:
            kinds = ", ".join(sorted(TRIGGERS))
            raise AppError([f"{name}: a function has exactly one trigger, this has {triggers} (of {kinds})"])
        functions.append(function)
    if not functions:
        raise AppError([f"no function in {root}: it has no folder with an enabled function.json"])
    return tuple(functions)


def _function(folder: Path, content: Mapping[str, Any], environment: Mapping[str, str]) -> Function:
    return Function(
        name=folder.name,
        directory=folder,
        script=folder / content.get("scriptFile", "__init__.py"),
        bindings=tuple(_binding(binding, environment) for binding in content["bindings"]),
    )


def _binding(content: Mapping[str, Any], environment: Mapping[str, str]) -> Binding:
    data = {key: expand(value, environment) if key in _EXPANDED else value for key, value in content.items()}
    return Binding(name=content["name"], type=content["type"], direction=content["direction"], data=data)


def _disabled(name: str, content: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Whether a function is disabled by its function.json or by a setting, in one of the two valid spellings."""
    spellings = (f"AzureWebJobs.{name}.Disabled", f"AzureWebJobs_{name}_Disabled")
    by_setting = any(environment.get(spelling, "").lower() in _TRUE for spelling in spellings)
    return content.get("disabled") is True or by_setting
