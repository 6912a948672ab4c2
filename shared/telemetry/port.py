"""The telemetry port: code opens an act of a kind, and notes facts while it lasts.

The table of kinds and the listeners decide whether it becomes a line, a span or metrics; the default is none. When an
act ends, secrets are removed from its facts, and every listener gets it.

As a line: `event run=… state=kept bytes=812 seconds=0.0071`. Values with spaces in them are JSON strings. It is
written with the standard library's logging, which the functions host hands on to Application Insights as it is.
"""

import contextlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from shared.secrets import text_without_secrets
from shared.telemetry.kinds import ActKind
from shared.texts.visible import visible_lines

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


_NAME = "throughline"
_LOG = logging.getLogger(_NAME)
_PLAIN = re.compile(r"[^\s\"'=\\]+")


class _SafeRecord(logging.LogRecord):
    """A record of ours shows marks that a terminal obeys as escapes, and its further lines are set in: a name with a
    line end makes no line that looks like another record.
    """

    def getMessage(self) -> str:  # noqa: N802 - the name of logging
        text = super().getMessage()
        return visible_lines(text).replace("\n", "\n  ") if self.name.partition(".")[0] == _NAME else text


def show_marks_as_escapes() -> None:
    """Make all later records of this process such ones; those of other libraries stay as they are."""
    logging.setLogRecordFactory(_SafeRecord)


def write_line(act: Act) -> None:
    """Log an act's line, if its kind has one."""
    level = logging.WARNING if "error" in act.facts else logging.INFO
    level = act.kind.loud.get(str(act.facts.get("state", "")), level)
    if act.kind.line and _LOG.isEnabledFor(level):
        _LOG.log(level, "%s", line_of(act))


def line_of(act: Act) -> str:
    """An act in one line: its kind, the run, the facts in the order in which they were noted, and the time it took."""
    facts: dict[str, Fact] = {}
    if act.runs:
        facts["run" if len(act.runs) == 1 else "runs"] = ",".join(act.runs)
    facts |= act.facts
    facts["seconds"] = round(act.seconds, 6)
    return " ".join([act.kind.name, *(f"{name}={_shown(fact)}" for name, fact in facts.items())])


def _shown(fact: Fact) -> str:
    if isinstance(fact, bool):
        return str(fact).lower()
    if isinstance(fact, float):
        return f"{fact:.6g}"
    text = str(fact)
    if not text.isprintable():
        return json.dumps(text)  # what a terminal might obey is shown as an escape
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
