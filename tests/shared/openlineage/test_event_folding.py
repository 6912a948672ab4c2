"""A long run: its events folded to few that merge to the same, and each blob read once."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.applications.rows import BlobCache
from shared.openlineage.decoding import Event
from shared.openlineage.merging import fold, merge
from shared.publishing.context import PublishOptions
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, stored_from_blob
from shared.sweeping.sweep import SweepOptions, sweep
from tests.support.events import event
from tests.support.golden import FOLDERS, _events
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import publish
from tests.support.receiving import receive


@cache
def _runs_of_all() -> list[list[Event]]:
    """The events of each captured run of some producers."""
    events_by_run: dict[tuple[str, str], list[Event]] = {}
    for name, folder in FOLDERS.items():
        if name.startswith(("spark35-ol1.53", "spark41", "dbt", "airflow")):
            for each in _events(folder):
                if each.body:
                    events_by_run.setdefault((name, each.run_id), []).append(each)
    return [events_by_run[key] for key in sorted(events_by_run)]


@given(seed=st.integers(0, 10_000))
def test_folded_events_merge_to_the_same_run(seed: int) -> None:
    draw = random.Random(seed)
    own_events = draw.choice(_runs_of_all())
    repeated_events = [
        replace(
            draw.choice(own_events), time=draw.choice(own_events).time + timedelta(seconds=draw.choice([0, 0, 1, 5]))
        )
        for _ in range(12)
    ]
    events = [*own_events, *repeated_events]
    draw.shuffle(events)
    middle = draw.randrange(len(events) + 1)
    folded = fold(events)
    assert merge(folded) == merge(events)
    assert fold((*fold(events[:middle]), *events[middle:])) == folded
    contents = {msgspec.json.encode((each.type, each.body and replace(each.body, event_time=""))) for each in events}
    assert len(folded) <= 2 * len(contents)


def test_what_was_omitted_from_one_of_two_otherwise_equal_events_is_kept_in_any_order() -> None:
    full_event = _runs_of_all()[0][0]
    partial = replace(full_event, omitted=("run.facets.parent",))
    folded = fold((full_event, partial))
    assert fold((partial, full_event)) == folded
    assert merge(folded) == merge((full_event, partial))
    assert merge(folded).omitted == partial.omitted


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_every_captured_event_is_encoded_and_decoded_unchanged(folder: Any) -> None:
    events = list(_events(folder))
    assert msgspec.json.decode(msgspec.json.encode(events), type=list[Event]) == events


class CountingStorage(MemoryStorage):
    """Storage in memory that counts the blobs that are read, by container."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()

    def get(self, container: str, name: str) -> bytes | None:
        """See the port."""
        self.reads[container] += 1
        return super().get(container, name)


def long_run(events: int) -> list[bytes]:
    """A run that sends the same content many times, with other counts each time, and ends."""
    options: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/b"], "application": "app"}
    times = [f"{10 + n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}" for n in range(events)]
    bodies = [event("a", "RUNNING", times[n], **options) for n in range(events - 1)]
    return [*bodies, event("a", "COMPLETE", times[-1], **options)]


def test_events_of_a_long_run_are_not_read_again_once_they_are_folded() -> None:
    storage = CountingStorage()
    bodies = long_run(3000)
    for body in bodies:
        receive(storage, body, most_bytes=10_000)
    end = next(blob_fact for blob_fact in storage.blobs(EVENTS) if "_COMPLETE_" in blob_fact.name)
    Delivery(processor=ApplicationProcessor(storage=storage)).deliver(
        stored_from_blob(end.name), MemoryStorage.get(storage, EVENTS, end.name) or b""
    )
    assert storage.reads[EVENTS] == 0, "the rows have the events"
    receive(storage, event("a", "RUNNING", "09:00:00", inputs=["/late"], application="app"), most_bytes=10_000)
    sweep(storage, SweepOptions(now=lambda: datetime.now(UTC) + timedelta(minutes=1)))
    assert storage.reads[EVENTS] == 0, "values stand for the folded ones"

    catalog = MemoryCatalog()
    publish(storage, catalog, PublishOptions())
    (process,) = catalog.processes.values()
    assert [name.rpartition("/")[2] for _, name in process.inputs] == ["a", "late"]
    assert status(storage).published == len(bodies) + 1

    sweep(storage, SweepOptions(now=lambda: datetime.now(UTC) + timedelta(days=3)))
    assert list(storage.blobs(EVENTS)) == []
    assert status(storage).published == len(bodies) + 1


def test_recently_read_events_are_not_read_again() -> None:
    storage = CountingStorage()
    blob_cache = BlobCache()
    for body in long_run(3):
        receive(storage, body, most_bytes=10_000)
    for blob in sorted(storage.blobs(EVENTS), key=lambda fact: "_COMPLETE_" in fact.name):
        packed_event = MemoryStorage.get(storage, EVENTS, blob.name) or b""
        processor = ApplicationProcessor(storage=storage, blob_cache=blob_cache)
        Delivery(processor=processor).deliver(stored_from_blob(blob.name), packed_event)
    assert storage.reads[EVENTS] == 0
    assert status(storage).in_progress == 3


def test_the_blob_cache_holds_no_more_than_its_bound() -> None:
    blob_cache = BlobCache(most_bytes=10)
    for digest, content in (("a", b"1234"), ("b", b"1234"), ("a", b"12345"), ("c", b"1234")):
        blob_cache.put(digest, content)
    assert [blob_cache.get(digest) for digest in "abc"] == [b"12345", None, b"1234"]
