"""Calls that the catalog refuses, fails on or accepts in part: the rest is written, in few calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey, HeldAsset, Node
from shared.errors import CatalogUnavailable
from shared.publishing.planning.options import PublishOptions
from shared.records.publish_queue import failures_before, queue_entries
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from tests.support.events import event, write
from tests.support.publishing import Clock, post_and_settle, publish, publish_options
from tests.support.refusing_catalog import RefusingByName, refusal

PROCESSES = 50
FEW = 13
"""Calls in which one of fifty is found: the whole, and two for each halving."""


def choking(_: str = "") -> Exception:
    return CatalogUnavailable("500", after=0, over=True)


def silence(_: str = "") -> Exception:
    return CatalogUnavailable("no answer", after=0)


def jobs(storage: MemoryStorage, number: int, *more: str, sources: str = "/in") -> None:
    """So many processes, each with sink `/out{number}`, and those with the sinks in `more`."""
    for sink in (*(f"/out{each}" for each in range(number)), *more):
        post_and_settle(storage, *write(f"r{sink}", f"app{sink}", "10:00", sources, sink=sink))


@pytest.mark.parametrize("makes", [refusal, choking])
def test_one_faulty_process_is_isolated_in_few_calls_and_the_others_are_written(
    makes: Callable[[str], Exception],
) -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(makes, "/bad"), Clock()
    jobs(storage, PROCESSES - 1, "/bad")
    catalog.of_assets = False
    done = publish(storage, catalog, publish_options(clock))
    assert (done.written, done.refused, done.error) == (PROCESSES - 1, 1, "")
    assert len(catalog.sizes) <= FEW
    (left,) = queue_entries(storage)[0]
    assert (left.isolated, left.attempts) == (True, 1)
    catalog.sizes.clear()
    jobs(storage, 0, "/more1", "/more2")
    clock.at += timedelta(minutes=10)
    assert publish(storage, catalog, publish_options(clock)).written == 2
    assert catalog.sizes == [2, 1], "what is known to be poisonous is not mixed with others again"
    catalog.ends = ()
    clock.at += timedelta(hours=1)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert status(storage).waiting == 0


def test_a_refused_asset_delays_only_its_own_process() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(refusal, "/bad")
    jobs(storage, PROCESSES - 1, "/bad")
    done = publish(storage, catalog, publish_options(Clock()))
    assert (done.written, done.refused) == (PROCESSES - 1, 1)
    assert len(catalog.sizes) + catalog.placings <= 2 * FEW


def test_several_refused_processes_are_all_isolated() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(refusal, "/bad1", "/bad2", "/bad3")
    jobs(storage, PROCESSES - 3, "/bad1", "/bad2", "/bad3")
    done = publish(storage, catalog, publish_options(Clock()))
    assert (done.written, done.refused) == (PROCESSES - 3, 3)
    assert len(catalog.processes) == PROCESSES - 3


def test_a_catalog_that_fails_on_both_halves_of_a_call_is_not_called_further() -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(choking, *"0123456789"), Clock()
    jobs(storage, PROCESSES)
    done = publish(storage, catalog, publish_options(clock))
    assert (done.written, done.refused, done.error) == (0, 0, "500")
    assert catalog.placings == 3
    catalog.ends = ()
    clock.at += timedelta(minutes=1)
    assert publish(storage, catalog, publish_options(clock)).written == PROCESSES, (
        "its calls were over: nothing is waited for"
    )
    assert catalog.sizes == [PROCESSES], "and one failure makes calls no smaller"


def test_unanswered_processes_are_sent_in_ever_smaller_calls_after_their_bound() -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(silence, "/bad"), Clock()
    jobs(storage, PROCESSES - 1, "/bad")
    for _ in range(120):
        publish(storage, catalog, publish_options(clock))
        clock.at += timedelta(minutes=1)
    assert len(catalog.processes) == PROCESSES - 1
    assert status(storage).waiting_for == {"the catalog": 2}


def test_throttling_counts_as_no_attempt_of_any_process() -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(), Clock()
    jobs(storage, PROCESSES)
    catalog.makes = lambda _: CatalogUnavailable("429", after=30, over=True, blames=False)
    catalog.ends = tuple("0123456789")
    for _ in range(8):
        assert publish(storage, catalog, publish_options(clock)).error == "429"
        clock.at += timedelta(minutes=1)
    assert {each.attempts for each in queue_entries(storage)[0]} == {0}
    catalog.ends = ()
    catalog.sizes.clear()
    assert publish(storage, catalog, publish_options(clock)).written == PROCESSES
    assert catalog.sizes == [1, 3, 6, 12, 25, 3], (
        "after so long in vain it begins small, and each call is twice the last"
    )


@pytest.mark.parametrize("taken", [0, 1, 30, PROCESSES - 1])
def test_processes_that_the_answer_leaves_out_are_sent_again(taken: int) -> None:
    """A catalog that applies a part of a call and answers 200, twice."""

    class Partial(RefusingByName):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            self.sizes.append(len(processes))
            part = processes[:taken] if len(self.sizes) < 3 else processes
            return MemoryCatalog.write_processes(self, part, guids)

    storage, catalog = MemoryStorage(), Partial()
    jobs(storage, PROCESSES)
    done = publish(storage, catalog, publish_options(Clock()))
    assert (done.written, done.refused) == (PROCESSES, 0)
    assert len(catalog.processes) == PROCESSES
    assert len(catalog.sizes) <= 5


def test_assets_that_the_answer_leaves_out_delay_only_their_own_processes() -> None:
    class Partial(RefusingByName):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            return super().create_assets([each for each in assets if not each.qualified_name.endswith("/bad")])

    storage, catalog = MemoryStorage(), Partial()
    jobs(storage, 9, "/bad")
    done = publish(storage, catalog, publish_options(Clock()))
    assert (done.written, done.refused) == (9, 1)
    assert "no guid" in status(storage).last_errors[0]


def test_processes_of_a_refused_call_that_took_effect_are_removed() -> None:
    """A write is applied and refused, and its contribution is retracted during the call: the catalog must be empty."""

    class Lying(RefusingByName):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            super().write_processes(processes, guids)
            for sink in ("/out0", "/out1"):
                post_and_settle(storage, write(f"r{sink}", f"app{sink}", "10:01", "/in", sink=sink, end="FAIL")[1])
            raise refusal()

    storage, catalog, clock = MemoryStorage(), Lying(), Clock()
    jobs(storage, 2)
    done = publish(storage, catalog, publish_options(clock))
    assert (catalog.sizes, done.removed) == ([2], 2)
    assert catalog.processes == {}


def test_unchanged_processes_take_no_room_in_a_call() -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(), Clock()
    jobs(storage, 30)
    publish(storage, catalog, publish_options(clock))
    catalog.sizes.clear()
    for number in range(30):  # every third has another content
        source = "/new" if number % 3 == 0 else "/in"
        post_and_settle(storage, *write(f"s{number}", f"app2{number}", "11:00", source, sink=f"/out{number}"))
    done = publish(storage, catalog, PublishOptions(batch=10, now=clock))
    assert (done.written, done.unchanged) == (10, 20)
    assert catalog.sizes == [10]


def test_a_refused_description_delays_no_process() -> None:
    class Mute(RefusingByName):
        def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:  # noqa: ARG002 - the port's
            raise refusal(asset.qualified_name)

    storage, catalog = MemoryStorage(), Mute()
    jobs(storage, 1)
    publish(storage, catalog, publish_options(Clock()))
    drop = event("d", "COMPLETE", "10:03:00", outputs=["/out0"], application="x", states={"/out0": ("DROP", "")})
    post_and_settle(storage, drop, *write("b", "b", "10:05", "/in", sink="/b"))
    done = publish(storage, catalog, publish_options(Clock()))
    assert (done.written, done.error) == (1, "")
    assert done.refused == 1


def test_smaller_batches_write_everything_to_a_catalog_that_takes_few_calls() -> None:
    """A catalog that throttles every eighth call, for ever."""

    class Tired(RefusingByName):
        calls = 0

        def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
            self._count()
            return super().search(text, limit)

        def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
            names = list(keys)
            for _ in range(0, len(names), 8):  # as many as go into one address
                self._count()
            return super().look_up(names)

        def _count(self) -> None:
            self.calls += 1
            if self.calls % 8 == 0:
                raise CatalogUnavailable("429", after=60, over=True, blames=False)

    storage, catalog, clock = MemoryStorage(), Tired(), Clock()
    for number in range(PROCESSES):
        post_and_settle(storage, *write(f"r{number}", f"app{number}", "10:00", f"/in{number}", sink=f"/out{number}"))
    for _ in range(60):
        publish(storage, catalog, publish_options(clock))
        clock.at += timedelta(minutes=2)
    assert len(catalog.processes) == PROCESSES
    assert max(catalog.sizes) < PROCESSES
    assert status(storage).waiting == 0


def test_on_another_catalog_all_assets_are_looked_up_again_without_halved_calls() -> None:
    """The remembered guids are those of a lost catalog; no call is halved for that."""
    storage, clock = MemoryStorage(), Clock()
    jobs(storage, PROCESSES)
    publish(storage, RefusingByName(), publish_options(clock))
    for number in range(PROCESSES):
        post_and_settle(storage, *write(f"s{number}", f"app2{number}", "11:00", "/more", sink=f"/out{number}"))
    other = RefusingByName()
    for number in range(5):  # its guids are others
        other.create_assets([AssetEntity(type="x", qualified_name=str(number), attributes=(("name", "x"),))])
    done = publish(storage, other, publish_options(clock))
    assert (done.written, done.refused) == (PROCESSES, 0)
    assert other.sizes == [PROCESSES, PROCESSES]


@pytest.mark.parametrize("made_progress", [False, True])
def test_a_pause_after_progress_counts_as_no_failure(made_progress: bool) -> None:
    """Saved progress makes the retry cheaper, so that its batch need not be smaller."""

    class Throttled(MemoryCatalog):
        def write_processes(self, *_: object) -> dict[str, str]:
            raise CatalogUnavailable("429", after=30, over=True, blames=False, made_progress=made_progress)

    storage = MemoryStorage()
    jobs(storage, 3)
    assert publish(storage, Throttled(), publish_options(Clock())).error == "429"
    assert failures_before(storage) == (0 if made_progress else 1)
