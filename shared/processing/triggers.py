"""Why a run is processed."""

from dataclasses import dataclass

from shared.storage_layout import StoredEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class EventArrived:
    """A stored event: a trigger delivered it, or the sweeper found that none did."""

    event: StoredEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    """The end of the run did not arrive in time: it is decided without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextChanged:
    """Another run of the same application has changed what this run means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """Process it again whatever was done before. `event` is an end that no trigger delivered, if there is one."""

    event: StoredEvent | None = None


Trigger = EventArrived | TimedOut | ContextChanged | Replayed
