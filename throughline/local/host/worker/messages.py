"""The messages between the host and its worker process, pickled, each preceded by its length.

The pipe connects parent and child and both run this project's code, so pickle reads no foreign data.
"""

import asyncio
import pickle
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from throughline.local.host.index import Function
from throughline.local.host.logs import Level

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Host to worker, first: import these functions of the app in `root`.

    `threads` functions without `async` run at once, unless PYTHON_THREADPOOL_THREAD_COUNT is set. `level`: of logs.
    """

    root: Path
    functions: tuple[Function, ...]
    threads: int = 8
    level: Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Worker to host: the answer to Load; no `problems` when all functions are loaded. `version` is the runtime's."""

    problems: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Datum:
    """A value for a function: `type` is string, bytes, json or http, as in the runtime's own Datum."""

    value: Any
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoke:
    """Host to worker: call a function with its trigger's value."""

    invocation: str
    function: str
    name: str
    parameter: str
    value: Datum
    metadata: dict[str, Datum]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """The answer of an HTTP function."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Worker to host: the result of an invocation; `error` is "" when it succeeded."""

    invocation: str
    error: str = ""
    answer: HttpAnswer | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Stop:
    """Host to worker: end normally; no invocation is running."""


def encode(message: object) -> bytes:
    """Return the bytes of one message."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(content)) + content


async def receive(reader: asyncio.StreamReader) -> Any:
    """Return the next message. Raises asyncio.IncompleteReadError when the other end has closed."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return pickle.loads(await reader.readexactly(length))  # noqa: S301 -- from our own child or parent
