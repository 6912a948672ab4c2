"""What became of each run, from one scan of `runs` and, where data sets have fates, one of `contributions`.

A run is held in a few hundred bytes, whatever it said; of applications whose data sets have fates, also what they said,
as it is packed in its rows.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from sys import intern
from typing import TypeVar

from shared.errors import ContentLost
from shared.events.archive_index import ARCHIVED, CLOSED
from shared.model import Contribution
from shared.records.application_entries import holds_entries, lifecycle_in
from shared.records.application_record import resolves_together
from shared.records.digest_set import contains, short, shorts
from shared.records.process_index import RESOLVE_TOGETHER
from shared.records.run_state import ContributionRecord, RunState
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTRIBUTIONS, RUNS, STATE, StoredEvent, process_key, stored_from_row
from shared.translation.application.lifecycle import LifecycleEvents
from shared.translation.application.staging_elimination import eliminate_staging
from shared.translation.reference import NO_PROCESS

T = TypeVar("T")
Seen = Callable[[str, int], None]
"""Is told what is being read, and how many more of it were: for a bar."""

_SO_MANY = 500


def counted(seen: Seen, what: str, each: Iterable[T]) -> Iterator[T]:
    """These, and `seen` is told of them now and then."""
    number = 0
    for one in each:
        number += 1
        if number % _SO_MANY == 0:
            seen(what, _SO_MANY)
        yield one
    seen(what, number % _SO_MANY)


class Waiting(StrEnum):
    """What an event waits for."""

    END = "the end of its run"
    PARSER = "the parser"
    CATALOG = "the catalog"
    REFUSED = "a catalog that refuses its process"
    SHADOW = "the end of shadow mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWord:
    """What the table tells of a run: `verdict` is empty while it is not settled; `merged` are its events' digests;
    `spoken` the processes of which it speaks, by the application run for which it does.

    `job` is its first event's, `other_jobs` those of its other events where they differ.
    """

    verdict: str
    reason: str
    merged: "array[int]"
    spoken: tuple[tuple[str, "array[int]"], ...]
    job: str
    other_jobs: Mapping[int, str] | None
    closed: bool = False

    def job_of(self, event: StoredEvent) -> str:
        """The job's name of an event."""
        return self.other_jobs.get(short(event.digest), self.job) if self.other_jobs else self.job


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """The processes that are `written` to the catalog; those that are yet to be (`unsettled`), and those of them that
    the catalog `refused`; those that shadow mode keeps from it (`held`); and `why` some are not shown.
    """

    written: frozenset[int]
    unsettled: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    why: Mapping[int, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Verdicts:
    """All runs, and what became of the processes of applications whose data sets have fates: see `read`."""

    runs: dict[str, RunWord] = field(default_factory=dict)
    fates: dict[str, LifecycleEvents] = field(default_factory=dict)
    present: dict[tuple[str, int], frozenset[int]] = field(default_factory=dict)

    @classmethod
    def read(cls, storage: Storage, seen: Seen) -> "Verdicts":
        """From the tables. A state that can't be read, since a blob of it is gone, is as none: `verify` finds it."""
        found = cls()
        for run_id, rows in groupby(counted(seen, "runs", storage.scan(RUNS)), key=lambda row: row.partition):
            found._take(storage, run_id, rows)
        if found.fates:
            found.present = _present(storage, found.fates, seen)
        return found

    def _take(self, storage: Storage, run_id: str, rows: Iterator[Row]) -> None:
        """The rows of one run, in the order of their keys: the application's own comes before its fates."""
        jobs: dict[str, str] = {}
        state, fated, events, archived_job = None, False, False, ""
        words: list[Row] = []
        for row in rows:
            if row.key == STATE:
                state = _state(storage, row)
            elif resolves_together(row):
                fated = True
            elif fated and holds_entries(row):
                words.append(row)
            elif row.key.startswith(ARCHIVED):
                archived_job = intern(str(row.values["job"]))
            elif place := stored_from_row(run_id, row.key):
                events = True
                jobs[place.digest] = intern(str(row.values.get("job", "")))
        if fated:
            self.fates[run_id] = lifecycle_in(storage, words)
        if events or state:
            self.runs[run_id] = _word(state, jobs, archived_job)

    def of(self, event: StoredEvent, processes: Processes) -> tuple[str, str]:
        """An event's state and, for skipped and waiting, the reason."""
        run = self.runs.get(event.run_id)
        if run is None or run.verdict == _UNKNOWN:
            return "waiting", Waiting.PARSER if event.end else Waiting.END
        if run.closed and not contains(run.merged, short(event.digest)):
            return "skipped", CLOSED
        if not run.verdict or not contains(run.merged, short(event.digest)):
            return "waiting", Waiting.PARSER
        if run.verdict == "waiting":
            return "waiting", Waiting.END
        if run.verdict != "published":
            return run.verdict, run.reason
        own = {process for _, spoken in run.spoken for process in spoken}
        now = {
            each
            for by, spoken in run.spoken
            for process in spoken
            for each in (self.present.get((by, process), (process,)) if by in self.fates else (process,))
        }
        if not processes.unsettled.isdisjoint(now | own):
            refused = not processes.refused.isdisjoint(now | own)
            return "waiting", Waiting.REFUSED if refused else Waiting.CATALOG
        if not processes.held.isdisjoint(now | own):
            return "waiting", Waiting.SHADOW
        if not processes.written.isdisjoint(now):
            return "published", ""
        return "skipped", min((processes.why[each] for each in now if each in processes.why), default=NO_PROCESS)


_UNKNOWN = "?"
"""In the place of a verdict: nobody has begun to settle the run."""


def _state(storage: Storage, row: Row) -> RunState | None:
    try:
        return RunState.of(row, storage)
    except ContentLost:
        return None  # all that it held is found anew when `verify --fix` settles the run


def _word(state: RunState | None, jobs: Mapping[str, str], archived_job: str) -> RunWord:
    job = next(iter(jobs.values()), archived_job)
    closed = state is not None and state.closed is not None
    others = {short(digest): each for digest, each in jobs.items() if each != job}
    spoken: dict[str, list[str]] = {}
    for process, by, _ in state.current if state else ():
        spoken.setdefault(intern(by), []).append(process)
    return RunWord(
        verdict=_UNKNOWN if state is None else intern(state.verdict.value) if state.settled else "",
        reason=intern(str(state.reason)) if state else "",
        merged=shorts(state.merged if state else ()),
        spoken=tuple((by, shorts(processes)) for by, processes in spoken.items()),
        job=job,
        other_jobs=others or None,
        closed=closed,
    )


def _said(storage: Storage, rows: Iterable[Row]) -> Iterator[Contribution]:
    for row in rows:
        try:
            said = ContributionRecord.of(row, storage).contribution
        except ContentLost:
            continue  # as for a state
        if said:
            yield said


def _present(
    storage: Storage, fates: Mapping[str, LifecycleEvents], seen: Seen
) -> dict[tuple[str, int], frozenset[int]]:
    """By application run and process of which it spoke: the processes that this is now, if any."""
    rows: dict[str, list[Row]] = {run: [] for run in fates}
    for row in counted(seen, "contributions", storage.scan(CONTRIBUTIONS)):
        application_run, _, digest = row.key.partition("|")
        if application_run in rows and digest != RESOLVE_TOGETHER:
            rows[application_run].append(row)
    found: dict[tuple[str, int], set[int]] = {}
    for run, own in rows.items():
        for each in eliminate_staging([*_said(storage, own)], fates[run]):
            now = found.setdefault((run, short(process_key(each.said.content.qualified_name))), set())
            if each.remains:
                now.add(short(process_key(each.remains.content.qualified_name)))
    return {key: frozenset(now) for key, now in found.items()}
