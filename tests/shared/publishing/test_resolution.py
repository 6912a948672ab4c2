"""Finding assets: the cache and its times, catalogs that change during the search, ambiguous matches, concurrency."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

import pytest

from shared.atlas.entities import AssetEntity
from shared.catalog.port import AssetKey, HeldAsset, Node
from shared.errors import CatalogRefused
from shared.maintenance.reconciliation import move, placed_assets, reconcile_due, remove_left
from shared.publishing.context import PublishOptions, ResolutionOptions
from shared.publishing.resolution import Lookup
from shared.records.publish_queue import read_queue
from shared.storage.memory import MemoryStorage
from tests.support.asset_resolution import OUT, PATH, ROOT, SET, A, B, Counting, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import Clock, context_of, publish
from tests.support.publishing import leased


def scan(catalog: MemoryCatalog, *keys: AssetKey) -> None:
    catalog.create_assets(
        [
            AssetEntity(type=key[0], qualified_name=key[1], attributes=(("name", "x"), ("description", "")))
            for key in keys
        ]
    )


def sides(catalog: MemoryCatalog) -> set[tuple[tuple[AssetKey, ...], tuple[AssetKey, ...]]]:
    return {(process.inputs, process.outputs) for process in catalog.processes.values()}


def test_known_assets_are_not_looked_up_again_for_a_repeated_run_or_a_new_job() -> None:
    storage, catalog, options = MemoryStorage(), Counting(), PublishOptions(now=Clock())
    scan(catalog, A)
    write(storage, "job", "a", "out")
    publish(storage, catalog, options)
    lookups_before = catalog.asked
    assert lookups_before
    write(storage, "job", "a", "out", run="2", minute=5)
    assert publish(storage, catalog, options).unchanged == 1
    write(storage, "other", "a", "out")
    assert publish(storage, catalog, options).written == 1
    assert catalog.asked == lookups_before, "both are remembered"


AGES: dict[str, tuple[timedelta, bool]] = {
    # the age of a hit, and whether it is looked up again
    "young": (timedelta(hours=1), False),
    "almost old": (timedelta(days=7, seconds=-1), False),
    "old": (timedelta(days=7), True),
}


@pytest.mark.parametrize(("age", "asks"), AGES.values(), ids=AGES)
def test_a_found_asset_is_looked_up_again_only_after_its_time(age: timedelta, *, asks: bool) -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    scan(catalog, A, OUT)
    write(storage, "job", "a", "out")
    publish(storage, catalog, PublishOptions(now=clock))
    lookups_before = catalog.asked
    clock.at += age
    write(storage, "other", "a", "out")
    assert publish(storage, catalog, PublishOptions(now=clock)).written == 1
    assert (catalog.asked > lookups_before) is asks


def test_a_missing_asset_is_searched_again_sooner_and_all_its_processes_move_to_it() -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    options = PublishOptions(now=clock)
    write(storage, "first", "a", "out")
    publish(storage, catalog, options)
    twin = (SET, f"{ROOT}/a/{{SparkPartitions}}")
    scan(catalog, twin)
    clock.at += timedelta(hours=5)
    write(storage, "second", "a", "b")
    publish(storage, catalog, options)
    assert sides(catalog) == {((A,), (OUT,)), ((A,), (B,))}, "the miss is believed"
    clock.at += timedelta(hours=2)
    write(storage, "third", "a", "c")
    publish(storage, catalog, options)
    assert ((twin,), ((PATH, f"{ROOT}/c"),)) in sides(catalog)
    assert reconcile_due(context_of(storage, catalog, options))["processes"] == 2, (
        "those that were written before it was found"
    )
    publish(storage, catalog, options)
    assert {inputs for inputs, _ in sides(catalog)} == {(twin,)}
    reconcile_due(context_of(storage, catalog, options))
    assert A not in catalog.assets


def test_a_deleted_asset_is_looked_up_again_when_the_catalog_refuses_it() -> None:
    storage, catalog, options = MemoryStorage(), Counting(), PublishOptions(now=Clock())
    scan(catalog, A, OUT)
    write(storage, "job", "a", "out")
    publish(storage, catalog, options)
    catalog.remove([catalog.find([A])[A]])
    twin = (PATH, f"{ROOT}/a/")
    scan(catalog, twin)
    write(storage, "other", "a", "b")
    counts = publish(storage, catalog, options)
    assert (counts.written, counts.refused) == (1, 0)
    assert ((twin,), (B,)) in sides(catalog)


def test_a_catalog_that_is_unavailable_during_a_look_up_only_delays_the_write() -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    scan(catalog, A, OUT)
    catalog.away = True
    write(storage, "job", "a", "out")
    assert publish(storage, catalog, PublishOptions(now=clock)).error == "no answer"
    catalog.away = False
    clock.at += timedelta(minutes=5)
    assert publish(storage, catalog, PublishOptions(now=clock)).written == 1
    assert sides(catalog) == {((A,), (OUT,))}


def test_a_look_up_that_fails_after_its_search_counts_as_no_failure() -> None:
    class Tired(Counting):
        def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
            self.away = True
            return super().search(text, limit)

    storage, catalog = MemoryStorage(), Tired()
    scan(catalog, OUT)
    write(storage, "job", "a", "out")
    assert publish(storage, catalog, PublishOptions(now=Clock())).error == "no answer"
    assert read_queue(storage).failures == 0, "the search is remembered"


def test_an_ambiguous_match_is_reported_and_not_guessed() -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    rivals = [(SET, f"{ROOT}/a/{{Year}}/{{SparkPartitions}}"), (SET, f"{ROOT}/a/{{N}}.csv")]
    scan(catalog, *rivals)
    write(storage, "job", "a", "out")
    publish(storage, catalog, PublishOptions(now=clock))
    assert sides(catalog) == {((A,), (OUT,))}
    (held_process_entity,) = catalog.processes.values()
    description = dict(held_process_entity.attributes)["description"]
    assert all(name in description for _, name in rivals)
    context = context_of(storage, catalog, PublishOptions(now=clock))
    assert [placed_asset.rivals for placed_asset in placed_assets(context) if placed_asset.own == A] == [
        tuple(sorted(rivals))
    ]
    assert leased(move, context, placed_assets(context))["ambiguous"] == 1


@pytest.mark.parametrize("odd", ["orders", "/raw/orders", "https://"])
def test_an_asset_with_an_odd_name_that_a_search_finds_holds_up_no_process(odd: str) -> None:
    """Anybody can create an asset, with any name."""
    storage, catalog = MemoryStorage(), Counting()
    catalog.create_assets([AssetEntity(type=PATH, qualified_name=odd, attributes=(("name", "orders"),))])
    write(storage, "job", "orders", "out")
    assert publish(storage, catalog, PublishOptions()).written == 1
    assert (PATH, odd) not in {key for process in catalog.processes.values() for key in process.inputs}


def test_a_job_that_reads_and_writes_the_same_scanned_asset_is_no_process() -> None:
    storage, catalog, options = MemoryStorage(), Counting(), PublishOptions(now=Clock())
    set_asset = (SET, f"{ROOT}/Sales/{{SparkPartitions}}")
    scan(catalog, set_asset)
    write(storage, "job", "sales", "SALES")
    counts = publish(storage, catalog, options)
    assert (counts.written, catalog.processes) == (0, {})
    lookups_before = catalog.asked
    write(storage, "job", "sales", "SALES", run="2", minute=3)
    publish(storage, catalog, options)
    assert (catalog.asked, catalog.processes) == (lookups_before, {})


def test_a_process_whose_data_sets_prove_to_be_one_is_removed() -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    options = PublishOptions(now=clock)
    write(storage, "job", "sales", "SALES")
    assert publish(storage, catalog, options).written == 1
    scan(catalog, (SET, f"{ROOT}/Sales/{{SparkPartitions}}"))
    clock.at += timedelta(hours=7)
    reconcile_due(context_of(storage, catalog, options))
    assert publish(storage, catalog, options).removed == 1
    assert catalog.processes == {}


def test_without_search_assets_are_only_looked_up_by_name() -> None:
    catalog = Counting()
    twin = (PATH, f"{ROOT}/A")
    scan(catalog, twin)
    for search, expected_asset in ((True, twin), (False, None)):
        options = PublishOptions(finding=ResolutionOptions(search=search))
        assert (
            Lookup(context=context_of(MemoryStorage(), catalog, options), names={A: ()}).records()[A].scanned
            == expected_asset
        )
    assert catalog.searches == 1


class Grouping(Counting):
    """A catalog that answers for so many texts at a time, and counts these calls too."""

    most = 16

    def search_all(self, texts: Sequence[str]) -> dict[str, tuple[Node, ...]] | None:
        self.searches += 1
        return {text: MemoryCatalog.search(self, text, 100) for text in texts} if len(texts) <= self.most else None


def many(number: int) -> dict[AssetKey, tuple[AssetKey, ...]]:
    return {(PATH, f"{ROOT}/Table{index}"): () for index in range(number)}


def test_many_data_sets_are_searched_in_few_calls() -> None:
    catalog = Grouping()
    scan(catalog, (PATH, f"{ROOT}/TABLE7"))
    asset_records = Lookup(context=context_of(MemoryStorage(), catalog), names=many(40)).records()
    assert [key for key, asset_record in asset_records.items() if asset_record.scanned] == [(PATH, f"{ROOT}/Table7")]
    assert catalog.searches == 3


@pytest.mark.parametrize("result_limit", [0, 1, 3, 8])
def test_a_search_with_too_many_results_is_repeated_in_smaller_groups(result_limit: int) -> None:
    catalog = Grouping()
    catalog.most = result_limit
    scan(catalog, (PATH, f"{ROOT}/TABLE7"), (PATH, f"{ROOT}/TABLE39"))
    records = Lookup(context=context_of(MemoryStorage(), catalog), names=many(40)).records()
    assert [asset_record.scanned for asset_record in records.values() if asset_record.scanned] == [
        (PATH, f"{ROOT}/TABLE7"),
        (PATH, f"{ROOT}/TABLE39"),
    ]
    assert catalog.searches < 2 * 40


def test_equal_search_terms_are_searched_once() -> None:
    catalog = Grouping()
    twin = (PATH, f"{ROOT}/y/DATA")
    scan(catalog, twin)
    records = Lookup(
        context=context_of(MemoryStorage(), catalog), names={(PATH, f"{ROOT}/{letter}/data"): () for letter in "xyz"}
    ).records()
    assert [asset_record.scanned for asset_record in records.values()] == [None, twin, None]
    assert catalog.searches == 1


def test_our_own_placeholder_is_never_found() -> None:
    storage, catalog, options = MemoryStorage(), Counting(), PublishOptions(now=Clock())
    write(storage, "job", "a", "out")
    publish(storage, catalog, options)
    second_records = Lookup(
        context=context_of(MemoryStorage(), catalog, options), names={A: (), (PATH, f"{ROOT}/A"): ()}
    ).records()
    assert [(asset_record.scanned, bool(asset_record.guid)) for asset_record in second_records.values()] == [
        (None, True),
        (None, False),
    ]


def test_the_own_name_of_a_data_set_takes_precedence_over_names_from_the_run() -> None:
    catalog = Counting()
    table = ("databricks_table", "databricks://id/catalogs/c/schemas/s/tables/t")
    scan(catalog, table)
    assert Lookup(context=context_of(MemoryStorage(), catalog), names={A: (table,)}).records()[A].scanned == table
    scan(catalog, A)
    assert Lookup(context=context_of(MemoryStorage(), catalog), names={A: (table,)}).records()[A].scanned == A


def test_reconciling_killed_at_any_call_is_completed_by_the_next_attempt() -> None:
    """The worker dies at each call in turn; at the end no placeholder is left, and no process exists twice."""
    died = 0
    for fatal in range(12):
        storage, catalog, clock = MemoryStorage(), Dying(), Clock()
        options = PublishOptions(now=clock)
        write(storage, "one", "a", "out")
        write(storage, "two", "a", "b")
        publish(storage, catalog, options)
        scan(catalog, *(scanned_key for key in (A, B, OUT) for scanned_key in ((key[0], f"{key[1]}/"),)))
        catalog.dies_at = fatal
        for _ in range(2):
            with suppress(_Died):
                leased(
                    move,
                    context_of(storage, catalog, options),
                    placed_assets(context_of(storage, catalog)),
                    tries_again=True,
                )
                publish(storage, catalog, options)
                leased(remove_left, context_of(storage, catalog, options))
            clock.at += timedelta(minutes=10)  # writes in progress are over
        died += catalog.dies_at < 0
        assert {
            key[1][-1] for process in catalog.processes.values() for key in (*process.inputs, *process.outputs)
        } == {"/"}
        assert placed_assets(context_of(storage, catalog)) == []
        assert len(catalog.processes) == 2
    assert died > 5


class _Died(BaseException):
    """The worker has died."""


class Dying(Counting):
    """A catalog at one of whose calls the worker dies."""

    def __init__(self) -> None:
        super().__init__()
        self.dies_at = -1

    def _call(self) -> None:
        self.dies_at -= 1
        if self.dies_at == -1:
            raise _Died

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        self._call()
        return super().look_up(keys)

    def write_processes(self, processes: object, guids: Mapping[AssetKey, str]) -> dict[str, str]:
        self._call()
        return super().write_processes(processes, guids)  # type: ignore[arg-type]  # handed on as it came

    def remove(self, guids: object) -> None:
        self._call()
        super().remove(guids)  # type: ignore[arg-type]  # handed on as it came


def test_concurrent_publishers_and_a_reconciliation_end_on_the_scanned_assets() -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    options = PublishOptions(now=clock)
    for number in range(20):
        write(storage, f"job{number}", f"in{number % 4}", f"out{number}")
    publish(storage, catalog, options)
    scan(catalog, *((SET, f"{ROOT}/in{number}/{{SparkPartitions}}") for number in range(4)))
    for number in range(20):
        write(storage, f"job{number}", f"in{(number + 1) % 4}", f"out{number}", run="2", minute=9)

    def reconcile() -> None:
        leased(move, context_of(storage, catalog, options), placed_assets(context_of(storage, catalog)))

    acts = [lambda: publish(storage, catalog, options), reconcile, lambda: publish(storage, catalog, options)]
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    leased(move, context_of(storage, catalog, options), placed_assets(context_of(storage, catalog)), tries_again=True)
    clock.at += timedelta(minutes=10)  # interrupted work may be continued
    publish(storage, catalog, options)
    leased(remove_left, context_of(storage, catalog, options))
    assert {kind for inputs, _ in sides(catalog) for kind, _ in inputs} == {SET}
    assert not [key for key in catalog.assets if key[0] == PATH and "/in" in key[1]]


def test_reconciling_looks_up_a_batch_at_a_time_until_none_is_due() -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    for number in range(10):
        write(storage, f"job{number}", "a", f"out{number}")
    publish(storage, catalog, PublishOptions(now=clock))
    options = PublishOptions(now=clock, batch=4)
    lookups_before = catalog.asked
    assert reconcile_due(context_of(storage, catalog, options))["looked"] == 0, "all were looked for just now"
    assert reconcile_due(context_of(storage, catalog, options))["looked"] == 0
    assert catalog.asked == lookups_before
    clock.at += timedelta(hours=6)
    assert [reconcile_due(context_of(storage, catalog, options))["looked"] for _ in range(4)] == [4, 4, 3, 0]


def test_a_catalog_that_refuses_look_ups_only_postpones_reconciling(caplog: pytest.LogCaptureFixture) -> None:
    storage, catalog, clock = MemoryStorage(), Refusing(), Clock()
    write(storage, "job", "a", "out")
    publish(storage, catalog, PublishOptions(now=clock))
    clock.at += timedelta(hours=6)
    catalog.refuses = True
    assert reconcile_due(context_of(storage, catalog, PublishOptions(now=clock)))["looked"] == 0
    assert "put off" in caplog.text
    catalog.refuses = False
    assert reconcile_due(context_of(storage, catalog, PublishOptions(now=clock)))["looked"] == 2


class Refusing(Counting):
    """A catalog that may not be read."""

    refuses = False

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        if self.refuses:
            raise CatalogRefused(status=403, code="", detail="no role")
        return super().look_up(keys)


def test_in_shadow_mode_nothing_is_reconciled() -> None:
    storage, catalog, clock = MemoryStorage(), Counting(), Clock()
    write(storage, "job", "a", "out")
    publish(storage, catalog, PublishOptions(now=clock))
    clock.at += timedelta(days=1)
    lookups_before = catalog.asked
    assert reconcile_due(context_of(storage, catalog, PublishOptions(now=clock, shadow=True)))["looked"] == 0
    assert catalog.asked == lookups_before
