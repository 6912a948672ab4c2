"""Why a source is missing: what is on record of a process that has no columns, and of writes that give no process.

The runs that wrote it know: Spark's plan shows where rows come from that no data set has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shared.model import EXCLUDED, Asset, Process
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Reading
from shared.records.run_state import run_state_of
from shared.reporting.column_sources import supported_contents
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS, process_key
from shared.translation.missing_columns import why_no_columns, why_no_source
from shared.translation.process.union import sources


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
    found = tuple(supported_contents(storage, process_key(process.qualified_name)))
    return why_no_columns(process, (content for content, _ in found), rows_from=_rows_from(storage, found))


def source_missing(storage: Storage, options: PublishOptions, process: str) -> str:
    """Why no source is known of what a process (by key) writes. Raises StorageUnavailable."""
    found = tuple(supported_contents(storage, process))
    known = Reading(storage=storage, options=options).known_process(process).process
    excluded = known is not None and EXCLUDED in known.inputs
    return why_no_source(excluded=excluded, rows_from=_rows_from(storage, found))


def sourceless_writes(
    storage: Storage, options: PublishOptions, fits: Callable[[Asset], bool]
) -> Iterator[SourcelessWrite]:
    """The data sets that fit and are written without a known source. Reads all contributions. Raises
    StorageUnavailable.
    """
    keys = dict.fromkeys(row.partition for row in storage.scan(CONTRIBUTIONS))
    for key in keys:
        found = tuple(supported_contents(storage, key))
        outputs = {asset for content, _ in found for asset in content.outputs}
        read = {asset.qualified_name for content, _ in found for asset in sources(content)}
        if not found or read - {asset.qualified_name for asset in outputs} or not any(map(fits, outputs)):
            continue
        content, run_id = found[-1]
        for asset in sorted(filter(fits, outputs)):
            reason = source_missing(storage, options, key)
            yield SourcelessWrite(asset=asset, process=content.name, run_id=run_id, reason=reason)


def _rows_from(storage: Storage, found: tuple[tuple[Process, str], ...]) -> tuple[str, ...]:
    """Where rows come from that no data set has, by the plans of these runs."""
    states = (run_state_of(storage, run_id) for run_id in dict.fromkeys(run_id for _, run_id in found))
    return tuple(sorted({text for state in states if state and state.facts for text in state.facts.rows_from}))
