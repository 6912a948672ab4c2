"""Repair invalid JSON of known writers; used only for bytes that could not be decoded.

Python's `json.dumps`, which OpenLineage's Python client uses, emits two things that RFC 8259 forbids: NaN and
infinities (in column statistics), and escapes of unpaired surrogates (in truncated text).
"""

import re
from collections.abc import Iterator

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Any escape, from its backslash; the group is an unpaired surrogate."""
_NO_NUMBER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(NaN|Infinity)', re.DOTALL)
"""A whole string, or (the group) NaN or Infinity outside of strings."""
_REPLACEMENT = rb"\ufffd"
"""The escape of U+FFFD, the replacement character (Unicode 16, 23.8)."""


def repaired(raw: bytes) -> bytes | None:
    """The bytes with null for NaN and infinities and U+FFFD for unpaired surrogates; None if there are none."""
    better = raw
    if b"NaN" in better or b"Infinity" in better:
        better = _replaced(better, _NO_NUMBER, b"null")
    if _SURROGATE.search(better):
        better = _replaced(better, _ESCAPE, _REPLACEMENT)
    return None if better is raw else better


def _replaced(raw: bytes, pattern: re.Pattern[bytes], instead: bytes) -> bytes:
    """The bytes with `instead` for every match of the pattern's group; the same object if there is none."""
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
