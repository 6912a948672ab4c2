"""The telemetry port: whoever does something says what kind of act it is, and notes facts while it lasts.

What becomes of it (a line, a span, metrics) is told by the table of kinds and by who listens; the default is nobody.
"""

import contextlib
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from shared.telemetry.kinds import Kind

Fact = str | int | float | bool


@dataclass(slots=True, kw_only=True)
class Act:
    """One thing that is being done: its kind, the runs that it is about, when it `began` (nanoseconds of the clock),
    and its facts. `within` is the act that it is a part of; `kept` is room for those who listen.
    """

    kind: Kind
    runs: tuple[str, ...] = ()
    began: int = field(default_factory=time.time_ns)
    within: "Act | None" = None
    facts: dict[str, Fact] = field(default_factory=dict)
    seconds: float = 0.0
    kept: object = None

    def note(self, **facts: Fact) -> None:
        """Note facts; what is noted again counts as it was noted last."""
        self.facts.update(facts)

    def concern(self, *runs: str) -> None:
        """Note runs that it is about, as far as so many are told."""
        for run in runs:
            if len(self.runs) < MOST_RUNS and run not in self.runs:
                self.runs = (*self.runs, run)


MOST_RUNS = 16


class Telemetry(Protocol):
    """Who listens to what is done. Nothing is ever raised by listening."""

    def act(self, kind: Kind, *runs: str) -> AbstractContextManager[Act]:
        """An act that lasts as long as its block; what is raised in it is told by its name."""

    def tell(self, kind: Kind, *runs: str, began: int = 0, **facts: Fact) -> None:
        """An act that is over: it `began` then (nanoseconds of the clock), or now."""


class _Silent:
    """Nobody listens."""

    def act(self, kind: Kind, *runs: str) -> AbstractContextManager[Act]:
        """As the port says."""
        return contextlib.nullcontext(Act(kind=kind, runs=runs))

    def tell(self, kind: Kind, *runs: str, began: int = 0, **facts: Fact) -> None:
        """As the port says."""


SILENT: Telemetry = _Silent()
