"""The document of lineage of the record: what is published and what is not yet, without history."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.classifying.attached import attached, with_classifications
from shared.foreign import foreign_known
from shared.lineage.building import KnownProcess, document_of
from shared.lineage.dataset_facts import Amount
from shared.lineage.document import Health, LineageDocument
from shared.model import Column, Process, QualityTest
from shared.openlineage.selection import MATCH_ALL
from shared.publishing.context import PublishOptions
from shared.publishing.planning import statement_of
from shared.publishing.resolution import resolve_names
from shared.reading.processes import RecordedProcess, recorded_processes
from shared.reading.reader import all_runs
from shared.records.asset_record import AssetRecord
from shared.records.assets import all_assets
from shared.records.states import State
from shared.storage.port import Storage
from shared.storage_layout import EXCLUDED, EXCLUDED_WRITE
from shared.translation.aggregate import ExcludedWrite, Writes, amount_written, asset_names, excluded_jobs
from shared.translation.run.facts import RunFacts
from shared.translation.sql.statement_reader import redact
from shared.watching.comparing.snapshot import overdue

FAILURES = frozenset({"FAIL", "ABORT"})
_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class DocumentPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the document has of one process (by key): the process as it is not overdue, and when its runs began."""

    key: str
    known: KnownProcess
    starts: tuple[datetime, ...] = ()


def document_of_record(
    storage: Storage,
    options: PublishOptions,
    *,
    statements: bool = False,
    expressions: bool = False,
    recorded: Iterable[RecordedProcess] | None = None,
    classified: bool = True,
) -> LineageDocument:
    """The document of all recorded processes, on the assets that the catalog was found to have. A job is overdue as of
    `options.now()`.

    Reads all runs, processes and asset matches once. `expressions`: with those of edges;
    `statements`: also with the SQL of the last run of each process, without literals, for which the events of that run
    are read. `recorded`: the processes, where they have been read. `classified`: with the classifications that
    `classify apply` has attached, as tags; what applies them must not take them for tags of events. Raises
    StorageUnavailable.
    """
    parts = document_parts(storage, options, recorded, statements=statements)
    document = document_of_parts(storage, options, parts, expressions=expressions or statements)
    return with_classifications(document, attached(storage)) if classified else document


def document_parts(
    storage: Storage,
    options: PublishOptions,
    recorded: Iterable[RecordedProcess] | None = None,
    *,
    statements: bool = False,
) -> Iterator[DocumentPart]:
    """The parts of all recorded processes; the parameters are those of `document_of_record`."""
    matches = {asset_record.own: asset_record for asset_record in all_assets(storage)}
    failed = failed_processes(storage)
    for process in recorded_processes(storage, options) if recorded is None else recorded:
        part = document_part(process, matches, failed=process.key in failed)
        if part and statements and process.last_supporter:
            statement = redact(statement_of(storage, process.last_application, process.last_supporter))
            part = structs.replace(part, known=structs.replace(part.known, statement=statement))
        if part:
            yield part


def document_of_parts(
    storage: Storage, options: PublishOptions, parts: Iterable[DocumentPart], *, expressions: bool
) -> LineageDocument:
    """The document of these parts, of what ignored jobs have written to their data sets, and of foreign processes.
    Raises StorageUnavailable.
    """
    now = options.now()
    processes = [
        structs.replace(part.known, health=Health.OVERDUE)
        if part.known.health is Health.GOOD and overdue(part.known.process.qualified_name, part.starts, now)
        else part.known
        for part in parts
    ]
    foreign = foreign_known(storage, options.foreign_depth, processes)
    excluded = excluded_jobs(
        excluded_writes(storage), ((known_process.process, known_process.last) for known_process in processes)
    )
    unseen = (KnownProcess(process=process, last=last) for process, last in excluded)
    return document_of("record", (*processes, *unseen, *foreign), expressions=expressions)


def judged_record(storage: Storage, options: PublishOptions) -> tuple[LineageDocument, tuple[str, ...]]:
    """What policies are judged by: the document with expressions, and the names of data sets that filters leave out.

    No document has these names: a policy about such a data set is not known to hold. They are those on record that path
    settings exclude, for which the contributions are read once more, and those that only ignored jobs name. Raises
    StorageUnavailable.
    """
    recorded = tuple(recorded_processes(storage, options))
    document = document_of_record(storage, options, expressions=True, recorded=recorded)
    unfiltered = recorded
    if options.paths != MATCH_ALL:
        unfiltered = tuple(recorded_processes(storage, replace(options, paths=MATCH_ALL)))
    assets = {
        asset
        for recorded_process in unfiltered
        for asset in (*recorded_process.process.inputs, *recorded_process.process.outputs)
    }
    writes = frozenset(excluded_writes(storage))
    by_asset = Writes.of(writes)
    names = {asset_written.spelling for asset_written in writes - {by_asset.to(asset) for asset in assets}}
    names |= {asset.qualified_name for asset in assets if not options.paths.accepts(asset_names(asset))}
    return document, tuple(sorted(names))


def excluded_writes(storage: Storage) -> Iterator[ExcludedWrite]:
    """What ignored jobs have written. Raises StorageUnavailable."""
    for row in storage.partition(EXCLUDED, EXCLUDED_WRITE):
        yield ExcludedWrite(
            namespace=str(row.values["namespace"]),
            name=str(row.values["name"]),
            tables=tuple(filter(None, str(row.values["tables"]).split("\n"))),
            last=datetime.fromisoformat(str(row.values["last"])),
        )


def document_part(
    recorded: RecordedProcess, matches: Mapping[AssetKey, AssetRecord], *, failed: bool
) -> DocumentPart | None:
    """What the document has of a recorded process; None where inputs and outputs match one asset. Pure."""
    process = on_matched_assets(recorded.process, matches)
    if process is None:
        return None
    known_process = KnownProcess(
        process=process,
        first=recorded.seen.first if recorded.seen else None,
        last=recorded.seen.last if recorded.seen else None,
        last_run=recorded.last_supporter,
        health=Health.FAILED if failed else Health.GOOD,
        stated=recorded.facts.stated if recorded.facts else (),
        amounts=tuple(_amounts(process, recorded.facts)) if recorded.facts else (),
        tests=tuple(_tests(recorded.process, matches)),
    )
    return DocumentPart(key=recorded.key, known=known_process, starts=recorded.starts)


def _tests(process: Process, matches: Mapping[AssetKey, AssetRecord]) -> Iterator[tuple[str, tuple[QualityTest, ...]]]:
    """The last results of the quality tests of a process's data sets, by their names in the catalog."""
    for asset in (*process.inputs, *process.outputs):
        record = matches.get(asset.key)
        if record and record.tests:
            yield record.key[1], record.tests


def _amounts(process: Process, facts: RunFacts) -> Iterator[Amount]:
    is_only = len(process.outputs) == 1
    for asset in process.outputs:
        if amount := amount_written(facts, asset, is_only=is_only):
            yield Amount(asset.qualified_name, amount.rows, amount.size)


def on_matched_assets(process: Process, matches: Mapping[AssetKey, AssetRecord]) -> Process | None:
    """The process with its assets, and all that names them, replaced by their matches; None where inputs and outputs
    match one asset.
    """
    own_asset_records = {
        asset.key: matches[asset.key] for asset in (*process.inputs, *process.outputs) if asset.key in matches
    }
    named = resolve_names(process, own_asset_records)
    if named is None or named is process:
        return named
    names = {key[1]: asset_record.scanned[1] for key, asset_record in own_asset_records.items() if asset_record.scanned}

    def name(former_name: str) -> str:
        return names.get(former_name, former_name)

    constants = (
        Column(qualified_name=name(column.qualified_name), column=column.column) for column in named.sourceless
    )
    return structs.replace(
        named,
        sourceless=tuple(sorted(constants)),
        schemas=tuple(structs.replace(schema, qualified_name=name(schema.qualified_name)) for schema in named.schemas),
        parsed=tuple(sorted({name(parsed_name) for parsed_name in named.parsed})),
    )


@dataclass(slots=True)
class _JobRuns:
    """The processes of a job, and how its last run ended."""

    processes: set[str] = field(default_factory=set)
    last: datetime = _NEVER
    failed: bool = False


def failed_processes(storage: Storage) -> frozenset[str]:
    """The keys of the processes whose job's last run failed; a job is known by its name."""
    jobs: dict[str, _JobRuns] = {}
    for run in all_runs(storage):
        if run.state is State.RECEIVED or not run.job or run.last is None:
            continue
        job = jobs.setdefault(run.job, _JobRuns())
        job.processes.update(run.processes)
        if run.last >= job.last:
            job.last, job.failed = run.last, run.end in FAILURES
    return frozenset(key for job in jobs.values() if job.failed for key in job.processes)
