"""How the functions are built on a world's storage and catalog: the one module to change for another runtime.

Simulation, interleavings and planted mistakes know the functions by these callables alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from shared.errors import Quarantined
from shared.events.archiver import ArchiveOptions
from shared.events.run_loader import add_dead_letter
from shared.ingest.receiver import Receiver
from shared.model import Process
from shared.naming.names import BUILT_IN, Names
from shared.processing.application_cache import ApplicationCache
from shared.processing.processor import RunProcessor
from shared.processing.sweeper import SweepOptions, sweep
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Reading
from shared.publishing.publisher import Publisher
from shared.records.publish_queue import queue_entries
from shared.redaction import redacted
from shared.storage.compare_and_swap import compare_and_swap
from shared.storage.port import Storage
from shared.storage_layout import LEDGER, StoredEvent, digest_of, stored_from_blob
from shared.translation.aggregate import SupersessionPolicy

_NO_ARCHIVING = ArchiveOptions(after=None, keep=None)
"""Off: archiving has threads of its own, which no scheduler controls."""
_MOST_BYTES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a world gives to the functions: storage and catalog, its clocks, and the settings that histories vary."""

    storage: Any
    catalog: Any
    now: Callable[[], datetime]
    seconds: Callable[[], float]
    end_timeout: timedelta
    quiet: timedelta
    names: Names = BUILT_IN
    redact: bool = False


class FunctionsProcess:
    """A process that runs receiver, parser and sweeper: its caches live as long as it does."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self._application_cache = ApplicationCache()

    def receive(self, body: bytes, storage: Any = None) -> None:
        """The receiver's function. `storage`: for this request alone, another way to the world's storage."""
        world = self.surroundings
        Receiver(
            storage=storage or world.storage, max_body_bytes=_MOST_BYTES, redact=redacted if world.redact else None
        ).receive(body)

    def parse(self, blob: str, packed: bytes) -> bool:
        """The parser's function for a blob of `events`, without publishing: whether there may be something to."""
        world = self.surroundings
        try:
            place = stored_from_blob(blob)
        except Quarantined as error:
            add_dead_letter(world.storage, blob, digest_of(blob.encode()), error)
            return False
        processor = RunProcessor(storage=world.storage, names=world.names, application_cache=self._application_cache)
        return processor.receive(place, packed)

    def publish(self) -> None:
        """What parser and sweeper end with."""
        world = self.surroundings
        options = PublishOptions(
            batch=3, patience=SupersessionPolicy(quiet=world.quiet), now=world.now, seconds=world.seconds
        )
        Publisher(context=PublishContext(storage=world.storage, catalog=world.catalog, publishing=options)).publish()

    def sweep(self) -> None:
        """The sweeper's function, without publishing."""
        world = self.surroundings
        options = SweepOptions(
            end_timeout=world.end_timeout,
            names=world.names,
            now=world.now,
            seconds=world.seconds,
            archiving=_NO_ARCHIVING,
        )
        sweep(world.storage, options)


@contextmanager
def without_waiting() -> Iterator[None]:
    """No waits by the machine's clock between attempts at a row: whoever replays a worker would wait each time."""
    defaults: dict[str, Any] = compare_and_swap.__kwdefaults__ or {}
    real_sleep = defaults["sleep"]
    defaults["sleep"] = lambda _seconds: None
    try:
        yield
    finally:
        defaults["sleep"] = real_sleep


def blob_of(run_id: str, time: datetime, kind: str, digest: str) -> str:
    """The name in `events` of an event's blob."""
    return StoredEvent(run_id=run_id, time=time, type=kind, digest=digest).blob


def left_due(storage: Storage, now: datetime) -> int:
    """How many processes are left to be published although nothing keeps a publisher from them."""
    entries, paused_until, _ = queue_entries(storage)
    return 0 if paused_until else sum(each.due <= now and not each.attempts for each in entries)


def processes_on_record(storage: Storage, *, quiet: timedelta, now: datetime) -> Iterator[Process]:
    """The processes that the records ask for at this time."""
    options = PublishOptions(patience=SupersessionPolicy(quiet=quiet), now=lambda: now)
    reading = Reading(storage=storage, options=options)
    return filter(None, (reading.current(row.partition).process for row in storage.scan(LEDGER)))
