"""What a drain reads before it begins, how it ends before the queue is empty, and what the next one finds."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import pytest

from shared.catalog.port import AssetKey, HeldAsset, Node
from shared.errors import CatalogUnavailable
from shared.records.asset_record import AssetRecord
from shared.storage.memory import MemoryStorage
from shared.storage_layout import ASSETS, asset_key
from tests.support import asset_resolution
from tests.support.events import event, write
from tests.support.publish_world import Clock, UnreliableCatalog, Watched, entries, fold, publish, publish_options
from tests.support.runtime import Runtime


def test_a_drain_that_is_stopped_ends_after_its_batch_and_leaves_the_rest() -> None:
    storage, catalog, clock, counts = MemoryStorage(), UnreliableCatalog(), Clock(), list[int]()
    for number in range(3):
        fold(storage, *write(f"r{number}", f"app{number}", "10:00", "/in", sink=f"/out{number}"))
    options = publish_options(
        clock, batch=1, note=lambda published: counts.append(published.written), stopped=lambda: bool(counts)
    )
    assert publish(storage, catalog, options).written == 1
    assert (counts, len(entries(storage))) == ([1], 2)
    assert publish(storage, catalog, publish_options(clock)).written == 2


def test_the_records_of_all_changed_data_sets_are_read_in_one_query() -> None:
    """Thousands of others precede them."""
    storage, catalog, clock = Watched(MemoryStorage()), UnreliableCatalog(), Clock()
    sinks = sorted(
        (f"/out{number}" for number in range(5000)), key=lambda sink: asset_key(("fs_path", f"file://{sink}"))
    )
    for sink in sinks:
        storage.real.upsert(ASSETS, AssetRecord(own=("fs_path", f"file://{sink}")).row(storage.real))
    for sink in sinks[-3:]:
        fold(storage.real, event(sink, "COMPLETE", "10:03:00", outputs=[sink], states={sink: ("DROP", "")}))
    publish(storage, catalog, publish_options(clock))
    assert storage.calls["partition assets"] == 1


def test_a_publisher_reads_records_again_that_another_one_may_have_changed(caplog: pytest.LogCaptureFixture) -> None:
    first = Runtime()
    second = Runtime(storage=first.storage, catalog=first.catalog)
    first.run(*write("a", "app1", "10:00", "/a"))
    for number, publisher in enumerate((second, first)):
        state = {"/out": ("DROP", "")}
        publisher.run(event(f"b{number}", "COMPLETE", f"1{number}:30:00", outputs=["/out"], states=state))
    assert not caplog.records
    assert entries(first.storage) == ()


def test_what_was_searched_before_the_catalog_failed_is_not_searched_again() -> None:
    class Tired(UnreliableCatalog):
        """It throttles the first look-up after a search."""

        searches, has_throttled = 0, False

        def search_all(self, texts: Sequence[str]) -> dict[str, tuple[Node, ...]] | None:
            self.searches += 1
            return super().search_all(texts)

        def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
            if self.searches and not self.has_throttled:
                self.has_throttled = True
                raise CatalogUnavailable("429", after=30, over=True, blames=False)
            return super().look_up(keys)

    storage, catalog, clock = MemoryStorage(), Tired(), Clock()
    asset_resolution.write(storage, "job", "a", "out")
    assert publish(storage, catalog, publish_options(clock)).error == "429"
    clock.at += timedelta(minutes=1)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert catalog.searches == 1
