"""The states of an event, a run, a ledger entry and a process in the publish queue: names and allowed changes.

Tables, and nothing else: what changes a state stands where it is done, under these names. docs/concepts/states.md draws
these tables, and random histories are held to them.
"""

from dataclasses import dataclass
from enum import StrEnum


class EventState(StrEnum):
    """Of an event."""

    RECEIVED = "received"
    WAITING = "waiting"
    PUBLISHED = "published"
    SKIPPED = "skipped"
    DEAD = "dead"


class State(StrEnum):
    """Of a run. `contributed`: it contributes to processes; its events are published once these are in the catalog."""

    RECEIVED = "received"
    WAITING = "waiting"
    CONTRIBUTED = "contributed"
    SKIPPED = "skipped"
    DEAD = "dead"


class LedgerState(StrEnum):
    """What the catalog holds of a process, as the ledger has it."""

    NOTHING = "nothing"
    WRITING = "writing"
    WRITTEN = "written"


class QueueState(StrEnum):
    """Of a process in the publish queue; idle is to have no row there."""

    IDLE = "idle"
    PENDING = "pending"
    PUBLISHING = "publishing"
    REFUSED = "refused"
    REVISIT = "revisit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """An allowed change of state, and what brings it about."""

    before: StrEnum
    after: StrEnum
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """States of one thing, the one in which it begins, and the changes; to stay as it is, is always allowed."""

    title: str
    states: type[StrEnum]
    begins: StrEnum
    meanings: dict[StrEnum, str]
    changes: tuple[Transition, ...]

    def allows(self, before: str, after: str) -> bool:
        """Whether something in the one state may be in the other next."""
        return before == after or any((each.before, each.after) == (before, after) for each in self.changes)


def _changes(*rows: tuple[str, str, str], states: type[StrEnum]) -> tuple[Transition, ...]:
    return tuple(Transition(before=states(before), after=states(after), by=by) for before, after, by in rows)


EVENT = Machine(
    title="An event",
    states=EventState,
    begins=EventState.RECEIVED,
    meanings={
        EventState.RECEIVED: "its row and its blob are stored, and the sender got its answer",
        EventState.WAITING: "for the end of its run, for the parser, or for the catalog",
        EventState.PUBLISHED: "it was merged into its run, and its run's lineage is in the catalog",
        EventState.SKIPPED: "it changes nothing in the catalog; the reason says why",
        EventState.DEAD: "it can't be used as it is; the dead letter says why",
    },
    changes=_changes(
        ("received", "skipped", "selection: no lineage can need it"),
        ("received", "waiting", "it is stored, and the parser is triggered"),
        ("waiting", "published", "its run was processed, and every process of it published"),
        ("waiting", "skipped", "its run was processed and contributes nothing, or was superseded by other runs"),
        ("waiting", "dead", "it can't be read, or its run can't be used"),
        ("published", "waiting", "its process is to be published again"),
        ("published", "skipped", "a late failure, a dropped table or a newer run removed the process"),
        ("published", "dead", "a later event made its run unusable"),
        ("skipped", "waiting", "a later event changed its run"),
        ("skipped", "published", "after a later event or a replay its run contributes"),
        ("skipped", "dead", "a later event made its run unusable"),
        ("dead", "waiting", "replay: it can be used now, and waits for its run or its process"),
        ("dead", "published", "replay: it can be used now, and its lineage is in the catalog"),
        ("dead", "skipped", "discarded; or replayed, and its run contributes nothing"),
        states=EventState,
    ),
)

RUN = Machine(
    title="A run",
    states=State,
    begins=State.RECEIVED,
    meanings={
        State.RECEIVED: "some of its events are stored, and it was not processed yet",
        State.WAITING: "its end was not seen yet",
        State.CONTRIBUTED: "it contributes to processes",
        State.SKIPPED: "it contributes nothing; the reason says why",
        State.DEAD: "none of its events can be used",
    },
    changes=_changes(
        ("received", "waiting", "processed without an end"),
        ("received", "contributed", "processed"),
        ("received", "skipped", "processed"),
        ("received", "dead", "processed, and no event could be used"),
        ("waiting", "contributed", "its end came, or the wait for it timed out"),
        ("waiting", "skipped", "its end came, or the wait for it timed out"),
        ("waiting", "dead", "a later event made it unusable"),
        ("contributed", "skipped", "it failed after all, or other runs of its application supersede it"),
        ("contributed", "dead", "a later event made it unusable"),
        ("skipped", "contributed", "a later event, another run of its application, or a replay"),
        ("skipped", "dead", "a later event made it unusable"),
        ("dead", "waiting", "replay: its events can be used now, and it waits for its end"),
        ("dead", "contributed", "replay, or an event that can be used"),
        ("dead", "skipped", "replay, or an event that can be used"),
        states=State,
    ),
)

LEDGER = Machine(
    title="The ledger's entry of a process",
    states=LedgerState,
    begins=LedgerState.NOTHING,
    meanings={
        LedgerState.NOTHING: "the process was never written to the catalog, or was removed",
        LedgerState.WRITING: "a call was begun, and may take effect until the noted time; then it is repeated",
        LedgerState.WRITTEN: "the catalog has answered the call; the fingerprint is that of the written process",
    },
    changes=_changes(
        ("nothing", "writing", "before the call"),
        ("written", "writing", "before the call that writes it again or removes it"),
        ("writing", "written", "the catalog has answered the call; or it refused, and still has the earlier process"),
        ("writing", "nothing", "the process was removed; or the catalog denied access to the first call"),
        states=LedgerState,
    ),
)

QUEUE = Machine(
    title="A process in the publish queue",
    states=QueueState,
    begins=QueueState.IDLE,
    meanings={
        QueueState.IDLE: "not in the queue: the catalog has the process as it is on record",
        QueueState.PENDING: "to be published now",
        QueueState.PUBLISHING: "a publisher works on it, or a call that was begun may still take effect",
        QueueState.REFUSED: "the catalog refused it or did not answer; retried in smaller calls, with growing waits",
        QueueState.REVISIT: "published, and checked again later, because time alone may remove one of its edges",
    },
    changes=_changes(
        ("idle", "pending", "a run was processed that contributes, or contributed, to it"),
        ("pending", "idle", "published, or nothing has changed"),
        ("pending", "publishing", "a publisher has claimed it, or a call may still take effect"),
        ("pending", "refused", "the catalog refused it or did not answer"),
        ("pending", "revisit", "nothing has changed; time alone may remove one of its edges"),
        ("publishing", "idle", "published"),
        ("publishing", "pending", "enqueued again, or its time has come"),
        ("publishing", "refused", "the catalog refused it or did not answer"),
        ("publishing", "revisit", "published; time alone may remove one of its edges"),
        ("refused", "idle", "published"),
        ("refused", "pending", "enqueued again"),
        ("refused", "revisit", "published; time alone may remove one of its edges"),
        ("revisit", "idle", "its time has come, and time alone can no longer remove an edge"),
        ("revisit", "pending", "enqueued again"),
        ("revisit", "publishing", "its time has come, and a publisher has claimed it"),
        ("revisit", "refused", "the catalog refused it or did not answer"),
        states=QueueState,
    ),
)

MACHINES = (EVENT, RUN, LEDGER, QUEUE)
