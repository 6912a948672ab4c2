"""Calls that the catalog refuses, fails on or accepts in part: the rest is written, in few calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey, HeldAsset, Node
from shared.errors import CatalogUnavailable
from shared.publishing.context import PublishOptions
from shared.records.publish_queue import read_queue
from shared.records.states import QueueState
from shared.storage.memory import MemoryStorage
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import Clock, entries, fold, publish, publish_options
from tests.support.refusing_catalog import RefusingByName, refusal

PROCESSES = 50
FEW = 13
"""Calls in which one of fifty is found: the whole, and two for each halving."""


def choking(_: str = "") -> Exception:
    return CatalogUnavailable("500", after=0, over=True)


def silence(_: str = "") -> Exception:
    return CatalogUnavailable("no answer", after=0)


def jobs(storage: MemoryStorage, number: int, *sinks: str, sources: str = "/in") -> None:
    """So many processes, each with sink `/out{number}`, and those with the sinks in `sinks`."""
    for sink in (*(f"/out{place}" for place in range(number)), *sinks):
        fold(storage, *write(f"r{sink}", f"app{sink}", "10:00", sources, sink=sink))


@pytest.mark.parametrize("makes", [refusal, choking])
def test_one_faulty_process_is_isolated_in_few_calls_and_the_others_are_written(
    makes: Callable[[str], Exception],
) -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(makes, "/bad"), Clock()
    jobs(storage, PROCESSES - 1, "/bad")
    catalog.of_assets = False
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.written, counts.refused, counts.error) == (PROCESSES - 1, 1, "")
    assert len(catalog.sizes) <= FEW
    (remaining_entry,) = entries(storage)
    assert (remaining_entry.isolated, remaining_entry.attempts) == (True, 1)
    catalog.sizes.clear()
    jobs(storage, 0, "/more1", "/more2")
    clock.at += timedelta(minutes=10)
    assert publish(storage, catalog, publish_options(clock)).written == 2
    assert catalog.sizes == [2, 1], "what is known to be poisonous is not mixed with others again"
    catalog.ends = ()
    clock.at += timedelta(hours=1)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert entries(storage) == ()


def test_a_refused_asset_delays_only_its_own_process() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(refusal, "/bad")
    jobs(storage, PROCESSES - 1, "/bad")
    counts = publish(storage, catalog, publish_options(Clock()))
    assert (counts.written, counts.refused) == (PROCESSES - 1, 1)
    assert len(catalog.sizes) + catalog.placings <= 2 * FEW


def test_a_refused_asset_without_columns_is_sent_once() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(refusal, "/bad")
    jobs(storage, 0, "/bad")
    assert publish(storage, catalog, publish_options(Clock())).refused == 1
    assert catalog.placings == 1


def test_several_refused_processes_are_all_isolated() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(refusal, "/bad1", "/bad2", "/bad3")
    jobs(storage, PROCESSES - 3, "/bad1", "/bad2", "/bad3")
    counts = publish(storage, catalog, publish_options(Clock()))
    assert (counts.written, counts.refused) == (PROCESSES - 3, 3)
    assert len(catalog.processes) == PROCESSES - 3


def test_a_catalog_that_fails_on_both_halves_of_a_call_is_not_called_further() -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(choking, *"0123456789"), Clock()
    jobs(storage, PROCESSES)
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.written, counts.refused, counts.error) == (0, 0, "500")
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
    assert len(entries(storage)) == 1


def test_throttling_counts_as_no_attempt_of_any_process() -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(), Clock()
    jobs(storage, PROCESSES)
    catalog.makes = lambda _: CatalogUnavailable("429", after=30, over=True, blames=False)
    catalog.ends = tuple("0123456789")
    for _ in range(8):
        assert publish(storage, catalog, publish_options(clock)).error == "429"
        clock.at += timedelta(minutes=1)
    assert {entry.attempts for entry in entries(storage)} == {0}
    catalog.ends = ()
    catalog.sizes.clear()
    assert publish(storage, catalog, publish_options(clock)).written == PROCESSES
    assert catalog.sizes == [1, 3, 6, 12, 25, 3], (
        "after so long in vain it begins small, and each call is twice the last"
    )


@pytest.mark.parametrize("taken_count", [0, 1, 30, PROCESSES - 1])
def test_processes_that_the_answer_leaves_out_are_sent_again(taken_count: int) -> None:
    """A catalog that applies a part of a call and answers 200, twice."""

    class Partial(RefusingByName):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            self.sizes.append(len(processes))
            part = processes[:taken_count] if len(self.sizes) < 3 else processes
            return MemoryCatalog.write_processes(self, part, guids)

    storage, catalog = MemoryStorage(), Partial()
    jobs(storage, PROCESSES)
    counts = publish(storage, catalog, publish_options(Clock()))
    assert (counts.written, counts.refused) == (PROCESSES, 0)
    assert len(catalog.processes) == PROCESSES
    assert len(catalog.sizes) <= 5


def test_assets_that_the_answer_leaves_out_delay_only_their_own_processes() -> None:
    class Partial(RefusingByName):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            taken = [asset for asset in assets if not asset.qualified_name.endswith("/bad")]
            return super().create_assets(taken) if taken else {}

    storage, catalog = MemoryStorage(), Partial()
    jobs(storage, 9, "/bad")
    counts = publish(storage, catalog, publish_options(Clock()))
    assert (counts.written, counts.refused) == (9, 1)
    assert "no guid" in entries(storage)[0].error


def test_processes_of_a_refused_call_that_took_effect_are_removed() -> None:
    """A write is applied and refused, and its contribution is retracted during the call: the catalog must be empty."""

    class Lying(RefusingByName):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            super().write_processes(processes, guids)
            for sink in ("/out0", "/out1"):
                fold(storage, write(f"r{sink}", f"app{sink}", "10:01", "/in", sink=sink, end="FAIL")[1])
            raise refusal()

    storage, catalog, clock = MemoryStorage(), Lying(), Clock()
    jobs(storage, 2)
    counts = publish(storage, catalog, publish_options(clock))
    assert (catalog.sizes[0], counts.removed) == (2, 2)
    assert catalog.processes == {}


def test_unchanged_processes_take_no_room_in_a_call() -> None:
    storage, catalog, clock = MemoryStorage(), RefusingByName(), Clock()
    jobs(storage, 30)
    publish(storage, catalog, publish_options(clock))
    catalog.sizes.clear()
    for number in range(30):  # every third has another content
        source = "/new" if number % 3 == 0 else "/in"
        fold(storage, *write(f"s{number}", f"app2{number}", "11:00", source, sink=f"/out{number}"))
    counts = publish(storage, catalog, PublishOptions(batch=10, now=clock))
    assert (counts.written, counts.unchanged) == (10, 20)
    assert catalog.sizes == [10]


def test_a_refused_description_delays_no_process() -> None:
    class Mute(RefusingByName):
        def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:  # noqa: ARG002 - the port's
            raise refusal(asset.qualified_name)

    storage, catalog = MemoryStorage(), Mute()
    jobs(storage, 1)
    publish(storage, catalog, publish_options(Clock()))
    drop = event("d", "COMPLETE", "10:03:00", outputs=["/out0"], application="x", states={"/out0": ("DROP", "")})
    fold(storage, drop, *write("b", "b", "10:05", "/in", sink="/b"))
    counts = publish(storage, catalog, publish_options(Clock()))
    assert (counts.written, counts.error) == (1, "")
    assert counts.refused == 1


def test_a_description_that_the_catalog_fails_on_pauses_publishing_and_counts_once_it_is_written() -> None:
    class Choking(RefusingByName):
        is_choking = True

        def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
            if self.is_choking:
                raise choking()
            return super().describe_placeholder(asset, bare=bare)

    storage, catalog, clock = MemoryStorage(), Choking(), Clock()
    jobs(storage, 1)
    publish(storage, catalog, publish_options(clock))
    fold(
        storage,
        event("d", "COMPLETE", "10:03:00", outputs=["/out0"], states={"/out0": ("DROP", "")}, application="x"),
    )
    assert publish(storage, catalog, publish_options(clock)).error == "500"
    catalog.is_choking = False
    clock.at += timedelta(hours=1)
    assert publish(storage, catalog, publish_options(clock)).written == 1


def test_descriptions_that_were_not_tried_follow_as_soon_as_the_catalog_is_called_again() -> None:
    class Throttled(MemoryCatalog):
        described = 0

        def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
            self.described += 1
            if self.described == 1:
                raise CatalogUnavailable("429", after=30, over=True, blames=False)
            return super().describe_placeholder(asset, bare=bare)

    storage, catalog, clock = MemoryStorage(), Throttled(), Clock()
    jobs(storage, 2)
    publish(storage, catalog, publish_options(clock))
    drops = {"/out0": ("DROP", ""), "/out1": ("DROP", "")}
    fold(storage, event("d", "COMPLETE", "10:03:00", outputs=list(drops), states=drops, application="x"))
    assert publish(storage, catalog, publish_options(clock)).error == "429"
    clock.at += timedelta(seconds=31)
    publish(storage, catalog, publish_options(clock))
    assert catalog.described == 2, "the one that failed waits for longer"


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
        fold(storage, *write(f"r{number}", f"app{number}", "10:00", f"/in{number}", sink=f"/out{number}"))
    for _ in range(60):
        publish(storage, catalog, publish_options(clock))
        clock.at += timedelta(minutes=2)
    assert len(catalog.processes) == PROCESSES
    assert max(catalog.sizes) < PROCESSES
    assert entries(storage) == ()


def test_on_another_catalog_all_assets_are_looked_up_again_without_halved_calls() -> None:
    """The remembered guids are those of a lost catalog; no call is halved for that."""
    storage, clock = MemoryStorage(), Clock()
    jobs(storage, PROCESSES)
    publish(storage, RefusingByName(), publish_options(clock))
    for number in range(PROCESSES):
        fold(storage, *write(f"s{number}", f"app2{number}", "11:00", "/more", sink=f"/out{number}"))
    other = RefusingByName()
    for number in range(5):  # its guids are others
        other.create_assets([AssetEntity(type="hive_table", qualified_name=str(number), attributes=(("name", "x"),))])
    counts = publish(storage, other, publish_options(clock))
    assert (counts.written, counts.refused) == (PROCESSES, 0)
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
    assert read_queue(storage).failures == (0 if made_progress else 1)


class Unheard(MemoryCatalog):
    """A catalog whose first answer to a write of processes is lost; then the first comparison fails as told."""

    def __init__(self, comparison: Exception | None = None) -> None:
        super().__init__()
        self.described = self.compared = 0
        self.comparison = comparison
        self.is_unheard = True

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        written_guids = super().write_processes(processes, guids)
        if self.is_unheard:
            self.is_unheard = False
            raise CatalogUnavailable("no answer", after=0, over=True, blames=False)
        return written_guids

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        self.described += 1
        return super().describe_placeholder(asset, bare=bare)

    def up_to_date(
        self, assets: Sequence[AssetEntity], *, bare: frozenset[AssetKey] = frozenset()
    ) -> frozenset[AssetKey]:
        self.compared += 1
        error, self.comparison = self.comparison, None
        if error:
            raise error
        return super().up_to_date(assets, bare=bare)


def published_twice(catalog: Unheard) -> tuple[MemoryStorage, Clock]:
    """Thirty processes: the answer to their write is lost, and a minute later they are written again."""
    storage, clock = MemoryStorage(), Clock()
    jobs(storage, 30)
    assert publish(storage, catalog, publish_options(clock)).error == "no answer"
    clock.at += timedelta(minutes=1)
    assert publish(storage, catalog, publish_options(clock)).written == 30
    return storage, clock


def test_after_a_lost_answer_placeholders_are_compared_in_one_call_and_not_written() -> None:
    catalog = Unheard()
    storage, _ = published_twice(catalog)
    assert (catalog.compared, catalog.described) == (1, 0)
    assert entries(storage) == ()


def test_placeholders_that_differ_after_a_lost_answer_are_described() -> None:
    catalog = Unheard()
    storage, clock = MemoryStorage(), Clock()
    jobs(storage, 30)
    publish(storage, catalog, publish_options(clock))
    key = ("fs_path", "file:///out7")
    expected = catalog.assets[key]
    MemoryCatalog.describe_placeholder(catalog, replace(expected, columns=(("late", "int"),)))
    clock.at += timedelta(minutes=1)
    publish(storage, catalog, publish_options(clock))
    assert (catalog.compared, catalog.described) == (1, 1)
    assert catalog.assets[key] == expected


def test_placeholders_wait_without_a_failure_of_their_own_while_the_catalog_throttles() -> None:
    catalog = Unheard(CatalogUnavailable("429", after=30, over=True, blames=False))
    storage, clock = published_twice(catalog)
    assert {(entry.is_asset, entry.state(clock.at), entry.attempts) for entry in entries(storage)} == {
        (True, QueueState.PENDING, 0)
    }
    assert len(entries(storage)) == 31
    clock.at += timedelta(minutes=1)
    publish(storage, catalog, publish_options(clock))
    assert (catalog.compared, catalog.described) == (2, 0)
    assert entries(storage) == ()


def test_a_refused_comparison_has_each_placeholder_described_by_itself() -> None:
    catalog = Unheard(refusal("comparison"))
    storage, _ = published_twice(catalog)
    assert (catalog.compared, catalog.described) == (1, 31)
    assert entries(storage) == ()
