"""A round of forwarding: marks become entries of the outboxes, and each target gets what is due for it.

A lease lets one worker forward at a time. One that lost it may still send what is old by then: its step in the outbox
is refused, and the run is sent again.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial

from shared.concurrency import ParallelMap
from shared.errors import ContentLost
from shared.forwarding.content import DecidedRun, RunReader, Target
from shared.forwarding.outbox import (
    OutboxEntry,
    RunState,
    TargetRun,
    TargetStatus,
    bury,
    drop,
    due_entries,
    enqueue,
    forget,
    has_entries,
    old_runs,
    pause_row,
    postpone,
    record_delivery,
    statuses,
    target_run,
)
from shared.forwarding.rules import ForwardRules, Mode, TargetRule
from shared.http_errors import Answer, Never, NotNow, Taken
from shared.openlineage.selection import MATCH_ALL, GlobFilter
from shared.outbox import MAX_KEPT, Receiver, deliver
from shared.records.control import Checkpoint
from shared.records.publish_queue import FORWARD_KIND, Mark, clear_marks, forward_marks, leave_marks
from shared.storage.port import LeaseSession, Storage, session_of
from shared.telemetry.port import Fact

_LOG = logging.getLogger("throughline.forward")
_LEASE = "forward"
_PLANNING = 1 / 3
"""The share of a session that marks may take; the rest is for sending."""
LONGEST_WAIT = timedelta(hours=1)
"""A run that keeps changing is sent after so long: a stream is never quiet."""
MAX_SENT = 1000
"""Runs that a target gets in one round."""
FAILURES_TO_PAUSE = 3
"""Runs in a row that a target does not take, until it is left alone for a while."""
_LOST_AFTER = timedelta(days=1)
"""A mark whose commit never came is dropped after so long: the commit that took its place left one of its own."""
_REMEMBERED = timedelta(days=30)
"""What a target has of a run is looked at after so long, and forgotten with the run."""
_CLEANED = Checkpoint(name="forward", position=datetime)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardOptions:
    """How to forward.

    - `rules`: which run goes where. `targets`: the open targets by name.
    - `quiet`: how long a run must have been without a change. `paths`: the data sets that may leave.
    - `now`: the clock. `seconds`: a monotonic clock. `parallel`: targets at a time.
    """

    rules: ForwardRules
    targets: Mapping[str, Target]
    quiet: timedelta = timedelta(minutes=10)
    paths: GlobFilter = MATCH_ALL
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = time.monotonic
    parallel: ParallelMap = field(default_factory=ParallelMap)


class Outcome(StrEnum):
    """What became of an entry in a round."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    """Refused for good: a dead letter."""
    FAILED = "failed"
    """The target did not take it, and gets it again later."""
    EMPTY = "empty"
    """Nothing of it is to be sent any more."""
    REPEATED = "repeated"
    """It changed while it was sent, and is sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarded:
    """The result of a round: runs that were `delivered`, `refused` or `failed`, and the `targets` after it. `marked`:
    runs that wait to be quiet.
    """

    delivered: int = 0
    refused: int = 0
    failed: int = 0
    marked: int = 0
    targets: tuple[TargetStatus, ...] = ()

    def facts(self, now: datetime) -> dict[str, Fact]:
        """As facts of telemetry: also what waits, for how many seconds the oldest does, and dead letters."""
        oldest = min((target.oldest for target in self.targets if target.oldest), default=now)
        return {
            "forward_delivered": self.delivered,
            "forward_refused": self.refused,
            "forward_failed": self.failed,
            "forward_marked": self.marked,
            "forward_waiting": sum(target.waiting for target in self.targets),
            "forward_oldest": round((now - oldest).total_seconds(), 3),
            "forward_dead": sum(target.dead for target in self.targets),
        }


def forward_due(storage: Storage, options: ForwardOptions | None) -> dict[str, Fact]:
    """A round for the sweeper: its facts for telemetry; none without options, and nothing is called. Raises
    StorageUnavailable; the next round continues.
    """
    if options is None:
        return {}
    forwarded = forward(storage, options)
    return forwarded.facts(options.now()) if forwarded else {}


def forward(storage: Storage, options: ForwardOptions) -> Forwarded | None:
    """Do one round; None if another worker does one. Raises StorageUnavailable."""
    with session_of(storage, _LEASE, options.seconds) as session:
        return _Round(storage=storage, options=options, session=session).run() if session else None


def planned(storage: Storage, options: ForwardOptions) -> tuple[tuple[str, DecidedRun], ...]:
    """The runs that marks name, quiet or not, with each target that would get them. Writes nothing."""
    reader = RunReader(storage=storage, paths=options.paths)
    marks = sorted({(mark.application, mark.target) for mark in forward_marks(storage)})
    return tuple(
        (target.name, decided_run)
        for application, run_id in marks
        if (decided_run := reader.decided_run(application, run_id))
        for target in options.rules.targets
        if _is_wanted(target, decided_run, target_run(storage, target.name, run_id), options.rules)
    )


def mark_again(storage: Storage, runs: Iterable[tuple[str, str]], now: datetime) -> int:
    """Leave a mark for each run (its application and id), which is quiet at once. How many."""
    marks = [
        Mark(kind=FORWARD_KIND, target=run_id, application=application, version=0, left=now - LONGEST_WAIT)
        for application, run_id in runs
    ]
    leave_marks(storage, marks)
    return len(marks)


def _is_wanted(target: TargetRule, decided_run: DecidedRun, current: TargetRun | None, rules: ForwardRules) -> bool:
    """Whether a target is to get a run: by the rules or because it has some of it, and its content is new there."""
    job = decided_run.run.job or (current.job_key if current else None)
    if job is None:
        return False
    has = current is not None and bool(current.digest)
    if not has and target.name not in rules.targets_for(*job, decided_run.names):
        return False
    return current is None or current.digest != decided_run.digest(target, job)


@dataclass(slots=True, kw_only=True)
class _Round:
    storage: Storage
    options: ForwardOptions
    session: LeaseSession

    def run(self) -> Forwarded:
        """Marks first, so that what is sent is what they are about."""
        marked = self._plan()
        targets = [target for target in self.options.rules.targets if target.name in self.options.targets]
        outcomes = deliver(
            self.storage,
            [self._receiver(target) for target in targets],
            self.options.parallel,
            _LOG,
            now=self.options.now(),
            may_continue=self.session.may_continue,
        )
        self._clean(targets)
        return Forwarded(
            delivered=outcomes[Outcome.DELIVERED],
            refused=outcomes[Outcome.REFUSED],
            failed=outcomes[Outcome.FAILED],
            marked=marked,
            targets=statuses(self.storage, self.options.rules),
        )

    # --- marks

    def _plan(self) -> int:
        """Put quiet runs into the outboxes. Returns how many runs are not quiet yet."""
        now, reader = self.options.now(), RunReader(storage=self.storage, paths=self.options.paths)
        by_run: dict[tuple[str, str], list[Mark]] = {}
        for mark in forward_marks(self.storage):
            by_run.setdefault((mark.application, mark.target), []).append(mark)
        unquiet_runs, planned_marks = 0, list[Mark]()
        for (application, run_id), marks in sorted(by_run.items()):
            if not (self._is_quiet(marks, now) and self.session.may_continue(_PLANNING)):
                unquiet_runs += 1
            elif self._decide(reader, application, run_id, marks, now):
                planned_marks += marks
            else:
                unquiet_runs += 1
        clear_marks(self.storage, planned_marks)
        return unquiet_runs

    def _is_quiet(self, marks: Iterable[Mark], now: datetime) -> bool:
        times = [mark.left for mark in marks]
        return now - max(times) >= self.options.quiet or now - min(times) >= LONGEST_WAIT

    def _decide(self, reader: RunReader, application: str, run_id: str, marks: Iterable[Mark], now: datetime) -> bool:
        """Put a run into the outboxes of the targets that are to get it. False where its commit is still awaited, or
        its content can't be read now.
        """
        try:
            state = reader.state(application)
            if (state.version if state else 0) < max(mark.version for mark in marks):
                return now - min(mark.left for mark in marks) >= _LOST_AFTER
            decided_run = reader.decided_run(application, run_id)
        except ContentLost as error:
            _LOG.warning("run is forwarded later run=%s error=%s", run_id, error)
            return False
        for target in self.options.rules.targets if decided_run else ():
            current = target_run(self.storage, target.name, run_id)
            if decided_run and _is_wanted(target, decided_run, current, self.options.rules):
                enqueue(self.storage, target.name, run_id, application, now)
        return True

    # --- targets

    def _receiver(self, target: TargetRule) -> Receiver[OutboxEntry]:
        reader, name = RunReader(storage=self.storage, paths=self.options.paths), target.name
        return Receiver(
            kind="target",
            name=name,
            pause=pause_row(name),
            entries=partial(due_entries, self.storage, name, self.options.now()),
            has_entries=partial(has_entries, self.storage, name),
            offer=partial(self._offer, reader, target),
            label=lambda entry: f"run={entry.run_id}",
            most=MAX_SENT,
            failures=FAILURES_TO_PAUSE,
        )

    def _offer(self, reader: RunReader, target: TargetRule, entry: OutboxEntry) -> tuple[Outcome, Answer | None]:
        """Send a run as it is now."""
        now, current = self.options.now(), target_run(self.storage, target.name, entry.run_id)
        target_state = current
        try:
            decided_run = reader.decided_run(entry.application, entry.run_id)
            job = (decided_run.run.job if decided_run else None) or (current.job_key if current else None)
            if decided_run is None or job is None:
                drop(self.storage, entry, current)
                return Outcome.EMPTY, None
            new = TargetRun(run_id=entry.run_id, application=entry.application, state=RunState.OPEN, changed=now)
            target_state, answer = self._send(reader, target, decided_run, current or new, job)
            if isinstance(answer, Taken):
                digest = decided_run.digest(target, job)
                delivered_run = replace(new, digest=digest, namespace=job[0], job=job[1], events=target_state.events)
                if record_delivery(self.storage, entry, replace(delivered_run, etag=target_state.etag)):
                    return Outcome.DELIVERED, answer
                enqueue(self.storage, target.name, entry.run_id, entry.application, now)
                return Outcome.REPEATED, answer
        except ContentLost as error:
            answer = NotNow(why=str(error))
        if isinstance(answer, Never) or now - entry.since > MAX_KEPT:
            bury(self.storage, entry, target_state, answer.why, now)
            return Outcome.REFUSED, Never(why=answer.why)
        postpone(self.storage, entry, target_state, answer.why, now)
        return Outcome.FAILED, answer

    def _send(
        self,
        reader: RunReader,
        target: TargetRule,
        decided_run: DecidedRun,
        target_state: TargetRun,
        job: tuple[str, str],
    ) -> tuple[TargetRun, Answer]:
        """Send the events of a run, until one is not taken. Returns what the target has then, and the last answer."""
        is_raw = target.mode is Mode.RAW
        events = reader.raw(decided_run, target_state.has) if is_raw else reader.merged(decided_run, target, job)
        for event in events:
            answer = self.options.targets[target.name].send(event)
            if not isinstance(answer, Taken):
                return target_state, answer
            target_state = target_state.with_event(event.digest) if is_raw else target_state
        return target_state, Taken()

    def _clean(self, targets: Iterable[TargetRule]) -> None:
        """Once a day: forget what targets have of runs that are forgotten."""
        now = self.options.now()
        if now < (_CLEANED.load(self.storage) or now):
            return
        reader = RunReader(storage=self.storage, paths=self.options.paths)
        for target in targets:
            for run in old_runs(self.storage, target.name, now - _REMEMBERED):
                if not self.session.may_continue():
                    return
                if reader.decided_run(run.application, run.run_id) is None:
                    forget(self.storage, target.name, run)
        _CLEANED.save(self.storage, now + timedelta(days=1))
