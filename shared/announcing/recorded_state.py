"""The recorded state of lineage as a snapshot."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from shared.foreign import foreign_known
from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.model import NOTHING_DECLARED
from shared.publishing.context import PublishOptions
from shared.publishing.placeholders import merged_schema
from shared.query.recorded_document import document_of_record, on_matched_assets, overdue_jobs
from shared.reading.processes import recorded_processes
from shared.records.assets import all_assets
from shared.storage.port import Storage
from shared.watching.comparing.snapshot import BrokenGate, Snapshot, snapshot_of

Gates = Callable[[LineageDocument], Sequence[BrokenGate]]
"""Judges a document by policies: the rules that do not hold."""


def no_gates(_document: LineageDocument) -> Sequence[BrokenGate]:
    """No policies: no gate is broken."""
    return ()


def recorded_snapshot(
    storage: Storage, options: PublishOptions, gates: Gates = no_gates, *, with_foreign: bool = True
) -> Snapshot:
    """The snapshot of all recorded processes, with the assets that the catalog has for their data sets, judged by
    `gates`; `with_foreign`: with foreign lineage, if that is read.

    Reads all processes and asset matches once. The columns of a data set are all that its writers
    report or, without writers, all that its readers report; so one that reports fewer is no change. Raises
    StorageUnavailable and ContentLost.
    """
    matches = {asset_record.own: asset_record for asset_record in all_assets(storage)}
    recorded = tuple(recorded_processes(storage, options))
    named = [
        process for recorded_process in recorded if (process := on_matched_assets(recorded_process.process, matches))
    ]
    known_processes = tuple(with_merged_schemas([KnownProcess(process=process) for process in named]))
    foreign = foreign_known(storage, options.foreign_depth if with_foreign else 0, known_processes)
    document = document_of("record", (*known_processes, *foreign))
    names = {process.qualified_name for process in named}
    overdue = (job for job in overdue_jobs(recorded, options.now()) if job.process in names)
    judged = document
    if gates is not no_gates:  # policies also ask for expressions, and for the times and ends of runs
        judged = document_of_record(storage, options, expressions=True, recorded=recorded)
    return snapshot_of(document, overdue=tuple(overdue), broken=tuple(gates(judged)))


def with_merged_schemas(known: Sequence[KnownProcess]) -> Iterator[KnownProcess]:
    """The same processes. Current ones have one schema, owner and description for a data set: all columns that its
    writers report or, without writers, all that its readers report.
    """
    users = defaultdict(list)
    for known_process in known:
        if known_process.current:
            for key in {asset.key for asset in (*known_process.process.inputs, *known_process.process.outputs)}:
                users[key].append(known_process.process)
    merged = {key: merged_schema(key, using) for key, using in users.items()}
    for known_process in known:
        if not known_process.current:
            yield known_process
            continue
        schemas = {
            asset.qualified_name: merged[asset.key]
            for asset in (*known_process.process.inputs, *known_process.process.outputs)
            if merged[asset.key].columns or merged[asset.key].declared != NOTHING_DECLARED
        }
        process = structs.replace(known_process.process, schemas=tuple(schemas[name] for name in sorted(schemas)))
        yield structs.replace(known_process, process=process)
