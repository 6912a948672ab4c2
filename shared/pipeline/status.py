"""The counts that reconcile: every event received is published, skipped, waiting or dead, and each exactly once.

Counted against the blobs themselves, which are what was promised to be kept.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shared.errors import Quarantined
from shared.pipeline.dirty import dirty_processes
from shared.pipeline.ledger import Entry
from shared.pipeline.places import (
    DEAD_LETTERS,
    EVENTS,
    IGNORED,
    LEDGER,
    REFUSED,
    RUNS,
    STATE,
    StoredEvent,
    digest_of,
    reason_of_ignored,
    stored_from_blob,
)
from shared.pipeline.records import RunState
from shared.storage import Storage
from shared.translation import NO_PROCESS

_LAST_ERRORS = 5


class Waiting(StrEnum):
    """What an event waits for."""

    END = "the end of its run"
    PARSER = "the parser"
    CATALOG = "the catalog"


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

    @property
    def reconciles(self) -> bool:
        """Whether every received event has exactly one state."""
        return self.received == self.published + self.skipped + self.waiting + self.dead

    @property
    def in_progress(self) -> int:
        """Events that somebody is working on or should be: all that wait for more than the end of their run."""
        return self.waiting - self.waiting_for.get(Waiting.END, 0)


def status(storage: Storage) -> Status:
    """The counts, from one listing of each container and one scan of each table."""
    states = {row.partition: RunState.of(row, storage) for row in storage.scan(RUNS) if row.key == STATE}
    ledger = {row.partition: Entry.of(row) for row in storage.scan(LEDGER)}
    dirty, paused_until, why = dirty_processes(storage)
    unsettled = {each.process for each in dirty if not each.revisit}
    buried = {row.key: str(row.values["error"]) for row in storage.scan(DEAD_LETTERS)}
    refusals = sorted((row.key, str(row.values["error"])) for row in storage.scan(REFUSED))

    counts: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    oldest: datetime | None = None
    for fact in storage.blobs(EVENTS):
        counts["received"] += 1
        try:
            event = stored_from_blob(fact.name)
        except Quarantined:
            counts["dead" if digest_of(fact.name.encode()) in buried else "waiting"] += 1
            continue
        if event.digest in buried:
            counts["dead"] += 1
            continue
        state, reason = _state(event, states.get(event.run_id), ledger, unsettled)
        counts[state] += 1
        if state == "skipped":
            skipped[reason] += 1
        elif state == "waiting":
            waiting[reason] += 1
            oldest = min(oldest or fact.arrived, fact.arrived)
    for fact in storage.blobs(IGNORED):
        counts["received"] += 1
        counts["skipped"] += 1
        skipped[reason_of_ignored(fact.name)] += 1
    errors = [f"catalog: {each.error}" for each in dirty if each.error]
    errors += [f"catalog left alone until {paused_until:%H:%M:%S}: {why}"] if paused_until else []
    errors += [f"dead letter: {error}" for error in buried.values()]
    errors += [f"refused: {error}" for _, error in refusals]
    return Status(
        received=counts["received"],
        published=counts["published"],
        skipped=counts["skipped"],
        waiting=counts["waiting"],
        dead=counts["dead"],
        refused=len(refusals),
        skipped_because=dict(sorted(skipped.items())),
        waiting_for=dict(sorted(waiting.items())),
        oldest_waiting=oldest,
        processes=sum(entry.state == "written" for entry in ledger.values()),
        dirty=len(unsettled),
        last_errors=tuple(errors[-_LAST_ERRORS:]),
    )


def _state(event: StoredEvent, run: RunState | None, ledger: dict[str, Entry], unsettled: set[str]) -> tuple[str, str]:
    """An event's state and, for skipped and waiting, the reason."""
    if run is None:
        return "waiting", Waiting.PARSER if event.end else Waiting.END
    if not run.settled or event.digest not in run.merged:
        return "waiting", Waiting.PARSER
    if run.verdict == "waiting":
        return "waiting", Waiting.END
    if run.verdict != "published":
        return run.verdict, run.reason
    if run.processes & unsettled:
        return "waiting", Waiting.CATALOG
    if any(process in ledger and ledger[process].state == "written" for process in run.processes):
        return "published", ""
    return "skipped", NO_PROCESS
