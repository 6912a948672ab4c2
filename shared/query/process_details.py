"""Processes on record against what the catalog holds of them, and why a source is missing: what is on record of a
process that has no columns, and of writes that give no process.

The runs that wrote it know: Spark's plan shows where rows come from that no data set has.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.applications.state import LatestRun
from shared.atlas.entities import ProcessEntity, column_pairs
from shared.catalog.port import Catalog
from shared.model import EXCLUDED, Asset, Process
from shared.publishing.context import PublishOptions
from shared.publishing.planning import ProcessRows, current, read_process, read_processes
from shared.reading.processes import entity_of
from shared.records.assets import read_assets
from shared.records.ledger import ledger_entry
from shared.records.states import LedgerState
from shared.reporting.status import contents_of
from shared.storage.port import Storage
from shared.storage_layout import process_key
from shared.translation.missing_columns import why_no_columns, why_no_source
from shared.translation.process.union import sources


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDifference:
    """What the catalog `lacks` of a process, and what it has `further`: inputs, outputs and pairs of columns, as texts;
    sorted. `absent`: why it does not hold the process at all; empty if it does.
    """

    lacks: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    absent: str = ""

    @property
    def is_same(self) -> bool:
        """Whether the catalog holds the lineage that is on record."""
        return not (self.lacks or self.further or self.absent)


def catalog_differences(
    storage: Storage, options: PublishOptions, catalog: Catalog, processes: Sequence[Process]
) -> dict[str, CatalogDifference]:
    """The difference of each process, by qualified name. Raises StorageUnavailable, CatalogUnavailable and
    CatalogRefused.
    """
    assets = (asset.key for process in processes for asset in (*process.inputs, *process.outputs))
    matches = read_assets(storage, assets)
    held_processes = catalog.read_processes([process.qualified_name for process in processes])
    differences: dict[str, CatalogDifference] = {}
    for process in processes:
        name, entity = process.qualified_name, entity_of(process, matches, options)
        if entity is None:
            differences[name] = CatalogDifference(
                absent="settings exclude all that it reads, or it reads what it writes"
            )
        elif name not in held_processes:
            differences[name] = CatalogDifference(absent=_why_absent(storage, name))
        else:
            expected, held_parts = set(_parts(entity)), set(_parts(held_processes[name].entity))
            differences[name] = CatalogDifference(
                lacks=tuple(sorted(expected - held_parts)), further=tuple(sorted(held_parts - expected))
            )
    return differences


def _why_absent(storage: Storage, name: str) -> str:
    entry = ledger_entry(storage, process_key(name))
    if entry.state is LedgerState.WRITTEN:
        return "it was removed there after it was written; `throughline verify --fix` writes it again"
    return entry.why or "it is not written yet; `throughline status` shows the publish queue"


def _parts(entity: ProcessEntity) -> Iterator[str]:
    for word, sides in (("input", entity.inputs), ("output", entity.outputs)):
        yield from (f"{word} {qualified_name}" for _, qualified_name in sides)
    for source, sink in column_pairs(dict(entity.attributes).get("columnMapping")):
        yield f"{source[0]}.{source[1]} → {sink[0]}.{sink[1]}"


_NEVER = (datetime.min.replace(tzinfo=UTC), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcelessWrite:
    """A data set that a process writes of which no source is known: the process's name, its last run, and why."""

    asset: Asset
    process: str
    run_id: str
    reason: str


def columns_missing(storage: Storage, process: Process) -> str:
    """Why a process has no columns, by its contributions and the runs behind them; empty if it has some. Raises
    StorageUnavailable.
    """
    if not why_no_columns(process):
        return ""
    pairs = tuple(contents_of(storage, read_process(storage, process_key(process.qualified_name))))
    return why_no_columns(process, (content for content, _ in pairs), rows_from=_rows_from(pairs))


def source_missing(storage: Storage, options: PublishOptions, process: str) -> str:
    """Why no source is known of what a process (by key) writes. Raises StorageUnavailable."""
    return _source_missing(storage, options, read_process(storage, process))


def sourceless_writes(
    storage: Storage, options: PublishOptions, fits: Callable[[Asset], bool]
) -> Iterator[SourcelessWrite]:
    """The data sets that fit and are written without a known source. Reads all contributions. Raises
    StorageUnavailable.
    """
    for rows in read_processes(storage):
        pairs = tuple(contents_of(storage, rows))
        outputs = {asset for content, _ in pairs for asset in content.outputs}
        read_names = {asset.qualified_name for content, _ in pairs for asset in sources(content)}
        if not pairs or read_names - {asset.qualified_name for asset in outputs} or not any(map(fits, outputs)):
            continue
        content, latest = max(pairs, key=lambda pair: (pair[1].time, pair[1].run_id) if pair[1] else _NEVER)
        reason = _source_missing(storage, options, rows)
        for asset in sorted(filter(fits, outputs)):
            run_id = latest.run_id if latest else ""
            yield SourcelessWrite(asset=asset, process=content.name, run_id=run_id, reason=reason)


def _source_missing(storage: Storage, options: PublishOptions, rows: ProcessRows) -> str:
    total, _ = current(storage, rows, options)
    excluded = total.process is not None and EXCLUDED in total.process.inputs
    return why_no_source(excluded=excluded, rows_from=_rows_from(contents_of(storage, rows)))


def _rows_from(pairs: Iterable[tuple[Process, LatestRun | None]]) -> tuple[str, ...]:
    """Where rows come from that no data set has, by the plans of these runs."""
    return tuple(sorted({text for _, latest in pairs if latest for text in latest.facts.rows_from}))
