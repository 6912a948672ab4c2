"""The last compared state: a row of `control` that names two blobs of `watch`.

A comparison is recorded before its messages are decided (`pending`), and closed after them. A worker that finds an open
comparison repeats it, with the same two snapshots and so with the same ids of messages. The number of a comparison is
never used again, because the row is never removed.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from shared.records.cells import cells_of, record_of
from shared.storage.locking import write_if_unchanged
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTROL, SNAPSHOTS, digest_of

_PARTITION = "watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The last comparison of one source of lineage (`record` or `lake`).

    `number`: of closed comparisons. `announced`, `pending`: names of blobs, empty if there is none. `looked`: the time
    of the last snapshot.
    """

    source: str
    number: int = 0
    announced: str = ""
    pending: str = ""
    looked: datetime | None = None
    etag: str = ""

    def same(self, data: bytes) -> bool:
        """Whether this is the last announced state."""
        return self.announced.endswith(f"-{digest_of(data)}.json.gz")


def standing(storage: Storage, source: str) -> Standing:
    """The last comparison of a source."""
    row = storage.read(CONTROL, _PARTITION, source)
    return record_of(Standing, row, source=source) if row else Standing(source=source)


def note_look(storage: Storage, found: Standing, now: datetime) -> Standing | None:
    """Record that nothing has changed. None, and nothing is written, if another worker was faster."""
    return _put(storage, replace(found, looked=now))


def begin(storage: Storage, found: Standing, data: bytes, now: datetime) -> Standing | None:
    """Record a comparison with this packed state as the later one. None if another worker was faster."""
    name = f"{found.source}/{found.number + 1:09}-{digest_of(data)}.json.gz"
    storage.put_new(SNAPSHOTS, name, data)
    return _put(storage, replace(found, pending=name, looked=now))


def end(storage: Storage, found: Standing) -> Standing | None:
    """Close a comparison, and remove the states before it. None if another worker closed it."""
    closed = _put(storage, replace(found, number=found.number + 1, announced=found.pending, pending=""))
    if closed:
        _remove_earlier(storage, closed)
    return closed


def _put(storage: Storage, found: Standing) -> Standing | None:
    values = cells_of(found, without=("source",))
    row = Row(partition=_PARTITION, key=found.source, values=values, etag=found.etag)
    etag = write_if_unchanged(storage, CONTROL, row)
    return replace(found, etag=etag) if etag else None


def _remove_earlier(storage: Storage, kept: Standing) -> None:
    """Remove states of earlier comparisons, also those that a slower worker left."""
    first = f"{kept.source}/{kept.number:09}-"
    for blob in list(storage.blobs(SNAPSHOTS, f"{kept.source}/")):
        if blob.name < first:
            storage.delete_blob(SNAPSHOTS, blob.name)
