"""Plans: what the catalog should hold of a process now. Reads only.

The publisher is the only writer of a process's partition. One query reads the ledger and the parts, which say what each
application contributes; parts that marks say are old are taken from the headers of their applications, and are written
together with the ledger.

A description shows facts of the process's last run. Only processes that are written need them.
"""

import gzip
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import groupby
from operator import or_

from msgspec import structs

from shared.applications.partition import read_record
from shared.applications.state import LatestRun, content_digest
from shared.atlas.entities import ProcessEntity, process_entity
from shared.errors import ThroughlineError
from shared.events.archive import DAMAGED
from shared.model import ApplicationTimes, Asset, Process, Span
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from shared.publishing.context import PublishContext, PublishOptions
from shared.publishing.headers import Headers, Part, PartContent, part_of
from shared.records.ledger import LedgerEntry
from shared.records.publish_queue import Mark, QueueEntry
from shared.records.states import LedgerState
from shared.storage.port import MAX_OPERATIONS, Operation, OperationKind, Row, Storage
from shared.storage_layout import CATALOG, EVENTS, PROCESSES, event_of_reference
from shared.translation.aggregate import (
    AggregatedProcess,
    SupersessionPolicy,
    aggregate,
    describe_run,
    published,
    with_excluded,
)

_COMPLETE = "COMPLETE"
_OPERATIONS = MAX_OPERATIONS // 2
"""Parts that are written, or forgotten, in one transaction: one of 48 KiB each leaves room for the ledger."""
_MAX_RUNS = 8
_BOTH = 2
LONGEST_WAIT_FOR_AN_END = timedelta(seconds=10)
"""As long as the plan listener lets an application wait for its plans; to write one takes it five seconds at most."""


class InFlight(Exception):  # noqa: N818 - no error: it is said of marks
    """Applications have left marks of versions that they have not committed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRows:
    """The partition of a process (by key): its ledger entry and its parts by application."""

    entry: LedgerEntry
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key of the process."""
        return self.entry.process

    @property
    def counting(self) -> dict[str, Part]:
        """The parts that contribute something after the retirement of the process, if it was retired."""
        retired = self.entry.retired
        return {
            application: part
            for application, part in self.parts.items()
            if part.seen_last and (retired is None or part.seen_last > retired)
        }

    @property
    def seen(self) -> Span | None:
        """When runs contributed, forgotten ones included; of a retired process since then."""
        spans = [part.seen for part in self.counting.values() if part.seen]
        forgotten = self.entry.forgotten.seen
        if forgotten and (self.entry.retired is None or forgotten.last > self.entry.retired):
            spans.append(forgotten)
        return reduce(or_, spans) if spans else None

    @classmethod
    def of(cls, process: str, rows: Iterable[Row]) -> "ProcessRows":
        """From the rows of its partition."""
        entry, parts = LedgerEntry(process=process), dict[str, Part]()
        for row in rows:
            if row.key == CATALOG:
                entry = LedgerEntry.of(row)
            else:
                parts[row.key] = Part.of(row)
        return cls(entry=entry, parts=parts)


def read_process(storage: Storage, process: str) -> ProcessRows:
    """The partition of a process (by key): one query."""
    return ProcessRows.of(process, storage.partition(PROCESSES, process))


def read_processes(storage: Storage) -> Iterator[ProcessRows]:
    """The partitions of all processes, page by page."""
    for process, rows in groupby(storage.scan(PROCESSES), key=lambda row: row.partition):
        yield ProcessRows.of(process, rows)


def superseding(
    parts: Collection[Part], now: datetime, patience: SupersessionPolicy, headers: Headers | None = None
) -> dict[str, ApplicationTimes]:
    """The times of the application runs that may count, by application: without those that others supersede for
    certain, whose contents need not be read.

    Latest first: an application that completed, or was quiet for long enough, and began after another one's last
    contribution supersedes that one. Activity elsewhere keeps an application from being quiet: `headers` tell of it.
    """
    times: dict[str, ApplicationTimes] = {}
    superseded_until: datetime | None = None
    latest_first = sorted(parts, key=lambda part: (part.seen_last or now, part.application), reverse=True)
    for part, seen_span in ((part, span) for part in latest_first if (span := part.seen)):
        if superseded_until and seen_span.last < superseded_until:
            break
        first, last = part.began or seen_span.first, max(seen_span.last, part.last or seen_span.last)
        if part.ended is None:
            last = max(last, part.active or last)
            if last + patience.quiet <= now and headers and not part.closed and len(parts) > 1:
                last = max(last, headers.active(part.application) or last)
        if part.ended == _COMPLETE or (part.ended is None and last + patience.quiet <= now):
            superseded_until = max(superseded_until or first, first)
        is_running = part.ended is None
        times[part.application] = ApplicationTimes(
            first=first if is_running else part.first, last=last if is_running else part.last, ended=part.ended
        )
    return times


def forgettable(
    parts: Collection[Part], now: datetime, patience: SupersessionPolicy, loaded: Mapping[str, PartContent]
) -> tuple[Part, ...]:
    """The parts that can never count again, the oldest first: what superseded them goes later. Pure.

    Those of applications that one which is closed without failure supersedes, and those of closed applications whose
    contents (`loaded`, by application) later closed ones contribute too.
    """
    gone_parts: list[Part] = []
    is_superseded = False
    last_seen_later: dict[str, datetime] = {}
    contributing = (part for part in parts if part.seen)
    for part in sorted(contributing, key=lambda part: (part.began or now, part.application), reverse=True):
        contributions = loaded[part.application].contributions if part.application in loaded else ()
        last_seen = (
            {content_digest(contribution.content): contribution.seen.last for contribution in contributions}
            if part.closed
            else {}
        )
        is_repeated = bool(last_seen) and all(
            digest in last_seen_later and last <= last_seen_later[digest] for digest, last in last_seen.items()
        )
        if is_superseded or is_repeated:
            gone_parts.append(part)
        if part.closed and not is_superseded:
            last_seen_later |= {
                digest: max(last, last_seen_later.get(digest, last)) for digest, last in last_seen.items()
            }
            last = max(moment for moment in (part.seen_last, part.last, part.active) if moment)
            is_superseded = part.ended == _COMPLETE or (part.ended is None and last + patience.quiet <= now)
    return tuple(reversed(gone_parts))[:_OPERATIONS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do with one queued process. `process` and `entity` are None when the catalog should hold nothing.

    The entity has the names of unresolved assets at first; `fingerprint` is the one with these. `is_pulled`: its parts
    changed, and the `writes` of these are not executed yet. `runs`: the last runs that contributed, the last one with
    its application and facts in `latest`; `began`: when planning began (nanoseconds of the clock); `imported`: whether
    it comes from the lake; `was_interrupted`: an earlier write has begun, and its result is unknown; `was_sent`: a call
    with it was refused, which may have written it all the same; `repeats`: it is written once more because an older
    call may have replaced it; `awaits`: until when a change is put off, because only one of the two
    listeners reported the end of its last run.
    """

    queue_entry: QueueEntry
    entry: LedgerEntry
    entity: ProcessEntity | None
    process: Process | None = None
    fingerprint: str = ""
    revisit: datetime | None = None
    is_pulled: bool = False
    writes: tuple[Operation, ...] = ()
    runs: tuple[str, ...] = ()
    latest: tuple[str, LatestRun] | None = None
    began: int = 0
    imported: bool = False
    was_interrupted: bool = False
    was_sent: bool = False
    repeats: bool = False
    awaits: datetime | None = None

    @property
    def name(self) -> str:
        """The qualified name of the process; empty if it was never written and there is none."""
        return self.process.qualified_name if self.process else self.entry.qualified_name

    @property
    def assets(self) -> tuple[Asset, ...]:
        """The assets of the process, before they are resolved."""
        return (*self.process.inputs, *self.process.outputs) if self.process else ()

    @property
    def is_kept(self) -> bool:
        """Whether it was imported and has no contributions here, which is no reason to remove it."""
        return self.process is None and self.entry.imported and self.entry.retired is None

    @property
    def unchanged(self) -> bool:
        """Whether the catalog holds exactly this already."""
        if self.repeats and not self.is_kept:
            return False
        if self.entity is None:
            return self.entry.state is LedgerState.NOTHING or self.is_kept
        return self.entry.state is LedgerState.WRITTEN and self.entry.fingerprint == self.fingerprint


def execute(storage: Storage, plan: Plan, entry: LedgerEntry | None = None) -> Plan | None:
    """Write the parts of a plan together with its ledger entry, or with another one: the plan with the entry as it is
    now; None where another worker wrote the ledger meanwhile, so that the plan is outdated.

    Each transaction replaces the ledger's row under its ETag, so of two publishers one is refused, whatever else they
    write.
    """
    if entry is None and not plan.is_pulled:
        return plan
    entry = entry or plan.entry
    for start in range(0, len(plan.writes) or 1, _OPERATIONS):
        kind = OperationKind.REPLACE if entry.etag else OperationKind.INSERT
        ledger = Operation(kind=kind, row=entry.row())
        etags = storage.transact(PROCESSES, [*plan.writes[start : start + _OPERATIONS], ledger])
        if etags is None:
            return None
        entry = replace(entry, etag=etags[-1])
    return replace(plan, writes=(), is_pulled=False, entry=entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Plans processes for one drain."""

    context: PublishContext
    headers: Headers

    def plan(self, queue_entry: QueueEntry, stored: ProcessRows | None = None) -> Plan:
        """Plan a queued process, as far as its marks are true: the plan's `queue_entry` has those that are. `stored`:
        its rows, if they were read. Raises InFlight where no mark is true, and ContentLost.
        """
        began, options = time.time_ns(), self.context.publishing
        rows = stored or read_process(self.context.storage, queue_entry.key)
        marks = tuple(mark for mark in queue_entry.marks if self._is_true(mark, rows))
        if queue_entry.marks and not marks:
            raise InFlight
        queue_entry = replace(queue_entry, marks=marks)
        rows, renewed = self._pulled(rows, marks)
        now = options.now()
        total, loaded = current(self.context.storage, rows, options, self.headers)
        process = published(total.process)
        entity = process_entity(process, with_indirect=options.with_indirect) if process else None
        gone_parts = forgettable(rows.parts.values(), now, options.patience, loaded)
        writes = tuple(self._writes(renewed, gone_parts))
        forgotten = rows.entry.forgotten
        for part in gone_parts:
            forgotten = forgotten.with_application(part.seen, part.loaded(self.context.storage).starts)
        landing = rows.entry.landing
        repeats = landing.must_repeat(now)
        latest = latest_runs(loaded)
        awaits = _awaited_until(queue_entry, latest, now) if rows.entry.had_both_ends else None
        has_both_ends = bool(latest and latest[0][1].ends == _BOTH)
        return Plan(
            queue_entry=queue_entry,
            entry=replace(rows.entry, forgotten=forgotten, had_both_ends=has_both_ends or awaits is not None),
            entity=entity,
            process=process,
            fingerprint=entity.fingerprint if entity else "",
            revisit=min(filter(None, (total.revisit, None if repeats else landing.repetition)), default=None),
            is_pulled=bool(renewed or gone_parts),
            writes=writes,
            runs=tuple(run.run_id for _, run in latest[:_MAX_RUNS]),
            latest=latest[0] if latest else None,
            began=began,
            was_interrupted=rows.entry.state is LedgerState.WRITING,
            repeats=repeats,
            awaits=awaits,
        )

    def _is_true(self, mark: Mark, rows: ProcessRows) -> bool:
        """Whether an application has committed the version of its mark."""
        stored = rows.parts.get(mark.application)
        return bool(stored and stored.version >= mark.version) or self.headers.reaches(mark)

    def _pulled(self, rows: ProcessRows, marks: Iterable[Mark]) -> tuple[ProcessRows, list[Part]]:
        """The rows with the parts of marked applications as their headers have them, and those parts."""
        renewed: dict[str, Part] = {}
        versions: dict[str, int] = {}
        for mark in marks:
            versions[mark.application] = max(mark.version, versions.get(mark.application, 0))
        for application, version in versions.items():
            stored = rows.parts.get(application)
            if stored is None:  # emptied parts are not kept, so no version says that a mark is old
                self.headers.confirm(application)
            if stored is None or stored.version < version:
                state, content = self.headers.state(application), self.headers.content(application, rows.key)
                renewed[application] = part_of(application, state, rows.key, content, stored.etag if stored else "")
        return replace(rows, parts={**rows.parts, **renewed}), list(renewed.values())

    def _writes(self, renewed: Iterable[Part], gone_parts: Collection[Part]) -> Iterator[Operation]:
        """The operations on parts: those without contributions are not stored."""
        forgotten = {part.application: part for part in (*(part for part in renewed if part.seen is None), *gone_parts)}
        for part in renewed:
            if part.application not in forgotten:
                kind = OperationKind.REPLACE if part.etag else OperationKind.INSERT
                yield Operation(kind=kind, row=part.row(self.context.storage))
        for part in forgotten.values():
            if part.etag:
                row = Row(partition=part.process, key=part.application, etag=part.etag)
                yield Operation(kind=OperationKind.DELETE, row=row)


def current(
    storage: Storage, rows: ProcessRows, options: PublishOptions, headers: Headers | None = None
) -> tuple[AggregatedProcess, dict[str, PartContent]]:
    """A process as its parts make it now, with EXCLUDED in place of inputs that path settings exclude, and the contents
    of the parts that may count, by application. Raises ContentLost.
    """
    counting = rows.counting
    times = superseding(counting.values(), options.now(), options.patience, headers)
    loaded = {application: counting[application].loaded(storage) for application in times}
    retired = rows.entry.retired
    contributions = [
        contribution
        for content in loaded.values()
        for contribution in content.contributions
        if retired is None or contribution.seen.last > retired
    ]
    total = aggregate(contributions, times, now=options.now(), patience=options.patience)
    return structs.replace(total, process=with_excluded(total.process, options.paths)), loaded


def _awaited_until(entry: QueueEntry, runs: Sequence[tuple[str, LatestRun]], now: datetime) -> datetime | None:
    """Until when the second end of the last of these runs is waited for, from the arrival of what is marked on; None
    where it has none, or both, or the time is over.
    """
    if not (entry.marks and entry.since and runs and 0 < runs[0][1].ends < _BOTH):
        return None
    until = entry.since + LONGEST_WAIT_FOR_AN_END
    return until if now < until else None


def latest_runs(loaded: Mapping[str, PartContent]) -> list[tuple[str, LatestRun]]:
    """The last run of each application, the latest first."""
    runs = [(application, content.latest) for application, content in loaded.items() if content.latest]
    return sorted(runs, key=lambda pair: (pair[1].time, pair[1].run_id), reverse=True)


_LOG = logging.getLogger("throughline.last_run")


def last_run(context: PublishContext, plan: Plan) -> str:
    """The facts of the last run in a few lines; empty where unknown. Its events are read where its SQL is shown."""
    if plan.latest is None or plan.process is None:
        return ""
    application, run = plan.latest
    statement = statement_of(context.storage, application, run.run_id) if context.publishing.with_statement else ""
    return describe_run(run.facts, plan.process, statement)


def statement_of(storage: Storage, application: str, run_id: str) -> str:
    """The SQL of a run of an application, from its events; empty where these were archived or can't be read."""
    try:
        record = read_record(storage, application, run_id)
        events = _events(storage, run_id, record.events) if record and not record.values else ()
    except (ThroughlineError, *DAMAGED) as error:
        _LOG.warning("statement not shown run=%s error=%s", run_id, error)
        return ""
    events = (*(record.values if record else ()), *events)
    return merge(events).statement if events else ""


def _events(storage: Storage, run_id: str, references: tuple[str, ...]) -> tuple[Event, ...]:
    blobs = (storage.get(EVENTS, event_of_reference(run_id, reference).blob) for reference in references)
    return tuple(decode(gzip.decompress(compressed)) for compressed in blobs if compressed)
