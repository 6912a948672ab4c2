"""The kinds of acts, as a table: what each is called, which line and span it gives, and what is counted of it.

docs/telemetry.md lists this table, and a test holds it to that.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Instrument(StrEnum):
    """How numbers are added up: a sum that grows, a distribution, or the last one."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"
    GAUGE = "gauge"


class Side(StrEnum):
    """Where an act stands between us and others, as spans tell it."""

    SERVER = "server"
    CONSUMER = "consumer"
    CLIENT = "client"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric: `fact` is the fact that is counted (each act counts one without it), `labels` the facts it is told by:
    only such as have few values.
    """

    name: str
    instrument: Instrument
    unit: str
    meaning: str
    fact: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of act.

    `line`: whether it gives a line in the log; `loud`: at which level, by the fact `state`. `span`: what its span is
    called, "" for none; `joins`: whether that lies in the trace of its first run, or is only linked to its runs;
    `counted`: the fact by which the act that it is a part of counts it; `shares`: facts that it takes from there.
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


EVENT = Kind(
    name="event",
    meaning="An event was posted: kept, ignored, refused (the sender's fault) or unavailable (storage is away)",
    loud={"refused": logging.WARNING, "unavailable": logging.ERROR},
    counted="events",
    span="receive",
    side=Side.SERVER,
    joins=True,
    metrics=(
        _count("throughline.events", "events posted", "state", unit="{event}"),
        _duration("throughline.receive.duration", "time to answer an event", "state"),
    ),
)

BATCH = Kind(
    name="batch",
    meaning="An array of events was posted; each has its own line beside this one",
    loud={"refused": logging.WARNING},
    span="receive batch",
    side=Side.SERVER,
)

RUN = Kind(
    name="settling",
    meaning="A run was processed from all its events: waiting, contributed (to processes), skipped or dead",
    loud={"dead": logging.WARNING},
    counted="settled",
    span="settle",
    side=Side.CONSUMER,
    joins=True,
    metrics=(
        _count("throughline.runs", "runs settled", "state", unit="{run}"),
        _duration("throughline.settle.duration", "time to settle a run", "state"),
    ),
)

LETTER = Kind(
    name="dead_letter",
    meaning="A stored event can't be used; told once for each event",
    loud={"dead": logging.ERROR},
    span="bury",
    joins=True,
    metrics=(_count("throughline.dead_letters", "events that became dead letters", unit="{event}"),),
)

PUBLISHING = Kind(
    name="publishing",
    meaning="A batch of processes goes to the catalog; each has its own line",
    line=False,
    span="publish",
    metrics=(_duration("throughline.publish.duration", "time to publish a batch"),),
)

PROCESS = Kind(
    name="process",
    meaning="A process was looked at: written, unchanged, removed, refused, postponed, or overtaken by another",
    loud={"refused": logging.ERROR},
    span="publish process",
    joins=True,
    counted="processes",
    shares=("calls",),
    metrics=(
        _count("throughline.publishes", "processes looked at", "state", unit="{process}"),
        Metric(
            name="throughline.lag",
            instrument=Instrument.HISTOGRAM,
            unit="s",
            meaning="from the arrival of the last event behind it until a process was written or removed",
            fact="lag",
        ),
    ),
)

CALL = Kind(
    name="catalog_call",
    meaning="A call to the catalog, with its repetitions",
    line=False,
    counted="calls",
    span="catalog",
    side=Side.CLIENT,
    metrics=(
        _count("throughline.catalog.calls", "calls to the catalog", "call", "state", unit="{call}"),
        _count("throughline.catalog.retries", "calls done again", "call", unit="{call}", fact="retries"),
        _duration("throughline.catalog.duration", "time of a call with its repetitions", "call"),
    ),
)

SWEEP = Kind(
    name="sweep",
    meaning="The sweeper's tick: what it settled, and what is left",
    span="sweep",
    side=Side.CONSUMER,
    metrics=(
        _level("throughline.waiting.oldest", "oldest", "age of the run that waits longest", "s"),
        _level("throughline.waiting.runs", "waiting", "runs that wait, as far as the sweeper came", "{run}"),
        _level("throughline.dirty.oldest", "dirty_oldest", "time since the oldest mark that is to be published", "s"),
        _level("throughline.dirty.processes", "dirty", "processes to be published", "{process}"),
    ),
)

KINDS = (EVENT, BATCH, RUN, LETTER, PUBLISHING, PROCESS, CALL, SWEEP)
