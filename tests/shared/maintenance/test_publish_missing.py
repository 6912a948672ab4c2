"""Filling a catalog from the record: waiting and lost processes, interruptions, and a catalog that asks to wait."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import AssetKey, Catalog, HeldAsset, HeldProcess
from shared.errors import CatalogUnavailable, WriteConflict
from shared.maintenance.publish_missing import (
    MISSING,
    MissingPublished,
    missing_entries,
    plan_missing,
    publish_all,
    publish_missing,
)
from shared.publishing.context import PublishOptions
from shared.records.publish_queue import hold_publishing, pause, read_queue, release_publishing, resume_publishing
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.other_catalogs import catalog_with_other_guids
from tests.support.publishing import Clock, context_of, post_and_deliver, publish, publish_options

PROCESSES = 25


def waiting(storage: MemoryStorage, number: int = PROCESSES, tag: str = "") -> None:
    """So many processes that nobody has published yet."""
    for index in range(number):
        post_and_deliver(
            storage, *write(f"r{tag}{index}", f"app{tag}{index}", "10:00", "/in", sink=f"/out{tag}{index}")
        )


def small(clock: Clock) -> PublishOptions:
    return replace(publish_options(clock), batch=10)


def test_waiting_processes_are_written_and_the_reported_counts_add_up() -> None:
    storage, catalog, reports = MemoryStorage(), MemoryCatalog(), list[MissingPublished]()
    waiting(storage)
    clock = Clock()
    assert (plan_missing(storage, small(clock)).waiting, plan_missing(storage, small(clock)).written) == (
        PROCESSES,
        0,
    )
    backfill_result = publish_missing(context_of(storage, catalog, small(clock)), progress=reports.append)
    assert (backfill_result.published.written, backfill_result.looked, backfill_result.missing) == (
        PROCESSES,
        PROCESSES,
        0,
    )
    assert len(catalog.processes) == PROCESSES
    assert [report.published.written for report in reports] == sorted(report.published.written for report in reports)
    assert {10, 20, PROCESSES} <= {report.published.written for report in reports}, "reported after each call"
    assert MISSING.load(storage) is None
    writes = catalog.writes
    assert publish_missing(context_of(storage, catalog, small(clock))).published.progress == 0
    assert catalog.writes == writes


def test_publishing_all_returns_the_names_of_what_changed_and_why_the_catalog_was_not_called_further() -> None:
    class Away(MemoryCatalog):
        def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:  # noqa: ARG002 - the port's
            raise CatalogUnavailable("no answer", after=0)

    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    waiting(storage, 2)
    assert publish_all(context_of(storage, Away(), small(clock)))[0].error == "no answer"
    clock.at += timedelta(hours=1)
    published, _ = publish_all(context_of(storage, catalog, small(clock)))
    assert sorted(published.changes) == [("+", name) for name in sorted(catalog.processes)]


def test_an_empty_catalog_gets_everything_that_the_lost_one_held() -> None:
    storage, lost_memory_catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    waiting(storage)
    publish(storage, lost_memory_catalog, publish_options(clock))
    catalog = catalog_with_other_guids()
    assert (
        sum(len(missing_batch) for _, missing_batch in missing_entries(context_of(storage, catalog, small(clock))))
        == PROCESSES
    )
    backfill_result = publish_missing(context_of(storage, catalog, small(clock)))
    assert (backfill_result.looked, backfill_result.missing, backfill_result.published.written) == (
        PROCESSES,
        PROCESSES,
        PROCESSES,
    )
    assert catalog.processes == lost_memory_catalog.processes
    assert set(catalog.assets) == set(lost_memory_catalog.assets)
    assert status(storage).waiting == 0


def test_only_missing_processes_are_written_again() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    waiting(storage)
    publish(storage, catalog, publish_options(clock))
    process_entities_before = dict(catalog.processes)
    for name in list(process_entities_before)[::7]:
        catalog.delete_process(name)
    backfill_result = publish_missing(context_of(storage, catalog, small(clock)))
    assert backfill_result.missing == backfill_result.published.written == len(list(process_entities_before)[::7])
    assert catalog.processes == process_entities_before


@pytest.mark.parametrize("stop_after", range(1, 12))
def test_a_backfill_stopped_anywhere_continues_there(stop_after: int) -> None:
    storage, clock, reports = MemoryStorage(), Clock(), list[MissingPublished]()
    waiting(storage)
    publish(storage, MemoryCatalog(), publish_options(clock))
    waiting(storage, 12, "new")
    catalog = catalog_with_other_guids()
    stopping = replace(small(clock), stopped=lambda: len(reports) >= stop_after)
    first = publish_missing(context_of(storage, catalog, stopping), progress=reports.append)
    last_process_after = MISSING.load(storage)
    assert (last_process_after is None) == (len(reports) < stop_after)
    publish(storage, catalog, small(clock))
    second = publish_missing(context_of(storage, catalog, small(clock)), last_written=last_process_after or "")
    assert len(catalog.processes) == PROCESSES + 12
    assert first.looked + second.looked <= PROCESSES + 12 + 10, "what was looked for is not looked for again"
    assert MISSING.load(storage) is None


class Quota(MemoryCatalog):
    """A catalog that answers so many calls, and then asks to be left alone for a minute."""

    def __init__(self, clock: Clock, calls: int) -> None:
        super().__init__()
        self.clock = clock
        self.quota = calls
        self.left = calls
        self.until = clock()
        self.early = 0

    def _count(self) -> None:
        if self.clock() < self.until:
            self.early += 1
        self.left -= 1
        if self.left < 0:
            self.left, self.until = self.quota, self.clock() + timedelta(seconds=60)
            raise CatalogUnavailable("429", after=60, over=True, blames=False)

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        self._count()
        return super().write_processes(processes, guids)

    def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
        self._count()
        return super().read_processes(qualified_names)


def test_a_backfill_waits_when_the_catalog_asks_to_wait() -> None:
    storage, clock, reports = MemoryStorage(), Clock(), list[MissingPublished]()
    waiting(storage)
    catalog = Quota(clock, 2)

    def wait(seconds: float) -> None:
        clock.at += timedelta(seconds=seconds)

    backfill_result = publish_missing(
        context_of(storage, catalog, replace(small(clock), rest=wait)), progress=reports.append
    )
    assert (backfill_result.published.written, backfill_result.looked) == (PROCESSES, PROCESSES)
    assert catalog.early == 0, "not called before its time"
    assert "429" in {report.waited for report in reports}


def test_a_backfill_reports_the_pause_of_publishing_that_it_waits_for() -> None:
    storage, catalog, clock, reports = MemoryStorage(), MemoryCatalog(), Clock(), list[MissingPublished]()
    waiting(storage, 1)
    end = clock() + timedelta(minutes=5)
    pause(storage, end, "429")

    def wait(seconds: float) -> None:
        assert reports[-1].waited == "429"
        clock.at += timedelta(seconds=seconds)

    backfill_result = publish_missing(
        context_of(storage, catalog, replace(small(clock), rest=wait)), progress=reports.append
    )
    assert (clock(), backfill_result.published.written, reports[-1].waited) == (end, 1, "")


@pytest.mark.parametrize("begins", [0, 3], ids=["before it", "while it waits"])
def test_a_rebuild_that_holds_publishing_back_ends_the_backfill_and_nothing_is_lost(begins: int) -> None:
    storage, catalog, clock, waits = MemoryStorage(), MemoryCatalog(), Clock(), list[float]()
    waiting(storage)
    pause(storage, clock() + timedelta(minutes=5), "429")

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == begins:
            hold_publishing(storage, "the tables are being rebuilt")

    if not begins:
        hold_publishing(storage, "the tables are being rebuilt")
    with pytest.raises(WriteConflict, match="Publishing is held back: the tables are being rebuilt"):
        publish_missing(context_of(storage, catalog, replace(small(clock), rest=wait)))
    assert (len(waits), MISSING.load(storage), catalog.writes) == (begins, "", 0)
    release_publishing(storage)
    resume_publishing(storage)
    assert publish_missing(context_of(storage, catalog, small(clock))).published.written == PROCESSES


def test_a_catalog_that_stays_unavailable_ends_the_backfill_and_nothing_is_lost() -> None:
    class Away(MemoryCatalog):
        def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:  # noqa: ARG002 - no answer
            raise CatalogUnavailable("no answer", after=0)

    storage, clock = MemoryStorage(), Clock()
    waiting(storage)

    def wait(seconds: float) -> None:
        clock.at += timedelta(seconds=seconds)

    with pytest.raises(CatalogUnavailable, match="no answer"):
        publish_missing(context_of(storage, Away(), replace(small(clock), rest=wait)))
    assert MISSING.load(storage) == ""
    assert len(read_queue(storage).entries) == PROCESSES
    clock.at += timedelta(hours=7)
    catalog: Catalog = MemoryCatalog()
    assert publish_missing(context_of(storage, catalog, small(clock))).published.written == PROCESSES


def test_a_refused_process_does_not_hold_up_the_others() -> None:
    class Picky(MemoryCatalog):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            if any(process.qualified_name.endswith("/out7") for process in processes):
                raise CatalogUnavailable("500", over=True, after=0)
            return super().write_processes(processes, guids)

    storage, clock = MemoryStorage(), Clock()
    waiting(storage)
    backfill_result = publish_missing(context_of(storage, Picky(), small(clock)))
    assert (backfill_result.published.written, backfill_result.published.refused) == (PROCESSES - 1, 1)


def test_a_backfill_waits_for_another_publisher() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    waiting(storage)
    lease = storage.lease("publisher", 60)
    assert lease
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            lease.release()

    context = context_of(storage, catalog, replace(small(clock), rest=wait))
    assert publish_missing(context).published.written == PROCESSES
    assert len(waits) == 3
