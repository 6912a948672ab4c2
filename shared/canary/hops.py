"""The way of a canary, hop by hop: the events of its run, what becomes of them, and the sweeper's canaries, one now and
then, whose line of the log raises the alert `canary`.
"""

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from msgspec import structs

from shared.errors import CatalogRefused, Retry
from shared.model import Process
from shared.naming.names import Names
from shared.openlineage.decoding import decode
from shared.openlineage.selection import CHECK_APPLICATION, CHECKS
from shared.publishing.context import PublishContext, remove_unlinked, turn
from shared.reading.reader import home_record
from shared.records.control import CANARY, CanaryPosition
from shared.storage_layout import EVENTS, digest_of, stored
from shared.telemetry.port import CANARY as CANARY_ACT
from shared.translation.reference import translate_history

START, COMPLETE, FAIL = "START", "COMPLETE", "FAIL"
_STORE = "abfss://check@throughlinecheck.dfs.core.windows.net"
_JOB = f"{CHECK_APPLICATION}.execute_insert_into_hadoop_fs_relation_command.target"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRun:
    """A run that writes one column. `column` is new in each run, so a process that holds it was written after this."""

    run_id: str
    column: str
    bodies: Mapping[str, bytes]


def canary_run(now: datetime, owner: str) -> CanaryRun:
    """The events, by type, of a run that writes `OWNER/target` from `OWNER/source`: the FAIL withdraws what the others
    brought. Runs of different owners do not touch each other, and one owner leaves no more than one process.
    """
    run_id = str(uuid4())
    column = f"seen_{now:%Y%m%d_%H%M%S}_{run_id[:6]}"
    source, target = f"{owner}/source", f"{owner}/target"
    field = {"namespace": _STORE, "name": source, "field": column}
    output = {
        "namespace": _STORE,
        "name": target,
        "facets": {"columnLineage": {"fields": {column: {"inputFields": [field]}}}},
    }
    common: dict[str, Any] = {
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventTime": now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": {"runId": run_id},
        "job": {"namespace": CHECKS, "name": _JOB},
        "inputs": [{"namespace": _STORE, "name": source, "facets": {}}],
        "outputs": [output],
    }
    bodies = {kind: json.dumps(common | {"eventType": kind}).encode() for kind in (START, COMPLETE, FAIL)}
    return CanaryRun(run_id=run_id, column=column, bodies=bodies)


STORED, FOLDED, ARRIVAL, WITHDRAWAL = "blob", "fold", "catalog", "withdrawal"
"""The hops after both events were accepted."""

SLOW = 5.0
"""Seconds after which a listener with default settings gives up."""
PATIENCE = 120.0
_PAUSE = 0.5
_FOR_LEASE = 10.0
"""Seconds in which a publisher that works releases its lease, mostly."""
_CREATED = 201
_PROBLEMS: Mapping[int, str] = {
    0: "receiver-unreachable",
    401: "receiver-key",
    403: "receiver-closed",
    404: "receiver-missing",
    503: "receiver-storage",
}
"""The problem behind each answer of the receiver, or of Azure's front end before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAnswer:
    """How the receiver answered one event: the `status` (0: not at all), its text, and after how many seconds."""

    status: int
    text: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One hop: how many `seconds` after the one before it ended, and the `outcome` in words. `problem` is the code of a
    rule of `throughline doctor`, empty where all is well.
    """

    name: str
    seconds: float
    outcome: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A canary of an `owner` in one Throughline.

    `send` posts an event. `patience`: seconds until its lineage must be in the catalog, and as many until it must be
    gone. An answer after `slow` seconds is too late for a listener.
    """

    context: PublishContext
    names: Names
    send: Callable[[bytes], SendAnswer]
    owner: str
    patience: float = PATIENCE
    slow: float = SLOW

    def run(self) -> CanaryRun:
        """A new run, whose events were not sent yet."""
        return canary_run(datetime.now(UTC), self.owner)

    def process(self, run: CanaryRun) -> Process:
        """The process that the run's events give."""
        history = [decode(run.bodies[kind]) for kind in (START, COMPLETE)]
        (process,) = translate_history(history, names=self.names).processes
        return process

    def hops(self, run: CanaryRun) -> Generator[Hop, None, None]:
        """Send both events, look for what comes of them, and withdraw them: each hop as it ends, until one fails.

        What was accepted is withdrawn in any case, also when the caller stops early. Raises CatalogUnavailable,
        CatalogRefused and StorageUnavailable.
        """
        accepted = arrived = False
        withdrawal: Hop | None = None
        try:
            for kind in (START, COMPLETE):
                hop = self._post(run.bodies[kind], kind)
                accepted = accepted or hop.problem in {"", _TOO_LATE}
                yield hop
                if hop.problem not in {"", _TOO_LATE}:
                    return
            process = self.process(run)
            for hop in self._arrive(run, process):
                yield hop
                if hop.problem:
                    return
            arrived = True
        finally:
            if accepted:
                withdrawal = self._post(run.bodies[FAIL], WITHDRAWAL)
        if arrived and withdrawal:
            yield self._gone(withdrawal, process)

    def _arrive(self, run: CanaryRun, process: Process) -> Iterator[Hop]:
        """From the accepted events to the catalog; in shadow mode until they are folded."""
        storage, end = self.context.storage, time.monotonic() + self.patience
        blobs = [stored(decode(body), digest_of(body)) for body in (run.bodies[START], run.bodies[COMPLETE])]
        looks: tuple[tuple[str, Callable[[], bool], str, str], ...] = (
            (
                STORED,
                lambda: len(list(storage.blobs(EVENTS, f"{blobs[0].folder}/"))) >= len(blobs),
                "event-unstored",
                "both events are stored",
            ),
            (
                FOLDED,
                lambda: home_record(storage, run.run_id, run.run_id)[0] is not None,
                "event-unfolded",
                "the parser has folded the run",
            ),
            (
                ARRIVAL,
                lambda: run.column in self._columns(process),
                "event-late",
                "the process holds the new column",
            ),
        )
        for name, look, problem, outcome in looks:
            if name == ARRIVAL and self.context.publishing.shadow:
                yield Hop(name=ARRIVAL, seconds=0.0, outcome="shadow mode: nothing is written to the catalog")
                return
            seconds, is_there = _awaited(look, end)
            if not is_there:
                yield Hop(name=name, seconds=seconds, outcome=f"not there after {seconds:.0f} s", problem=problem)
                return
            yield Hop(name=name, seconds=seconds, outcome=outcome)

    def _gone(self, withdrawal: Hop, process: Process) -> Hop:
        """Whether the process has left the catalog after its FAIL, and its data sets with it."""
        end, seconds = time.monotonic() + self.patience, withdrawal.seconds
        if withdrawal.problem:
            outcome = f"still there: {withdrawal.outcome}: {process.qualified_name}"
            return Hop(name=WITHDRAWAL, seconds=seconds, outcome=outcome, problem="trial-left")
        if self.context.publishing.shadow:
            return Hop(name=WITHDRAWAL, seconds=seconds, outcome="the run is withdrawn")
        waited, is_gone = _awaited(lambda: not self._attributes(process), end)
        if not is_gone:
            outcome = f"still there after {waited:.0f} s: {process.qualified_name}"
            return Hop(name=WITHDRAWAL, seconds=seconds + waited, outcome=outcome, problem="trial-left")
        keys = sorted({asset.key for asset in (*process.inputs, *process.outputs)})
        seconds_for_removal, removed = _awaited(lambda: self._removed(keys), time.monotonic() + _FOR_LEASE)
        remainder = (
            "and its data sets" if removed else "but its data sets stay: `throughline verify --fix` removes them"
        )
        return Hop(
            name=WITHDRAWAL, seconds=seconds + waited + seconds_for_removal, outcome=f"the process is gone, {remainder}"
        )

    def _post(self, raw: bytes, name: str) -> Hop:
        answer = self.send(raw)
        if answer.status != _CREATED:
            problem = _PROBLEMS.get(answer.status, "receiver-error")
            outcome = f"{answer.status or ''} {answer.text[:200]}".strip()
            return Hop(name=name, seconds=answer.seconds, outcome=outcome, problem=problem)
        problem = _TOO_LATE if answer.seconds >= self.slow else ""
        outcome = f"{_CREATED} after {answer.seconds:.1f} s" if problem else str(_CREATED)
        return Hop(name=name, seconds=answer.seconds, outcome=outcome, problem=problem)

    def _attributes(self, process: Process) -> Mapping[str, object]:
        """The process's attributes as the catalog has them; empty if it has no such process."""
        name = process.qualified_name
        process_there = self.context.catalog.read_processes([name]).get(name)
        return dict(process_there.entity.attributes) if process_there else {}

    def _columns(self, process: Process) -> str:
        """The column mapping that the catalog has of the process, as text."""
        return json.dumps(self._attributes(process).get("columnMapping", ""))

    def _removed(self, keys: list[tuple[str, str]]) -> bool:
        """Whether the placeholders of these data sets could be removed, as far as this identity may."""
        try:
            with turn(self.context, tries=0):
                return not remove_unlinked(self.context, keys).kept
        except (CatalogRefused, Retry):
            return False


_TOO_LATE = "receiver-slow"


def _awaited(look: Callable[[], bool], end: float) -> tuple[float, bool]:
    """How many seconds it took until something was seen, and whether it was; it is looked for until `end`."""
    start = time.monotonic()
    while not (is_there := look()) and time.monotonic() <= end:
        time.sleep(_PAUSE)
    return time.monotonic() - start, is_there


OWNER = "timer"
_PATIENCE = 60.0
"""Seconds: the sweeper waits meanwhile. Twice this is the longest gap between two sweeps because of a canary."""


_AGAIN = timedelta(minutes=5)
"""When one is sent after one that failed: a swap or a restart is over by then, and the alert ends with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryOptions:
    """How the sweeper posts an event to the receiver, the time between two canaries, and its patience in seconds."""

    send: Callable[[bytes], SendAnswer]
    every: timedelta
    patience: float = _PATIENCE


def canary_due(context: PublishContext, names: Names, options: CanaryOptions | None) -> None:
    """Send a canary if one is due, and report how it went. Nothing without options, and in shadow mode.

    One that failed, or that a killed sweeper left, is withdrawn again first. Failures of the way are reported, and do
    not fail the sweep.
    Raises StorageUnavailable only where the time of the next one cannot be stored.
    """
    if options is None or context.publishing.shadow:
        return
    storage, now = context.storage, context.publishing.now()
    position = CANARY.load(storage)
    if position and now < position.due:
        return
    canary = Canary(context=context, names=names, send=options.send, owner=OWNER, patience=options.patience)
    run = canary.run()
    next_position = CanaryPosition(due=now + options.every, withdrawal=run.bodies[FAIL].decode())
    if position and position.withdrawal:
        canary.send(position.withdrawal.encode())
    CANARY.save(storage, next_position)
    with context.publishing.telemetry.act(CANARY_ACT) as act:
        problem = "unfinished"
        try:
            for hop in canary.hops(run):
                problem = hop.problem
                act.note(**{f"{hop.name.lower()}_seconds": round(hop.seconds, 3)})
                if problem:
                    act.note(hop=hop.name, problem=problem, outcome=hop.outcome)
                    break
        except (CatalogRefused, Retry) as error:
            act.note(problem=type(error).__name__, outcome=str(error)[:200])
            problem = type(error).__name__
        act.note(state="failed" if problem else "arrived")
    sooner = structs.replace(next_position, due=now + min(options.every, _AGAIN))
    CANARY.save(storage, sooner if problem else structs.replace(next_position, withdrawal=""))
