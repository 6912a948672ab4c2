"""The outcome of each run and of its events, from the rows of `runs`, `contributions`, `ledger` and the publish queue.

Memory: a few hundred bytes a run. For applications with lifecycle events (tables dropped, renamed, emptied) also their
packed contributions, since staging elimination looks at all of them together.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from sys import intern
from typing import TypeVar

from shared.errors import ContentLost
from shared.events.archive_index import CLOSED
from shared.events.run_rows import RunRows
from shared.model import Contribution
from shared.records.application.entries import lifecycle_in
from shared.records.application.process_index import RESOLVE_TOGETHER
from shared.records.application.record import resolves_together
from shared.records.digest_set import contains, short, shorts
from shared.records.ledger import LedgerEntry
from shared.records.publish_queue import QueueEntry
from shared.records.run_state import ContributionRecord, RunState, readable_run_state
from shared.records.states import EventState, LedgerState, State
from shared.reporting.column_sources import ColumnSource, column_source
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTRIBUTIONS, RUNS, StoredEvent, digest_of, process_key
from shared.translation.application.lifecycle import LifecycleEvents
from shared.translation.reference import NO_PROCESS
from shared.translation.staging_elimination import eliminate_staging

T = TypeVar("T")
Progress = Callable[[str, int], None]
"""Called with the name of what is being read and how many more rows or blobs of it were read."""

_PROGRESS_STEP = 500


def counted(progress: Progress, what: str, items: Iterable[T]) -> Iterator[T]:
    """The same items; calls `progress` every 500 items and at the end."""
    number = 0
    for number, item in enumerate(items, start=1):
        if number % _PROGRESS_STEP == 0:
            progress(what, _PROGRESS_STEP)
        yield item
    progress(what, number % _PROGRESS_STEP)


class Waiting(StrEnum):
    """What an event waits for."""

    END = "the end of the run"
    PARSER = "the parser"
    CATALOG = "the catalog"
    REFUSED = "a catalog that refuses the process"
    SHADOW = "the end of shadow mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class CondensedRun:
    """A run's row, condensed. `state` is empty while the run is not processed; `merged` are the digests of its merged
    events; `processes` the processes that it contributes to, by application run; `columns` who gave their columns.

    `job` is the job name of its first event, `other_jobs` those of its other events where they differ.
    """

    state: str
    reason: str
    merged: "array[int]"
    processes: tuple[tuple[str, "array[int]"], ...]
    job: str
    other_jobs: Mapping[int, str] | None
    closed: bool = False
    columns: ColumnSource | None = None

    def job_of(self, event: StoredEvent) -> str:
        """The job name of an event."""
        return self.other_jobs.get(short(event.digest), self.job) if self.other_jobs else self.job


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStates:
    """Processes by state: `written` to the catalog; `queued` to be published, of which the catalog `refused` some;
    `held` back by shadow mode; and `reasons` why the catalog holds none of some.
    """

    written: frozenset[int] = frozenset()
    queued: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    reasons: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, ledger: Sequence[LedgerEntry], queue: Sequence[QueueEntry], held: Iterable[str]) -> "ProcessStates":
        """From entries of the ledger and of the publish queue, and the keys that shadow mode holds back."""
        return cls(
            written=frozenset(short(each.process) for each in ledger if each.state is LedgerState.WRITTEN),
            queued=frozenset(_number(each.process) for each in queue if not each.revisit),
            refused=frozenset(_number(each.process) for each in queue if each.isolated),
            held=frozenset(short(key) for key in held if "|" not in key),
            reasons={short(each.process): each.why for each in ledger if each.why},
        )


def _number(key: str) -> int:
    """The process of a queue entry. Entries of data sets (`asset|…`) get a number that no process has."""
    return short(digest_of(key.encode())) if "|" in key else short(key)


@dataclass(slots=True, kw_only=True)
class RunOutcomes:
    """Outcomes of runs, and what staging elimination left of the processes of applications with `lifecycle` events:
    `remaining` maps an application run and one of its processes to those that stand for it in the catalog, `names`
    these to their qualified names.
    """

    runs: dict[str, CondensedRun] = field(default_factory=dict)
    lifecycle: dict[str, LifecycleEvents] = field(default_factory=dict)
    remaining: dict[tuple[str, int], frozenset[int]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, storage: Storage, progress: Progress) -> "RunOutcomes":
        """Of all runs. A state whose blob is lost counts as none: `verify` finds it."""
        found = cls()
        for run_id, rows in groupby(counted(progress, "runs", storage.scan(RUNS)), key=lambda row: row.partition):
            found.add(storage, run_id, rows)
        if found.lifecycle:
            found.add_remaining(storage, counted(progress, "contributions", storage.scan(CONTRIBUTIONS)))
        return found

    def add(self, storage: Storage, run_id: str, rows: Iterable[Row]) -> None:
        """Add a run by the rows of its partition."""
        found = RunRows.of(run_id, rows)
        if found.application and resolves_together(found.application):
            self.lifecycle[run_id] = lifecycle_in(storage, found.entries)
        jobs = {place.digest: intern(str(row.values.get("job", ""))) for place, row in found.events.items()}
        archived_job = intern(str(found.archived[-1].values["job"])) if found.archived else ""
        state = readable_run_state(found.state, storage)
        if jobs or state:
            self.runs[run_id] = _outcome(state, jobs, archived_job)

    def add_remaining(self, storage: Storage, contributions: Iterable[Row]) -> None:
        """Apply staging elimination to the contributions of applications with lifecycle events."""
        rows: dict[str, list[Row]] = {run: [] for run in self.lifecycle}
        for row in contributions:
            application_run, _, digest = row.key.partition("|")
            if application_run in rows and digest != RESOLVE_TOGETHER:
                rows[application_run].append(row)
        found: dict[tuple[str, int], set[int]] = {}
        for run, own in rows.items():
            for each in eliminate_staging([*_contributions(storage, own)], self.lifecycle[run]):
                now = found.setdefault((run, short(process_key(each.contribution.content.qualified_name))), set())
                if each.remains:
                    name = each.remains.content.qualified_name
                    now.add(short(process_key(name)))
                    self.names[short(process_key(name))] = name
        self.remaining |= {key: frozenset(now) for key, now in found.items()}

    def processes_of(self, run: CondensedRun) -> tuple[frozenset[int], frozenset[int]]:
        """The processes that a run contributes to, and those that stand for them after staging elimination."""
        own = frozenset(process for _, processes in run.processes for process in processes)
        now = frozenset(
            each
            for by, processes in run.processes
            for process in processes
            for each in (self.remaining.get((by, process), (process,)) if by in self.lifecycle else (process,))
        )
        return own, now

    def outcome_of(self, event: StoredEvent, processes: ProcessStates) -> tuple[EventState, str]:
        """An event's state (published, skipped, waiting or dead) and, unless it is published, the reason."""
        run = self.runs.get(event.run_id)
        if run is None or run.state == _NOT_BEGUN:
            return EventState.WAITING, Waiting.PARSER if event.end else Waiting.END
        merged = contains(run.merged, short(event.digest))
        if run.closed and not merged:
            return EventState.SKIPPED, CLOSED
        if not run.state or not merged:
            return EventState.WAITING, Waiting.PARSER
        if run.state == State.WAITING:
            return EventState.WAITING, Waiting.END
        if run.state != State.CONTRIBUTED:
            return EventState(run.state), run.reason
        return self._published(run, processes)

    def _published(self, run: CondensedRun, processes: ProcessStates) -> tuple[EventState, str]:
        own, now = self.processes_of(run)
        if not processes.queued.isdisjoint(now | own):
            return EventState.WAITING, Waiting.CATALOG if processes.refused.isdisjoint(now | own) else Waiting.REFUSED
        if not processes.held.isdisjoint(now | own):
            return EventState.WAITING, Waiting.SHADOW
        if not processes.written.isdisjoint(now):
            return EventState.PUBLISHED, ""
        return EventState.SKIPPED, min(
            (processes.reasons[each] for each in now if each in processes.reasons), default=NO_PROCESS
        )


_NOT_BEGUN = "?"
"""In place of a state: no worker has begun to process the run."""


def _outcome(state: RunState | None, jobs: Mapping[str, str], archived_job: str) -> CondensedRun:
    job = next(iter(jobs.values()), archived_job)
    others = {short(digest): each for digest, each in jobs.items() if each != job}
    processes: dict[str, list[str]] = {}
    for process, by, _ in state.current if state else ():
        processes.setdefault(intern(by), []).append(process)
    return CondensedRun(
        state=_NOT_BEGUN if state is None else intern(state.verdict.value) if state.settled else "",
        reason=intern(str(state.reason)) if state else "",
        merged=shorts(state.merged if state else ()),
        processes=tuple((by, shorts(keys)) for by, keys in processes.items()),
        job=job,
        other_jobs=others or None,
        closed=state is not None and state.closed is not None,
        columns=column_source(state.facts) if state and state.settled else None,
    )


def _contributions(storage: Storage, rows: Iterable[Row]) -> Iterator[Contribution]:
    for row in rows:
        try:
            contribution = ContributionRecord.of(row, storage).contribution
        except ContentLost:
            continue  # as for a state
        if contribution:
            yield contribution
