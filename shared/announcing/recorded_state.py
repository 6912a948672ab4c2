"""The state of lineage on record, as a snapshot."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.model import NOTHING_DECLARED, AssetSchema, Process
from shared.publishing.placeholders.columns import merged_columns, merged_declaration
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import recorded_processes
from shared.query.overdue_jobs import overdue_jobs
from shared.query.recorded_document import on_matched_assets
from shared.records.asset_matches import all_matches
from shared.storage.port import Storage
from shared.watching.comparing.snapshot import BrokenGate, Snapshot, snapshot_of

Gates = Callable[[LineageDocument], Sequence[BrokenGate]]
"""Judges a document by policies: the rules that do not hold."""


def no_gates(_document: LineageDocument) -> Sequence[BrokenGate]:
    """No policy."""
    return ()


def recorded_snapshot(storage: Storage, options: PublishOptions, gates: Gates = no_gates) -> Snapshot:
    """The snapshot of all recorded processes, on the assets that the catalog was found to have, judged by `gates`.

    Reads ledger, contributions and asset matches by one scan each. The columns of a data set are all that its writers
    report, or, without any, all that its readers report: one that reports fewer is no change. Raises StorageUnavailable
    and ContentLost.
    """
    matches = {each.own: each for each in all_matches(storage)}
    recorded = tuple(recorded_processes(storage, options))
    named = [process for each in recorded if (process := on_matched_assets(each.process, matches))]
    document = document_of("record", (KnownProcess(process=each) for each in _with_merged_schemas(named)))
    known = {each.qualified_name for each in named}
    overdue = (each for each in overdue_jobs(recorded, options.now()) if each.process in known)
    return snapshot_of(document, overdue=tuple(overdue), broken=tuple(gates(document)))


def _with_merged_schemas(processes: Sequence[Process]) -> Iterator[Process]:
    """The processes, each with the same schema for a data set, and the same owner and description."""
    users = defaultdict(list)
    for process in processes:
        for key in {asset.key for asset in (*process.inputs, *process.outputs)}:
            users[key].append(process)
    merged = {
        key: AssetSchema(
            qualified_name=key[1], columns=merged_columns(key, using), declared=merged_declaration(key, using)
        )
        for key, using in users.items()
    }
    for process in processes:
        schemas = {
            asset.qualified_name: merged[asset.key]
            for asset in (*process.inputs, *process.outputs)
            if merged[asset.key].columns or merged[asset.key].declared != NOTHING_DECLARED
        }
        yield structs.replace(process, schemas=tuple(schemas[name] for name in sorted(schemas)))
