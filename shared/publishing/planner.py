"""Planning: what one dirty process should be in the catalog now, from all that is on record. Reads only."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import nlargest

import msgspec
from msgspec import structs

from shared.atlas.entities import ProcessEntity, process_entity
from shared.model import ApplicationTimes, Asset, Contribution, Process, Span
from shared.publishing.options import PublishOptions
from shared.publishing.resolved_process import final_entity, with_names
from shared.records.application_entries import lifecycle_and_links
from shared.records.asset_matches import read_matches
from shared.records.ledger import LedgerEntry, ledger_entry
from shared.records.process_index import RESOLVE_TOGETHER, contributions_of
from shared.records.publish_queue import QueueEntry
from shared.records.run_state import ContributionRecord, RunState
from shared.records.states import LedgerState
from shared.storage.port import Row, Storage
from shared.storage_layout import (
    CONTRIBUTIONS,
    LEDGER,
    PROCESS_REF,
    QUEUE_PARTITION,
    QUEUED_ASSET,
    RUNS,
    SHADOW,
    STATE,
    process_key,
    processes_written_by,
    stored_from_row,
)
from shared.telemetry.port import SILENT
from shared.translation.aggregate import AggregatedProcess, aggregate
from shared.translation.application.staging_elimination import StagingResult, eliminate_staging
from shared.translation.path_filter import filter_paths

_RUNS_TOLD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to happen to one dirty process: `process` and its `entity` are None when the catalog should hold
    nothing. The entity has our own names for its assets until they are found, and `said` is its fingerprint as long;
    `runs` are those that spoke last of it, `speaker` the one that spoke last of what changes, and `began` is when the
    plan was begun (nanoseconds of the clock).
    """

    dirty: QueueEntry
    entry: LedgerEntry
    entity: ProcessEntity | None
    process: Process | None = None
    said: str = ""
    assets: tuple[Asset, ...] = ()
    revisit: datetime | None = None
    runs: tuple[str, ...] = ()
    speaker: str = ""
    began: int = 0

    @property
    def unchanged(self) -> bool:
        """Whether the catalog holds it already."""
        if self.entity is None:
            return self.entry.state is LedgerState.NOTHING
        is_known = bool(self.entry.fingerprint) and self.entry.unresolved_fingerprint == self.said
        return self.entry.state is LedgerState.WRITTEN and is_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read for one batch, once for many processes: the rows of contributions by process, what remains of what
    application runs with fates said, and what is stored of application runs themselves.

    It may be older than the ledger, but not than the dirty marks that it is used for: what is said later renews the
    mark, which a plan then misses.
    """

    rows: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    remains: dict[str, tuple[StagingResult, ...]] = field(default_factory=dict)
    known: dict[str, ApplicationTimes] = field(default_factory=dict)

    def contributions(self, storage: Storage, process: str) -> tuple[Row, ...]:
        """All rows of a process."""
        if process not in self.rows:
            self.rows[process] = tuple(storage.partition(CONTRIBUTIONS, process))
        return self.rows[process]


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """What is on record of a process: rows whose contents are not read yet, and what remains of what counts only with
    the rest of what its application run says.
    """

    rows: tuple[tuple[Row, ContributionRecord], ...]
    spoken: tuple[tuple[str, Contribution], ...]

    def times(self) -> Iterator[tuple[str, Span]]:
        """When each application run spoke."""
        for _, record in self.rows:
            if record.seen:
                yield record.application_run, record.seen
        for run, each in self.spoken:
            yield run, each.seen


def _said(storage: Storage, process: str, reading: Reading, after: datetime | None) -> _Said:
    """What was said of a process (by key), and last of all `after` a time, where one is given."""
    rows: list[tuple[Row, ContributionRecord]] = []
    fated: set[str] = set()
    for row in reading.contributions(storage, process):
        application_run, _, digest = row.key.partition("|")
        if digest == RESOLVE_TOGETHER:
            fated.add(application_run)
        else:
            rows.append((row, ContributionRecord.without_content(row)))
    spoken = [(run, each) for run in sorted(fated) for each in _remaining(storage, run, process, reading)]
    return _Said(
        rows=tuple(
            (row, record)
            for row, record in rows
            if record.application_run not in fated and (after is None or (record.seen and record.seen.last > after))
        ),
        spoken=tuple((run, each) for run, each in spoken if after is None or each.seen.last > after),
    )


def last_said(storage: Storage, process: str, reading: Reading) -> datetime | None:
    """When the newest word was said that stands of a process (by key); None when none does."""
    return max((span.last for _, span in _said(storage, process, reading, None).times()), default=None)


def current(
    storage: Storage, process: str, how: PublishOptions, reading: Reading, *, after: datetime | None = None
) -> AggregatedProcess:
    """A process (by key) as it should be now, added up from all that is on record of it; from what was said `after` it
    was retired, if it was. What was read before is not read again.
    """
    known = _said(storage, process, reading, after)
    spans: dict[str, Span] = {}
    for run, seen in known.times():
        spans[run] = spans[run] | seen if run in spans else seen
    facts = _facts(storage, spans, how, reading)
    said = [each for run, each in known.spoken if run in facts]
    said += [
        each
        for row, record in known.rows
        if record.application_run in facts
        for each in (ContributionRecord.of(row, storage).contribution,)
        if each
    ]
    total = aggregate(said, facts, now=how.now(), patience=how.patience)
    return structs.replace(total, process=filter_paths(total.process, how.paths))


def _remaining(storage: Storage, application_run: str, process: str, reading: Reading) -> Iterator[Contribution]:
    """What remains of what an application run says of a process (by key), as its data sets are now."""
    if application_run not in reading.remains:
        reading.remains[application_run] = what_remains(storage, application_run, reading)
    for each in reading.remains[application_run]:
        if each.remains and process_key(each.remains.content.qualified_name) == process:
            yield each.remains


def what_remains(storage: Storage, application_run: str, reading: Reading | None = None) -> tuple[StagingResult, ...]:
    """All that an application run says, and what remains of it as its data sets are now."""
    fates, links = lifecycle_and_links(storage, application_run)
    said = (
        ContributionRecord.of(row, storage).contribution
        for link in links
        for row in _said_of(storage, link.key.removeprefix(PROCESS_REF), application_run, reading)
    )
    return eliminate_staging([each for each in said if each], fates)


def _said_of(storage: Storage, process: str, application_run: str, reading: Reading | None) -> Iterator[Row]:
    """What an application run says of a process. Whoever reads for a batch will most often need the rest of it too."""
    if reading is None:
        return (row for row, _ in contributions_of(storage, process, application_run))
    mine = f"{application_run}|"
    rows = reading.contributions(storage, process)
    return (row for row in rows if row.key.startswith(mine) and row.key != f"{mine}{RESOLVE_TOGETHER}")


def recorded(storage: Storage, how: PublishOptions) -> Iterator[tuple[Process, ProcessEntity]]:
    """Every process on our record as it should be now, with the entity that the catalog should hold of it, as far as
    it is remembered what its assets are there.
    """
    reading = Reading()
    retired = {row.partition: LedgerEntry.of(row).retired for row in storage.scan(LEDGER)}
    shadowed = (row.key for row in storage.partition(SHADOW, QUEUE_PARTITION) if not row.key.startswith(QUEUED_ASSET))
    for key in (*retired, *(each for each in shadowed if each not in retired)):
        process = current(storage, key, how, reading, after=retired.get(key)).process
        keys = (asset.key for asset in (*process.inputs, *process.outputs)) if process else ()
        entity = process and final_entity(process, read_matches(storage, keys), with_indirect=how.with_indirect)
        if process and entity:
            yield process, entity


def on_found_assets(storage: Storage, process: Process) -> Process | None:
    """A process on the assets that the catalog was found to have, as far as that is remembered; None where what it
    reads and what it writes are one of them.
    """
    keys = (asset.key for asset in (*process.inputs, *process.outputs))
    return with_names(process, read_matches(storage, keys))


def _speaker(rows: Iterable[Row]) -> str:
    """The run that spoke last of a process, and stands by it."""
    records = (ContributionRecord.without_content(row) for row in rows if not row.key.endswith(f"|{RESOLVE_TOGETHER}"))
    words = [(word.at, run) for record in records for run, word in record.supporters.items() if not word.retracted]
    return max(words)[1] if words else ""


def _last_speakers(rows: Iterable[Row]) -> tuple[str, ...]:
    """The runs that spoke last of a process, or took back what they had said."""
    records = (ContributionRecord.without_content(row) for row in rows if not row.key.endswith(f"|{RESOLVE_TOGETHER}"))
    words = ((word.at, run) for record in records for run, word in record.supporters.items())
    return tuple(dict.fromkeys(run for _, run in nlargest(_RUNS_TOLD, words)))


def plan_for(storage: Storage, how: PublishOptions, dirty: QueueEntry, reading: Reading | None = None) -> Plan:
    """The plan for a dirty process. The ledger is read before what is on record of it, but for what was read before."""
    began = time.time_ns()
    entry = ledger_entry(storage, dirty.process)
    reading = reading or Reading()
    total = current(storage, dirty.process, how, reading, after=entry.retired)
    told = how.telemetry is not SILENT
    runs = _last_speakers(reading.contributions(storage, dirty.process)) if told else ()
    process = total.process
    entity = process_entity(process, with_indirect=how.with_indirect) if process else None
    plan = Plan(
        dirty=dirty,
        entry=entry,
        entity=entity,
        process=process,
        said=entity.fingerprint if entity else "",
        assets=(*process.inputs, *process.outputs) if process else (),
        revisit=total.revisit,
        runs=runs,
        began=began,
    )
    if plan.unchanged or process is None:
        return plan
    return replace(plan, speaker=_speaker(reading.contributions(storage, dirty.process)))


def _facts(
    storage: Storage, spans: Mapping[str, Span], how: PublishOptions, reading: Reading
) -> dict[str, ApplicationTimes]:
    """What is stored of the application runs that may count, by run; `spans` tells when each spoke.

    They are looked at latest first. One that ended by COMPLETE and began after another had last spoken supersedes that
    one, whatever else is known of it: there the looking ends, however many older runs there are.
    """
    if len(spans) == 1:
        ((run, span),) = spans.items()
        if span.last - span.first <= how.patience.unseen:
            return {run: ApplicationTimes()}  # alone and short: nothing can leave, whatever is known of it
    facts: dict[str, ApplicationTimes] = {}
    superseded_before: datetime | None = None
    for run in sorted(spans, key=lambda each: (spans[each].last, each), reverse=True):
        if superseded_before and spans[run].last < superseded_before:
            break
        if run not in reading.known:
            reading.known[run] = _known(storage, run)
        known = reading.known[run]
        if known.ended == "COMPLETE":
            began = min(known.first or spans[run].first, spans[run].first)
            superseded_before = max(superseded_before or began, began)
        elif known.ended is None:
            own = spans[run]
            last = max(own.last, known.last or own.last)
            if last + how.patience.quiet <= how.now():
                last = _last_activity(storage, run, last)
            known = structs.replace(known, first=known.first or own.first, last=last)
        facts[run] = known
    return facts


def _known(storage: Storage, application_run: str) -> ApplicationTimes:
    """What is stored of an application run's own events: a point read once it has ended."""
    found = storage.read(RUNS, application_run, STATE)
    state = RunState.of(found, storage) if found else None
    if state and state.settled and state.seen:
        return ApplicationTimes(first=state.seen.first, last=state.seen.last, ended=state.end)
    found_events = storage.partition(RUNS, application_run, since="event|", before="event|~")
    rows = (stored_from_row(application_run, row.key) for row in found_events)
    times = [place.time for place in rows if place]
    return ApplicationTimes(
        first=min(times, default=None), last=max(times, default=None), ended=state.end if state else None
    )


def _last_activity(storage: Storage, application_run: str, last: datetime) -> datetime:
    """When an application run that seems quiet last wrote anything: also other processes than the one in question."""
    for process in processes_written_by(storage, application_run):
        for _, record in contributions_of(storage, process, application_run):
            last = max(last, record.seen.last) if record.seen else last
    return last
