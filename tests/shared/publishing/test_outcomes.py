"""How calls become smaller: every process is written or blamed alone, in few calls."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.publishing.outcomes import batch_size, shrink_to_fit
from shared.storage.memory import MemoryStorage
from shared.telemetry.port import PROCESS, Act, Acts
from tests.support.events import event, write
from tests.support.publish_world import Clock, entries, fold, publish, publish_options
from tests.support.refusing_catalog import RefusingByName, refusal
from tests.support.runtime import Runtime


@settings(max_examples=40)
@given(st.integers(min_value=1, max_value=40), st.data())
def test_every_process_is_written_once_or_blamed_alone(size: int, data: st.DataObject) -> None:
    numbers = st.integers(min_value=0, max_value=size - 1)
    poison = data.draw(st.sets(numbers, max_size=5))
    catalog, storage = RefusingByName(refusal, *(f"/out{number}" for number in poison)), MemoryStorage()
    catalog.of_assets = False
    for number in range(size):
        fold(storage, *write(f"r{number}", f"app{number}", "10:00", "/in", sink=f"/out{number}"))
    counts = publish(storage, catalog, publish_options(Clock()))
    assert (counts.written, counts.refused) == (size - len(poison), len(poison))
    assert len(catalog.processes) == size - len(poison)
    assert {(entry.isolated, entry.attempts) for entry in entries(storage)} <= {(True, 1)}
    assert len(catalog.sizes) <= 1 + 2 * len(poison) * (size - 1).bit_length(), "two calls for each halving"


@given(st.integers(min_value=1, max_value=1000), st.integers(min_value=0, max_value=20))
def test_batches_shrink_with_failures_but_never_to_nothing(most: int, failures: int) -> None:
    assert batch_size(most, 0) == batch_size(most, 1) == most
    assert batch_size(most, failures + 1) <= batch_size(most, failures)
    assert batch_size(most, failures) >= 1


@given(st.lists(st.integers(), max_size=50), st.integers(min_value=0, max_value=60))
def test_shrinking_keeps_the_first_items_that_fit(items: list[int], room: int) -> None:
    kept_shrink = shrink_to_fit(items, lambda part: len(part) <= room)
    assert items[: len(kept_shrink)] == kept_shrink
    assert len(kept_shrink) <= max(1, room)
    assert kept_shrink or not items


def test_the_outcome_of_a_process_says_how_many_data_sets_it_reads_and_writes() -> None:
    storage, acts = MemoryStorage(), list[Act]()
    fold(storage, event("a", "COMPLETE", "10:00:00", inputs=["/a", "/b"], outputs=["/out"], application="app"))
    publish(storage, RefusingByName(), publish_options(Clock(), telemetry=Acts(acts.append)))
    (facts,) = (act.facts for act in acts if act.kind is PROCESS)
    assert (facts["inputs"], facts["outputs"]) == (2, 1)


def test_the_outcome_of_a_written_process_says_how_long_its_change_has_waited() -> None:
    runtime, acts = Runtime(), list[Act]()
    runtime.receive(event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/out"], application="app"))
    runtime.sweep()
    runtime.now += timedelta(minutes=5)
    runtime.publish(telemetry=Acts(acts.append))
    (lag,) = (act.facts["lag"] for act in acts if act.kind is PROCESS)
    assert isinstance(lag, float)
    assert lag >= 300
