"""Read an app's host.json and function.json files, as the real host does at its start, and report every problem.

Formats: https://learn.microsoft.com/azure/azure-functions/functions-host-json and
https://github.com/Azure/azure-functions-host/wiki/function.json
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from throughline.local.host.logs import LEVELS, logger
from throughline.local.host.settings import AppError, connection_string, expand, read_json

TRIGGERS = ("httpTrigger", "blobTrigger", "queueTrigger", "timerTrigger")
_DIRECTIONS = dict.fromkeys(TRIGGERS, "in") | {"http": "out"}
_NEEDED = {"blobTrigger": ("path",), "queueTrigger": ("queueName",), "timerTrigger": ("schedule",)}
_AUTH_LEVELS = ("anonymous", "function", "admin")
_BLOB_SOURCES = ("LogsAndContainerScan", "EventGrid")
_EXPANDED = ("path", "queueName", "schedule", "route")
_TRUE = ("true", "1")
_SPAN = re.compile(r"(?:(?P<days>\d+)\.)?(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """The values of host.json that this host uses, with the real defaults.

    Seconds: `timeout` (None: no limit), `queue_retry` until a message that failed is tried again.
    """

    route_prefix: str = "api"
    blob_parallelism: int = 8 * (os.cpu_count() or 1)
    poison_threshold: int = 5
    queue_parallelism: int = 24
    queue_tries: int = 5
    queue_retry: int = 0
    log_level: str = "Information"
    timeout: float | None = 1800.0


def read_host_json(root: Path) -> HostConfig:
    """Return the app's host.json. Raises AppError when it is missing or has a wrong value; ignores unknown keys."""
    content: dict[str, Any] = read_json(root / "host.json")
    problems = list(_host_problems(content))
    if problems:
        raise AppError([f"host.json: {problem}" for problem in problems])
    default = HostConfig()
    return HostConfig(
        route_prefix=_at(content, "extensions.http.routePrefix", default.route_prefix).strip("/"),
        blob_parallelism=_at(content, "extensions.blobs.maxDegreeOfParallelism", default.blob_parallelism),
        poison_threshold=_at(content, "extensions.blobs.poisonBlobThreshold", default.poison_threshold),
        queue_parallelism=_at(content, "extensions.queues.batchSize", 16)
        + _at(content, "extensions.queues.newBatchThreshold", 8),
        queue_tries=_at(content, "extensions.queues.maxDequeueCount", default.queue_tries),
        queue_retry=int(_seconds(_at(content, "extensions.queues.visibilityTimeout", "00:00:00")) or 0),
        log_level=_at(content, "logging.logLevel.default", default.log_level),
        timeout=_seconds(_at(content, "functionTimeout", "00:30:00")),
    )


def _whole(least: int) -> Any:
    return lambda value: type(value) is int and value >= least


_VALUES: tuple[tuple[str, Any, str], ...] = (
    ("version", lambda value: value == "2.0", '"2.0"'),
    ("functionTimeout", lambda value: value == "-1" or _SPAN.fullmatch(str(value)), '"-1" or a span hh:mm:ss'),
    ("logging.logLevel.default", lambda value: value in LEVELS, f"one of {', '.join(LEVELS)}"),
    ("extensions.http.routePrefix", lambda value: isinstance(value, str), "a string"),
    ("extensions.http.maxConcurrentRequests", _whole(-1), "a whole number, -1 for no limit"),
    ("extensions.http.maxOutstandingRequests", _whole(-1), "a whole number, -1 for no limit"),
    ("extensions.http.dynamicThrottlesEnabled", lambda value: isinstance(value, bool), "true or false"),
    ("extensions.blobs.maxDegreeOfParallelism", _whole(1), "a whole number above 0"),
    ("extensions.blobs.poisonBlobThreshold", _whole(1), "a whole number above 0"),
    ("extensions.queues.batchSize", lambda value: value in range(1, 33), "a whole number from 1 to 32"),
    ("extensions.queues.newBatchThreshold", _whole(0), "a whole number, 0 or more"),
    ("extensions.queues.maxDequeueCount", _whole(1), "a whole number above 0"),
    ("extensions.queues.visibilityTimeout", lambda value: _SPAN.fullmatch(str(value)), "a span hh:mm:ss"),
)
"""The keys of host.json whose values are checked: path, check, and the valid values in words."""


def _at(content: Mapping[str, Any], path: str, default: Any = None) -> Any:
    """Return the value at a dotted path, or the default."""
    value: Any = content
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return default
        value = value[key]
    return value


def _host_problems(content: Mapping[str, Any]) -> Iterator[str]:
    if "version" not in content:
        yield '"version" must be "2.0"'
    for path, holds, reads in _VALUES:
        value = _at(content, path)
        if value is not None and not holds(value):
            yield f"{path} must be {reads}, not {value!r}"


def _seconds(span: str) -> float | None:
    match = _SPAN.fullmatch(span)
    if match is None:
        return None
    parts = {unit: int(number) for unit, number in match.groupdict("0").items()}
    return timedelta(**parts).total_seconds()


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
        yield f"type {kind!r} is not supported here, only {', '.join(_DIRECTIONS)}"
        return
    if binding.get("direction") != _DIRECTIONS[kind]:
        yield f'"direction" must be {_DIRECTIONS[kind]!r} for {kind}, not {binding.get("direction")!r}'
    for key in _NEEDED.get(kind, ()):
        if not isinstance(binding.get(key), str) or not binding[key]:
            yield f"{key!r} is missing, {kind} needs it"
    if kind == "httpTrigger" and binding.get("authLevel", "function").lower() not in _AUTH_LEVELS:
        yield f'"authLevel" must be one of {", ".join(_AUTH_LEVELS)}'
    if kind == "blobTrigger":
        yield from _blob_problems(binding)
    if kind in {"blobTrigger", "queueTrigger"}:
        yield from _storage_problems(binding)


def _blob_problems(binding: Mapping[str, Any]) -> Iterator[str]:
    if binding.get("source", _BLOB_SOURCES[0]) not in _BLOB_SOURCES:
        yield f'"source" must be one of {", ".join(_BLOB_SOURCES)}'
    if "{" in str(binding.get("path", "")).partition("/")[0]:
        yield '"path" must begin with the name of a container'


def _storage_problems(binding: Mapping[str, Any]) -> Iterator[str]:
    for setting in {binding.get("connection") or "AzureWebJobsStorage", "AzureWebJobsStorage"}:
        try:
            connection_string(setting)
        except KeyError as error:
            yield str(error.args[0])
