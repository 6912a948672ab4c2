"""Dead letters as people and programs look at them, and the events in them, safe for a terminal."""

import zlib
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from rich.text import Text

from shared.events.dead_letters import DeadLetter
from shared.storage_layout import EVENTS

SHORT = 12
"""Digits of an id that people are shown: enough to be unique."""

_MOST_SHOWN = 16 * 1024 * 1024
_MOST_BYTES_OF_NO_EVENT = 4096


def as_document(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter as plain values; times as ISO 8601 in UTC."""
    place = letter.place
    return {
        "id": letter.digest,
        "reason": letter.reason,
        "error": letter.error,
        "job": letter.job or None,
        "run": place.run_id if place else None,
        "event_type": place.type if place else None,
        "event_time": place.time.isoformat() if place else None,
        "blob": f"{EVENTS}/{letter.blob}",
        "first": letter.first.isoformat(),
        "last": letter.last.isoformat(),
        "count": letter.count,
        "discarded": letter.discarded.isoformat() if letter.discarded else None,
    }


def visible(value: object) -> str:
    """A value that is not ours on one line: what a terminal might obey (escapes, marks that turn the reading direction)
    is shown as an escape.
    """
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def pretty(data: bytes) -> str:
    """An event's text, indented where it is JSON, and safe for a terminal."""
    with suppress(msgspec.DecodeError, RecursionError):  # that it is no JSON may be what is wrong with it
        data = msgspec.json.format(data, indent=2)
    return "\n".join(visible(line) for line in data.decode("utf-8", "backslashreplace").split("\n"))


def unpacked(packed: bytes) -> tuple[bytes, str]:
    """As much of an event as its packed bytes give, and what is wrong with them: the bytes themselves when that is
    nothing. Bounded, whatever they unpack to.
    """
    unpacker, data = zlib.decompressobj(wbits=31), bytearray()
    try:
        for start in range(0, len(packed), 256):  # bit by bit: what comes before the damage is had
            data += unpacker.decompress(packed[start : start + 256], _MOST_SHOWN + 1 - len(data))
            if len(data) > _MOST_SHOWN:
                return bytes(data[:_MOST_SHOWN]), f"they unpack to more than {_MOST_SHOWN:,}: these are the first"
    except zlib.error as error:
        if not data:
            return packed[:_MOST_BYTES_OF_NO_EVENT], f"they are no gzip ({error}), and shown as they are"
        return bytes(data), f"damaged ({error}): this is what comes before the damage"
    return bytes(data), "" if unpacker.eof else "they are cut off: this is what there is"


def in_lines(letter: DeadLetter) -> Text:
    """A dead letter for people, in three lines."""
    place = letter.place
    if place:
        told = [
            f"job {letter.job}" if letter.job else "job unknown",
            f"run {place.run_id}",
            f"{place.type} of {_at(place.time)}",
        ]
    else:
        told = [f"{EVENTS}/{letter.blob}"]
    return Text.assemble(
        (letter.digest[:SHORT], "bold"),
        f"  {letter.reason}, {times(letter.count)}, {_at(letter.first)} to {_at(letter.last)}",
        f", discarded {_at(letter.discarded)}" if letter.discarded else "",
        f"\n    {visible(', '.join(told))}\n    ",
        (visible(letter.error), "red"),
    )


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count:,} times"


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
