"""Sets of millions of digests, at eight bytes each.

Two of a hundred million digests share their first eight bytes with a probability of one in four thousand, so a match
is checked against storage before anything is done about it.
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
    """The first eight bytes of the digest of several texts."""
    return short(hashlib.sha256("|".join(parts).encode()).hexdigest())


def shorts(digests: Iterable[str]) -> "array[int]":
    """The first eight bytes of each digest, sorted."""
    return array("Q", sorted(map(short, digests)))


def contains(sorted_digests: "array[int]", digest: int) -> bool:
    """Whether a sorted array contains it."""
    place = bisect_left(sorted_digests, digest)
    return place < len(sorted_digests) and sorted_digests[place] == digest


class DigestSet:
    """A set of digests that notes which of them were met."""

    def __init__(self) -> None:
        self._known = array("Q")
        self._met = bytearray()

    def add(self, digest: int) -> None:
        """Add one. All are added before the first is met."""
        self._known.append(digest)

    def meet(self, digest: int) -> bool:
        """Whether it is in the set; notes it as met."""
        if len(self._met) != len(self._known):
            self._known = array("Q", sorted(set(self._known)))
            self._met = bytearray(len(self._known))
        place = bisect_left(self._known, digest)
        is_member = place < len(self._known) and self._known[place] == digest
        if is_member:
            self._met[place] = 1
        return is_member

    def unmet(self) -> frozenset[int]:
        """Those that were never met."""
        flags = self._met or bytearray(len(self._known))
        return frozenset(digest for digest, is_met in zip(self._known, flags, strict=True) if not is_met)
