"""How the functions are built on a world's storage and catalog: the one module to change for another runtime.

Simulation, interleavings and planted mistakes know the functions by these callables alone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from shared.applications.delivery import Delivery
from shared.applications.partition import all_records, read_whole
from shared.applications.processor import ApplicationProcessor
from shared.applications.rows import FoldMemory
from shared.applications.state import RunRecord
from shared.errors import Quarantined
from shared.events.archive import indexes_below
from shared.events.dead_letters import add_dead_letter
from shared.ingest.receiver import Receiver
from shared.model import Process
from shared.naming.names import BUILT_IN, Names
from shared.publishing.context import PUBLISHER, PublishContext, PublishOptions
from shared.publishing.planning import current, read_processes
from shared.publishing.publisher import Publisher
from shared.records.assets import AssetRows
from shared.records.publish_queue import read_queue
from shared.redaction import redacted
from shared.storage.port import Storage, compare_and_swap
from shared.storage_layout import (
    APPLICATIONS,
    EVENTS,
    PROCESSES,
    StoredEvent,
    digest_in_reference,
    digest_of,
    event_of_blob,
    stored_from_blob,
)
from shared.sweeping.closing import CLOSED_REASON, ClosingOptions
from shared.sweeping.sweep import SweepOptions, sweep
from shared.translation.aggregate import SupersessionPolicy

NOT_CLOSING = ClosingOptions(quiet=None)
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
    closing: ClosingOptions = NOT_CLOSING


class FunctionsProcess:
    """A process that runs receiver, parser and sweeper: its caches live as long as it does. `name`: in place of its
    random id, so that one whose work is replayed is the same one.
    """

    def __init__(self, surroundings: Surroundings, name: str = "") -> None:
        self.surroundings = surroundings
        self._memory, self._assets = FoldMemory(), AssetRows()
        self._assets._owner = name or self._assets._owner

    def memory(self) -> str:
        """All that the process keeps from one job to the next, as text."""
        memory, assets = self._memory, self._assets
        recent = [sorted(values._values.items()) for values in (memory.crowded, memory.parts, memory._folded)]
        commits = [(key, commit.etag, commit.state, commit.records) for key, commit in memory._commits._values.items()]
        records = [sorted(rows.items()) for rows in (assets._records, assets._changed)]
        return repr((recent, commits, assets._owner, assets._until, records))

    def receive(self, body: bytes, storage: Any = None) -> None:
        """The receiver's function. `storage`: for this request alone, another way to the world's storage."""
        world = self.surroundings
        Receiver(
            storage=storage or world.storage,
            max_body_bytes=_MOST_BYTES,
            redact=redacted if world.redact else None,
            now=world.now,
        ).receive(body)

    def parse(self, blob: str, packed_event: bytes) -> bool:
        """The parser's function for a blob of `events`, without publishing: whether there may be something to."""
        world = self.surroundings
        try:
            place = stored_from_blob(blob)
        except Quarantined as error:
            add_dead_letter(world.storage, blob, digest_of(blob.encode()), error)
            return False
        processor = ApplicationProcessor(storage=world.storage, names=world.names, memory=self._memory, now=world.now)
        return Delivery(processor=processor).deliver(place, packed_event)

    def publish(self) -> None:
        """What parser and sweeper end with."""
        world = self.surroundings
        options = PublishOptions(
            batch=3, patience=SupersessionPolicy(quiet=world.quiet), now=world.now, seconds=world.seconds
        )
        context = PublishContext(
            storage=world.storage,
            catalog=world.catalog,
            publishing=options,
            assets=self._assets,
            memory=self._memory,
        )
        Publisher(context=context).publish()

    def sweep(self) -> None:
        """The sweeper's function, without publishing."""
        world = self.surroundings
        options = SweepOptions(
            end_timeout=world.end_timeout,
            names=world.names,
            now=world.now,
            seconds=world.seconds,
            closing=world.closing,
        )
        sweep(world.storage, options)


def begins_anew(call: str, given: Sequence[object]) -> bool:
    """Whether a process that makes this call of storage goes on as if its job had just begun: a publisher that asks for
    the lease reads the queue and all else again, but for what the process keeps.
    """
    return call == "lease" and PUBLISHER in given


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


def blob_of(run_id: str, time: datetime, kind: str, digest: str, application: str = "") -> str:
    """The name in `events` of an event's blob."""
    return StoredEvent(application=application or run_id, run_id=run_id, time=time, type=kind, digest=digest).blob


def archived(storage: Storage) -> set[str]:
    """The names that the blobs of the events in the archive had."""
    prefixes = ("", "ignored/")
    return {
        blob for prefix in prefixes for _, runs in indexes_below(storage, prefix) for run in runs for blob in run.blobs
    }


def came_late(storage: Storage) -> dict[str, str]:
    """The events (digests, with their runs) that came after their run was closed: on record, or in the archive."""
    late = {
        digest_in_reference(reference): record.run_id
        for application in {row.partition for row in storage.scan(APPLICATIONS)}
        for record in all_records(storage, application).values()
        for reference in record.late
    }
    return late | {
        event.digest: event.run_id
        for _, runs in indexes_below(storage, "")
        for run in runs
        for event, state in zip(run.events, run.states, strict=True)
        if state == ("skipped", CLOSED_REASON)
    }


def kept_too_long(storage: Storage) -> list[str]:
    """The applications of which rows are left although all of their events are archived, no process shows what they
    contributed, no stream of them runs, and they refer to no run that is still open elsewhere.
    """
    shown_keys = {row.key for row in storage.scan(PROCESSES)}
    stored_events = {
        stored_from_blob(fact.name).application for fact in storage.blobs(EVENTS) if event_of_blob(fact.name)
    }
    applications = {row.partition for row in storage.scan(APPLICATIONS)}
    snapshots = {application: read_whole(storage, application) for application in applications}

    def is_open(record: RunRecord) -> bool:
        """Whether a run is a stream that runs, or is referred to and not closed at its home."""
        home = snapshots.get(record.home)
        record_at_home = home.records.get(record.run_id) if home else None
        return record.is_running or (record_at_home is not None and not record_at_home.closed)

    return [
        application
        for application, snapshot in snapshots.items()
        if application not in stored_events
        and (snapshot.records or application not in shown_keys)
        and not any(map(is_open, snapshot.records.values()))
    ]


def left_due(storage: Storage, now: datetime) -> int:
    """How many processes are left to be published although nothing keeps a publisher from them."""
    queue = read_queue(storage)
    return 0 if queue.paused else sum(entry.due <= now and not entry.attempts for entry in queue.entries)


def processes_on_record(storage: Storage, *, quiet: timedelta, now: datetime) -> Iterator[Process]:
    """The processes that the records ask for at this time."""
    options = PublishOptions(patience=SupersessionPolicy(quiet=quiet), now=lambda: now)
    totals = (current(storage, rows, options)[0] for rows in read_processes(storage))
    return (total.process for total in totals if total.process)
