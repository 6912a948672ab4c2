"""The telemetry port: code opens an act of a kind, and notes facts while it lasts.

The table of kinds and the adapters decide whether it becomes a line, a span or metrics; the default is none.
"""

import contextlib
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from shared.telemetry.kinds import ActKind

Fact = str | int | float | bool


@dataclass(slots=True, kw_only=True)
class Act:
    """A piece of work in progress: its kind, the runs that it concerns, when it `began` (nanoseconds of the clock),
    and its facts. `within` is the act that it is a part of; `kept` is for the listeners' own use.
    """

    kind: ActKind
    runs: tuple[str, ...] = ()
    began: int = field(default_factory=time.time_ns)
    within: "Act | None" = None
    facts: dict[str, Fact] = field(default_factory=dict)
    seconds: float = 0.0
    kept: object = None

    def note(self, **facts: Fact) -> None:
        """Note facts; the last value of a fact counts."""
        self.facts.update(facts)

    def concern(self, *runs: str) -> None:
        """Note the runs that it concerns, up to a limit."""
        for run in runs:
            if len(self.runs) < MOST_RUNS and run not in self.runs:
                self.runs = (*self.runs, run)


MOST_RUNS = 16


class Telemetry(Protocol):
    """Receives acts. Its methods raise nothing of their own."""

    def act(self, kind: ActKind, *runs: str) -> AbstractContextManager[Act]:
        """An act that lasts as long as its block; an exception is noted by its class name."""

    def report(self, kind: ActKind, *runs: str, began: int = 0, **facts: Fact) -> None:
        """An act that has ended: it `began` then (nanoseconds of the clock), or now."""


class _Silent:
    """No telemetry."""

    def act(self, kind: ActKind, *runs: str) -> AbstractContextManager[Act]:
        """As the port says."""
        return contextlib.nullcontext(Act(kind=kind, runs=runs))

    def report(self, kind: ActKind, *runs: str, began: int = 0, **facts: Fact) -> None:
        """As the port says."""


SILENT: Telemetry = _Silent()
