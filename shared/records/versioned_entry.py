"""Entries that runs put on record in one row, each of which its run may change or retract later.

The newest version of a run's entry wins, in whatever order versions are written: a worker that was superseded writes
with an older generation, and changes nothing. A retraction is an entry without content. It stays on record, so that an
older version that is written late can't bring the content back.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class VersionedEntry(msgspec.Struct, Generic[T], frozen=True, array_like=True):
    """One run's entry: the `generation` of its processing, the time of its last event, and the content if any."""

    generation: int
    at: datetime
    content: T | None = None

    @property
    def retracted(self) -> bool:
        """Whether the run withdrew its content."""
        return self.content is None


Entries = Mapping[str, VersionedEntry[T]]
"""The entries of a row, by the ids of their runs."""


def merge_entry(
    entries: Entries[T], run_id: str, entry: VersionedEntry[T], *, most: int
) -> tuple[Entries[T], tuple[T, ...]]:
    """Put a run's entry among the others, unless one of the same or a newer generation is there. Pure.

    Of more than `most` with content the oldest leave, and of more than `most` retractions too. Returns the entries (the
    same object where nothing changes) and the contents that left, oldest first: they can't be retracted any more.
    """
    known = entries.get(run_id)
    if known and known.generation >= entry.generation:
        return entries, ()
    merged = {**entries, run_id: entry}
    left: list[T] = []
    for retracted in (False, True):
        runs = [run for run, each in merged.items() if each.retracted is retracted]
        for run in sorted(runs, key=lambda run: (merged[run].at, run))[:-most]:
            content = merged.pop(run).content
            left += [] if content is None else [content]
    return merged, tuple(left)


def contents(entries: Entries[T]) -> tuple[T, ...]:
    """The contents of all entries that are not retracted."""
    return tuple(each.content for each in entries.values() if each.content is not None)
