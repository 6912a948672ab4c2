"""The recorded state of lineage as a snapshot, and policies as gates of the watch: the demands that are broken."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import structs

from shared.foreign import foreign_known
from shared.governance.checks.checking import Result, check
from shared.governance.checks.findings import Facts, QualityAssertion, Verdict
from shared.governance.propagation import NOT_READ, CatalogReading
from shared.governance.rules import Rules, matching_datasets
from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.model import NOTHING_DECLARED
from shared.publishing.context import PublishOptions
from shared.publishing.placeholders import merged_schema
from shared.query.recorded_document import document_of_record, on_matched_assets
from shared.reading.processes import recorded_processes
from shared.records.assets import all_assets
from shared.storage.port import Storage
from shared.watching.comparing.snapshot import BrokenGate, Snapshot, overdue, snapshot_of

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
    starts = ((process.process.qualified_name, process.starts) for process in recorded)
    jobs = tuple(filter(None, (overdue(name, times, options.now()) for name, times in starts if name in names)))
    judged = document
    if gates is not no_gates:  # policies also ask for expressions, and for the times and ends of runs
        judged = document_of_record(storage, options, expressions=True, recorded=recorded)
    return snapshot_of(document, overdue=jobs, broken=tuple(gates(judged)))


def with_merged_schemas(known_processes: Sequence[KnownProcess]) -> Iterator[KnownProcess]:
    """The same processes. Current ones have one schema, owner and description for a data set: all columns that its
    writers report or, without writers, all that its readers report.
    """
    users = defaultdict(list)
    for known_process in known_processes:
        if known_process.current:
            for key in {asset.key for asset in (*known_process.process.inputs, *known_process.process.outputs)}:
                users[key].append(known_process.process)
    merged = {key: merged_schema(key, using) for key, using in users.items()}
    for known_process in known_processes:
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


ReadCatalog = Callable[[LineageDocument, Rules], CatalogReading]
"""Reads the classifications that others set in the catalog; raises CatalogUnavailable."""


def not_read(_document: LineageDocument, _rules: Rules) -> CatalogReading:
    """Read nothing of the catalog."""
    return NOT_READ


def gates_of(
    rules: Rules,
    read_catalog: ReadCatalog = not_read,
    *,
    quality: Mapping[str, tuple[QualityAssertion, ...]] | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Gates:
    """A function that judges lineage by the policies of a rules file. Results that are not known break no gate;
    `throughline check` names them. `quality`: the last results of quality tests by qualified name; None: not read.

    If the catalog does not answer, the function raises CatalogUnavailable: the snapshot is postponed. Otherwise a gate
    would seem to hold, and would be announced again at the next snapshot.
    """

    def judged(document: LineageDocument) -> Sequence[BrokenGate]:
        results = check(document, rules, Facts(now=now(), quality=quality), catalog=read_catalog(document, rules))
        return [_broken(document, rules, result) for result in results if result.verdict is Verdict.BROKEN]

    return judged


def _broken(document: LineageDocument, rules: Rules, result: Result) -> BrokenGate:
    """The gate, with the finding that has the shortest path."""
    first = result.findings[0]
    way = f": {', '.join(map(str, first.way))}" if first.way else ""
    remainder = f", and {result.found - 1:,} more" if result.found > 1 else ""
    datasets = {
        number
        for policy in rules.policies
        if policy.name == result.policy
        for number in matching_datasets(document, policy.where.datasets)
    }
    keys = ((dataset.type, dataset.qualified_name) for dataset in map(document.datasets.__getitem__, sorted(datasets)))
    return BrokenGate(
        policy=result.policy, rule=result.demand, sentence=f"{first.text}{way}{remainder}", datasets=tuple(keys)
    )
