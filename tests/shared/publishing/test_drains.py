"""What a drain reads before it begins, how it ends before the queue is empty, and what the next one finds."""

from shared.records.asset_record import AssetRecord
from shared.storage.memory import MemoryStorage
from shared.storage_layout import ASSETS, asset_key
from tests.support.events import event, write
from tests.support.publish_world import Clock, UnreliableCatalog, Watched, entries, fold, publish, publish_options


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
