"""Plans: what the catalog should hold of a process now, from the stored contributions. Reads only."""

import operator
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from heapq import nlargest
from itertools import groupby

import msgspec
from msgspec import structs

from shared.atlas.entities import ProcessEntity, process_entity
from shared.model import ApplicationTimes, Asset, Contribution, Process, Span
from shared.openlineage.glob_filter import MATCH_ALL, GlobFilter
from shared.publishing.planning.application_times import application_times
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.resolved_process import resolve_names, resolved_entity
from shared.records.application.entries import lifecycle_and_links
from shared.records.application.process_index import RESOLVE_TOGETHER
from shared.records.asset_matches import read_matches
from shared.records.ledger import LedgerEntry, ledger_entry
from shared.records.publish_queue import QueueEntry
from shared.records.run_state import ContributionRecord
from shared.records.states import LedgerState
from shared.records.versioned_entry import Entries, contents
from shared.storage.port import Row, Storage
from shared.storage_layout import (
    CONTRIBUTIONS,
    LEDGER,
    PROCESS_REF,
    QUEUE_PARTITION,
    QUEUED_ASSET,
    SHADOW,
    process_key,
)
from shared.telemetry.port import SILENT
from shared.translation.aggregate import AggregatedProcess, aggregate
from shared.translation.job.identity import is_check
from shared.translation.path_filter import published, with_excluded
from shared.translation.staging_elimination import StagingResult, eliminate_staging

_MAX_RUNS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do with one queued process. `process` and `entity` are None when the catalog should hold nothing.

    The entity has the names of unresolved assets at first; `unresolved_fingerprint` is the one with these. `runs`: the
    last runs that supported or retracted it; `last_supporter`: the last run that supports it, if it is to be written;
    `began`: when planning began (nanoseconds of the clock); `imported`: whether it comes from the lake.
    """

    queue_entry: QueueEntry
    entry: LedgerEntry
    entity: ProcessEntity | None
    process: Process | None = None
    unresolved_fingerprint: str = ""
    revisit: datetime | None = None
    runs: tuple[str, ...] = ()
    last_supporter: str = ""
    began: int = 0
    imported: bool = False

    @property
    def assets(self) -> tuple[Asset, ...]:
        """The assets of the process, before they are resolved."""
        return (*self.process.inputs, *self.process.outputs) if self.process else ()

    @property
    def was_interrupted(self) -> bool:
        """Whether an earlier write has begun, and its result is unknown."""
        return self.entry.state is LedgerState.WRITING

    @property
    def is_kept(self) -> bool:
        """Whether it was imported and has no contributions here, which is no reason to remove it."""
        return self.process is None and self.entry.imported and self.entry.retired is None

    @property
    def unchanged(self) -> bool:
        """Whether the catalog holds exactly this already."""
        if self.entity is None:
            return self.entry.state is LedgerState.NOTHING or self.is_kept
        is_known = bool(self.entry.fingerprint) and self.entry.unresolved_fingerprint == self.unresolved_fingerprint
        return self.entry.state is LedgerState.WRITTEN and is_known


class _StoredContributions(msgspec.Struct, frozen=True, kw_only=True):
    """The contributions to a process: `rows` whose contents are not read yet, and, by application run, `eliminated`
    contributions: what staging elimination left of those that are resolved together.
    """

    rows: tuple[tuple[Row, ContributionRecord], ...]
    eliminated: tuple[tuple[str, Contribution], ...]

    def times(self) -> Iterator[tuple[str, Span]]:
        """When each application run contributed."""
        for _, record in self.rows:
            if record.seen:
                yield record.application_run, record.seen
        for run, each in self.eliminated:
            yield run, each.seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Reads processes from the records in a `storage`, for one batch, and keeps what it read: rows of contributions by
    process, staging results and times by application run.

    They may be older than the ledger, but not than the queue entries that they serve: a later contribution renews the
    entry, so that the plan's claim of it fails.
    """

    storage: Storage
    options: PublishOptions = field(default_factory=PublishOptions)
    rows: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    remains: dict[str, tuple[StagingResult, ...]] = field(default_factory=dict)
    known: dict[str, ApplicationTimes] = field(default_factory=dict)

    def contributions(self, process: str) -> tuple[Row, ...]:
        """All rows of contributions to a process (by key)."""
        if process not in self.rows:
            self.rows[process] = tuple(self.storage.partition(CONTRIBUTIONS, process))
        return self.rows[process]

    def current(self, process: str, *, after: datetime | None = None) -> AggregatedProcess:
        """A process (by key) as the catalog should hold it: that of `known_process` without EXCLUDED."""
        total = self.known_process(process, after=after)
        return structs.replace(total, process=published(total.process))

    def known_process(self, process: str, *, after: datetime | None = None) -> AggregatedProcess:
        """Aggregate a process (by key) from its contributions; only those `after` its retirement, if it was retired.
        EXCLUDED stands for inputs that path settings exclude.
        """
        known = self._stored(process, after)
        spans: dict[str, Span] = {}
        for run, seen in known.times():
            spans[run] = spans[run] | seen if run in spans else seen
        facts = application_times(self.storage, spans, self.options, self.known)
        contributions = [each for run, each in known.eliminated if run in facts]
        contributions += [
            each
            for row, record in known.rows
            if record.application_run in facts
            for each in (ContributionRecord.of(row, self.storage).contribution,)
            if each
        ]
        total = aggregate(contributions, facts, now=self.options.now(), patience=self.options.patience)
        return structs.replace(total, process=with_excluded(total.process, self.options.paths))

    def spans(self, process: str, *, after: datetime | None = None) -> list[Span]:
        """When application runs contributed to a process (by key), as for `current`."""
        return [span for _, span in self._stored(process, after).times()]

    def _stored(self, process: str, after: datetime | None) -> _StoredContributions:
        """The contributions to a process (by key) that were last supported `after` a time, where one is given."""
        rows: list[tuple[Row, ContributionRecord]] = []
        resolved_together: set[str] = set()
        for row in self.contributions(process):
            application_run, _, digest = row.key.partition("|")
            if digest == RESOLVE_TOGETHER:
                resolved_together.add(application_run)
            else:
                rows.append((row, ContributionRecord.without_content(row)))
        eliminated = [(run, each) for run in sorted(resolved_together) for each in self._remaining(run, process)]
        return _StoredContributions(
            rows=tuple(
                (row, record)
                for row, record in rows
                if record.application_run not in resolved_together
                and (after is None or (record.seen and record.seen.last > after))
            ),
            eliminated=tuple((run, each) for run, each in eliminated if after is None or each.seen.last > after),
        )

    def _remaining(self, application_run: str, process: str) -> Iterator[Contribution]:
        """What staging elimination leaves of an application run's contributions to a process (by key)."""
        if application_run not in self.remains:
            self.remains[application_run] = self._staging_results(application_run)
        for each in self.remains[application_run]:
            if each.remains and process_key(each.remains.content.qualified_name) == process:
                yield each.remains

    def _staging_results(self, application_run: str) -> tuple[StagingResult, ...]:
        """The contributions of an application run, each with what staging elimination leaves of it. All rows of their
        processes are read, since most are needed.
        """
        fates, links = lifecycle_and_links(self.storage, application_run)
        mine, marker = f"{application_run}|", f"{application_run}|{RESOLVE_TOGETHER}"
        contributions = (
            ContributionRecord.of(row, self.storage).contribution
            for link in links
            for row in self.contributions(link.key.removeprefix(PROCESS_REF))
            if row.key.startswith(mine) and row.key != marker
        )
        return eliminate_staging([each for each in contributions if each], fates)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedProcess:
    """A recorded process as it should be now, with EXCLUDED in place of excluded inputs. `key`: its key in the ledger;
    `seen`: when runs contributed to it; `last_supporter`: the last run that supports it, empty where staging
    elimination left only parts of it; `starts`: when each run that is still on record began to contribute, sorted.
    """

    key: str
    process: Process
    seen: Span | None
    last_supporter: str
    starts: tuple[datetime, ...] = ()


def recorded_processes(
    storage: Storage, options: PublishOptions, *, path_filter: GlobFilter = MATCH_ALL
) -> Iterator[RecordedProcess]:
    """All recorded processes but checks. Their contributions are read by one scan, since the calls would take longer.

    `path_filter`: also those that the catalog never got because this filter leaves out all that they read or write.
    """
    retired = {row.partition: LedgerEntry.of(row).retired for row in storage.scan(LEDGER)}
    shadowed = (row.key for row in storage.partition(SHADOW, QUEUE_PARTITION) if not row.key.startswith(QUEUED_ASSET))
    keys = (*retired, *(each for each in shadowed if each not in retired))
    rows: dict[str, tuple[Row, ...]] = dict.fromkeys(keys, ())
    for partition, own in groupby(storage.scan(CONTRIBUTIONS), key=lambda row: row.partition):
        rows[partition] = tuple(own)
    reading = Reading(storage=storage, options=options, rows=rows)
    listed = frozenset(keys)
    for key in rows if path_filter != MATCH_ALL else keys:
        after = retired.get(key)
        process = reading.known_process(key, after=after).process
        if process is None or (key not in listed and published(with_excluded(process, path_filter))):
            continue
        if is_check(process.qualified_name):
            continue
        spans = reading.spans(key, after=after)
        yield RecordedProcess(
            key=key,
            process=process,
            seen=reduce(operator.or_, spans) if spans else None,
            last_supporter=_last_supporter(rows[key]),
            starts=_starts(rows[key]),
        )


def recorded(storage: Storage, options: PublishOptions) -> Iterator[tuple[Process, ProcessEntity]]:
    """All recorded processes as they should be now, with the entities that the catalog should hold; asset matches are
    remembered ones, the catalog is not asked.
    """
    for each in recorded_processes(storage, options):
        keys = (asset.key for asset in (*each.process.inputs, *each.process.outputs))
        matches = read_matches(storage, keys)
        published_process = published(each.process)
        entity = published_process and resolved_entity(published_process, matches, with_indirect=options.with_indirect)
        if entity:
            yield each.process, entity


def on_found_assets(storage: Storage, process: Process) -> Process | None:
    """A process with its assets replaced by their remembered matches; None where inputs and outputs match one asset."""
    keys = (asset.key for asset in (*process.inputs, *process.outputs))
    return resolve_names(process, read_matches(storage, keys))


def _supporters(rows: Iterable[Row]) -> Iterator[Entries[Span]]:
    """The supporters of each contribution in these rows."""
    for row in rows:
        if not row.key.endswith(f"|{RESOLVE_TOGETHER}"):
            yield ContributionRecord.without_content(row).supporters


def _last_supporter(rows: Iterable[Row]) -> str:
    """The run that last supported a process and did not retract that."""
    given = ((each.at, run) for some in _supporters(rows) for run, each in some.items() if not each.retracted)
    return max(given, default=(None, ""))[1]


def _starts(rows: Iterable[Row]) -> tuple[datetime, ...]:
    """When each run began to support a process that it has not retracted."""
    return tuple(sorted({span.first for some in _supporters(rows) for span in contents(some)}))


def _last_runs(rows: Iterable[Row]) -> tuple[str, ...]:
    """The runs that last supported or retracted a process."""
    given = ((each.at, run) for some in _supporters(rows) for run, each in some.items())
    return tuple(dict.fromkeys(run for _, run in nlargest(_MAX_RUNS, given)))


def plan_for(reading: Reading, queue_entry: QueueEntry) -> Plan:
    """Plan a queued process. The ledger is read before its contributions, except for those that are cached."""
    began = time.time_ns()
    entry = ledger_entry(reading.storage, queue_entry.process)
    total = reading.current(queue_entry.process, after=entry.retired)
    is_reported = reading.options.telemetry is not SILENT
    runs = _last_runs(reading.contributions(queue_entry.process)) if is_reported else ()
    process = total.process
    entity = process_entity(process, with_indirect=reading.options.with_indirect) if process else None
    plan = Plan(
        queue_entry=queue_entry,
        entry=entry,
        entity=entity,
        process=process,
        unresolved_fingerprint=entity.fingerprint if entity else "",
        revisit=total.revisit,
        runs=runs,
        began=began,
    )
    if plan.unchanged or process is None:
        return plan
    return replace(plan, last_supporter=_last_supporter(reading.contributions(queue_entry.process)))
