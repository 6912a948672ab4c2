"""The kinds of telemetry acts, as a table: name, log line, span and metrics of each. A test compares the docs."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
