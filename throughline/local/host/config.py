"""An app's host.json, checked as the real host checks it; keys that this host does not know are ignored, as there.

Format and defaults: https://learn.microsoft.com/azure/azure-functions/functions-host-json. Only the host imports this
module: the worker loads the app's own msgspec.
"""

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert, field

from throughline.local.host.logs import Level
from throughline.local.host.settings import AppError, read_json

_SPAN = r"^(?:(?P<days>\d+)\.)?(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)$"

_Positive = Annotated[int, Meta(ge=1)]
_Limit = Annotated[int, Meta(ge=-1)]
_Span = Annotated[str, Meta(pattern=_SPAN)]


class _Http(Struct, frozen=True, kw_only=True, rename="camel"):
    route_prefix: str = "api"
    max_concurrent_requests: _Limit = -1
    max_outstanding_requests: _Limit = -1
    dynamic_throttles_enabled: bool = False


class _Blobs(Struct, frozen=True, kw_only=True, rename="camel"):
    max_degree_of_parallelism: _Positive = 8 * (os.cpu_count() or 1)
    poison_blob_threshold: _Positive = 5


class _Queues(Struct, frozen=True, kw_only=True, rename="camel"):
    batch_size: Annotated[int, Meta(ge=1, le=32)] = 16
    new_batch_threshold: Annotated[int, Meta(ge=0)] = 8
    max_dequeue_count: _Positive = 5
    visibility_timeout: _Span = "00:00:00"

    @property
    def retry(self) -> int:
        """Seconds until a message that failed is tried again."""
        return int(_seconds(self.visibility_timeout))


class _Extensions(Struct, frozen=True, kw_only=True):
    http: _Http = field(default_factory=_Http)
    blobs: _Blobs = field(default_factory=_Blobs)
    queues: _Queues = field(default_factory=_Queues)


class _LogLevel(Struct, frozen=True, kw_only=True):
    default: Level = "Information"


class _Logging(Struct, frozen=True, kw_only=True, rename="camel"):
    log_level: _LogLevel = field(default_factory=_LogLevel)


class HostConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """The values of host.json that this host uses or checks."""

    version: Literal["2.0"]
    function_timeout: Annotated[str, Meta(pattern=rf"^-1$|{_SPAN}")] = "00:30:00"
    logging: _Logging = field(default_factory=_Logging)
    extensions: _Extensions = field(default_factory=_Extensions)

    @property
    def timeout(self) -> float | None:
        """Seconds that an invocation may take; None: no limit."""
        return None if self.function_timeout == "-1" else _seconds(self.function_timeout)


def read_host_json(root: Path) -> HostConfig:
    """Return the app's host.json. Raises AppError when it is missing or has a wrong value."""
    try:
        return convert(read_json(root / "host.json"), HostConfig)
    except ValidationError as error:
        raise AppError([f"host.json: {error}"]) from error


def _seconds(span: str) -> float:
    match = re.fullmatch(_SPAN, span)
    assert match is not None  # noqa: S101 -- checked when it was read
    return timedelta(**{unit: int(number) for unit, number in match.groupdict("0").items()}).total_seconds()
