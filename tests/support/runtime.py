"""The functions on storage and catalog in memory: events in, lineage and reports out."""

import gzip
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.applications.rows import FoldMemory
from shared.ingest.receiver import Receiver
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import decode
from shared.publishing.context import PublishContext, Published, PublishOptions
from shared.publishing.publisher import Publisher
from shared.records.assets import AssetRows
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, StoredEvent, digest_of, stored
from shared.sweeping.closing import ClosingOptions
from shared.sweeping.sweep import SweepOptions, SweepResult, sweep
from shared.translation.aggregate import SupersessionPolicy
from tests.support.memory_catalog import MemoryCatalog

NEVER = timedelta(days=100_000)


@dataclass(slots=True, kw_only=True)
class Runtime:
    """Receiver, parser, publisher and sweeper of one process. `now` is their clock, which tests set: it starts a day
    after the tests' events were received.

    `closing`: when runs are closed, archived and forgotten (by default never); `end_timeout`: how long the end of a run
    is awaited; `publishing`: further options.
    """

    storage: Any = field(default_factory=MemoryStorage)
    catalog: Any = field(default_factory=MemoryCatalog)
    now: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(days=1))
    names: Names = BUILT_IN
    closing: ClosingOptions = field(default_factory=lambda: ClosingOptions(quiet=None))
    end_timeout: timedelta = NEVER
    publishing: PublishOptions = field(default_factory=lambda: PublishOptions(patience=SupersessionPolicy(quiet=NEVER)))
    memory: FoldMemory = field(default_factory=FoldMemory)
    assets: AssetRows = field(default_factory=AssetRows)

    @property
    def processor(self) -> ApplicationProcessor:
        """As the worker makes it."""
        return ApplicationProcessor(storage=self.storage, names=self.names, memory=self.memory, now=lambda: self.now)

    @property
    def context(self) -> PublishContext:
        """As the worker makes it."""
        return PublishContext(
            storage=self.storage,
            catalog=self.catalog,
            publishing=replace(self.publishing, now=lambda: self.now),
            assets=self.assets,
            memory=self.memory,
        )

    def receive(self, *bodies: bytes) -> list[StoredEvent]:
        """Receive events; those that are kept."""
        receiver = Receiver(storage=self.storage, max_body_bytes=10_000_000)
        return [stored(decode(body), digest_of(body)) for body in bodies if receiver.receive(body).ignored is None]

    def deliver(self, *events: StoredEvent) -> bool:
        """Deliver events to the parser: whether there may be something to publish."""
        delivery = Delivery(processor=self.processor)
        has_marks = [delivery.deliver(event, self.storage.get(EVENTS, event.blob)) for event in events]
        return any(has_marks)

    def post(self, *bodies: bytes) -> list[StoredEvent]:
        """Receive events and deliver those that are kept."""
        events = self.receive(*bodies)
        self.deliver(*events)
        return events

    def publish(self, **options: Any) -> Published:
        """Publish what is due."""
        context = self.context
        return Publisher(context=replace(context, publishing=replace(context.publishing, **options))).publish()

    def sweep(self, duration_after: timedelta = timedelta(minutes=1)) -> SweepResult:
        """Sweep some time later."""
        self.now += duration_after
        options = SweepOptions(
            end_timeout=self.end_timeout, names=self.names, closing=self.closing, now=lambda: self.now
        )
        return sweep(self.storage, options)

    def run(self, *bodies: bytes) -> list[StoredEvent]:
        """Post events, and publish what they change."""
        events = self.post(*bodies)
        self.publish()
        return events

    def archive(self, **options: Any) -> SweepResult:
        """Close and archive all that is decided."""
        self.closing = ClosingOptions(**{"quiet": timedelta(0), "every": timedelta(0), **options})
        return self.sweep()

    def replace_blob(self, event: StoredEvent, content: bytes) -> None:
        """Put other bytes in place of an event's."""
        self.storage.delete_blob(EVENTS, event.blob)
        self.storage.put_new(EVENTS, event.blob, gzip.compress(content, mtime=0))
