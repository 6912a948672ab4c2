"""A placeholder ends with the columns that runs report now, after any crash, late write or retraction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.catalog.server import CatalogServer
from shared.atlas.entities import AssetEntity
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey
from shared.errors import CatalogUnavailable
from shared.publishing.placeholders.columns import record_schemas
from shared.publishing.placeholders.update import publish_asset
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Reading, plan_for
from shared.publishing.shadow import ShadowAction, held_back, leave_shadow_mode
from shared.records.asset_matches import match_key, queue_key, read_matches
from shared.records.ledger import LedgerEntry, ledger_entry
from shared.records.publish_queue import enqueue, queue_entries
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import ASSET_LIFECYCLE, CONTENTS, CONTRIBUTIONS, LEDGER, process_key
from tests.support.building import body, dataset, packed
from tests.support.placeholder_columns import (
    TABLE,
    Columns,
    X,
    Y,
    Z,
    active,
    by_name,
    catalog_at,
    copy_run,
    schema,
    settle,
)
from tests.support.publishing import context_of, publish

SOURCE: AssetKey = ("fs_path", "file:///source")
SINK: AssetKey = ("fs_path", "file:///sink")
MARK = queue_key(match_key(SOURCE))


@dataclass
class Clock:
    """A clock that is set by hand."""

    at: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def seconds(self) -> float:
        return self.at.timestamp()


def how(clock: Clock, **more: Any) -> PublishOptions:
    return PublishOptions(now=clock, seconds=clock.seconds, call_bound=timedelta(seconds=60), **more)


def job(run: str, reported: Columns = (), *, kind: str = "COMPLETE", minute: float = 0, app: str = "load") -> bytes:
    """A run that reads the source and reports these columns of it."""
    read = dataset("/source", schema=schema(*reported)) if reported else "/source"
    sink = "/sink" if app == "load" else f"/{app}"
    return packed(body(kind, run=run, application=run, app_name=app, minute=minute, inputs=[read], outputs=[sink]))


def world() -> tuple[MemoryStorage, Clock]:
    clock = Clock()
    return MemoryStorage(clock=clock.seconds), clock


def columns(catalog: MemoryCatalog) -> Columns:
    return catalog.assets[SOURCE].columns


def process(storage: MemoryStorage) -> str:
    """The key of the only process."""
    (row,) = storage.scan(LEDGER)
    return row.partition


def test_columns_that_no_run_reports_any_more_are_removed() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    settle(storage, [job("one", (X, Y))])
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X, Y)
    settle(storage, [job("two", minute=5)])
    publish(storage, catalog, how(clock))
    assert columns(catalog) == ()
    assert read_matches(storage, [SOURCE])[SOURCE].column_sources == (), "nobody is asked any more"
    settle(storage, [job("three", (X, Z), minute=9)])
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X, Z)


def test_columns_are_removed_from_an_atlas_and_added_again(fresh_catalog: CatalogServer) -> None:
    (storage, clock), catalog = world(), catalog_at(fresh_catalog)
    for minute, reported, wanted in ((0, (X, Y), ["x", "y"]), (5, (), []), (9, (Y,), ["y"])):
        settle(storage, [copy_run(f"run {minute}", reported, reported, minute=minute)])
        publish(storage, catalog, how(clock))
        assert active(by_name(fresh_catalog, TABLE), "columns") == wanted


def test_the_columns_of_a_failed_run_are_removed() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    settle(storage, [job("one", (X,)), job("other", app="other")])
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X,)
    settle(storage, [job("one", (X,), kind="FAIL", minute=1)])
    publish(storage, catalog, how(clock))
    assert (len(catalog.processes), columns(catalog)) == (1, ())


def test_columns_that_no_run_reported_are_kept() -> None:
    """A placeholder without reported columns may have got some from a person."""
    (storage, clock), catalog = world(), MemoryCatalog()
    settle(storage, [job("one")])
    publish(storage, catalog, how(clock))
    catalog.assets[SOURCE] = replace(catalog.assets[SOURCE], columns=(X,))
    enqueue(storage, [MARK])
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X,)


def test_columns_of_a_run_that_fails_before_its_process_is_published_are_removed() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    settle(storage, [job("one", (X,))])
    publish(storage, catalog, how(clock))
    enqueue(storage, [MARK])
    settle(storage, [job("two", (X, Y), minute=5)])
    (mark,) = (each for each in queue_entries(storage)[0] if each.process == MARK)
    publish_asset(context_of(storage, catalog, how(clock)), mark, Reading(storage=storage, options=how(clock)))
    assert columns(catalog) == (X, Y), "the process itself is still to be published"
    settle(storage, [job("two", (X, Y), kind="FAIL", minute=6)])
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X,)


@dataclass
class Watched(MemoryCatalog):
    """A catalog that calls `meanwhile` once, while it describes a data set."""

    meanwhile: Callable[[], object]

    def __post_init__(self) -> None:
        super().__init__()

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        happens, self.meanwhile = self.meanwhile, lambda: None
        happens()
        return super().describe_placeholder(asset, bare=bare)


def test_a_source_that_reports_again_during_its_removal_stays() -> None:
    storage, clock = world()
    catalog = Watched(meanwhile=lambda: None)
    settle(storage, [job("one", (X,))])
    publish(storage, catalog, how(clock))

    def report_again() -> None:
        settle(storage, [job("three", (X, Z), minute=9)])
        (mark,) = (each for each in queue_entries(storage)[0] if each.process == process(storage))
        assert record_schemas(storage, plan_for(Reading(storage=storage, options=how(clock)), mark)), (
            "what another publisher does"
        )

    catalog.meanwhile = report_again
    settle(storage, [job("two", minute=5)])
    publish(storage, catalog, how(clock))
    clock.at += timedelta(hours=1)
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X, Z)


class Late(MemoryCatalog):
    """A catalog with one call that takes effect long after its caller has stopped waiting."""

    def __init__(self, late: str) -> None:
        super().__init__()
        self.late = late
        self.lands: Callable[[], object] = lambda: None

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        return bool(self._later("describe", lambda: MemoryCatalog.describe_placeholder(self, asset, bare=bare)))

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        return dict(self._later("create", lambda: MemoryCatalog.create_assets(self, assets)))

    def _later(self, name: str, act: Callable[[], Any]) -> Any:
        if self.late != name:
            return act()
        self.late, self.lands = "", act
        raise CatalogUnavailable("timed out", after=0)


def test_no_description_is_written_while_an_older_one_may_take_effect() -> None:
    (storage, clock), catalog = world(), Late("describe")
    settle(storage, [job("one", (X,))])
    publish(storage, catalog, how(clock))
    settle(storage, [job("two", (X, Y), minute=5)])
    publish(storage, catalog, how(clock))
    settle(storage, [job("three", (X, Z), minute=9)])
    clock.at += timedelta(seconds=30)
    publish(storage, catalog, how(clock))
    catalog.lands()
    assert columns(catalog) == (X, Y)
    clock.at += timedelta(seconds=40)
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X, Z)


def test_a_late_description_is_retracted_without_an_earlier_report() -> None:
    (storage, clock), catalog = world(), Late("describe")
    settle(storage, [job("one")])
    publish(storage, catalog, how(clock))
    settle(storage, [job("two", (X, Y), minute=5)])
    publish(storage, catalog, how(clock))
    settle(storage, [job("two", (X, Y), kind="FAIL", minute=6)])
    catalog.lands()
    assert columns(catalog) == (X, Y)
    clock.at += timedelta(hours=1)
    publish(storage, catalog, how(clock))
    assert columns(catalog) == ()


def test_a_late_placeholder_does_not_overwrite_newer_columns() -> None:
    """A publisher lost its lease; the next one removed its process without knowledge of its placeholder."""
    storage, clock = world()

    class Stalled(MemoryCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            made = super().create_assets(assets)
            if clock.at.hour == 0:
                clock.at += timedelta(hours=1)
                settle(storage, [job("one", (X,), kind="FAIL", minute=1)])
                publish(storage, self, how(clock))
            return made

    catalog = Stalled()
    settle(storage, [job("one", (X,))])
    publish(storage, catalog, how(clock))
    settle(storage, [job("other", app="other")])
    clock.at += timedelta(hours=1)
    publish(storage, catalog, how(clock))
    assert len(catalog.processes) == 1
    assert columns(catalog) == ()


def test_slow_storage_prevents_the_creation_of_data_sets_after_the_deadline() -> None:
    clock = Clock()

    class Slow(MemoryStorage):
        def read(self, table: str, partition: str, key: str) -> Row | None:
            if table == ASSET_LIFECYCLE and clock.at.hour == 0:
                clock.at += timedelta(hours=1)
            return super().read(table, partition, key)

    storage, catalog = Slow(clock=clock.seconds), MemoryCatalog()
    settle(storage, [job("one", (X,))])
    publish(storage, catalog, how(clock))
    assert catalog.assets == {}
    clock.at += timedelta(hours=1)
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X,)


def test_a_placeholder_that_was_recreated_by_others_is_described_again() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    settle(storage, [job("one", (X,)), job("other", app="other")])
    publish(storage, catalog, how(clock))
    bare = replace(catalog.assets[SOURCE], columns=())
    catalog.remove([read_matches(storage, [SOURCE])[SOURCE].guid])
    catalog.create_assets([bare])
    clock.at += timedelta(days=1)
    settle(storage, [job("third", app="third")])
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X,)


@pytest.mark.parametrize("reported", [(), (Y,)])
@pytest.mark.parametrize("when", ["before it is known", "when it is known"])
def test_a_failed_write_that_takes_effect_late_does_not_change_the_final_columns(reported: Columns, when: str) -> None:
    (storage, clock), catalog = world(), Late("create")
    settle(storage, [job("one", (X,))])
    publish(storage, catalog, how(clock))
    settle(storage, [job("one", (X,), kind="FAIL", minute=1)])
    others = [job("other", reported, app="other")]
    if when == "before it is known":
        settle(storage, others)
    clock.at += timedelta(seconds=20)
    publish(storage, catalog, how(clock))
    catalog.lands()
    clock.at += timedelta(hours=1)
    publish(storage, catalog, how(clock))
    settle(storage, others)
    publish(storage, catalog, how(clock))
    assert {name.rpartition("/")[2] for name in catalog.processes} == {"other"}
    assert columns(catalog) == reported


def test_unreadable_content_blocks_no_other_process() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    many = tuple((process_key(str(number)), "t") for number in range(5000))
    settle(storage, [job("one", many)])
    publish(storage, catalog, how(clock))
    (row,) = storage.scan(CONTRIBUTIONS)
    storage.delete_blob(CONTENTS, str(row.values["content_blob"]))
    enqueue(storage, [MARK])
    settle(storage, [job("other", app="other")])
    done = publish(storage, catalog, how(clock))
    assert (done.refused, done.written) == (1, 1)
    assert "verify --fix" in next(each.error for each in queue_entries(storage)[0] if each.process == MARK)


@pytest.mark.parametrize("count", [0, 1, 4000, 10_000])
def test_the_ledger_keeps_which_columns_were_reported(count: int) -> None:
    keys = frozenset(match_key(("fs_path", str(number))) for number in range(count))
    assert _kept(LedgerEntry(process="p", described=keys)) == keys


def test_the_ledger_keeps_as_many_described_assets_as_fit_into_a_row() -> None:
    keys = frozenset(process_key(str(number)) for number in range(40_000))
    assert _kept(LedgerEntry(process="p", described=keys)) == frozenset(sorted(keys)[:30_719])


def _kept(entry: LedgerEntry) -> frozenset[str]:
    storage = MemoryStorage()
    storage.insert(LEDGER, entry.row())
    return ledger_entry(storage, entry.process).described


def test_shadow_mode_holds_back_new_columns_of_an_unchanged_process() -> None:
    """Their update is published when shadow mode ends, though the process itself has not changed."""
    (storage, clock), catalog = world(), MemoryCatalog()
    settle(storage, [job("one", (X,))])
    publish(storage, catalog, how(clock))
    settle(storage, [job("two", (X, Y), minute=5)])
    publish(storage, catalog, how(clock, shadow=True))
    assert columns(catalog) == (X,)
    assert [each.action for _, each in held_back(storage)] == [ShadowAction.DESCRIBE]
    leave_shadow_mode(storage, how(clock))
    publish(storage, catalog, how(clock))
    assert columns(catalog) == (X, Y)


def test_content_that_cannot_be_read_stops_no_other_process_in_shadow_mode() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    many = tuple((process_key(str(number)), "t") for number in range(5000))
    settle(storage, [job("lost", many, app="lost"), job("one", (X,))])
    (lost,) = (row for row in storage.scan(CONTRIBUTIONS) if "content_blob" in row.values)
    storage.delete_blob(CONTENTS, str(lost.values["content_blob"]))
    done = publish(storage, catalog, how(clock, shadow=True))
    assert (done.held, done.refused) == (1, 1)
    assert [each.qualified_name for _, each in held_back(storage)] == ["throughline:v1://tests/load/file/sink"]
