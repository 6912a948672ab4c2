"""A placeholder ends with the columns that runs report now, after any crash, late write or retraction."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.context import PublishOptions
from shared.publishing.shadow import ShadowAction, held_back, leave_shadow_mode
from shared.records.assets import read_assets
from shared.records.ledger import MAX_ASSETS, LedgerEntry, ledger_entry
from shared.records.publish_queue import enqueue
from shared.storage.memory import MemoryStorage
from shared.storage_layout import PROCESSES, QUEUED_ASSET, asset_key
from tests.support.building import body, dataset, packed
from tests.support.memory_catalog import MemoryCatalog
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
    deliver_all,
    schema,
)
from tests.support.publish_world import Clock, publish
from throughline.local.catalog.server import CatalogServer

SOURCE: AssetKey = ("fs_path", "file:///source")
SINK: AssetKey = ("fs_path", "file:///sink")
MARK = f"{QUEUED_ASSET}{asset_key(SOURCE)}"


def options(clock: Clock, **fields: Any) -> PublishOptions:
    return PublishOptions(now=clock, seconds=clock.seconds, call_bound=timedelta(seconds=60), **fields)


def job(run: str, reported: Columns = (), *, kind: str = "COMPLETE", minute: float = 0, app: str = "load") -> bytes:
    """A run that reads the source and reports these columns of it."""
    input_dataset = dataset("/source", schema=schema(*reported)) if reported else "/source"
    sink = "/sink" if app == "load" else f"/{app}"
    return packed(
        body(kind, run=run, application=run, app_name=app, minute=minute, inputs=[input_dataset], outputs=[sink])
    )


def world() -> tuple[MemoryStorage, Clock]:
    clock = Clock(at=datetime(2030, 1, 1, tzinfo=UTC))
    return MemoryStorage(clock=clock.seconds), clock


def columns(catalog: MemoryCatalog) -> Columns:
    return catalog.assets[SOURCE].columns


def test_columns_that_no_run_reports_any_more_are_removed() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    deliver_all(storage, [job("one", (X, Y))])
    publish(storage, catalog, options(clock))
    assert columns(catalog) == (X, Y)
    deliver_all(storage, [job("two", minute=5)])
    publish(storage, catalog, options(clock))
    assert columns(catalog) == ()
    assert read_assets(storage, [SOURCE])[SOURCE].reports == ()
    deliver_all(storage, [job("three", (X, Z), minute=9)])
    publish(storage, catalog, options(clock))
    assert columns(catalog) == (X, Z)


def test_columns_are_removed_from_an_atlas_and_added_again(fresh_catalog: CatalogServer) -> None:
    (storage, clock), catalog = world(), catalog_at(fresh_catalog)
    for minute, reported, expected_columns in ((0, (X, Y), ["x", "y"]), (5, (), []), (9, (Y,), ["y"])):
        deliver_all(storage, [copy_run(f"run {minute}", reported, reported, minute=minute)])
        publish(storage, catalog, options(clock))
        assert active(by_name(fresh_catalog, TABLE), "columns") == expected_columns


def test_the_columns_of_a_failed_run_are_removed() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    deliver_all(storage, [job("one", (X,)), job("other", app="other")])
    publish(storage, catalog, options(clock))
    assert columns(catalog) == (X,)
    deliver_all(storage, [job("one", (X,), kind="FAIL", minute=1)])
    publish(storage, catalog, options(clock))
    assert (len(catalog.processes), columns(catalog)) == (1, ())


def test_the_columns_of_a_failed_run_that_had_no_access_are_reported_no_more() -> None:
    class Closed(MemoryCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:  # noqa: ARG002 - none is made
            raise CatalogRefused(status=403, code="", detail="no role")

    (storage, clock), catalog = world(), MemoryCatalog()
    deliver_all(storage, [job("one", (X,))])
    publish(storage, Closed(), options(clock))
    deliver_all(storage, [job("one", (X,), kind="FAIL", minute=1), job("other", (Y,), app="other")])
    clock.at += timedelta(minutes=2)
    publish(storage, catalog, options(clock))
    assert (len(catalog.processes), columns(catalog)) == (1, (Y,))


def test_columns_that_no_run_reported_are_kept() -> None:
    """A placeholder without reported columns may have got some from a person."""
    (storage, clock), catalog = world(), MemoryCatalog()
    deliver_all(storage, [job("one")])
    publish(storage, catalog, options(clock))
    catalog.describe_placeholder(replace(catalog.assets[SOURCE], columns=(X,)))
    enqueue(storage, [MARK])
    publish(storage, catalog, options(clock))
    assert columns(catalog) == (X,)


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
    deliver_all(storage, [job("one", (X,))])
    publish(storage, catalog, options(clock))
    deliver_all(storage, [job("two", (X, Y), minute=5)])
    publish(storage, catalog, options(clock))
    deliver_all(storage, [job("three", (X, Z), minute=9)])
    clock.at += timedelta(seconds=30)
    publish(storage, catalog, options(clock))
    catalog.lands()
    assert columns(catalog) == (X, Y)
    clock.at += timedelta(seconds=40)
    publish(storage, catalog, options(clock))
    assert columns(catalog) == (X, Z)


def test_a_late_description_is_retracted_without_an_earlier_report() -> None:
    (storage, clock), catalog = world(), Late("describe")
    deliver_all(storage, [job("one")])
    publish(storage, catalog, options(clock))
    deliver_all(storage, [job("two", (X, Y), minute=5)])
    publish(storage, catalog, options(clock))
    deliver_all(storage, [job("two", (X, Y), kind="FAIL", minute=6)])
    catalog.lands()
    assert columns(catalog) == (X, Y)
    clock.at += timedelta(hours=1)
    publish(storage, catalog, options(clock))
    assert columns(catalog) == ()


def test_a_late_placeholder_does_not_overwrite_newer_columns() -> None:
    """A publisher lost its lease; the next one removed its process without knowledge of its placeholder."""
    storage, clock = world()

    class Stalled(MemoryCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            created_guids = super().create_assets(assets)
            if clock.at.hour == 0:
                clock.at += timedelta(hours=1)
                deliver_all(storage, [job("one", (X,), kind="FAIL", minute=1)])
                publish(storage, self, options(clock))
            return created_guids

    catalog = Stalled()
    deliver_all(storage, [job("one", (X,))])
    publish(storage, catalog, options(clock))
    deliver_all(storage, [job("other", app="other")])
    clock.at += timedelta(hours=1)
    publish(storage, catalog, options(clock))
    assert len(catalog.processes) == 1
    assert columns(catalog) == ()


def test_a_placeholder_that_was_recreated_by_others_is_described_again() -> None:
    (storage, clock), catalog = world(), MemoryCatalog()
    deliver_all(storage, [job("one", (X,)), job("other", app="other")])
    publish(storage, catalog, options(clock))
    bare_asset = replace(catalog.assets[SOURCE], columns=())
    guid = read_assets(storage, [SOURCE])[SOURCE].guid
    catalog.remove([guid, *catalog.placeholders([SOURCE])[SOURCE].parts])
    catalog.create_assets([bare_asset])
    clock.at += timedelta(days=1)
    deliver_all(storage, [job("third", app="third")])
    publish(storage, catalog, options(clock))
    assert columns(catalog) == (X,)


@pytest.mark.parametrize("reported", [(), (Y,)])
@pytest.mark.parametrize("when", ["before it is known", "when it is known"])
def test_a_failed_write_that_takes_effect_late_does_not_change_the_final_columns(reported: Columns, when: str) -> None:
    (storage, clock), catalog = world(), Late("create")
    deliver_all(storage, [job("one", (X,))])
    publish(storage, catalog, options(clock))
    deliver_all(storage, [job("one", (X,), kind="FAIL", minute=1)])
    other_jobs = [job("other", reported, app="other")]
    if when == "before it is known":
        deliver_all(storage, other_jobs)
    clock.at += timedelta(seconds=20)
    publish(storage, catalog, options(clock))
    catalog.lands()
    clock.at += timedelta(hours=1)
    publish(storage, catalog, options(clock))
    deliver_all(storage, other_jobs)
    publish(storage, catalog, options(clock))
    assert {name.rpartition("/")[2] for name in catalog.processes} == {"other"}
    assert columns(catalog) == reported


@pytest.mark.parametrize("count", [0, 1, MAX_ASSETS, MAX_ASSETS + 1])
def test_the_ledger_keeps_as_many_assets_as_fit_into_a_cell(count: int) -> None:
    keys = frozenset(asset_key(("fs_path", str(number))) for number in range(count))
    storage, entry = MemoryStorage(), LedgerEntry(process="p", assets=keys)
    storage.insert(PROCESSES, entry.row())
    assert ledger_entry(storage, entry.process).assets == frozenset(sorted(keys)[:MAX_ASSETS])


def test_shadow_mode_holds_back_new_columns_of_an_unchanged_process() -> None:
    """Their update is published when shadow mode ends, though the process itself has not changed."""
    (storage, clock), catalog = world(), MemoryCatalog()
    deliver_all(storage, [job("one", (X,))])
    publish(storage, catalog, options(clock))
    deliver_all(storage, [job("two", (X, Y), minute=5)])
    publish(storage, catalog, options(clock, shadow=True))
    assert columns(catalog) == (X,)
    assert [write.action for _, write in held_back(storage)] == [ShadowAction.DESCRIBE]
    leave_shadow_mode(storage, options(clock))
    publish(storage, catalog, options(clock))
    assert columns(catalog) == (X, Y)
