"""Read foreign lineage around our data sets, to a depth.

Links of data sets and processes are read once a day; in between only what the catalog's search lists as changed. Both
directions are followed by themselves: upstream of what is upstream, downstream of what is downstream. Where time is up
the rest waits for the next call, and what was known of it stays.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date

from msgspec import structs

from shared.catalog.port import AssetKey, Catalog, ForeignProcess, ProcessLinks, batches
from shared.foreign.remembered import ForeignLineage, LinkedAsset, ReadProcess

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
