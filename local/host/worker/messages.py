"""What the host and its worker process say to each other: pickled messages, each with its length before it.

Both ends are this project's own code and the pipe is between parent and child, so pickle reads nothing from strangers.
"""

import asyncio
import pickle
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.host.index import Function

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Host to worker, first: import these functions of the app in `root`.

    `threads` is how many functions without `async` run at once, unless PYTHON_THREADPOOL_THREAD_COUNT is set.
    """

    root: Path
    functions: tuple[Function, ...]
    threads: int
    level: str
    verbose: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Worker to host: the answer to Load; no `problems` when all functions are there. `version` is the runtime's."""

    problems: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Datum:
    """A value on its way to a function: `type` is string, bytes, json or http, as in the runtime's own Datum."""

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
    """What an HTTP function answered; `headers` and `cookies` as they are to be sent."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Worker to host: what became of an invocation; `error` is "" when it succeeded."""

    invocation: str
    error: str = ""
    answer: HttpAnswer | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Stop:
    """Host to worker: nothing runs any more, end as Python programs end."""


def encode(message: object) -> bytes:
    """The bytes of one message."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(content)) + content


async def receive(reader: asyncio.StreamReader) -> Any:
    """The next message; asyncio.IncompleteReadError when the other end is gone."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return pickle.loads(await reader.readexactly(length))  # noqa: S301 -- from our own child or parent
