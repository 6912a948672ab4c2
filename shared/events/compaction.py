"""The events of a long run: what was merged once is kept merged, so that each blob is read once.

The row `folded` of a run in `runs` holds its events folded to few, and the digests of all that went into them. Two who
fold at once do no harm: what one of them left out is read again by the next.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
"""Events of a run that are read one by one; more are folded."""

_AT_ONCE = 1024
"""So many are folded before that is noted: what a crash makes one read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What a run's events came to so far."""

    events: tuple[Event, ...] = ()
    digests: frozenset[str] = frozenset()
    etag: str = ""
    blob: str = ""


class _Cell(msgspec.Struct, frozen=True, array_like=True):
    events: tuple[Event, ...]
    digests: frozenset[str]


_FOLDED = PackedCell(name="folded", decoder=msgspec.json.Decoder(_Cell))


def folded_of(row: Row, storage: Storage) -> Folded:
    """From a row of `runs`."""
    cell = _FOLDED.unpack(storage, row)
    return Folded(events=cell.events, digests=cell.digests, etag=row.etag, blob=_FOLDED.blob(row))


Read = Callable[[StoredEvent], Event | None]


def fold_most(storage: Storage, run_id: str, known: Folded, fresh: Sequence[StoredEvent], read: Read) -> Folded:
    """What is known of a run with its `fresh` events, where these are many; else as it was. `read` gives an event, or
    None where it can't be used or is not stored: that one stays fresh.
    """
    if not is_long(len(fresh)):
        return known
    for chunk in _chunks(fresh):
        found = {place.digest: event for place in chunk if (event := read(place))}
        events = fold((*known.events, *found.values()))
        known = _note(storage, run_id, known, events, known.digests | found.keys())
    return known


def _chunks(places: Iterable[StoredEvent]) -> Iterator[list[StoredEvent]]:
    rest = iter(places)
    while chunk := list(islice(rest, _AT_ONCE)):
        yield chunk


def _note(storage: Storage, run_id: str, before: Folded, events: tuple[Event, ...], digests: frozenset[str]) -> Folded:
    """Write it, unless another worker did meanwhile; the blob that it replaces is deleted."""
    values = _FOLDED.pack(storage, _Cell(events=events, digests=digests))
    row = Row(partition=run_id, key=COMPACTED, values=values, etag=before.etag)
    etag = write_if_unchanged(storage, RUNS, row)
    blob = _FOLDED.blob(row)
    if not etag:
        return Folded(events=events, digests=digests, etag=before.etag, blob=before.blob)
    if before.blob and before.blob != blob:
        storage.delete_blob(CONTENTS, before.blob)
    return Folded(events=events, digests=digests, etag=etag, blob=blob)


def let_go(storage: Storage, run_id: str) -> None:
    """Delete it: the run is closed, and the archive has its events."""
    found = storage.read(RUNS, run_id, COMPACTED)
    if found:
        if blob := folded_of(found, storage).blob:
            storage.delete_blob(CONTENTS, blob)
        storage.delete(RUNS, run_id, COMPACTED)


def is_long(events: int) -> bool:
    """Whether so many events of a run are folded."""
    return events > _MANY
