"""Digests by the million: eight bytes each, for what has to be held of everything that is stored.

Two of a hundred million digests share their first eight bytes with a chance of one in four thousand; what is found by
them is looked at once more before anything is done about it.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable

_SHORT = 16
"""Hexadecimal digits of eight bytes."""


def short(digest: str) -> int:
    """The first eight bytes of a digest in hexadecimal digits."""
    return int(digest[:_SHORT], 16)


def combined_digest(*parts: str) -> int:
    """Eight bytes that stand for several words together."""
    return short(hashlib.sha256("|".join(parts).encode()).hexdigest())


def shorts(digests: Iterable[str]) -> "array[int]":
    """Many, in order."""
    return array("Q", sorted(map(short, digests)))


def contains(known: "array[int]", one: int) -> bool:
    """Whether it is among these, which are in order."""
    place = bisect_left(known, one)
    return place < len(known) and known[place] == one


class DigestSet:
    """Many digests, and which of them were met."""

    def __init__(self) -> None:
        self._known = array("Q")
        self._met = bytearray()

    def add(self, one: int) -> None:
        """One more to be met. All are added before the first is met."""
        self._known.append(one)

    def meet(self, one: int) -> bool:
        """Whether it was added; from now on it was met."""
        if len(self._met) != len(self._known):
            self._known = array("Q", sorted(set(self._known)))
            self._met = bytearray(len(self._known))
        place = bisect_left(self._known, one)
        found = place < len(self._known) and self._known[place] == one
        if found:
            self._met[place] = 1
        return found

    def unmet(self) -> frozenset[int]:
        """Those that never were."""
        met = self._met or bytearray(len(self._known))
        return frozenset(one for one, seen in zip(self._known, met, strict=True) if not seen)
