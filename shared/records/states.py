"""The states of an event, of a run, of what the catalog holds, and of a process's mark: names and allowed changes.

Tables, and nothing else: what changes a state stands where it is done, under these names. docs/states.md draws these
tables, and random histories are held to them.
"""

from dataclasses import dataclass
from enum import StrEnum


class EventState(StrEnum):
    """Of an event: `throughline status` counts them."""

    RECEIVED = "received"
    WAITING = "waiting"
    PUBLISHED = "published"
    SKIPPED = "skipped"
    DEAD = "dead"


class State(StrEnum):
    """Of a run. `contributed`: it stands behind processes; its events are published once these are in the catalog."""

    RECEIVED = "received"
    WAITING = "waiting"
    CONTRIBUTED = "contributed"
    SKIPPED = "skipped"
    DEAD = "dead"


class Held(StrEnum):
    """What the catalog holds of a process, as the ledger has it."""

    NOTHING = "nothing"
    WRITING = "writing"
    WRITTEN = "written"


class Mark(StrEnum):
    """Of a process: whether it is to be published anew. A mark is a row in `dirty`; clean is to have none."""

    CLEAN = "clean"
    DIRTY = "dirty"
    POSTPONED = "postponed"
    REFUSED = "refused"
    REVISIT = "revisit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
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
    changes: tuple[Change, ...]

    def allows(self, before: str, after: str) -> bool:
        """Whether something in the one state may be in the other next."""
        return before == after or any((each.before, each.after) == (before, after) for each in self.changes)


def _changes(*rows: tuple[StrEnum, StrEnum, str]) -> tuple[Change, ...]:
    return tuple(Change(before=before, after=after, by=by) for before, after, by in rows)


EVENT = Machine(
    title="An event",
    states=EventState,
    begins=EventState.RECEIVED,
    meanings={
        EventState.RECEIVED: "its row and its blob are stored, and the sender was told so",
        EventState.WAITING: "for the end of its run, for the parser, or for the catalog",
        EventState.PUBLISHED: "it was merged into its run, and what the run says is in the catalog",
        EventState.SKIPPED: "it changes nothing in the catalog; the reason says why",
        EventState.DEAD: "it can't be used as it is; the dead letter says why",
    },
    changes=_changes(
        (EventState.RECEIVED, EventState.SKIPPED, "selection: no lineage can need it"),
        (EventState.RECEIVED, EventState.WAITING, "it is kept, and the parser told of it"),
        (EventState.WAITING, EventState.PUBLISHED, "its run was settled, and every process of it published"),
        (EventState.WAITING, EventState.SKIPPED, "its run was settled and says nothing, or other runs say it away"),
        (EventState.WAITING, EventState.DEAD, "it can't be read, or its run can't be used"),
        (EventState.PUBLISHED, EventState.WAITING, "its process is to be published anew"),
        (
            EventState.PUBLISHED,
            EventState.SKIPPED,
            "a late failure, a dropped table or a newer run took the process away",
        ),
        (EventState.PUBLISHED, EventState.DEAD, "a later event made its run unusable"),
        (EventState.SKIPPED, EventState.WAITING, "a later event changed its run"),
        (EventState.SKIPPED, EventState.PUBLISHED, "a later event or a replay gave its run something to say"),
        (EventState.SKIPPED, EventState.DEAD, "a later event made its run unusable"),
        (EventState.DEAD, EventState.WAITING, "replay: it can be used now, and its run or its process is waited for"),
        (EventState.DEAD, EventState.PUBLISHED, "replay: it can be used now, and is"),
        (EventState.DEAD, EventState.SKIPPED, "discarded; or replayed, and its run says nothing"),
    ),
)

RUN = Machine(
    title="A run",
    states=State,
    begins=State.RECEIVED,
    meanings={
        State.RECEIVED: "events of it are stored, and nobody has settled it",
        State.WAITING: "its end was not seen yet",
        State.CONTRIBUTED: "it has something to say: contributions to processes",
        State.SKIPPED: "it has nothing to say; the reason says why",
        State.DEAD: "none of its events can be used",
    },
    changes=_changes(
        (State.RECEIVED, State.WAITING, "settled without an end"),
        (State.RECEIVED, State.CONTRIBUTED, "settled"),
        (State.RECEIVED, State.SKIPPED, "settled"),
        (State.RECEIVED, State.DEAD, "settled, and no event could be used"),
        (State.WAITING, State.CONTRIBUTED, "its end came, or was waited for long enough"),
        (State.WAITING, State.SKIPPED, "its end came, or was waited for long enough"),
        (State.WAITING, State.DEAD, "a later event made it unusable"),
        (State.CONTRIBUTED, State.SKIPPED, "it failed after all, or the others of its application explain it"),
        (State.CONTRIBUTED, State.DEAD, "a later event made it unusable"),
        (State.SKIPPED, State.CONTRIBUTED, "a later event, another run of its application, or a replay"),
        (State.SKIPPED, State.DEAD, "a later event made it unusable"),
        (State.DEAD, State.WAITING, "replay: its events can be used now, and its end is waited for"),
        (State.DEAD, State.CONTRIBUTED, "replay, or an event that can be used"),
        (State.DEAD, State.SKIPPED, "replay, or an event that can be used"),
    ),
)

LEDGER = Machine(
    title="What the catalog holds of a process",
    states=Held,
    begins=Held.NOTHING,
    meanings={
        Held.NOTHING: "it was never written, or was removed",
        Held.WRITING: "a call was begun, and until the noted time it may still land; then it is done again",
        Held.WRITTEN: "the call has answered; the fingerprint is that of what was written",
    },
    changes=_changes(
        (Held.NOTHING, Held.WRITING, "before the call"),
        (Held.WRITTEN, Held.WRITING, "before the call, to write it anew or to remove it"),
        (Held.WRITING, Held.WRITTEN, "the call has answered; or it was refused, and what was there before still is"),
        (Held.WRITING, Held.NOTHING, "it was removed; or there was no access for the first call"),
    ),
)

MARK = Machine(
    title="A process's mark",
    states=Mark,
    begins=Mark.CLEAN,
    meanings={
        Mark.CLEAN: "the catalog holds what is on record",
        Mark.DIRTY: "to be published now",
        Mark.POSTPONED: "a publisher is at it, or a call that somebody began may still land",
        Mark.REFUSED: "the catalog refused it, or did not answer: tried in smaller calls, at last alone, ever later",
        Mark.REVISIT: "published; the passing of time alone may change it",
    },
    changes=_changes(
        (Mark.CLEAN, Mark.DIRTY, "a run was settled that speaks, or spoke, for it"),
        (Mark.DIRTY, Mark.CLEAN, "published, or nothing has changed"),
        (Mark.DIRTY, Mark.POSTPONED, "a publisher has claimed it, or a call may still land"),
        (Mark.DIRTY, Mark.REFUSED, "the catalog refused it, or did not answer"),
        (Mark.DIRTY, Mark.REVISIT, "nothing has changed; an edge of it may leave with time"),
        (Mark.POSTPONED, Mark.CLEAN, "published"),
        (Mark.POSTPONED, Mark.DIRTY, "marked anew, or its time has come"),
        (Mark.POSTPONED, Mark.REFUSED, "the catalog refused it, or did not answer"),
        (Mark.POSTPONED, Mark.REVISIT, "published; an edge of it may leave with time"),
        (Mark.REFUSED, Mark.CLEAN, "published"),
        (Mark.REFUSED, Mark.DIRTY, "marked anew"),
        (Mark.REFUSED, Mark.REVISIT, "published; an edge of it may leave with time"),
        (Mark.REVISIT, Mark.CLEAN, "its time has come, and nothing is left that time may change"),
        (Mark.REVISIT, Mark.DIRTY, "marked anew"),
        (Mark.REVISIT, Mark.POSTPONED, "its time has come, and a publisher has claimed it"),
        (Mark.REVISIT, Mark.REFUSED, "the catalog refused it, or did not answer"),
    ),
)

MACHINES = (EVENT, RUN, LEDGER, MARK)
