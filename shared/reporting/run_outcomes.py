"""The state of an event by what became of its run, and by the states of the processes that stand for the run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from shared.applications.fold import CLOSED
from shared.events.dead_letters import DISCARDED, UNUSABLE, DeadLetter
from shared.reading.values import RecordedRun
from shared.records.ledger import LedgerEntry
from shared.records.publish_queue import QueueEntry
from shared.records.states import EventState, LedgerState, State
from shared.storage_layout import StoredEvent
from shared.translation.reference import NO_PROCESS


class Waiting(StrEnum):
    """What an event waits for."""

    END = "the end of the run"
    PARSER = "the parser"
    CATALOG = "the catalog"
    REFUSED = "a catalog that refuses the process"
    SHADOW = "the end of shadow mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStates:
    """Processes (by key) by state: `written` to the catalog; `queued` to be published, of which the catalog `refused`
    some; `held` back by shadow mode; and `reasons` why the catalog holds none of some.
    """

    written: frozenset[str] = frozenset()
    queued: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, ledger: Sequence[LedgerEntry], queue: Sequence[QueueEntry], held: Iterable[str]) -> "ProcessStates":
        """From entries of the ledger and of the publish queue, and the keys that shadow mode holds back. Keys of data
        sets (`asset|…`) are among the queued ones.
        """
        return cls(
            written=frozenset(entry.process for entry in ledger if entry.state is LedgerState.WRITTEN),
            queued=frozenset(entry.target for entry in queue if not entry.revisit),
            refused=frozenset(entry.target for entry in queue if entry.isolated),
            held=frozenset(held),
            reasons={entry.process: entry.why for entry in ledger if entry.why},
        )


def outcome_of_letter(
    letter: DeadLetter, run: RecordedRun | None, event: StoredEvent | None
) -> tuple[EventState, str] | None:
    """The state of an event (None: a blob with a foreign name) with a dead letter, and the reason.

    None where its run can be used by now: a worker that was slow, or died, wrote the letter after another one's commit.
    """
    if letter.reason == UNUSABLE and run and event and run.has_folded(event) and run.state is not State.DEAD:
        return None
    return (EventState.SKIPPED, DISCARDED) if letter.discarded else (EventState.DEAD, letter.reason)


def outcome_of(run: RecordedRun | None, event: StoredEvent, processes: ProcessStates) -> tuple[EventState, str]:
    """The state of an event of this run and, unless it is published, the reason."""
    if run is None:
        return EventState.WAITING, Waiting.PARSER if event.end else Waiting.END
    if run.is_late(event):
        return EventState.SKIPPED, CLOSED
    if not run.has_folded(event):
        return EventState.WAITING, Waiting.PARSER if event.end or run.is_over else Waiting.END
    if run.closed:
        state, reason = run.outcome
        return EventState(state), reason
    if run.state is State.WAITING:
        return EventState.WAITING, Waiting.END
    if run.state is not State.CONTRIBUTED:
        return EventState(run.state), run.reason
    return _published(run, processes)


def _published(run: RecordedRun, processes: ProcessStates) -> tuple[EventState, str]:
    concerned = {*run.standing, *run.processes}
    if not processes.queued.isdisjoint(concerned):
        return EventState.WAITING, Waiting.CATALOG if processes.refused.isdisjoint(concerned) else Waiting.REFUSED
    if not processes.held.isdisjoint(concerned):
        return EventState.WAITING, Waiting.SHADOW
    if not processes.written.isdisjoint(run.standing):
        return EventState.PUBLISHED, ""
    reasons = (processes.reasons[key] for key in run.standing if key in processes.reasons)
    return EventState.SKIPPED, min(reasons, default=NO_PROCESS)
