"""What some writers of JSON get wrong, put right: only for bytes that could not be read as they are.

Python's `json.dumps`, in which OpenLineage's Python client writes, lets two things out that RFC 8259 does not know: NaN
and the infinities (in statistics about columns), and halves of surrogate pairs as escapes (in text that was cut).
"""

import re
from collections.abc import Iterator

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Any escape, from its backslash; the group is half of a surrogate pair without its other half."""
_NO_NUMBER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(NaN|Infinity)', re.DOTALL)
"""A whole string, or (the group) a word that stands for a number outside of any."""
_REPLACEMENT = rb"\ufffd"
"""The escape of U+FFFD, which stands for what could not be read (Unicode 16, 23.8)."""


def repaired(raw: bytes) -> bytes | None:
    """The bytes with NaN and infinities as null and half surrogate pairs as U+FFFD; None where there are none."""
    better = raw
    if b"NaN" in better or b"Infinity" in better:
        better = _replaced(better, _NO_NUMBER, b"null")
    if _SURROGATE.search(better):
        better = _replaced(better, _ESCAPE, _REPLACEMENT)
    return None if better is raw else better


def _replaced(raw: bytes, pattern: re.Pattern[bytes], instead: bytes) -> bytes:
    """The bytes with `instead` for every match that has the pattern's group; the very same bytes when none has."""
    pieces = list(_pieces(raw, pattern, instead))
    return b"".join(pieces) if len(pieces) > 1 else raw


def _pieces(raw: bytes, pattern: re.Pattern[bytes], instead: bytes) -> Iterator[bytes]:
    end = 0
    for found in pattern.finditer(raw):
        if found[1]:
            yield raw[end : found.start()]
            yield instead
            end = found.end()
    yield raw[end:]
