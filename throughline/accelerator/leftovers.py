"""The processes and placeholders that the accelerator or a script left in a catalog. Read by the catalog's port.

What the accelerator writes is in its source (`DatabricksToPurviewParser.cs`, `PurviewIngestion.cs`, version 2.3): one
process for each set of inputs and output of a task or notebook, named by two MD5 digests; in `columnMapping` the pairs
of columns; for a data set that a search did not find, which its code calls a dummy, an entity of its own type, under
the name in small letters. Versions before 2.0 wrote Atlas' own type of Spark's processes.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from shared.catalog.port import AssetKey, Catalog, Documents, ForeignAsset, ForeignProcess, batches
from shared.reading.values import Progress, no_progress
from shared.records.assets import all_assets
from shared.records.ledger import ledger_entries
from shared.records.states import LedgerState
from shared.storage.port import Storage
from throughline.accelerator.coverage import ColumnLink, Edges, Link, edges_of

PLACEHOLDER_TYPE = "purview_custom_connector_generic_entity_with_columns"
_NAMES: Mapping[str, re.Pattern[str]] = {
    "databricks_process": re.compile(
        r"databricks://.+/processes/[0-9A-F]{32}->[0-9A-F]{32}", re.IGNORECASE | re.DOTALL
    ),
    "spark_process": re.compile(r"sparkprocess://.+", re.IGNORECASE | re.DOTALL),
}
"""By type, the qualified names of its processes. A scan of Databricks gives other names to the first type."""
_DUMMY = "dummy"
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_AT_ONCE = 500


def is_leftover(process: ForeignProcess, patterns: Collection[str] = ()) -> bool:
    """Whether the accelerator wrote a process, or its qualified name matches one of these globs, of scripts."""
    of_type = _NAMES.get(process.type)
    if of_type and of_type.fullmatch(process.qualified_name):
        return True
    return any(fnmatchcase(process.qualified_name, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """The processes, by guid. `is_complete`: False where the catalog has too many processes to list them: then only
    those around data sets on record were read.
    """

    processes: Mapping[str, ForeignProcess]
    is_complete: bool


def read_leftovers(
    catalog: Catalog, storage: Storage, patterns: Collection[str], *, progress: Progress = no_progress
) -> Leftovers:
    """All that is left in a catalog. Raises CatalogUnavailable, CatalogRefused and StorageUnavailable."""
    listed = catalog.changed_processes(_EARLIEST)
    guids = listed if listed is not None else _around(catalog, storage, progress)
    processes: dict[str, ForeignProcess] = {}
    for batch in batches(sorted(guids), _AT_ONCE):
        processes |= catalog.foreign_processes(batch)
        progress("processes of others", len(batch))
    foreign_processes = {guid: process for guid, process in processes.items() if is_leftover(process, patterns)}
    return Leftovers(processes=foreign_processes, is_complete=listed is not None)


def _around(catalog: Catalog, storage: Storage, progress: Progress) -> frozenset[str]:
    """The processes around the data sets on record, under the names that the catalog knows them by."""
    keys = {key for record in all_assets(storage) for key in (record.own, record.scanned) if key}
    guids: set[str] = set()
    for batch in batches(sorted(keys), _AT_ONCE):
        for links in catalog.process_links(batch).values():
            guids |= links.readers | links.writers
        progress("data sets on record", len(batch))
    return frozenset(guids)


def published_edges(catalog: Catalog, storage: Storage, *, progress: Progress = no_progress) -> Edges:
    """What our processes show in the catalog now: not what the record says that they should. Raises as the ports do."""
    names = sorted(entry.qualified_name for entry in ledger_entries(storage) if entry.state is not LedgerState.NOTHING)
    links, columns = set[Link](), set[ColumnLink]()
    for batch in batches(names, _AT_ONCE):
        for process in catalog.read_processes(batch).values():
            entity = process.entity
            edges = edges_of(entity.inputs, entity.outputs, entity.shown.get("columnMapping"))
            links |= edges.links
            columns |= edges.columns
        progress("our processes", len(batch))
    return Edges(links=frozenset(links), columns=frozenset(columns))


def placeholders(
    catalog: Catalog, processes: Mapping[str, ForeignProcess], leaving: Collection[str], documents: Documents | None
) -> tuple[AssetKey, ...]:
    """The placeholders at the ends of these processes that nothing uses once the `leaving` ones are gone, sorted.

    Not ours, and none that a person has documented (an owner, a classification, a described column).
    """
    keys = {
        asset.key
        for process in processes.values()
        for asset in (*process.inputs, *process.outputs)
        if _is_placeholder(asset)
    }
    keys -= catalog.placeholders(keys).keys()
    process_links = catalog.process_links(sorted(keys)) if keys else {}
    unused = {key for key, links in process_links.items() if (links.readers | links.writers) <= set(leaving)}
    return tuple(sorted(unused - set(_documented(documents, unused))))


def _is_placeholder(asset: ForeignAsset) -> bool:
    """Whether no scan has found a data set: it has the accelerator's own type, or a script called it a dummy."""
    names = {asset.name.lower(), asset.qualified_name.lower().rstrip("/").rpartition("/")[2]}
    return asset.type == PLACEHOLDER_TYPE or _DUMMY in names


def _documented(documents: Documents | None, keys: Iterable[AssetKey]) -> Iterator[AssetKey]:
    if documents:
        for key, documentation in documents.documentation(sorted(keys)):
            if documentation.owned or documentation.tagged or documentation.described_columns:
                yield key
