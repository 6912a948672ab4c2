"""The publisher: one writer, only what changed, a catalog that is unavailable or refuses, and the effects of time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from threading import get_ident
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey
from shared.concurrency.parallel_map import ParallelMap
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.processing.processor import RunProcessor
from shared.publishing.planning.options import PublishOptions
from shared.publishing.writing.catalog_write import Published
from shared.records.application.process_index import QUEUED_APPLICATION
from shared.records.publish_queue import enqueue, queue_entries
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import Lease, Row
from shared.storage_layout import stored_from_blob
from tests.support.events import event, run_id, write
from tests.support.processing import Watched, post
from tests.support.publishing import Clock, UnreliableCatalog, post_and_settle, publish, publish_options


def test_unchanged_lineage_costs_no_catalog_call() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, publish_options(clock)).written == 1
    writes, calls = catalog.writes, catalog.calls
    for number in range(5):
        post_and_settle(storage, *write(f"b{number}", f"app2{number}", f"1{number}:30", "/a"))
        done = publish(storage, catalog, publish_options(clock))
        assert (done.written, done.unchanged) == (0, 1)
    assert (catalog.writes, catalog.calls) == (writes, calls)


def test_only_the_holder_of_the_lease_publishes() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    lease = storage.lease("publisher", 60)
    assert lease
    assert publish(storage, catalog, publish_options(Clock())).written == 0
    lease.release()
    assert publish(storage, catalog, publish_options(Clock())).written == 1


def test_a_process_without_supporters_is_removed() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    post_and_settle(storage, write("a", "app1", "10:01", "/a", end="FAIL")[1])
    assert publish(storage, catalog, publish_options(clock)).removed == 1
    assert catalog.processes == {}
    assert set(catalog.assets) == {("fs_path", "file:///a"), ("fs_path", "file:///out")}
    found = status(storage)
    assert (found.published, found.skipped, found.waiting) == (0, 3, 0)


def test_an_unavailable_catalog_is_not_called_for_a_while() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    catalog.away = True
    assert publish(storage, catalog, publish_options(clock)).error == "no answer"
    calls = catalog.calls
    assert publish(storage, catalog, publish_options(clock)).written == 0
    assert catalog.calls == calls
    found = status(storage)
    assert found.waiting_for == {"the catalog": 2}
    assert "no answer" in found.last_errors[0]
    catalog.away = False
    clock.at += timedelta(minutes=1)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert status(storage).last_errors == ()


def test_a_refused_process_delays_no_other_and_is_retried_later() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/a", sink="/bad"))
    catalog.refuses = "/bad"
    done = publish(storage, catalog, publish_options(clock))
    assert (done.written, done.refused) == (1, 1)
    found = status(storage)
    assert (found.published, found.waiting) == (2, 2)
    assert "ATLAS-400-00-01A" in found.last_errors[0]
    assert publish(storage, catalog, publish_options(clock)).refused == 0, "not at once"
    catalog.refuses = ""
    clock.at += timedelta(minutes=10)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert status(storage).waiting == 0


def test_a_process_waits_while_an_interrupted_write_may_take_effect() -> None:
    class Killed(BaseException):
        pass

    class Deadly(UnreliableCatalog):
        def write_processes(self, *_: object) -> dict[str, str]:
            raise Killed

    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    with pytest.raises(Killed):
        publish(storage, Deadly(), publish_options(clock))
    post_and_settle(storage, *write("b", "app1", "10:02", "/b"))
    done = publish(storage, catalog, publish_options(clock))
    assert (done.written, done.postponed) == (0, 1)
    clock.at += timedelta(minutes=10)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    (process,) = catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///a"), ("fs_path", "file:///b"))


def test_a_newer_application_supersedes_the_older_one_after_its_quiet_time() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    hourly = publish_options(clock, quiet=timedelta(hours=1))
    half_an_hour_ago = f"{clock.at - timedelta(minutes=30):%Y-%m-%dT%H:%M}"
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"), event("app1", "COMPLETE", "10:05:00"))
    post_and_settle(storage, *write("b", "app2", half_an_hour_ago, "/b"))
    publish(storage, catalog, hourly)
    assert [key for _, key in catalog.processes.popitem()[1].inputs] == ["file:///a", "file:///b"]
    assert publish(storage, catalog, hourly).written == 0
    assert status(storage).waiting == 0, "it is published as it should be now"
    clock.at += timedelta(hours=1)
    assert publish(storage, catalog, hourly).written == 1
    assert [key for _, key in catalog.processes.popitem()[1].inputs] == ["file:///b"]


def test_an_existing_asset_is_used_and_not_changed() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    scanned = AssetEntity(type="fs_path", qualified_name="file:///a", attributes=(("name", "Customers"),))
    catalog.create_assets([scanned])
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(Clock()))
    assert catalog.assets["fs_path", "file:///a"] == scanned
    assert set(catalog.assets) == {("fs_path", "file:///a"), ("fs_path", "file:///out")}


def test_a_process_queued_again_during_its_write_is_published_again() -> None:
    class Marking(UnreliableCatalog):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            result = super().write_processes(processes, guids)
            if self.writes < 3:
                for place in post(storage, *write("b", "app1", "10:02", "/b")):
                    RunProcessor(storage=storage).receive(place, storage.get("events", place.blob) or b"")
            return result

    storage, catalog = MemoryStorage(), Marking()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(Clock()))
    (process,) = catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///a"), ("fs_path", "file:///b"))
    assert [stored_from_blob(fact.name).type for fact in storage.blobs("events")].count("COMPLETE") == 2


def test_a_catalog_without_access_is_not_called_again_and_refuses_no_process() -> None:
    class Closed(UnreliableCatalog):
        def find(self, keys: object) -> dict[AssetKey, str]:  # noqa: ARG002 - it looks at nothing
            self.calls += 1
            raise CatalogRefused(status=403, code="", detail="no role")

    storage, catalog, clock = MemoryStorage(), Closed(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/b", sink="/out2"))
    done = publish(storage, catalog, publish_options(clock))
    assert (done.refused, "403" in done.error) == (0, True)
    publish(storage, catalog, publish_options(clock))
    assert catalog.calls == 1
    clock.at += timedelta(minutes=2)
    assert publish(storage, MemoryCatalog(), publish_options(clock)).written == 2


def test_a_refused_removal_delays_no_other_process() -> None:
    class Sticky(UnreliableCatalog):
        def delete_process(self, *_: object) -> None:
            raise CatalogRefused(status=400, code="ATLAS-400", detail="no")

    storage, catalog, clock = MemoryStorage(), Sticky(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    post_and_settle(
        storage, write("a", "app1", "10:01", "/a", end="FAIL")[1], *write("b", "app1", "10:02", "/b", sink="/out2")
    )
    done = publish(storage, catalog, publish_options(clock))
    assert (done.written, done.removed, done.refused) == (1, 0, 1)
    assert "ATLAS-400" in status(storage).last_errors[0]


def test_an_asset_that_makes_the_catalog_fail_delays_no_other_process() -> None:
    class Choking(UnreliableCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            if any(asset.qualified_name.endswith("/bad") for asset in assets):
                raise CatalogUnavailable("500", after=0)
            return super().create_assets(assets)

    storage, catalog, clock = MemoryStorage(), Choking(), Clock()
    for number in range(20):
        post_and_settle(storage, *write(f"r{number}", "app1", "10:00", f"/s{number}", sink=f"/out{number}"))
    post_and_settle(storage, *write("bad", "app1", "10:00", "/bad", sink="/out_bad"))
    for _ in range(40):
        publish(storage, catalog, publish_options(clock))
        clock.at += timedelta(minutes=1)
    assert len(catalog.processes) == 20
    assert status(storage).waiting_for == {"the catalog": 2}


def test_many_assets_are_created_in_bounded_calls() -> None:
    class Bounded(UnreliableCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            assert len(assets) <= 50
            return super().create_assets(assets)

    storage, catalog = MemoryStorage(), Bounded()
    names = [f"/in{number}" for number in range(300)]
    post_and_settle(storage, event("a", "COMPLETE", "10:00:00", inputs=names, outputs=["/out"], application="app"))
    publish(storage, catalog, publish_options(Clock()))
    assert len(catalog.assets) == 301


def test_an_application_that_writes_other_data_sets_is_not_quiet() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()

    def ago(minutes: int) -> str:
        return f"{clock.at - timedelta(minutes=minutes):%Y-%m-%dT%H:%M}"

    post_and_settle(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/b"))
    post_and_settle(storage, event("app1", "COMPLETE", "10:05:00"))
    post_and_settle(storage, *write("c", "app2", ago(90), "/a"), *write("d", "app2", ago(10), "/x", sink="/elsewhere"))
    hourly = publish_options(clock, quiet=timedelta(hours=1))
    publish(storage, catalog, hourly)
    wanted = next(process for name, process in catalog.processes.items() if name.endswith("/out"))
    assert [key for _, key in wanted.inputs] == ["file:///a", "file:///b"]
    clock.at += timedelta(hours=1)
    publish(storage, catalog, hourly)
    wanted = next(process for name, process in catalog.processes.items() if name.endswith("/out"))
    assert [key for _, key in wanted.inputs] == ["file:///a"]


def test_publishing_does_not_read_the_contributions_of_old_runs() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), UnreliableCatalog(), Clock()
    for number in range(60):
        day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T10:00"
        post_and_settle(storage.real, *write(f"r{number}", f"app{number}", day, "/a"))
        post_and_settle(storage.real, event(f"app{number}", "COMPLETE", f"{day}:59"))
    publish(storage, catalog, publish_options(clock))
    assert storage.calls["read"] + storage.calls["partition"] < 20


def test_a_process_queued_while_the_lease_is_released_is_published() -> None:
    class Leaving:
        """A lease at whose release another worker enqueues a process, and is refused the lease."""

        def __init__(self, lease: Lease) -> None:
            self._lease = lease

        def renew(self) -> bool:
            return self._lease.renew()

        def release(self) -> None:
            if not catalog.processes:
                post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
            self._lease.release()

    class Storing(MemoryStorage):
        def lease(self, name: str, seconds: int) -> Any:
            held = super().lease(name, seconds)
            return Leaving(held) if held else None

    storage, catalog = Storing(), UnreliableCatalog()
    publish(storage, catalog, publish_options(Clock()))
    assert len(catalog.processes) == 1


def test_an_unreadable_application_delays_no_other() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    broken, mark = run_id("broken"), f"{QUEUED_APPLICATION}{run_id('broken')}"
    storage.insert("runs", Row(partition=broken, key="process|0", values={"process_blob": "gone.json.gz"}))
    enqueue(storage, [mark])
    post_and_settle(storage, *write("a", "app", "10:00", "/a", sink="/b"))
    done = publish(storage, catalog, PublishOptions())
    assert (done.written, done.refused) == (1, 1)
    (left,) = queue_entries(storage)[0]
    assert (left.process, left.attempts) == (mark, 1)
    assert left.error


def test_runs_settled_within_the_debounce_time_are_published_together() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    later = [write("b", "app2", "11:00", "/b"), write("c", "app3", "12:00", "/c")]
    looking = Watched(storage)

    def other_runs_settle(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "partition" and arguments[0] == "publishqueue" and later:
            post_and_settle(storage, *later.pop())

    looking.step_in = other_runs_settle
    done = publish(looking, catalog, replace(publish_options(clock), debounce=timedelta(milliseconds=40)))
    assert (done.written, done.unchanged, done.postponed) == (1, 0, 0)
    (process,) = catalog.processes.values()
    assert {name[-2:] for _, name in process.inputs} == {"/a", "/b", "/c"}


def test_endless_new_queue_entries_do_not_delay_publishing_for_ever() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    looking = Watched(storage)

    def another_mark(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "partition" and arguments[0] == "publishqueue" and not catalog.writes:
            enqueue(storage, [f"{len(looking.calls)}"])

    looking.step_in = another_mark
    assert publish(looking, catalog, replace(publish_options(clock), debounce=timedelta(milliseconds=40))).written == 1
    assert looking.calls["partition"] < 40


def test_processes_of_a_queued_application_are_published_in_the_same_round() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    enqueue(storage, [f"{QUEUED_APPLICATION}{run_id('app1')}"])
    looking = Watched(storage)
    looks: list[str] = []

    def order(name: str, arguments: tuple[Any, ...]) -> None:
        if name in {"partition", "delete"} and arguments[0] == "publishqueue":
            looks.append(name)

    looking.step_in = order
    assert publish(looking, catalog, replace(publish_options(clock), debounce=timedelta(milliseconds=40))).written == 1
    # two equal looks, the application's mark, one look, the process's mark, a last look in the shift and one after it
    assert looks == ["partition", "partition", "delete", "partition", "delete", "partition", "partition"]


def test_ledger_rows_are_written_in_parallel_and_processes_in_one_call() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    for number in range(20):
        kinds = (("START", "10:00:00"), ("COMPLETE", "10:00:30"))
        facts: Any = {"inputs": ["/in"], "outputs": [f"/out{number}"], "application": "app"}
        post_and_settle(storage, *(event(f"run{number}", kind, at, **facts) for kind, at in kinds))
    watched, threads = Watched(storage), set[int]()

    def note_thread(name: str, arguments: tuple[Any, ...]) -> None:
        if name in {"insert", "replace"} and arguments[0] == "ledger":
            threads.add(get_ident())

    watched.step_in = note_thread
    together = replace(publish_options(clock), parallel=ParallelMap(at_once=4))
    assert publish(watched, catalog, together).written == 20
    assert (len(catalog.processes), catalog.writes) == (20, 2)  # data sets, then processes
    assert threads
    assert get_ident() not in threads
    assert status(storage).published == 40
    calls = watched.calls.copy()
    assert publish(watched, catalog, together) == Published()
    assert (watched.calls - calls).keys() <= {"partition", "lease"}


def test_an_unreadable_process_delays_no_other_that_is_planned_in_parallel() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    other: Any = {"inputs": ["/in"], "outputs": ["/other"], "application": "app2"}
    post_and_settle(storage, event("b", "COMPLETE", "10:00:30", **other))
    (lost, *_) = storage.scan("contributions")
    cells = {"supporters": lost.values["supporters"], "content_blob": "gone.json.gz"}
    storage.upsert("contributions", replace(lost, values=cells))
    done = publish(storage, catalog, replace(publish_options(clock), parallel=ParallelMap(at_once=4)))
    assert (done.written, done.refused) == (1, 1)


def test_a_newer_write_waits_while_an_unanswered_try_may_take_effect() -> None:
    class Late(UnreliableCatalog):
        """Applies an unanswered write minutes later, after other writes."""

        lost: Sequence[ProcessEntity] = ()

        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            self.lost = self.lost or processes
            return super().write_processes(processes, guids)

        def may_still_land(self) -> bool:
            return self.writes <= 2  # the first that is written; placing is the first call

        def land(self) -> None:
            self.processes |= {each.qualified_name: each for each in self.lost}

    storage, catalog, clock = MemoryStorage(), Late(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, publish_options(clock)).written == 1
    post_and_settle(storage, *write("b", "app2", "10:01", "/a"))
    assert publish(storage, catalog, publish_options(clock)).unchanged == 1, "what is the same need not wait"
    post_and_settle(storage, *write("c", "app2", "10:02", "/b"))
    done = publish(storage, catalog, publish_options(clock))
    assert (done.written, done.postponed) == (0, 1)
    catalog.land()
    clock.at += timedelta(minutes=10)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    (process,) = catalog.processes.values()
    assert [name for _, name in process.inputs] == ["file:///a", "file:///b"]
    post_and_settle(storage, *write("d", "app2", "10:03", "/c"))
    assert publish(storage, catalog, publish_options(clock)).written == 1, "that call went well at once"
