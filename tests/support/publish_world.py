"""Helpers of the tests of publishing: events are folded into headers and marks; what is published is read from the
catalog, the ledger and the queue.
"""

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from shared.applications import rows
from shared.applications.delivery import Delivery
from shared.applications.partition import read_state
from shared.applications.processor import ApplicationProcessor
from shared.atlas.entities import AssetEntity, ProcessEntity, lasting_text
from shared.catalog.port import AssetKey, Catalog, HeldAsset
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import decode
from shared.publishing.context import PublishContext, Published, PublishOptions
from shared.publishing.publisher import Publisher
from shared.records.ledger import LedgerEntry, ledger_entries
from shared.records.publish_queue import PROCESS_KIND, Mark, QueueEntry, leave_marks, read_queue
from shared.storage.memory import MemoryStorage
from shared.storage.port import Storage
from shared.storage_layout import APPLICATIONS, EVENTS, digest_of, stored
from shared.translation.aggregate import SupersessionPolicy
from tests.support.memory_catalog import MemoryCatalog


def lasting_asset(asset: AssetEntity | None) -> AssetEntity | None:
    """Return an asset without what travels with the next change: it depends on the order of events."""
    if asset is None:
        return None
    return replace(asset, attributes=tuple((name, lasting_text(text)) for name, text in asset.attributes))


@dataclass
class Clock:
    """A clock that tests set. It starts later than all events and marks."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(days=1))

    def __call__(self) -> datetime:
        return self.at

    def seconds(self) -> float:
        return self.at.timestamp()


def publish_options(
    clock: Callable[[], datetime], quiet: timedelta = timedelta(days=100_000), **fields: Any
) -> PublishOptions:
    return PublishOptions(now=clock, patience=SupersessionPolicy(quiet=quiet), **fields)


def context_of(storage: Storage, catalog: Catalog, options: PublishOptions | None = None) -> PublishContext:
    return PublishContext(storage=storage, catalog=catalog, publishing=options or PublishOptions())


def publish(storage: Storage, catalog: Catalog, options: PublishOptions) -> Published:
    """Publish what is due, in a process of its own."""
    return Publisher(context=context_of(storage, catalog, options)).publish()


def fold(storage: Storage, *bodies: bytes, names: Names = BUILT_IN) -> None:
    """Deliver these events: their applications are folded, and marks are left."""
    delivery = Delivery(processor=ApplicationProcessor(storage=storage, names=names))
    for body in bodies:
        event, packed_event = stored(decode(body), digest_of(body)), gzip.compress(body)
        storage.put_new(EVENTS, event.blob, packed_event)
        delivery.deliver(event, packed_event)


def entries(storage: Storage, *, revisits: bool = False) -> tuple[QueueEntry, ...]:
    """The queue entries, without those that only wait for time to pass."""
    return tuple(entry for entry in read_queue(storage).entries if revisits or not entry.revisit)


def the_ledger(storage: Storage) -> LedgerEntry:
    """The only ledger entry."""
    (entry,) = ledger_entries(storage)
    return entry


def process_in(catalog: Catalog, name: str) -> ProcessEntity | None:
    """The process of this name in a catalog of any kind."""
    held_process = catalog.read_processes([name]).get(name)
    return held_process.entity if held_process else None


class UnreliableCatalog(MemoryCatalog):
    """A catalog that is unavailable, or refuses processes by the end of their names."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.refuses = ""
        self.calls = 0

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        self.calls += 1
        if self.away:
            raise CatalogUnavailable("no answer", after=0)
        return super().look_up(keys)

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        if self.refuses and any(process.qualified_name.endswith(self.refuses) for process in processes):
            raise CatalogRefused(status=400, code="ATLAS-400-00-01A", detail="no")
        return super().write_processes(processes, guids)


class Watched:
    """Storage that counts calls by method and table, and runs a test's action at each."""

    def __init__(self, real: MemoryStorage) -> None:
        self.real = real
        self.calls: Counter[str] = Counter()
        self.step_in: Callable[[str, tuple[Any, ...]], None] = lambda _name, _arguments: None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)

        def called(*arguments: Any, **named: Any) -> Any:
            self.calls[f"{name} {arguments[0]}"] += 1
            self.step_in(name, arguments)
            return method(*arguments, **named)

        return called

    @property
    def total(self) -> int:
        """The number of calls so far."""
        return self.calls.total()


class Killed(BaseException):
    """`kill -9`."""


def close_application(storage: Storage, application: str, now: datetime) -> None:
    """Close an application, as the sweeper does once none of its events has arrived for long: its version grows, and
    its processes are marked.
    """
    snapshot = read_state(storage, application)
    assert snapshot
    state = structs.replace(snapshot.state, version=snapshot.state.version + 1, closed=now)
    leave_marks(
        storage,
        [
            Mark(kind=PROCESS_KIND, target=process, application=application, version=state.version, since=now)
            for process in state.stand_ins()
        ],
    )
    header = rows.header(application, state, snapshot.etag, snapshot.parts, storage)
    assert storage.replace(APPLICATIONS, header.row)
