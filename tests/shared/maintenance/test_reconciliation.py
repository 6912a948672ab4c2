"""Reconciliation where the catalog does not report which processes use some placeholders."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

import pytest

from shared.atlas.entities import AssetEntity
from shared.catalog.port import AssetKey, ProcessLinks
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.maintenance.reconciliation import move, placed_assets, reconcile_due
from shared.publishing.context import PublishContext, PublishOptions
from shared.publishing.resolution import search_matches
from shared.records.control import RECONCILE
from shared.storage.memory import MemoryStorage
from tests.support.asset_resolution import PATH, ROOT, SET, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import Clock, context_of, publish
from tests.support.publishing import leased

TOO_LONG = CatalogRefused(status=414, code="", detail="the address is too long")
NO_ROLE = CatalogRefused(status=403, code="", detail="no role")
TIMED_OUT = CatalogUnavailable("no answer in time", after=0)
THROTTLED = CatalogUnavailable("429", after=30, over=True, blames=False)
HOURS = timedelta(hours=7)
"""Later than a miss is believed."""


class Silent(MemoryCatalog):
    """A catalog that does not report the processes of some assets."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: Mapping[AssetKey, Exception] = {}

    def process_links(self, keys: Iterable[AssetKey]) -> dict[AssetKey, ProcessLinks]:
        (key,) = keys
        if error := self.errors.get(key):
            raise error
        return super().process_links([key])


def own(name: str) -> AssetKey:
    return (PATH, f"{ROOT}/{name}")


class World:
    """Jobs that read placeholders of these names, which a scan has found since."""

    def __init__(self, *names: str) -> None:
        self.storage, self.catalog, self.clock = MemoryStorage(), Silent(), Clock()
        for name in names:
            write(self.storage, f"job {name}", name, f"out/{name}")
        self.publish()
        self.catalog.create_assets(
            [
                AssetEntity(type=SET, qualified_name=f"{ROOT}/{name}/{{SparkPartitions}}", attributes=(("name", name),))
                for name in names
            ]
        )
        self.clock.at += HOURS

    @property
    def context(self) -> PublishContext:
        return context_of(self.storage, self.catalog, PublishOptions(now=self.clock))

    def publish(self) -> None:
        publish(self.storage, self.catalog, self.context.publishing)

    def reconcile(self) -> None:
        reconcile_due(self.context)
        self.publish()

    @property
    def left(self) -> list[str]:
        """The names that processes still read from a placeholder."""
        inputs = (key for process in self.catalog.processes.values() for key in process.inputs)
        return sorted(name.rpartition("/")[2] for kind, name in inputs if kind == PATH)


@pytest.mark.parametrize("error", [TOO_LONG, TIMED_OUT], ids=["refused", "timed out"])
def test_a_placeholder_whose_users_are_not_reported_keeps_no_other_from_being_moved(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world = World("a", "b", "c", "d")
    world.catalog.errors = {own("b"): error}
    counts = leased(move, world.context, placed_assets(world.context))
    assert (counts["found"], counts["processes"], counts["failed"]) == (4, 3, 1)
    assert f"placeholder not moved asset={own('b')[1]!r} error={error}" in caplog.text
    world.publish()
    assert world.left == ["b"]
    assert leased(move, world.context, placed_assets(world.context))["failed"] == 0, "it is not asked for again at once"
    world.catalog.errors = {}
    world.clock.at += HOURS
    world.reconcile()
    assert world.left == []


def test_two_placeholders_in_a_row_without_an_answer_end_reconciling_until_the_next_attempt() -> None:
    world = World("a", "b", "c", "d")
    world.catalog.errors = {own("a"): TIMED_OUT, own("b"): TIMED_OUT}
    with pytest.raises(CatalogUnavailable):
        leased(move, world.context, placed_assets(world.context), tries_again=True)
    world.publish()
    assert world.left == ["a", "b", "c", "d"]
    assert leased(move, world.context, placed_assets(world.context), tries_again=True)["failed"] == 2
    world.publish()
    assert world.left == ["a", "b"], "two that are never answered do not block the rest"


@pytest.mark.parametrize("error", [NO_ROLE, THROTTLED], ids=["no access", "throttled"])
def test_an_error_that_no_placeholder_causes_ends_reconciling_and_keeps_what_was_moved(error: Exception) -> None:
    world = World("a", "b", "c")
    world.catalog.errors = {own("b"): error}
    world.reconcile()
    assert world.left == ["b", "c"]
    world.catalog.errors = {}
    world.reconcile()
    assert world.left == []


def test_a_job_that_finds_the_scanned_asset_makes_reconciliation_due_for_the_others() -> None:
    world = World("a")
    RECONCILE.save(world.storage, world.clock.at + HOURS)
    world.reconcile()
    assert world.left == ["a"], "it is not due"
    write(world.storage, "another job", "a", "out/another")
    world.publish()
    world.reconcile()
    assert world.left == []


def test_a_search_gives_the_matches_of_an_asset_best_first_without_its_placeholder() -> None:
    world = World("orders")
    world.catalog.create_assets(
        [AssetEntity(type=PATH, qualified_name=f"{ROOT}/orders/", attributes=(("name", "orders"),))]
    )
    names = [name for name, _ in search_matches(world.catalog, own("orders"))]
    assert names == [(SET, f"{ROOT}/orders/{{SparkPartitions}}"), (PATH, f"{ROOT}/orders/")]
    assert search_matches(world.catalog, ("fs_path", "file:///orders")) == ()
