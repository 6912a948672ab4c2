"""Acts with listeners: when an act ends, secrets are removed from its facts, and every listener gets it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from shared.secrets import text_without_secrets
from shared.telemetry.kinds import ActKind
from shared.telemetry.port import Act, Fact

_LONGEST = 1000
"""Characters of a fact."""
Sink = Callable[[Act], None]
"""Gets acts that have ended; an act comes before the one that it is within, which concerns the same runs."""


class Acts:
    """The port over listeners."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks
        self._current: ContextVar[Act | None] = ContextVar("act", default=None)

    @contextmanager
    def act(self, kind: ActKind, *runs: str) -> Iterator[Act]:
        """As the port says."""
        act = Act(kind=kind, runs=runs, within=self._current.get())
        token = self._current.set(act)
        clock = time.perf_counter()
        try:
            yield act
        except Exception as error:
            act.note(error=type(error).__name__)
            raise
        finally:
            self._current.reset(token)
            self._over(act, time.perf_counter() - clock)

    def report(self, kind: ActKind, *runs: str, began: int = 0, **facts: Fact) -> None:
        """As the port says."""
        act = Act(kind=kind, runs=runs, began=began or time.time_ns(), within=self._current.get())
        act.note(**facts)
        self._over(act, (time.time_ns() - act.began) / 1e9)

    def _over(self, act: Act, seconds: float) -> None:
        act.seconds = max(seconds, 0.0)
        if act.within is not None:
            if counted := act.kind.counted:
                act.within.facts[counted] = int(act.within.facts.get(counted, 0)) + 1
            act.within.concern(*act.runs[:1])
            act.facts |= {name: act.within.facts[name] for name in act.kind.shares if name in act.within.facts}
        act.facts = {name: _cleaned(fact) for name, fact in act.facts.items()}
        for sink in self._sinks:
            sink(act)


def _cleaned(fact: Fact) -> Fact:
    return text_without_secrets(fact)[:_LONGEST] if isinstance(fact, str) else fact
