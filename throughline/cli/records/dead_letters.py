"""Dead letters and the events in them, printed safely for a terminal."""

import zlib
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from rich.text import Text

from shared.events.dead_letters import DeadLetter
from shared.maintenance.replay import LetterOutcome, ReplayedLetter
from shared.storage_layout import EVENTS
from shared.texts import visible, visible_lines

ID_LENGTH = 12
"""Digits of an id that are shown: enough to be unique."""

_MAX_SHOWN = 16 * 1024 * 1024
_MAX_UNREADABLE = 4096
"""Bytes that are shown of an event, and of a blob that is no gzip."""


def letter_document(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter as `--json` prints it."""
    place = letter.place
    return {
        "id": letter.digest,
        "reason": letter.reason,
        "error": letter.error,
        "job": letter.job or None,
        "run": place.run_id if place else None,
        "event_type": place.type if place else None,
        "event_time": place.time if place else None,
        "blob": f"{EVENTS}/{letter.blob}",
        "first": letter.first,
        "last": letter.last,
        "count": letter.count,
        "discarded": letter.discarded,
    }


def pretty(data: bytes) -> str:
    """An event's text, indented where it is JSON, and safe for a terminal."""
    with suppress(msgspec.DecodeError, RecursionError):  # broken JSON may be the reason why it is a dead letter
        data = msgspec.json.format(data, indent=2)
    return visible_lines(data.decode("utf-8", "backslashreplace"))


def unpacked(compressed: bytes) -> tuple[bytes, str]:
    """An event from its gzipped bytes, as far as they can be read, and what is wrong with them (empty: nothing).

    Without any readable byte the packed ones are returned. Bounded, whatever they unpack to.
    """
    unpacker, data = zlib.decompressobj(wbits=31), bytearray()
    try:
        for start in range(0, len(compressed), 256):  # in small pieces: all that comes before the damage is read
            data += unpacker.decompress(compressed[start : start + 256], _MAX_SHOWN + 1 - len(data))
            if len(data) > _MAX_SHOWN:
                return bytes(data[:_MAX_SHOWN]), f"longer than {_MAX_SHOWN:,} bytes: only these are shown"
    except zlib.error as error:
        if not data:
            return compressed[:_MAX_UNREADABLE], f"no gzip ({error}): shown as stored"
        return bytes(data), f"damaged ({error}): only the part before the damage is shown"
    return bytes(data), "" if unpacker.eof else "cut off: only the first part is there"


def in_lines(letter: DeadLetter) -> Text:
    """A dead letter in three lines."""
    place = letter.place
    if place:
        facts = [
            f"job {letter.job}" if letter.job else "job unknown",
            f"run {place.run_id}",
            f"{place.type} of {_at(place.time)}",
        ]
    else:
        facts = [f"{EVENTS}/{letter.blob}"]
    return Text.assemble(
        (letter.digest[:ID_LENGTH], "bold"),
        f"  {letter.reason}, {times(letter.count)}, {_at(letter.first)} to {_at(letter.last)}",
        f", discarded {_at(letter.discarded)}" if letter.discarded else "",
        f"\n    {visible(', '.join(facts))}\n    ",
        (visible(letter.error), "red"),
    )


def replayed_line(replayed: ReplayedLetter) -> Text:
    """The outcome of replaying a dead letter, in one line."""
    letter = replayed.letter
    state = f", its run is now {replayed.now}" if replayed.now else ""
    failed = f" ({times(letter.count)}): {letter.error}" if replayed.outcome is LetterOutcome.FAILED else ""
    return Text(visible(f"{letter.digest[:ID_LENGTH]} {replayed.outcome}{state}{failed}"))


def times(count: int) -> str:
    """A number of times: `once`, `2 times`."""
    return "once" if count == 1 else f"{count:,} times"


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
