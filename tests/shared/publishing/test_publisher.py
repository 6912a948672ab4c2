"""The publisher: one writer, only what changed, a catalog that is unavailable or refuses, and the effects of time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import get_ident
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey, HeldAsset
from shared.concurrency import ParallelMap
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.context import remove_unlinked, turn
from shared.publishing.publisher import Publisher
from shared.records.ledger import request_rewrite
from shared.records.publish_queue import enqueue, read_queue
from shared.storage.memory import MemoryStorage
from shared.storage.port import Lease
from shared.storage_layout import (
    APPLICATIONS,
    CATALOG,
    CONTENTS,
    HEADER,
    PROCESSES,
    PUBLISH_QUEUE,
    QUEUE_PARTITION,
    digest_of,
    process_key,
)
from shared.telemetry.port import PROCESS, Act, Acts
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import (
    Clock,
    UnreliableCatalog,
    Watched,
    context_of,
    entries,
    fold,
    publish,
    publish_options,
)


def outcomes(reports: list[tuple[str, str]]) -> Acts:
    """Telemetry that adds the state of each process to these, with the reason of a refusal."""

    def note(act: Act) -> None:
        if act.kind is PROCESS:
            reports.append((str(act.facts["state"]), str(act.facts.get("reason", ""))))

    return Acts(note)


def lose_state(storage: MemoryStorage, application: str) -> None:
    """The state of an application is in a blob that is missing."""
    header = storage.read(APPLICATIONS, run_id(application), HEADER)
    assert header
    storage.upsert(APPLICATIONS, replace(header, values={**header.values, "blob": "lost"}))


def test_unchanged_lineage_costs_no_catalog_call() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, publish_options(clock)).written == 1
    writes, calls = catalog.writes, catalog.calls
    for number in range(5):
        fold(storage, *write(f"b{number}", f"app2{number}", f"1{number}:30", "/a"))
        counts = publish(storage, catalog, publish_options(clock))
        assert (counts.written, counts.unchanged) == (0, 1)
    assert (catalog.writes, catalog.calls) == (writes, calls)


def test_only_the_holder_of_the_lease_publishes() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    lease = storage.lease("publisher", 60)
    assert lease
    assert publish(storage, catalog, publish_options(Clock())).written == 0
    lease.release()
    assert publish(storage, catalog, publish_options(Clock())).written == 1


def test_a_process_without_supporters_is_removed() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    fold(storage, write("a", "app1", "10:01", "/a", end="FAIL")[1])
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.removed, [sign for sign, _ in counts.changes]) == (1, ["-"])
    assert catalog.processes == {}
    assert set(catalog.assets) == {("fs_path", "file:///a"), ("fs_path", "file:///out")}
    assert entries(storage) == ()


def test_placeholders_that_another_process_removed_are_created_again_without_a_refused_call() -> None:
    storage, catalog, options = MemoryStorage(), UnreliableCatalog(), publish_options(Clock())
    publisher = Publisher(context=context_of(storage, catalog, options))
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publisher.publish()
    fold(storage, write("a", "app1", "10:00", "/a", end="FAIL")[1])
    assert publisher.publish().removed == 1
    other = context_of(storage, catalog, options)
    with turn(other):
        remove_unlinked(other, list(catalog.assets))
    assert catalog.assets == {}
    writes = catalog.writes
    fold(storage, *write("b", "app2", "11:00", "/a"))
    assert publisher.publish().written == 1
    assert catalog.writes == writes + 2, "the data sets, and the process"


def test_an_unavailable_catalog_is_not_called_for_a_while() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    catalog.away = True
    assert publish(storage, catalog, publish_options(clock)).error == "no answer"
    calls = catalog.calls
    assert publish(storage, catalog, publish_options(clock)).written == 0
    assert catalog.calls == calls
    assert read_queue(storage).why == "no answer"
    catalog.away = False
    clock.at += timedelta(minutes=1)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert (entries(storage), read_queue(storage).why) == ((), "")


def test_a_refused_process_delays_no_other_and_is_retried_later() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/a", sink="/bad"))
    catalog.refuses = "/bad"
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.written, counts.refused) == (1, 1)
    (remaining_entry,) = entries(storage)
    assert "ATLAS-400-00-01A" in remaining_entry.error
    assert remaining_entry.marks == (), "its parts are on record"
    assert publish(storage, catalog, publish_options(clock)).refused == 0, "not at once"
    catalog.refuses = ""
    clock.at += timedelta(minutes=10)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert entries(storage) == ()


def test_a_process_waits_while_an_interrupted_write_may_take_effect() -> None:
    class Killed(BaseException):
        pass

    class Deadly(UnreliableCatalog):
        def write_processes(self, *_: object) -> dict[str, str]:
            raise Killed

    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    with pytest.raises(Killed):
        publish(storage, Deadly(), publish_options(clock))
    fold(storage, *write("b", "app1", "10:02", "/b"))
    reports = list[tuple[str, str]]()
    counts = publish(storage, catalog, publish_options(clock, telemetry=outcomes(reports)))
    assert (counts.written, counts.postponed, reports) == (0, 1, [("postponed", "")])
    clock.at += timedelta(minutes=10)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    (process,) = catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///a"), ("fs_path", "file:///b"))


def test_a_newer_application_supersedes_the_older_one_after_its_quiet_time() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    hourly = publish_options(clock, quiet=timedelta(hours=1))
    half_an_hour_ago = f"{clock.at - timedelta(minutes=30):%Y-%m-%dT%H:%M}"
    fold(storage, *write("a", "app1", "10:00", "/a"), event("app1", "COMPLETE", "10:05:00"))
    fold(storage, *write("b", "app2", half_an_hour_ago, "/b"))
    publish(storage, catalog, hourly)
    assert [key for _, key in catalog.processes.popitem()[1].inputs] == ["file:///a", "file:///b"]
    assert publish(storage, catalog, hourly).written == 0
    assert entries(storage) == (), "it is published as it should be now"
    clock.at += timedelta(hours=1)
    assert publish(storage, catalog, hourly).written == 1
    assert [key for _, key in catalog.processes.popitem()[1].inputs] == ["file:///b"]


def test_an_existing_asset_is_used_and_not_changed() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    scanned = AssetEntity(
        type="fs_path", qualified_name="file:///a", attributes=(("name", "Customers"), ("path", "/a"))
    )
    catalog.create_assets([scanned])
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(Clock()))
    assert catalog.assets["fs_path", "file:///a"] == scanned
    assert set(catalog.assets) == {("fs_path", "file:///a"), ("fs_path", "file:///out")}


def test_a_process_queued_again_during_its_write_is_published_again() -> None:
    class Marking(UnreliableCatalog):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            result = super().write_processes(processes, guids)
            if self.writes < 3:
                fold(storage, *write("b", "app1", "10:02", "/b"))
            return result

    storage, catalog = MemoryStorage(), Marking()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(Clock()))
    (process,) = catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///a"), ("fs_path", "file:///b"))


def test_processes_that_were_written_with_one_that_is_queued_again_are_taken_off_the_queue() -> None:
    class Queuing(UnreliableCatalog):
        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            enqueue(storage, targets[:1])
            return super().write_processes(processes, guids)

    storage = MemoryStorage()
    fold(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app2", "10:01", "/b", sink="/out2"))
    targets = [entry.target for entry in entries(storage)]
    enqueue(storage, targets)
    counts = publish(storage, Queuing(), publish_options(Clock()))
    assert (counts.written, counts.unchanged) == (2, 1)
    assert entries(storage) == ()


def test_a_refused_process_that_another_publisher_has_taken_off_the_queue_is_put_off() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    enqueue(storage, [entry.target for entry in entries(storage)])
    catalog.refuses = "/out"
    watched = Watched(storage)

    def take_off(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("transact", PUBLISH_QUEUE):
            for row in tuple(storage.partition(PUBLISH_QUEUE, QUEUE_PARTITION)):
                storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, row.key, row.etag)

    watched.step_in = take_off
    reports = list[tuple[str, str]]()
    assert publish(watched, catalog, publish_options(Clock(), telemetry=outcomes(reports))).refused == 1
    assert [entry.attempts for entry in entries(storage)] == [1]
    assert reports == [("refused", "400 ATLAS-400-00-01A: no")]


def test_only_what_was_not_done_before_the_catalog_failed_is_blamed(caplog: pytest.LogCaptureFixture) -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    unchanged, unreadable = write("b", "app2", "11:00", "/a"), write("c", "app3", "11:00", "/a", sink="/out3")
    fold(storage, *unchanged, *unreadable, *write("d", "app4", "11:00", "/d", sink="/out4"))
    lose_state(storage, "app3")
    catalog.away = True
    assert publish(storage, catalog, publish_options(clock)).error == "no answer"
    assert sorted("verify --fix" in entry.error for entry in entries(storage)) == [False, True]
    assert [record.message.partition(" error=")[0] for record in caplog.records] == [
        f"process put off process={process_key('throughline:v1://tests/app/file/out3')}",
        "catalog unavailable pause=15s batch=1",
    ]


def test_a_catalog_without_access_is_not_called_again_and_refuses_no_process() -> None:
    class Closed(UnreliableCatalog):
        def look_up(self, keys: object) -> dict[AssetKey, HeldAsset]:  # noqa: ARG002 - it looks at nothing
            self.calls += 1
            raise CatalogRefused(status=403, code="", detail="no role")

    storage, catalog, clock = MemoryStorage(), Closed(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/b", sink="/out2"))
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.refused, "403" in counts.error) == (0, True)
    publish(storage, catalog, publish_options(clock))
    assert catalog.calls == 1
    clock.at += timedelta(minutes=2)
    assert publish(storage, MemoryCatalog(), publish_options(clock)).written == 2


def test_a_removal_without_access_pauses_publishing_and_blames_no_process() -> None:
    class Closed(UnreliableCatalog):
        def delete_process(self, *_: object) -> None:
            raise CatalogRefused(status=403, code="", detail="no role")

    storage, catalog, clock = MemoryStorage(), Closed(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    fold(storage, write("a", "app1", "10:01", "/a", end="FAIL")[1])
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.removed, counts.refused, "403" in counts.error) == (0, 0, True)
    assert [entry.attempts for entry in entries(storage)] == [0]


SECOND_RUNS = {
    "written": write("b", "app2", "10:01", "/b"),
    "unchanged": write("b", "app2", "10:01", "/a"),
    "removed": write("a", "app1", "10:01", "/a", end="FAIL")[1:],
}


@pytest.mark.parametrize("bodies", SECOND_RUNS.values(), ids=SECOND_RUNS)
def test_a_process_that_another_publisher_changes_meanwhile_is_reported_and_planned_again(
    bodies: Sequence[bytes],
) -> None:
    storage, catalog, clock, reports = MemoryStorage(), UnreliableCatalog(), Clock(), list[tuple[str, str]]()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    fold(storage, *bodies)
    watched, (process,) = Watched(storage), (entry.key for entry in entries(storage))

    def overtake(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("transact", PROCESSES):
            watched.step_in = lambda _name, _arguments: None
            request_rewrite(storage, process)

    watched.step_in = overtake
    publish(watched, catalog, publish_options(clock, telemetry=outcomes(reports)))
    assert [state for state, _ in reports] == ["overtaken", "written" if catalog.processes else "removed"]
    assert entries(storage) == ()


def test_a_refused_removal_delays_no_other_process() -> None:
    class Sticky(UnreliableCatalog):
        def delete_process(self, *_: object) -> None:
            raise CatalogRefused(status=400, code="ATLAS-400", detail="no")

    storage, catalog, clock = MemoryStorage(), Sticky(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    fold(storage, write("a", "app1", "10:01", "/a", end="FAIL")[1], *write("b", "app1", "10:02", "/b", sink="/out2"))
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.written, counts.removed, counts.refused) == (1, 0, 1)
    assert "ATLAS-400" in entries(storage)[0].error


def test_an_asset_that_makes_the_catalog_fail_delays_no_other_process() -> None:
    class Choking(UnreliableCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            if any(asset.qualified_name.endswith("/bad") for asset in assets):
                raise CatalogUnavailable("500", after=0)
            return super().create_assets(assets)

    storage, catalog, clock = MemoryStorage(), Choking(), Clock()
    for number in range(20):
        fold(storage, *write(f"r{number}", "app1", "10:00", f"/s{number}", sink=f"/out{number}"))
    fold(storage, *write("bad", "app1", "10:00", "/bad", sink="/out_bad"))
    for _ in range(40):
        publish(storage, catalog, publish_options(clock))
        clock.at += timedelta(minutes=1)
    assert len(catalog.processes) == 20
    assert len(entries(storage)) == 1


def test_many_assets_are_created_in_bounded_calls() -> None:
    class Bounded(UnreliableCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            assert len(assets) <= 50
            return super().create_assets(assets)

    storage, catalog = MemoryStorage(), Bounded()
    names = [f"/in{number}" for number in range(300)]
    fold(storage, event("a", "COMPLETE", "10:00:00", inputs=names, outputs=["/out"], application="app"))
    publish(storage, catalog, publish_options(Clock()))
    assert len(catalog.assets) == 301


def test_an_application_that_writes_other_data_sets_is_not_quiet() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()

    def ago(minutes: int) -> str:
        return f"{clock.at - timedelta(minutes=minutes):%Y-%m-%dT%H:%M}"

    fold(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/b"))
    fold(storage, event("app1", "COMPLETE", "10:05:00"))
    hourly = publish_options(clock, quiet=timedelta(hours=1))

    def sources() -> list[str]:
        publish(storage, catalog, hourly)
        (process,) = (process for name, process in catalog.processes.items() if name.endswith("/out"))
        return [key for _, key in process.inputs]

    fold(storage, *write("c", "app2", ago(90), "/a"), *write("d", "app2", ago(50), "/x", sink="/elsewhere"))
    assert sources() == ["file:///a", "file:///b"]
    fold(storage, *write("e", "app2", ago(10), "/x", sink="/elsewhere"))
    clock.at += timedelta(minutes=20)
    assert sources() == ["file:///a", "file:///b"], "it is active still"
    clock.at += timedelta(hours=1)
    assert sources() == ["file:///a"]


def test_publishing_does_not_read_the_contributions_of_old_runs() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), UnreliableCatalog(), Clock()
    for number in range(60):
        day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T10:00"
        fold(storage.real, *write(f"r{number}", f"app{number}", day, "/a"))
        fold(storage.real, event(f"app{number}", "COMPLETE", f"{day}:59"))
    publish(storage, catalog, publish_options(clock))
    assert storage.total < 80, "headers of marked applications, and one query of the process"


def test_a_process_queued_while_the_lease_is_released_is_published() -> None:
    class Leaving:
        """A lease at whose release another worker enqueues a process, and is refused the lease."""

        def __init__(self, lease: Lease) -> None:
            self._lease = lease

        def renew(self) -> bool:
            return self._lease.renew()

        def release(self) -> None:
            if len(catalog.processes) == 1:
                fold(storage, *write("b", "app2", "10:01", "/a", sink="/b"))
            self._lease.release()

    class Storing(MemoryStorage):
        def lease(self, name: str, seconds: int) -> Any:
            held_memory_lease = super().lease(name, seconds)
            return Leaving(held_memory_lease) if held_memory_lease else None

    storage, catalog = Storing(), UnreliableCatalog()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(Clock()))
    assert len(catalog.processes) == 2


def now_in_utc() -> datetime:
    return datetime.now(UTC)


def test_runs_folded_within_the_debounce_time_are_published_together() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    later_runs = [write("b", "app2", "11:00", "/b"), write("c", "app3", "12:00", "/c")]
    looking = Watched(storage)

    def other_runs_arrive(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "partition" and arguments[0] == "publishqueue" and later_runs:
            fold(storage, *later_runs.pop())

    looking.step_in = other_runs_arrive
    counts = publish(looking, catalog, publish_options(now_in_utc, debounce=timedelta(seconds=4)))
    assert (counts.written, counts.unchanged, counts.postponed) == (1, 0, 0)
    (process,) = catalog.processes.values()
    assert {name[-2:] for _, name in process.inputs} == {"/a", "/b", "/c"}


def test_endless_new_queue_entries_do_not_delay_publishing_for_ever() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    looking = Watched(storage)

    def another_mark(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "partition" and arguments[0] == "publishqueue" and not catalog.writes:
            enqueue(storage, [f"{len(looking.calls)}"])

    looking.step_in = another_mark
    assert publish(looking, catalog, publish_options(clock, debounce=timedelta(milliseconds=40))).written == 1
    assert looking.calls["partition publishqueue"] < 20


def test_ledger_rows_are_written_in_parallel_and_processes_in_one_call() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    for number in range(20):
        fold(storage, *write(f"run{number}", "app", "10:00", "/in", sink=f"/out{number}"))
    watched, threads = Watched(storage), set[int]()

    def note_thread(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == PROCESSES:
            threads.add(get_ident())

    watched.step_in = note_thread
    context = context_of(watched, catalog, publish_options(clock, parallel=ParallelMap(at_once=4)))
    assert Publisher(context=context).publish().written == 20
    assert (len(catalog.processes), catalog.writes) == (20, 2)  # data sets, then processes
    assert threads
    assert get_ident() not in threads
    watched.calls.clear()
    assert Publisher(context=context).publish().progress == 0
    assert watched.calls == {"partition publishqueue": 1}


def test_a_data_set_whose_changes_can_not_be_read_delays_no_other() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    drop = event("b", "COMPLETE", "10:00:00", outputs=["/b"], states={"/b": ("DROP", "")}, application="app2")
    fold(storage, drop, *write("c", "app3", "11:00", "/in"))
    lose_state(storage, "app2")
    assert publish(storage, catalog, publish_options(clock)).written == 1
    (entry,) = entries(storage)
    assert (entry.is_asset, "verify --fix" in entry.error) == (True, True)


def test_an_unreadable_process_delays_no_other() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    wide = event(
        "b",
        "COMPLETE",
        "10:00:30",
        inputs=["/in" + "/".join(digest_of(f"{n} {m}".encode()) for m in range(10)) for n in range(400)],
        outputs=["/wide"],
        application="app2",
    )
    fold(storage, wide)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    (part,) = (row for row in storage.scan(PROCESSES) if row.key != CATALOG)
    storage.delete_blob(CONTENTS, str(part.values["part_blob"]))
    fold(storage, *write("c", "app3", "11:00", "/in", sink="/wide"), *write("d", "app3", "11:01", "/in"))
    counts = publish(storage, catalog, publish_options(clock, parallel=ParallelMap(at_once=4)))
    assert (counts.written, counts.refused) == (1, 1)
    (remaining_entry,) = entries(storage)
    assert "verify --fix" in remaining_entry.error
    assert remaining_entry.marks, "they stay until their parts are on record"
    assert publish(storage, catalog, publish_options(clock)).refused == 0, "not at once"
