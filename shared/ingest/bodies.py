"""Bodies of requests: how many large ones are read at once, and the events of a batch.

Large requests take turns, so that many at once can't use all memory. None is refused for it: a listener that
gets a 429 tries once more and then loses the event.

The events of a batch: the elements of a JSON array, each in the bytes in which it was sent.

msgspec splits valid JSON in one pass. An array in which an event is invalid JSON, or is nested too deeply, is split at
the commas outside of strings and brackets. So each event is accepted or refused as in a request of its own.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec

from shared.errors import TooLarge, Unreadable
from shared.openlineage.decoding import BYTE_ORDER_MARK

LARGE = 4 * 1024 * 1024
"""Bytes of a body, from which on it takes a turn."""
_LARGE_PACKED = 64 * 1024
"""The same for a packed one, which may become a thousand times as large."""
AT_ONCE = 2

_turns = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def turn_for(body: bytes, encoding: str = "") -> Iterator[None]:
    """Hold one of two places for unpacking, decoding and packing a large body; a small body needs none.

    Threads do such work one after the other anyway, so waiting costs little. Calls to storage are made outside of it.
    """
    if len(body) < (_LARGE_PACKED if encoding else LARGE):
        yield
        return
    with _turns:
        yield


MAX_BATCH_EVENTS = 1000

_SPACE = b" \t\n\r"
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]++|[\]}]++|[,"]', re.DOTALL)
"""A whole string, brackets, a comma, or the quote of a string without an end. No group is repeated around strings:
Python 3.11.2 loses its place in such a pattern.
"""


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    """Decodes at most one event more than allowed, so that a long array costs no memory."""
    places = [
        (f"event{index}", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for index in range(MAX_BATCH_EVENTS + 1)
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Batch", places, array_like=True))


def events_of(raw: bytes) -> list[bytes]:
    """The bytes of each event of a JSON array (a byte order mark is skipped), valid or not.

    Raises Unreadable if the bytes are no array or cannot be split, and TooLarge for too many events.
    """
    raw = raw.removeprefix(BYTE_ORDER_MARK)
    try:
        decoded_events = msgspec.structs.astuple(_decoder().decode(raw))
    except (msgspec.DecodeError, RecursionError) as error:
        elements = _elements(raw, MAX_BATCH_EVENTS + 1)
        if elements is None:
            raise Unreadable(f"A batch is a JSON array of events: {error}") from error
    else:
        elements = [bytes(element) for element in decoded_events if element is not msgspec.UNSET]
    if len(elements) > MAX_BATCH_EVENTS:
        raise TooLarge(f"A batch may have {MAX_BATCH_EVENTS:,} events; this one has more")
    return elements


def _elements(raw: bytes, limit: int) -> list[bytes] | None:
    """The first elements of an array that is not valid JSON; None if it cannot be split."""
    raw = raw.strip(_SPACE)
    if not (raw.startswith(b"[") and raw.endswith(b"]")):
        return None
    raw_elements: list[bytes] = []
    depth, start = 0, 1
    for step in _MARK.finditer(raw, 1, len(raw) - 1):
        mark = step[0]
        if mark[:1] in {b"[", b"{"}:
            depth += len(mark)
        elif mark[:1] in {b"]", b"}"}:
            depth -= len(mark)
            if depth < 0:
                return None
        elif mark == b'"':
            return None
        elif mark == b"," and depth == 0:
            raw_elements.append(raw[start : step.start()].strip(_SPACE))
            start = step.end()
            if len(raw_elements) == limit:
                return raw_elements if all(raw_elements) else None
    raw_elements.append(raw[start:-1].strip(_SPACE))
    return raw_elements if depth == 0 and all(raw_elements) else None
