"""Compare processes on record with what the catalog holds of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.atlas.entities import ProcessEntity, column_pairs
from shared.catalog.port import Catalog
from shared.model import Process
from shared.publishing.context import PublishOptions
from shared.publishing.resolution import resolved_entity
from shared.records.assets import read_assets
from shared.records.ledger import ledger_entry
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import process_key
from shared.translation.path_filter import published


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
    held_processes = catalog.read_processes([process.qualified_name for process in processes])
    differences: dict[str, CatalogDifference] = {}
    for process in processes:
        name, entity = process.qualified_name, _entity(storage, options, process)
        if entity is None:
            differences[name] = CatalogDifference(
                absent="settings exclude all that it reads, or it reads what it writes"
            )
        elif name not in held_processes:
            differences[name] = CatalogDifference(absent=_why_absent(storage, name))
        else:
            expected, found = set(_parts(entity)), set(_parts(held_processes[name].entity))
            differences[name] = CatalogDifference(
                lacks=tuple(sorted(expected - found)), further=tuple(sorted(found - expected))
            )
    return differences


def _entity(storage: Storage, options: PublishOptions, process: Process) -> ProcessEntity | None:
    """The process as the catalog should hold it, on the assets that were found."""
    visible = published(process)
    if visible is None:
        return None
    matches = read_assets(storage, (asset.key for asset in (*visible.inputs, *visible.outputs)))
    return resolved_entity(visible, matches, with_indirect=options.with_indirect)


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
