"""What was read of foreign lineage: values, and their blob. The sweeper that holds the publisher's lease writes it."""

import gzip
import logging
import zlib
from collections.abc import Collection, Iterator
from datetime import date, datetime

import msgspec

from shared.catalog.port import AssetKey, ForeignProcess
from shared.foreign.processes import known_processes
from shared.lineage.building import KnownProcess
from shared.records.checkpoint import Checkpoint
from shared.storage.port import Storage
from shared.storage_layout import FOREIGN, PUBLISHED, stamp

_LOG = logging.getLogger("throughline.foreign")
_FORMAT = 1


class LinkedAsset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A data set, the day on which its links were read, and the guids of the processes that read and write it."""

    key: AssetKey
    day: date
    readers: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()


class ReadProcess(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A process by its guid, and the day on which it was read. None: it is ours, or gone."""

    guid: str
    day: date
    process: ForeignProcess | None


class ForeignLineage(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    format: int = _FORMAT
    assets: tuple[LinkedAsset, ...] = ()
    processes: tuple[ReadProcess, ...] = ()

    @property
    def foreign(self) -> tuple[ForeignProcess, ...]:
        """The foreign processes, in a stable order."""
        processes = (row.process for row in self.processes if row.process)
        return tuple(sorted(processes, key=lambda process: (process.qualified_name, process.type)))


class ForeignPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far reading has come: the blob of what was read, and which `parts` of the document it was read around, to
    what `depth`. `tried`: the last try; changes of the catalog are known until `checked`. `waiting`: data sets and
    processes that are to be read. `failed`: whether the catalog did not answer.
    """

    blob: str
    parts: str
    depth: int
    checked: datetime
    tried: datetime
    waiting: int = 0
    failed: bool = False


POSITION = Checkpoint(name="foreign", position=ForeignPosition)
_DECODER = msgspec.msgpack.Decoder(ForeignLineage)


def foreign_lineage(storage: Storage) -> ForeignLineage:
    """What was read of foreign lineage; nothing where none was read yet. Raises StorageUnavailable."""
    position = POSITION.load(storage)
    return stored_lineage(storage, position) if position else ForeignLineage()


def foreign_known(storage: Storage, depth: int, recorded: Collection[KnownProcess]) -> Iterator[KnownProcess]:
    """The foreign processes of a document beside those that are `recorded`; none, and no call, for the depth 0. Raises
    StorageUnavailable.
    """
    if depth:
        yield from known_processes(foreign_lineage(storage).foreign, recorded)


def stored_lineage(storage: Storage, position: ForeignPosition) -> ForeignLineage:
    """What the blob of a position holds; nothing where that is gone, damaged or of another version: all is then read
    again. Raises StorageUnavailable.
    """
    packed = storage.get(PUBLISHED, position.blob)
    try:
        lineage = _DECODER.decode(gzip.decompress(packed)) if packed else None
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        _LOG.warning("foreign lineage in %s can't be read, so all of it is read again: %s", position.blob, error)
        lineage = None
    return lineage if lineage and lineage.format == _FORMAT else ForeignLineage()


def store_lineage(storage: Storage, lineage: ForeignLineage, now: datetime, earlier: str) -> str:
    """Store what was read as a new blob, and forget all but that and the `earlier` one, at which a reader may be. The
    name of the blob.
    """
    blob = f"{FOREIGN}{stamp(now)}.msgpack.gz"
    storage.put_new(PUBLISHED, blob, gzip.compress(msgspec.msgpack.encode(lineage), 6, mtime=0))
    for fact in list(storage.blobs(PUBLISHED, FOREIGN)):
        if fact.name not in {blob, earlier}:
            storage.delete_blob(PUBLISHED, fact.name)
    return blob
