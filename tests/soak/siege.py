"""Rounds in which parts of a real world are killed while events are sent to it, and the final check."""

import itertools
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import psutil
import requests
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobLeaseClient, BlobServiceClient

from shared.atlas.entities import PROCESS_TYPE, ProcessEntity, process_entity
from shared.bootstrap import Worker, assemble
from shared.errors import Retry
from shared.openlineage.decoding import decode
from shared.publishing.placeholders import CALLS_TO_PLACE
from shared.publishing.publisher import MAX_CALLS
from shared.reporting.status import status as reporting_status
from shared.settings.reading import load
from shared.sweeping.listing import SWEEP
from shared.sweeping.sweep import sweep
from shared.translation.reference import translate_history
from tests.bench.replay import Replay
from tests.faults.expected_states import expected_states
from tests.support.publishing import process_in, publish
from throughline.local.world import World

_LONGEST_APPLICATION = 60
_QUICK = 3.0
"""Seconds: a host that repeatedly dies sooner than this after its start is not started again."""

_SENDERS = 3
_OUTAGE_SHARES = {"azurite": 0.1, "catalog": 0.15}
"""The share of rounds in which these are unavailable as well."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """The counts of a run: events sent, those that took several tries, killed parts, and the sweeper's finds."""

    events: int = 0
    applications: int = 0
    resent: int = 0
    killed: int = 0
    outages: Counter[str] = field(default_factory=Counter)
    undelivered: int = 0
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class Siege:
    """A world whose parts are killed. `seed` determines all its failures, but not their effects."""

    world: World
    seed: int
    outage: float = 0.0
    """Seconds for which the catalog is unavailable from the middle of the rounds on."""
    tally: Tally = field(default_factory=Tally)
    sent: list[bytes] = field(default_factory=list)
    _draw: random.Random = field(init=False)
    _replay: Replay = field(init=False)
    _host_start: float = field(default_factory=time.monotonic)
    _back_at: float = 0.0
    _end_of_sending: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)
        self._replay = Replay(self.seed)

    def rounds(self, count: int) -> Iterator[int]:
        """Run the rounds, and yield after each.

        A round sends an application's events and kills the functions host meanwhile; in some rounds storage is
        restarted or the catalog is unavailable for some seconds.
        """
        began = time.monotonic()
        with ThreadPoolExecutor(_SENDERS) as senders:
            try:
                for number in range(count):
                    self._outage(begins=number == count // 2)
                    bodies = self._application()
                    self.sent += bodies
                    sending = [senders.submit(self._send, body) for body in bodies]
                    self._strike()
                    for future in sending:
                        future.result()
                    self.tally.events += len(bodies)
                    self.tally.applications += 1
                    yield number
            finally:
                self._end_of_sending.set()
        if self._back_at:
            time.sleep(max(0.0, self._back_at - time.monotonic()))
            self._outage(begins=False)
        self.tally.seconds = time.monotonic() - began

    def _outage(self, *, begins: bool) -> None:
        """Begin the long outage of the catalog, or end it when its time is over."""
        if begins and self.outage:
            self.world.catalog.stop()
            self._back_at = time.monotonic() + self.outage
        elif self._back_at and time.monotonic() >= self._back_at:
            self.world.catalog.start()
            self._back_at = 0.0

    def _application(self) -> list[bytes]:
        for items in iter(self._replay.application, None):
            if len(items) <= _LONGEST_APPLICATION:
                bodies = [item.raw for item in items]
                break
        if self._draw.random() < 0.3:
            self._draw.shuffle(bodies)
        return bodies

    def _send(self, body: bytes) -> None:
        """Send an event until it is answered with a 2xx."""
        for tries in itertools.count():
            if self._end_of_sending.is_set():
                return
            try:
                answer = requests.post(
                    f"{self.world.functions.url}/api/v1/lineage",
                    data=body,
                    headers={"Content-Type": "application/json"},
                    timeout=10,
                )
            except requests.RequestException:
                status = 0
            else:
                status = answer.status_code
            if 200 <= status < 300:
                self.tally.resent += bool(tries)
                return
            if 400 <= status < 500:
                raise AssertionError(f"a real event was refused: {answer.status_code} {answer.text[:300]}")
            time.sleep(0.2)

    def _strike(self) -> None:
        """Kill the functions host at a random moment, and the other parts that this round lacks."""
        outages = [service for service, part in _OUTAGE_SHARES.items() if self._draw.random() < part]
        if self._back_at:
            outages = [service for service in outages if service != "catalog"]
        for service in outages:
            time.sleep(self._draw.uniform(0, 0.5))
            self.tally.outages[service] += 1
            {"azurite": self.world.azurite.stop, "catalog": self.world.catalog.stop}[service]()
        pause = self._draw.uniform(0.0, 3.0)
        time.sleep(
            max(pause, self._host_start + _QUICK + 0.1 - time.monotonic() if self._draw.random() < 0.5 else pause)
        )
        self._kill_host()
        self._host_start = time.monotonic()
        self.tally.killed += 1
        for service in outages:
            time.sleep(self._draw.uniform(0, 4))
            {"azurite": self.world.azurite.__enter__, "catalog": self.world.catalog.start}[service]()
        if self._draw.random() < 0.5:
            break_leases(
                self.world
            )  # otherwise a dead publisher's lease would last for many rounds, in which nothing is published

    def _kill_host(self) -> None:
        """Kill the functions host, once it is there again: without storage it ends by itself."""
        while True:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                return os.kill(self.world.functions.pid, signal.SIGKILL)
            time.sleep(0.1)


def parts_of(world: World) -> Worker:
    """Return the adapters that read a world."""
    return assemble(load(catalog=True, environment=world.environment))


def settle_down(
    world: World, *, seconds: float, hurry: bool = False, tell: Callable[[str], None] = lambda _line: None
) -> int:
    """Wait until nothing is in progress; return the number of runs that only a sweep found.

    Events that no trigger delivers are swept without the sweeper's wait of ten minutes. With `hurry` the leases and
    pending writes of killed workers are not waited for either: publishing's clock is ahead by the longest write, and by
    one more whenever a write was interrupted. Raises TimeoutError with the status when the work does not end.
    """
    parts = parts_of(world)
    eager = replace(parts.sweeping, grace=timedelta(0))
    longest_write = (MAX_CALLS + CALLS_TO_PLACE) * parts.publishing.call_bound
    ahead = longest_write if hurry else timedelta(0)
    swept, remaining_before, deadline = 0, -1, time.monotonic() + seconds
    quiet_since = time.monotonic()
    while True:
        try:
            status = reporting_status(parts.storage)
            remaining_count = status.in_progress + status.publish_queue
            if not remaining_count:
                return swept
            if remaining_count != remaining_before:
                remaining_before, quiet_since = remaining_count, time.monotonic()
                tell(f"{status.in_progress} events in progress, {status.publish_queue} processes to be published")
            if time.monotonic() - quiet_since > (4 if hurry else 20):  # no worker works on the rest
                if hurry:
                    break_leases(world)
                SWEEP.clear(parts.storage)  # as a day later: the sweep reads all runs, decided ones too
                swept += sweep(parts.storage, eager).undelivered
                publish(parts.storage, parts.catalog, replace(parts.publishing, now=partial(_clock, ahead)))
        except Retry:
            ahead += longest_write if hurry else timedelta(0)
            time.sleep(1)
            continue
        if time.monotonic() > deadline:
            raise TimeoutError(f"the work does not end: {status}")
        time.sleep(0.5)


def _clock(ahead: timedelta) -> datetime:
    return datetime.now(UTC) + ahead


def break_leases(world: World) -> None:
    """Break the leases of publisher and sweeper, which would expire within a minute."""
    with BlobServiceClient.from_connection_string(world.azurite.connection_string) as blobs:
        for name in ("publisher", "sweeper"):
            with suppress(HttpResponseError):  # it is free
                BlobLeaseClient(blobs.get_blob_client("control", name)).break_lease(0)


def differences(world: World, bodies: Sequence[bytes]) -> list[str]:
    """Return the differences from a world in which nothing was killed."""
    parts = parts_of(world)
    history = translate_history(map(decode, bodies))
    expected = {process.qualified_name: process_entity(process) for process in history.processes}
    held_processes = list(_processes(world))
    twice = [name for name, count in Counter(held_processes).items() if count > 1]
    differing = [name for name, entity in expected.items() if _read(parts, entity) != entity]
    current_status = reporting_status(parts.storage)
    states, reasons = expected_states(history, bodies)
    counts = Counter(
        {"published": current_status.published, "skipped": current_status.skipped, "waiting": current_status.waiting}
    )
    wrong = {
        f"{len(set(expected) - set(held_processes))} processes are missing": set(expected) - set(held_processes),
        f"{len(set(held_processes) - set(expected))} processes are too many": set(held_processes) - set(expected),
        f"{len(twice)} processes exist twice": twice,
        f"{len(differing)} processes differ: {differing[:3]}": differing,
        f"{current_status.received} events received of {len(set(bodies))} sent": current_status.received
        != len(set(bodies)),
        f"the counts do not reconcile: {current_status}": not current_status.reconciles,
        f"{current_status.dead} events are dead": current_status.dead,
        f"the counts differ: {+counts} instead of {states}": +counts != states,
        f"the reasons differ: {current_status.skipped_because} instead of {reasons}": current_status.skipped_because
        != reasons,
    }
    return [difference for difference, is_so in wrong.items() if is_so]


def _read(parts: Worker, entity: ProcessEntity) -> ProcessEntity | None:
    return process_in(parts.catalog, entity.qualified_name)


def _processes(world: World) -> Iterator[str]:
    """Return the qualified names of all our processes in the catalog, with repetitions."""
    size = 100
    for offset in itertools.count(0, size):
        answer = requests.post(
            f"{world.catalog.endpoint}/search/basic",
            json={"typeName": PROCESS_TYPE, "limit": size, "offset": offset, "excludeDeletedEntities": True},
            headers={"Authorization": f"Bearer {world.catalog.token}"},
            timeout=60,
        )
        answer.raise_for_status()
        entities: list[dict[str, Any]] = answer.json().get("entities") or []
        yield from (entity["attributes"]["qualifiedName"] for entity in entities)
        if len(entities) < size:
            return
