"""Helpers for tests of publishing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Concatenate, ParamSpec, TypeVar

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import AssetKey, Catalog, HeldAsset
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.context import PublishContext, Published, PublishOptions, turn
from shared.publishing.publisher import Publisher
from shared.storage.memory import MemoryStorage
from shared.storage.port import Storage
from shared.translation.aggregate import SupersessionPolicy
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post

P = ParamSpec("P")
T = TypeVar("T")


def process_in(catalog: Catalog, qualified_name: str) -> ProcessEntity | None:
    """A process in the catalog."""
    held_process = catalog.read_processes([qualified_name]).get(qualified_name)
    return held_process.entity if held_process else None


def context_of(storage: Storage, catalog: Catalog, options: PublishOptions | None = None) -> PublishContext:
    """Return the context of publishing."""
    return PublishContext(storage=storage, catalog=catalog, publishing=options or PublishOptions())


def leased(
    act: Callable[Concatenate[PublishContext, P], T], context: PublishContext, *arguments: P.args, **options: P.kwargs
) -> T:
    """Do this under the publisher's lease."""
    with turn(context):
        return act(context, *arguments, **options)


def publish(storage: Storage, catalog: Catalog, options: PublishOptions) -> Published:
    """Publish the processes that are due."""
    return Publisher(context=context_of(storage, catalog, options)).publish()


@dataclass
class Clock:
    """A clock that tests set. It starts later than all events and queue entries."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(days=1))

    def __call__(self) -> datetime:
        return self.at


def publish_options(clock: Clock, quiet: timedelta = timedelta(days=100_000)) -> PublishOptions:
    return PublishOptions(now=clock, patience=SupersessionPolicy(quiet=quiet))


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


def post_and_deliver(storage: MemoryStorage, *bodies: bytes) -> None:
    for place in post(storage, *bodies):
        deliver_event(storage, place)
