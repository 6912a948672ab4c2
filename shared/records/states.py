"""The names of the states of an event, a run, a ledger entry and a process in the publish queue.

docs/concepts/states.md defines each state and lists the allowed changes; a test holds random histories to that page.
"""

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
    RETRYING = "retrying"
    REFUSED = "refused"
    REVISIT = "revisit"
