"""Foreign lineage: what other programs wrote to the catalog around our data sets, read within the call rate, remembered
by what changed, and as processes of the lineage document.

The blob of what was read is written by the sweeper that holds the publisher's lease.

Links of data sets and processes are read once a day; in between only what the catalog's search lists as changed. Both
directions are followed by themselves: upstream of what is upstream, downstream of what is downstream. Where time is up
the rest waits for the next call, and what was known of it stays.
"""

import gzip
import logging
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey, Catalog, ForeignAsset, ForeignProcess, ProcessLinks, batches
from shared.lineage.building import KnownProcess
from shared.lineage.document import FOREIGN_NAMESPACE
from shared.model import DIRECT, FROM_CATALOG, Asset, Column, ColumnEdge, Origin, Process
from shared.records.control import Checkpoint
from shared.storage.port import Storage
from shared.storage_layout import FOREIGN, PUBLISHED, stamp

_PROGRAMS: Mapping[str, str] = {
    "powerbi_": "Power BI",
    "adf_": "Data Factory",
    "azure_synapse_": "Synapse",
    "databricks_": "Databricks",
    "fabric_": "Fabric",
    "mssql_": "SQL Server",
    "azure_sql_": "Azure SQL",
    "snowflake_": "Snowflake",
    "tableau_": "Tableau",
    "ssis_": "SSIS",
}
"""The programs that write processes of these types, by how the names of the types begin."""


def program_of(process_type: str) -> str:
    """The program that writes processes of a type; the type itself where it is none of those known."""
    return next((name for start, name in _PROGRAMS.items() if process_type.startswith(start)), process_type)


def known_processes(foreign: Iterable[ForeignProcess], recorded: Collection[KnownProcess]) -> Iterator[KnownProcess]:
    """Foreign processes for the document beside those that are `recorded`. A process without an input or an output, or
    with nothing but itself, is left out, and of several with one qualified name all but the first.
    """
    names = _Names.of(recorded)
    processes: set[str] = set()
    for process in foreign:
        flows = {(source.qualified_name, sink.qualified_name) for source in process.inputs for sink in process.outputs}
        if process.qualified_name not in processes and any(source != sink for source, sink in flows):
            processes.add(process.qualified_name)
            yield _known(process, names)


class _Names:
    """The columns that are known of data sets, by their names in lower case: programs differ in capitals."""

    def __init__(self, columns: dict[str, dict[str, str]]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, processes: Iterable[KnownProcess]) -> "_Names":
        """Those of the schemas and edges of processes."""
        columns: dict[str, dict[str, str]] = {}
        for process in (recorded.process for recorded in processes):
            for schema in process.schemas:
                columns.setdefault(schema.qualified_name, {}).update({name.lower(): name for name, _ in schema.columns})
            for end in (end for edge in process.columns for end in (edge.input, edge.output) if end.column):
                columns.setdefault(end.qualified_name, {}).setdefault(end.column.lower(), end.column)
        return cls(columns)

    def column(self, end: tuple[str, str]) -> Column:
        name = self._columns.get(end[0], {}).get(end[1].lower(), end[1])
        return Column(qualified_name=end[0], column=name)


def _known(process: ForeignProcess, names: _Names) -> KnownProcess:
    inputs = {end.qualified_name for end in process.inputs}
    outputs = {end.qualified_name for end in process.outputs}
    edges = {
        ColumnEdge(input=names.column(source), output=names.column(sink), kind=DIRECT, how=(FROM_CATALOG,))
        for source, sink in process.columns
        if source[0] in inputs and sink[0] in outputs and source[1] and sink[1] and source != sink
    }
    return KnownProcess(
        process=Process(
            qualified_name=process.qualified_name,
            name=process.name,
            operations=(),
            inputs=tuple(map(_asset, process.inputs)),
            outputs=tuple(map(_asset, process.outputs)),
            columns=tuple(sorted(edges)),
            origin=Origin(platform=program_of(process.type)),
        ),
        catalog_type=process.type,
        names=tuple(sorted({(end.qualified_name, end.name) for end in (*process.inputs, *process.outputs)})),
    )


def _asset(end: ForeignAsset) -> Asset:
    return Asset(type=end.type, qualified_name=end.qualified_name, namespace=FOREIGN_NAMESPACE, name=end.qualified_name)


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
    compressed = storage.get(PUBLISHED, position.blob)
    try:
        lineage = _DECODER.decode(gzip.decompress(compressed)) if compressed else None
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


BATCH = 100
"""Data sets or processes that are read between two looks at the time."""
MAX_PROCESSES = 50_000
"""Foreign processes that are followed; more are left out."""


@dataclass(slots=True, kw_only=True)
class ForeignReader:
    """Reads into what is known. `day`: today; `may_continue`: whether there is time for another batch. After a walk
    `waiting` counts what there was no time for, and `left_out` the processes beyond MAX_PROCESSES.
    """

    catalog: Catalog
    depth: int
    day: date
    may_continue: Callable[[], bool]
    assets: dict[AssetKey, LinkedAsset] = field(default_factory=dict)
    processes: dict[str, ReadProcess] = field(default_factory=dict)
    waiting: int = 0
    left_out: int = 0

    def begin(self, lineage: ForeignLineage) -> None:
        """Go on from what is known."""
        self.assets = {asset.key: asset for asset in lineage.assets}
        self.processes = {process.guid: process for process in lineage.processes}

    def forget_days(self) -> None:
        """Have everything read again."""
        self.assets = {key: structs.replace(asset, day=date.min) for key, asset in self.assets.items()}
        self.processes = {guid: structs.replace(row, day=date.min) for guid, row in self.processes.items()}

    def update(self, guids: Iterable[str]) -> None:
        """Read changed processes again, and link them to the known data sets that they read and write now."""
        for batch in batches(sorted(guids), BATCH):
            processes = self.catalog.foreign_processes(batch)
            for guid in batch:
                self._relink(guid, processes.get(guid))

    def _relink(self, guid: str, process: ForeignProcess | None) -> None:
        readers = {end.key for end in process.inputs} if process else set()
        writers = {end.key for end in process.outputs} if process else set()
        old_row = self.processes.pop(guid, None)
        ends = readers | writers
        if old_row and old_row.process:
            ends |= {end.key for end in (*old_row.process.inputs, *old_row.process.outputs)}
        is_near = False
        for key in ends & self.assets.keys():
            asset = self.assets[key]
            self.assets[key] = structs.replace(
                asset,
                readers=asset.readers | {guid} if key in readers else asset.readers - {guid},
                writers=asset.writers | {guid} if key in writers else asset.writers - {guid},
            )
            is_near = is_near or key in readers or key in writers
        if process and is_near:
            self.processes[guid] = ReadProcess(guid=guid, day=self.day, process=process)

    def walk(self, starts: Iterable[AssetKey]) -> ForeignLineage:
        """All foreign lineage at most `depth` data sets away from these, and what else is known of these processes.
        Raises CatalogUnavailable and CatalogRefused; what was read until then stays in this reader.
        """
        self.waiting = self.left_out = 0
        start_keys = sorted(set(starts))
        near_assets, near_processes = set(start_keys), set[str]()
        for is_upstream in (True, False):
            frontier, reached = start_keys, set(start_keys)
            for _ in range(self.depth):
                self._read_links(frontier)
                guids = self._linked(frontier, is_upstream=is_upstream)
                self._read_processes(guids)
                near_processes |= guids
                ends = {key for guid in guids for key in self._far_ends(guid, is_upstream=is_upstream)}
                frontier = sorted(ends - reached)
                reached |= ends
            near_assets |= reached
        return ForeignLineage(
            assets=tuple(self.assets[key] for key in sorted(near_assets & self.assets.keys())),
            processes=tuple(self.processes[guid] for guid in sorted(near_processes & self.processes.keys())),
        )

    def known(self) -> ForeignLineage:
        """All that is known, where a walk ended by an error."""
        return ForeignLineage(
            assets=tuple(self.assets[key] for key in sorted(self.assets)),
            processes=tuple(self.processes[guid] for guid in sorted(self.processes)),
        )

    def _linked(self, keys: Iterable[AssetKey], *, is_upstream: bool) -> set[str]:
        assets = [self.assets[key] for key in keys if key in self.assets]
        return {guid for asset in assets for guid in (asset.writers if is_upstream else asset.readers)}

    def _far_ends(self, guid: str, *, is_upstream: bool) -> tuple[AssetKey, ...]:
        row = self.processes.get(guid)
        if row is None or row.process is None:
            return ()
        ends = row.process.inputs if is_upstream else row.process.outputs
        return tuple(end.key for end in ends)

    def _read_links(self, keys: Iterable[AssetKey]) -> None:
        due_keys = [key for key in keys if key not in self.assets or self.assets[key].day != self.day]
        for batch in batches(due_keys, BATCH):
            if not self.may_continue():
                self.waiting += len(batch)
                continue
            links_by_key = self.catalog.process_links(batch)
            for key in batch:
                links = links_by_key.get(key, ProcessLinks())
                self.assets[key] = LinkedAsset(key=key, day=self.day, readers=links.readers, writers=links.writers)

    def _read_processes(self, guids: Iterable[str]) -> None:
        due_guids = [guid for guid in sorted(guids) if self._is_due(guid)]
        room = max(MAX_PROCESSES - len(self.processes), 0)
        excess = frozenset([guid for guid in due_guids if guid not in self.processes][room:])
        self.left_out += len(excess)
        for batch in batches((guid for guid in due_guids if guid not in excess), BATCH):
            if not self.may_continue():
                self.waiting += len(batch)
                continue
            processes = self.catalog.foreign_processes(batch)
            for guid in batch:
                self.processes[guid] = ReadProcess(guid=guid, day=self.day, process=processes.get(guid))

    def _is_due(self, guid: str) -> bool:
        """Whether it is to be read. Ours stay ours."""
        row = self.processes.get(guid)
        return row is None or (row.process is not None and row.day != self.day)
