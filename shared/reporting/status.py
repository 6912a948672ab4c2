"""The counts that reconcile: every event received is published, skipped, waiting or dead, and each exactly once.

Counted against the blobs themselves, which are what was promised to be kept. They are counted as they are listed; what
is held is a few hundred bytes for each run, and the groups that were asked for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.events.archive_index import ARCHIVED, Archived
from shared.events.dead_letters import DISCARDED, DeadLetter, dead_letters
from shared.events.stored_runs import Arrived, arrivals
from shared.publishing.shadow import Shadow, held_back
from shared.publishing.shadow import counted as summed
from shared.records.asset_matches import all_matches
from shared.records.digest_set import DigestSet, combined_digest, short
from shared.records.ledger import LedgerEntry
from shared.records.publish_queue import QueueEntry, queue_entries
from shared.records.states import LedgerState
from shared.reporting.run_outcomes import Processes, Seen, Verdicts, Waiting, counted
from shared.storage.port import Storage
from shared.storage_layout import ARCHIVE, EVENTS, IGNORED, LEDGER, REFUSED, RUNS, digest_of, reason_of_ignored

__all__ = ["By", "Group", "Status", "Waiting", "status"]

_LAST_ERRORS = 5
_AT_REST = (Waiting.END, Waiting.SHADOW, Waiting.REFUSED)


class By(StrEnum):
    """What events may be grouped by."""

    DAY = "day"
    JOB = "job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The events of one day (UTC, by their own time), of one job, or of one job on one day.

    `job` is empty for what was ignored, whose job is not on record, and for names that are none of ours.
    """

    day: str = ""
    job: str = ""
    received: int = 0
    published: int = 0
    skipped: int = 0
    waiting: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Events by state; `refused` bodies were never received and stand beside the sum. `unsure` are data sets of which
    several assets of the catalog may be meant, and none was chosen.
    """

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
    unsure: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()

    @property
    def reconciles(self) -> bool:
        """Whether every received event has exactly one state, as a whole and in each group."""
        whole = self.received == self.published + self.skipped + self.waiting + self.dead
        each = all(one.received == one.published + one.skipped + one.waiting + one.dead for one in self.groups)
        return whole and each and (not self.groups or self.received == sum(one.received for one in self.groups))

    @property
    def in_progress(self) -> int:
        """Events that somebody is working on or should be: all that wait, but for the end of their run or of shadow
        mode, or for somebody to mend what the catalog refuses.
        """
        return self.waiting - sum(self.waiting_for.get(each, 0) for each in _AT_REST)


@dataclass(slots=True, kw_only=True)
class _Counts:
    """What was counted so far; `received` apart from the states, so that the two can be held against one another."""

    by: frozenset[By]
    received: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    oldest: datetime | None = None

    def receive(self, day: str, job: str) -> tuple[str, str]:
        """One more event: the group that it is in."""
        group = (day if By.DAY in self.by else "", job if By.JOB in self.by else "")
        self.received[group] += 1
        return group

    def count(self, group: tuple[str, str], state: str, reason: str, arrived: datetime | None) -> None:
        """What became of it."""
        self.states[*group, state] += 1
        if state == "skipped":
            self.skipped[reason] += 1
        elif state == "waiting":
            self.waiting[reason] += 1
            self.oldest = min(filter(None, (self.oldest, arrived)), default=None)

    def groups(self) -> Iterator[Group]:
        """In order, if any were asked for."""
        for group, received in sorted(self.received.items()) if self.by else ():
            states = {state: self.states[*group, state] for state in ("published", "skipped", "waiting", "dead")}
            yield Group(day=group[0], job=group[1], received=received, **states)

    def total(self, state: str) -> int:
        """All events in this state."""
        return sum(number for (*_, each), number in self.states.items() if each == state)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What decides of each event: the runs, the dead letters by id, and the processes by the state of each."""

    verdicts: Verdicts
    letters: Mapping[str, DeadLetter]
    processes: Processes

    def count(self, counts: _Counts, each: Arrived) -> None:
        """Count what became of one that is stored."""
        event = each.event
        run = self.verdicts.runs.get(event.run_id) if event else None
        letter = self.letters.get(event.digest if event else digest_of(each.name.encode()))
        job = run.job_of(event) if run and event else ""
        day = event.time if event else each.arrived
        group = counts.receive(f"{day:%Y-%m-%d}" if day else "", job or (letter.job if letter else ""))
        if letter:
            state, reason = ("skipped", DISCARDED) if letter.discarded else ("dead", "")
        elif event is None:
            state, reason = "waiting", Waiting.PARSER
        else:
            state, reason = self.verdicts.of(event, self.processes)
        counts.count(group, state, reason, each.arrived)

    def ignore(self, counts: _Counts, name: str) -> None:
        """Count an event that was ignored, by the name that it has or had in `ignored`."""
        group = counts.receive(name[: len("2026/11/21")].replace("/", "-"), "")
        counts.count(group, "skipped", reason_of_ignored(name), None)


def _archived(storage: Storage) -> Iterator[Archived]:
    """What lies in the archive, as its rows tell; they are read once more only if there is an archive."""
    if next(storage.blobs(ARCHIVE), None):
        yield from (Archived.of(row, storage) for row in storage.scan(RUNS) if row.key.startswith(ARCHIVED))


def status(storage: Storage, *, by: Sequence[By] = (), seen: Seen = lambda _what, _more: None) -> Status:
    """The counts, and those of each group if it is asked for, from one listing of each container and one scan of each
    table: the calls grow with the pages of these. `seen` is told how far it has come.

    Tables before what they point to: a run that is settled meanwhile is not found without its process. Blobs before the
    rows of the archive: what is moved meanwhile is found in one of them.
    """
    verdicts = Verdicts.read(storage, seen)
    letters = {letter.digest: letter for letter in dead_letters(storage)}
    dirty, paused_until, why = queue_entries(storage)
    unsettled = frozenset(_key(each) for each in dirty if not each.revisit)
    held = dict(held_back(storage))
    ledger = [LedgerEntry.of(row) for row in counted(seen, "processes", storage.scan(LEDGER))]
    written = frozenset(short(entry.process) for entry in ledger if entry.state is LedgerState.WRITTEN)
    processes = Processes(
        written=written,
        unsettled=unsettled,
        refused=frozenset(_key(each) for each in dirty if each.alone),
        held=frozenset(short(key) for key in held if "|" not in key),
        why={short(entry.process): entry.why for entry in ledger if entry.why},
    )
    known = _Known(verdicts=verdicts, letters=letters, processes=processes)
    counts = _Counts(by=frozenset(by))
    listed = DigestSet()
    for each in counted(seen, "events", arrivals(storage)):
        known.count(counts, each)
        listed.add(combined_digest(EVENTS, each.name))
    for fact in counted(seen, "ignored", storage.blobs(IGNORED)):
        known.ignore(counts, fact.name)
        listed.add(combined_digest(IGNORED, fact.name))
    for archived in counted(seen, "archive", _archived(storage)):
        for name in archived.blobs:
            if listed.meet(combined_digest(IGNORED if archived.ignored else EVENTS, name)):
                continue  # it was moved meanwhile, or that was cut off
            if archived.ignored:
                known.ignore(counts, name)
            else:
                known.count(counts, Arrived.of(name, None))
    refusals = sorted((row.key, str(row.values["error"])) for row in storage.scan(REFUSED))
    names = {entry.process: entry.qualified_name for entry in ledger}
    errors = [f"catalog: {each.error}" for each in dirty if each.error and not each.alone]
    errors += [
        f"catalog refuses {names.get(each.process) or each.process}: {each.error}" for each in dirty if each.alone
    ]
    errors += [f"catalog left alone until {paused_until:%H:%M:%S}: {why}"] if paused_until else []
    errors += [f"dead letter: {each.error}" for each in letters.values() if not each.discarded]
    errors += [f"refused: {error}" for _, error in refusals]
    return Status(
        received=counts.received.total(),
        published=counts.total("published"),
        skipped=counts.total("skipped"),
        waiting=counts.total("waiting"),
        dead=counts.total("dead"),
        refused=len(refusals),
        skipped_because=dict(sorted(counts.skipped.items())),
        waiting_for=dict(sorted(counts.waiting.items())),
        oldest_waiting=counts.oldest,
        processes=len(written),
        dirty=len(unsettled),
        last_errors=tuple(errors[-_LAST_ERRORS:]),
        unsure=tuple(sorted(each.own[1] for each in all_matches(storage) if each.rivals)),
        shadow=summed(tuple(held.values())),
        groups=tuple(counts.groups()),
    )


def _key(dirty: QueueEntry) -> int:
    """A dirty mark's process; those of data sets are told apart by what stands before the digest."""
    return short(digest_of(dirty.process.encode())) if "|" in dirty.process else short(dirty.process)
