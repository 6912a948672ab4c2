"""A small runtime in memory: receive, deliver, sweep, and look at what applications contribute."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.applications.delivery import Delivery
from shared.applications.partition import OpenApplication, read_whole
from shared.applications.processor import ApplicationProcessor
from shared.applications.state import RunRecord
from shared.ingest.receiver import Receiver
from shared.openlineage.decoding import decode
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, EVENTS, PUBLISH_QUEUE, StoredEvent, digest_of, stored
from shared.sweeping.closing import ClosingOptions
from shared.sweeping.sweep import SweepOptions, SweepResult, sweep
from tests.support.events import run_id

NOT_CLOSING = ClosingOptions(quiet=None)
CALLS = frozenset(
    {
        "put_new",
        "get",
        "insert",
        "upsert",
        "replace",
        "delete",
        "transact",
        "read",
        "partition",
        "scan",
        "blobs",
        "children",
    }
)


class CountedStorage:
    """Storage that counts its calls, and runs a test's action before each."""

    def __init__(self, real: MemoryStorage) -> None:
        self.real = real
        self.calls: Counter[str] = Counter()
        self.before: Callable[[str, tuple[Any, ...]], None] = lambda _name, _arguments: None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)
        if name not in CALLS:
            return method

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            self.before(name, arguments)
            return method(*arguments, **named)

        return call


@dataclass(kw_only=True)
class Applications:
    """Storage with a clock that tests set, and workers on it."""

    memory: MemoryStorage = field(default_factory=MemoryStorage)
    now: datetime = datetime(2100, 1, 1, tzinfo=UTC)
    closing: ClosingOptions = NOT_CLOSING

    def __post_init__(self) -> None:
        self.memory.now = lambda: self.now
        self.memory.clock = lambda: self.now.timestamp()  # noqa: PLW0108 - `now` is set again and again
        self.storage: Any = CountedStorage(self.memory)
        self.worker = self.new_worker()

    def new_worker(self) -> Delivery:
        """Return a worker of another process."""
        return Delivery(processor=ApplicationProcessor(storage=self.storage))

    def receive(self, *bodies: bytes) -> list[StoredEvent]:
        """Store events as the receiver does."""
        receiver = Receiver(storage=self.memory, max_body_bytes=100_000_000)
        return [self._received(receiver, body) for body in bodies]

    def _received(self, receiver: Receiver, body: bytes) -> StoredEvent:
        receiver.receive(body)
        return stored(decode(body), digest_of(body))

    def deliver(self, *events: StoredEvent, worker: Delivery | None = None) -> list[bool]:
        """Deliver stored events as the parser does."""
        blobs = [(event, self.memory.get(EVENTS, event.blob)) for event in events]
        return [(worker or self.worker).deliver(event, blob or b"") for event, blob in blobs]

    def process(self, *bodies: bytes) -> None:
        """Store events and deliver each at once."""
        for body in bodies:
            self.deliver(*self.receive(body))

    def sweep(
        self, *, minutes: float = 1, end_timeout: timedelta = timedelta(days=1000), **options: Any
    ) -> SweepResult:
        """Let time pass, then sweep."""
        self.now += timedelta(minutes=minutes)
        sweep_options = SweepOptions(end_timeout=end_timeout, closing=self.closing, now=lambda: self.now, **options)
        return sweep(self.storage, sweep_options)

    def empty_queue(self) -> None:
        """Take all off the publish queue, as a publisher does that has published it."""
        for row in self.memory.scan(PUBLISH_QUEUE):
            self.memory.delete(PUBLISH_QUEUE, row.partition, row.key)

    def application(self, name: str) -> OpenApplication:
        """Return all that is known of an application."""
        return read_whole(self.memory, run_id(name))

    def record(self, application: str, run: str) -> RunRecord | None:
        """Return the record of a run."""
        return self.application(application).records.get(run_id(run))

    def edges(self) -> list[tuple[str, str]]:
        """Return what all applications contribute: the names of input and output, sorted."""
        partitions = {row.partition for row in self.memory.scan(APPLICATIONS)}
        return sorted(
            (source.name, sink.name)
            for partition in partitions
            for shares in read_whole(self.memory, partition).state.contributions(partition).values()
            for share in shares
            for source in share.content.inputs
            for sink in share.content.outputs
        )
