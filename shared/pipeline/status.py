"""The counts that reconcile: every event received is published, skipped, waiting or dead, and each exactly once.

Counted against the blobs themselves, which are what was promised to be kept.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shared.errors import Quarantined
from shared.pipeline.dead_letters import DISCARDED, dead_letters
from shared.pipeline.dirty import dirty_processes
from shared.pipeline.ledger import Entry
from shared.pipeline.places import (
    EVENTS,
    IGNORED,
    LEDGER,
    REFUSED,
    RUNS,
    STATE,
    StoredEvent,
    digest_of,
    process_key,
    reason_of_ignored,
    stored_from_blob,
)
from shared.pipeline.planning import what_remains
from shared.pipeline.records import RunState
from shared.pipeline.shadow import Shadow, counted, held_back
from shared.pipeline.siblings import has_fates
from shared.pipeline.states import Held, State
from shared.storage import Storage
from shared.translation import NO_PROCESS

_LAST_ERRORS = 5


class Waiting(StrEnum):
    """What an event waits for."""

    END = "the end of its run"
    PARSER = "the parser"
    CATALOG = "the catalog"
    SHADOW = "the end of shadow mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Events by state; `refused` bodies were never received and stand beside the sum."""

    received: int
    published: int
    skipped: int
    waiting: int
    dead: int
    refused: int
    skipped_because: dict[str, int]
    waiting_for: dict[str, int]
    oldest_waiting: datetime | None
    processes: int
    dirty: int
    last_errors: tuple[str, ...]
    shadow: Shadow

    @property
    def reconciles(self) -> bool:
        """Whether every received event has exactly one state."""
        return self.received == self.published + self.skipped + self.waiting + self.dead

    @property
    def in_progress(self) -> int:
        """Events that somebody is working on or should be: all that wait for more than the end of their run, or of
        shadow mode.
        """
        return self.waiting - self.waiting_for.get(Waiting.END, 0) - self.waiting_for.get(Waiting.SHADOW, 0)


def status(storage: Storage) -> Status:
    """The counts, from one listing of each container, one scan of each table, and all that those applications said
    whose data sets have fates.
    """
    states: dict[str, RunState] = {}
    fated: list[str] = []
    for row in storage.scan(RUNS):
        if row.key == STATE:
            states[row.partition] = RunState.of(row, storage)
        elif has_fates(row):
            fated.append(row.partition)
    present = _present(storage, fated)
    ledger = {row.partition: Entry.of(row) for row in storage.scan(LEDGER)}
    dirty, paused_until, why = dirty_processes(storage)
    unsettled = {each.process for each in dirty if not each.revisit}
    held = dict(held_back(storage))
    kept = _Kept(dirty=unsettled, held=held.keys())
    letters = {letter.digest: letter for letter in dead_letters(storage)}
    buried = {digest: letter.error for digest, letter in letters.items() if not letter.discarded}
    refusals = sorted((row.key, str(row.values["error"])) for row in storage.scan(REFUSED))

    counts: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    oldest: datetime | None = None
    for fact in storage.blobs(EVENTS):
        counts[State.RECEIVED] += 1
        event = _event(fact.name)
        digest = event.digest if event else digest_of(fact.name.encode())
        if digest in letters:
            counts[State.DEAD if digest in buried else State.SKIPPED] += 1
            skipped[DISCARDED] += digest not in buried
            continue
        if event is None:
            counts[State.WAITING] += 1
            continue
        state, reason = _state(event, states.get(event.run_id), ledger, kept, present)
        counts[state] += 1
        if state is State.SKIPPED:
            skipped[reason] += 1
        elif state is State.WAITING:
            waiting[reason] += 1
            oldest = min(oldest or fact.arrived, fact.arrived)
    for fact in storage.blobs(IGNORED):
        counts[State.RECEIVED] += 1
        counts[State.SKIPPED] += 1
        skipped[reason_of_ignored(fact.name)] += 1
    errors = [f"catalog: {each.error}" for each in dirty if each.error]
    errors += [f"catalog left alone until {paused_until:%H:%M:%S}: {why}"] if paused_until else []
    errors += [f"dead letter: {error}" for error in buried.values()]
    errors += [f"refused: {error}" for _, error in refusals]
    return Status(
        received=counts[State.RECEIVED],
        published=counts[State.PUBLISHED],
        skipped=counts[State.SKIPPED],
        waiting=counts[State.WAITING],
        dead=counts[State.DEAD],
        refused=len(refusals),
        skipped_because=dict(sorted((+skipped).items())),
        waiting_for=dict(sorted(waiting.items())),
        oldest_waiting=oldest,
        processes=sum(entry.state is Held.WRITTEN for entry in ledger.values()),
        dirty=len(unsettled),
        last_errors=tuple(errors[-_LAST_ERRORS:]),
        shadow=counted(tuple(held.values())),
    )


Present = Mapping[tuple[str, str], AbstractSet[str]]
"""By application run and the key of a process of which it spoke: the processes that this is now, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The keys of the processes that are to be published, and of those that shadow mode keeps from it."""

    dirty: AbstractSet[str]
    held: AbstractSet[str]


def _present(storage: Storage, applications: Iterable[str]) -> Present:
    """Of these application runs, what became of the processes of which they spoke."""
    found: dict[tuple[str, str], set[str]] = {}
    for run in applications:
        for each in what_remains(storage, run):
            now = found.setdefault((run, process_key(each.said.content.qualified_name)), set())
            if each.remains:
                now.add(process_key(each.remains.content.qualified_name))
    return found


def _event(name: str) -> StoredEvent | None:
    """The event of a blob; None for a name that is none of ours."""
    try:
        return stored_from_blob(name)
    except Quarantined:
        return None


def _state(
    event: StoredEvent, run: RunState | None, ledger: dict[str, Entry], kept: _Kept, present: Present
) -> tuple[State, str]:
    """An event's state and, for skipped and waiting, the reason."""
    if run is None:
        return State.WAITING, Waiting.PARSER if event.end else Waiting.END
    if not run.settled or event.digest not in run.merged:
        return State.WAITING, Waiting.PARSER
    if run.verdict is State.WAITING:
        return State.WAITING, Waiting.END
    if run.verdict is not State.PUBLISHED:
        return run.verdict, run.reason
    now = {each for process, by, _ in run.current for each in present.get((by, process), (process,))}
    if (now | run.processes) & kept.dirty:
        return State.WAITING, Waiting.CATALOG
    if (now | run.processes) & kept.held:
        return State.WAITING, Waiting.SHADOW
    if any(process in ledger and ledger[process].state is Held.WRITTEN for process in now):
        return State.PUBLISHED, ""
    wanted = sorted({ledger[each].why for each in now if each in ledger} - {""})
    return State.SKIPPED, wanted[0] if wanted else NO_PROCESS
