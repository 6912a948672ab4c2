"""The telemetry port: code opens an act of a kind, and notes facts while it lasts.

The table of kinds has the name, log line, span and metrics of each; a test compares the docs. It and the listeners
decide whether an act becomes a line, a span or metrics; the default is none. When an act ends, secrets are removed from
its facts, and every listener gets it.

As a line: `event run=… state=kept bytes=812 seconds=0.0071`. Values with spaces in them are JSON strings. It is
written with the standard library's logging, which the functions host hands on to Application Insights as it is.
"""

import contextlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from shared.secrets import text_without_secrets
from shared.texts import visible_lines


class Instrument(StrEnum):
    """How values are aggregated: a growing sum, a distribution, or the last value."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"
    GAUGE = "gauge"


class Side(StrEnum):
    """The kind of a span (OpenTelemetry's SpanKind)."""

    SERVER = "server"
    CONSUMER = "consumer"
    CLIENT = "client"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric: `fact` names the value (without it each act counts one), `labels` the facts that become attributes:
    only such with few values.
    """

    name: str
    instrument: Instrument
    unit: str
    meaning: str
    fact: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActKind:
    """A kind of act.

    `line`: whether it writes a log line; `loud`: the level by the fact `state`. `span`: the name of its span, "" for
    none; `joins`: whether the span is in the trace of its first run, or only linked to the traces of its runs.
    `counted`: the fact of the enclosing act that counts it; `shares`: facts that it copies from the enclosing act.
    """

    name: str
    meaning: str
    line: bool = True
    loud: Mapping[str, int] = field(default_factory=dict)
    span: str = ""
    side: Side = Side.INTERNAL
    joins: bool = False
    counted: str = ""
    shares: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()


def _duration(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(name=name, instrument=Instrument.HISTOGRAM, unit="s", meaning=meaning, fact="seconds", labels=labels)


def _count(name: str, meaning: str, *labels: str, unit: str, fact: str = "") -> Metric:
    return Metric(name=name, instrument=Instrument.COUNTER, unit=unit, meaning=meaning, labels=labels, fact=fact)


def _level(name: str, fact: str, meaning: str, unit: str) -> Metric:
    return Metric(name=name, instrument=Instrument.GAUGE, unit=unit, meaning=meaning, fact=fact)


EVENT = ActKind(
    name="event",
    meaning="An event was received: kept, ignored, refused (wrong request) or unavailable (storage does not answer)",
    loud={"refused": logging.WARNING, "unavailable": logging.ERROR},
    counted="events",
    span="receive",
    side=Side.SERVER,
    joins=True,
    metrics=(
        _count("throughline.events", "events received", "state", unit="{event}"),
        _duration("throughline.receive.duration", "time to answer an event", "state"),
    ),
)

BATCH = ActKind(
    name="batch",
    meaning="An array of events was received; each event has a line of its own too",
    loud={"refused": logging.WARNING},
    span="receive batch",
    side=Side.SERVER,
)

RUN = ActKind(
    name="run_processed",
    meaning="A run was processed from all its events: waiting, contributed (to processes), skipped or dead",
    loud={"dead": logging.WARNING},
    counted="folded",
    span="process run",
    side=Side.CONSUMER,
    joins=True,
    metrics=(
        _count("throughline.runs", "runs processed", "state", unit="{run}"),
        _duration("throughline.run.duration", "time to process a run", "state"),
    ),
)

LETTER = ActKind(
    name="dead_letter",
    meaning="A stored event cannot be used; one line for each event",
    loud={"dead": logging.ERROR},
    span="dead letter",
    joins=True,
    metrics=(_count("throughline.dead_letters", "events that became dead letters", unit="{event}"),),
)

PUBLISHING = ActKind(
    name="publishing",
    meaning="A batch of processes is published; each process has a line of its own",
    line=False,
    span="publish",
    metrics=(_duration("throughline.publish.duration", "time to publish a batch"),),
)

PROCESS = ActKind(
    name="process",
    meaning="A queued process was written, unchanged, removed, refused, postponed, or overtaken by a publisher",
    loud={"refused": logging.ERROR},
    span="publish process",
    joins=True,
    counted="processes",
    shares=("calls",),
    metrics=(
        _count("throughline.publishes", "processes taken from the publish queue", "state", unit="{process}"),
        Metric(
            name="throughline.lag",
            instrument=Instrument.HISTOGRAM,
            unit="s",
            meaning="from the arrival of a process's last event until it was written or removed",
            fact="lag",
        ),
    ),
)

CALL = ActKind(
    name="catalog_call",
    meaning="A call to the catalog, with its retries",
    line=False,
    counted="calls",
    span="catalog",
    side=Side.CLIENT,
    metrics=(
        _count("throughline.catalog.calls", "calls to the catalog", "call", "state", unit="{call}"),
        _count("throughline.catalog.retries", "retries of calls", "call", unit="{call}", fact="retries"),
        _duration("throughline.catalog.duration", "time of a call with its retries", "call"),
    ),
)

SWEEP = ActKind(
    name="sweep",
    meaning="A run of the sweeper: what it processed, and what is left",
    span="sweep",
    side=Side.CONSUMER,
    metrics=(
        _level("throughline.waiting.oldest", "oldest", "age of the run that has waited longest", "s"),
        _level("throughline.waiting.runs", "waiting", "waiting runs that the sweeper has seen", "{run}"),
        _level("throughline.queue.oldest", "queue_oldest", "age of the oldest entry of the publish queue", "s"),
        _level("throughline.queue.processes", "queued", "processes in the publish queue", "{process}"),
        _level("throughline.forward.oldest", "forward_oldest", "age of the oldest run in an outbox", "s"),
        _level("throughline.forward.waiting", "forward_waiting", "runs that targets have not taken", "{run}"),
        _level("throughline.forward.dead", "forward_dead", "runs that targets refuse", "{run}"),
        _level("throughline.document.oldest", "document_oldest", "age of the oldest change that no document has", "s"),
    ),
)

ANNOUNCEMENT = ActKind(
    name="announcement",
    meaning="A message of `watch` about a change of lineage: breaking, risky or harmless",
    loud={"breaking": logging.WARNING},
    metrics=(_count("throughline.announcements", "messages about changes", "state", "topic", unit="{message}"),),
)

CANARY = ActKind(
    name="canary",
    meaning="A canary of the sweeper has arrived and was withdrawn, or failed at a hop; the seconds of each hop",
    loud={"failed": logging.ERROR},
    metrics=(
        _count("throughline.canaries", "canaries by how they ended", "state", unit="{canary}"),
        _duration("throughline.canary.duration", "time of a canary from its first request to its withdrawal"),
    ),
)

DOCUMENT_READ = ActKind(
    name="document_read",
    meaning="A published document could not be read: the page and the API serve the last good one",
    loud={"unreadable": logging.ERROR},
)

KINDS = (EVENT, BATCH, RUN, LETTER, PUBLISHING, PROCESS, CALL, SWEEP, ANNOUNCEMENT, CANARY, DOCUMENT_READ)


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
