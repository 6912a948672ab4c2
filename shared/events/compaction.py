"""Compaction: the events of a long run are merged once and stored merged, so that each blob is read once.

The row `compacted` of a run in `runs` holds its events merged to few, and the digests of all of them. Two workers may
compact at once: events that the row lacks are read again by the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from shared.openlineage.decoding import Event
from shared.openlineage.merging import fold
from shared.records.cells import PackedCell
from shared.storage.compare_and_swap import write_if_unchanged
from shared.storage.port import Row, Storage
from shared.storage_layout import COMPACTED, CONTENTS, RUNS, StoredEvent

_MANY = 256
"""Events of a run that are read one by one; more are compacted."""

_AT_ONCE = 1024
"""Events that are merged before the row is written: a crash repeats the work for as many at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedEvents:
    """The events of a run merged to few, and the digests of all of them; `blob`: where the row refers to one."""

    events: tuple[Event, ...] = ()
    digests: frozenset[str] = frozenset()
    etag: str = ""
    blob: str = ""


class _Cell(msgspec.Struct, frozen=True, array_like=True):
    events: tuple[Event, ...]
    digests: frozenset[str]


_EVENTS = PackedCell(name="events", decoder=msgspec.json.Decoder(_Cell))


def compacted_of(row: Row, storage: Storage) -> CompactedEvents:
    """From a row of `runs`."""
    cell = _EVENTS.unpack(storage, row)
    return CompactedEvents(events=cell.events, digests=cell.digests, etag=row.etag, blob=_EVENTS.blob(row))


Read = Callable[[StoredEvent], Event | None]


def compact(
    storage: Storage, run_id: str, known: CompactedEvents, fresh: Sequence[StoredEvent], read: Read
) -> CompactedEvents:
    """Compact the `fresh` events of a run too, where these are many; else `known` as it was. `read` gives an event, or
    None where it can't be used or is not stored: that one stays fresh.
    """
    if not is_long(len(fresh)):
        return known
    rest = iter(fresh)
    while chunk := list(islice(rest, _AT_ONCE)):
        found = {place.digest: event for place in chunk if (event := read(place))}
        events = fold((*known.events, *found.values()))
        known = _note(storage, run_id, known, events, known.digests | found.keys())
    return known


def _note(
    storage: Storage, run_id: str, before: CompactedEvents, events: tuple[Event, ...], digests: frozenset[str]
) -> CompactedEvents:
    """Write it, unless another worker did meanwhile; the blob that it replaces is deleted."""
    values = _EVENTS.pack(storage, _Cell(events=events, digests=digests))
    row = Row(partition=run_id, key=COMPACTED, values=values, etag=before.etag)
    etag = write_if_unchanged(storage, RUNS, row)
    blob = _EVENTS.blob(row)
    if not etag:
        return CompactedEvents(events=events, digests=digests, etag=before.etag, blob=before.blob)
    if before.blob and before.blob != blob:
        storage.delete_blob(CONTENTS, before.blob)
    return CompactedEvents(events=events, digests=digests, etag=etag, blob=blob)


def delete_compacted(storage: Storage, run_id: str) -> None:
    """Delete the row of a run that was closed: the archive has its events."""
    found = storage.read(RUNS, run_id, COMPACTED)
    if found:
        if blob := compacted_of(found, storage).blob:
            storage.delete_blob(CONTENTS, blob)
        storage.delete(RUNS, run_id, COMPACTED)


def is_long(events: int) -> bool:
    """Whether so many events of a run are compacted."""
    return events > _MANY
