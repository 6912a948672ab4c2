"""Marks and headers in, parts and catalog out: marks in flight, the fence, versions that never decrease."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from shared.applications.partition import read_state
from shared.atlas.entities import AssetEntity
from shared.errors import CatalogRefused
from shared.publishing.context import PublishOptions
from shared.publishing.headers import PATIENCE, Headers
from shared.publishing.planning import read_process
from shared.publishing.publisher import Publisher
from shared.records.publish_queue import ASSET_KIND, PROCESS_KIND, Mark, enqueue, leave_marks, read_queue
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, HEADER, PROCESSES, asset_key, process_key
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import (
    Clock,
    Killed,
    UnreliableCatalog,
    Watched,
    context_of,
    entries,
    fold,
    publish,
    publish_options,
    the_ledger,
)
from tests.support.runtime import Runtime

APP = run_id("app1")
PROCESS = process_key("throughline:v1://tests/app/file/out")


def now_clock() -> Clock:
    """A clock at the time at which marks are left."""
    clock = Clock()
    clock.at -= timedelta(days=1)
    return clock


class Interrupted(Watched):
    """A store that calls `act` before the next commit of an application."""

    def __init__(self, real: MemoryStorage, act: Any) -> None:
        super().__init__(real)

        def before_commit(name: str, arguments: tuple[Any, ...]) -> None:
            if name == "transact" and arguments[0] == APPLICATIONS:
                self.step_in = lambda _name, _arguments: None
                act()

        self.step_in = before_commit


def die() -> None:
    raise Killed


def test_a_mark_in_flight_is_left_for_the_next_drain() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    during: list[Any] = []

    def look() -> None:
        during.append(publish(storage, catalog, publish_options(clock)))
        during.append(entries(storage))

    fold(Interrupted(storage, look), *write("a", "app1", "10:00", "/a"))
    counts, remaining_marks = during
    assert (counts.progress, len(remaining_marks)) == (0, 1)
    assert publish(storage, catalog, publish_options(clock)).written == 1


def test_a_mark_of_a_data_set_in_flight_is_left_for_the_next_drain() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    leave_marks(storage, [replace(mark_at(clock), kind=ASSET_KIND, target=asset_key(("fs_path", "file:///out")))])
    assert publish(storage, catalog, publish_options(clock)).progress == 0
    (entry,) = entries(storage)
    assert (entry.is_asset, len(entry.marks)) == (True, 1)


def test_a_mark_in_flight_stays_where_its_data_set_can_not_be_described() -> None:
    class Refusing(MemoryCatalog):
        def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:  # noqa: ARG002 - the port's
            raise CatalogRefused(status=400, code="", detail="no")

    storage, catalog, clock = MemoryStorage(), Refusing(), now_clock()
    fold(storage, *write("a", "app2", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    fold(storage, event("b", "COMPLETE", "10:01:00", outputs=["/out"], states={"/out": ("DROP", "")}, application="b"))
    in_flight = replace(mark_at(clock), kind=ASSET_KIND, target=asset_key(("fs_path", "file:///out")))
    leave_marks(storage, [in_flight])
    assert publish(storage, catalog, publish_options(clock)).refused == 1
    (entry,) = entries(storage)
    assert [mark.key for mark in entry.marks] == [in_flight.key]


@dataclass
class Rests:
    """The times that a publisher rests, on a clock that goes on meanwhile, and what happens then."""

    clock: Clock
    then: Callable[[], object] = lambda: None
    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(round(seconds, 3))
        self.clock.at += timedelta(seconds=seconds)
        self.then()

    @property
    def options(self) -> PublishOptions:
        return publish_options(self.clock, debounce=timedelta(seconds=4), rest=self)


def mark_at(clock: Clock) -> Mark:
    return Mark(kind=PROCESS_KIND, target=PROCESS, application=APP, version=1, since=clock.at, left=clock.at)


def test_a_publisher_that_debounces_waits_for_a_mark_in_flight() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    leave_marks(storage, [mark_at(clock)])

    def commit() -> None:
        if len(rests.seconds) == 3:
            fold(storage, *write("a", "app1", "10:00", "/a"))

    rests = Rests(clock, commit)
    assert publish(storage, catalog, rests.options).written == 1


def test_a_mark_that_stays_in_flight_is_waited_for_three_times() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    leave_marks(storage, [mark_at(clock)])
    rests = Rests(clock)
    assert publish(storage, catalog, rests.options).progress == 0
    assert rests.seconds == [0.2, *[0.2] * 3], "once for further marks, and three times for this one"


def test_a_publisher_rests_longer_each_time_while_marks_are_left_and_not_at_all_afterwards() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    clock = now_clock()
    leave_marks(storage, [mark_at(clock)])
    rests = Rests(clock)
    rests.then = lambda: leave_marks(storage, [mark_at(clock)] if len(rests.seconds) < 3 else [])
    assert publish(storage, catalog, rests.options).written == 1
    assert rests.seconds == [0.2, 0.4, 0.8]
    rests.seconds.clear()
    leave_marks(storage, [mark_at(clock)])
    rests.then = lambda: leave_marks(storage, [mark_at(clock)] if len(rests.seconds) < 9 else [])
    publish(storage, catalog, rests.options)
    assert rests.seconds == [0.2, 0.4, 0.8, 1.6, 3.2], "until the debounce time is over"


def test_a_mark_that_never_comes_true_is_fenced_off_and_its_commit_is_refused() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    with pytest.raises(Killed):
        fold(Interrupted(storage, die), *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, publish_options(clock)).progress == 0
    clock.at += 2 * PATIENCE
    assert publish(storage, catalog, publish_options(clock)).unchanged == 1
    assert entries(storage) == ()
    snapshot = read_state(storage, APP)
    assert snapshot
    assert (snapshot.state.version, snapshot.state.contents) == (1, {})
    fold(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, publish_options(clock)).written == 1


def test_a_mark_of_a_later_commit_that_never_comes_true_is_fenced_off_too() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    with pytest.raises(Killed):
        fold(Interrupted(storage, die), *write("b", "app1", "10:01", "/b"))
    clock.at += 2 * PATIENCE
    assert publish(storage, catalog, publish_options(clock)).unchanged == 1
    assert entries(storage) == ()
    fold(storage, *write("b", "app1", "10:01", "/b"))
    snapshot = read_state(storage, APP)
    assert snapshot
    assert snapshot.state.version == 3, "the second was taken away"
    assert publish(storage, catalog, publish_options(clock)).written == 1


def test_a_commit_just_before_the_fence_is_published() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), MemoryCatalog(), now_clock()
    fold(storage.real, *write("a", "app1", "10:00", "/a"))
    clock.at += 2 * PATIENCE
    header = storage.real.read(APPLICATIONS, APP, HEADER)
    assert header
    storage.real.delete(APPLICATIONS, APP, HEADER, header.etag)

    def commit(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "read" and arguments[0] == APPLICATIONS and storage.calls["read applications"] == 3:
            storage.real.insert(APPLICATIONS, header)

    storage.step_in = commit
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert storage.calls["replace applications"] == 0


def test_a_worker_whose_mark_was_fenced_off_starts_over() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()

    def stall() -> None:
        clock.at += 2 * PATIENCE
        publish(storage, catalog, publish_options(clock))

    fold(Interrupted(storage, stall), *write("a", "app1", "10:00", "/a"))
    snapshot = read_state(storage, APP)
    assert snapshot
    assert snapshot.state.version == 2
    assert publish(storage, catalog, publish_options(clock)).written == 1


def test_an_old_event_does_not_make_a_new_mark_old() -> None:
    """A replay leaves marks for events that arrived long ago: the fence goes by the mark's own time."""
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    long_ago = clock.at - timedelta(days=30)
    leave_marks(
        storage, [Mark(kind=PROCESS_KIND, target=PROCESS, application=APP, version=1, since=long_ago, left=clock.at)]
    )
    assert publish(storage, catalog, publish_options(clock)).progress == 0
    assert len(entries(storage)) == 1


def test_what_is_true_is_published_while_another_mark_is_in_flight() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))

    def look() -> None:
        watched = Watched(storage)
        assert publish(watched, catalog, publish_options(clock)).written == 1
        assert watched.calls["lease publisher"] == 1, "there is no drain for the other mark"
        (entry,) = entries(storage)
        assert [mark.version for mark in entry.marks] == [2]

    fold(Interrupted(storage, look), *write("b", "app1", "10:01", "/b"))
    assert publish(storage, catalog, publish_options(clock)).written == 1
    (process,) = catalog.processes.values()
    assert [name for _, name in process.inputs] == ["file:///a", "file:///b"]


def test_applications_that_commit_all_the_time_starve_no_process() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    leave_marks(
        storage,
        [Mark(kind=PROCESS_KIND, target=PROCESS, application=run_id(f"busy{n}"), version=1) for n in range(20)],
    )
    assert publish(storage, catalog, publish_options(clock)).written == 1


def test_a_stalled_worker_replaces_no_newer_mark() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), now_clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    late = Mark(kind=PROCESS_KIND, target=PROCESS, application=APP, version=1)

    def overtake() -> None:
        leave_marks(storage, [late])
        publish(storage, catalog, publish_options(clock))

    fold(Interrupted(storage, overtake), *write("b", "app1", "10:01", "/b"))
    publish(storage, catalog, publish_options(clock))
    (process,) = catalog.processes.values()
    assert len(process.inputs) == 2


def test_a_stalled_publisher_writes_no_older_part() -> None:
    catalog, clock = MemoryCatalog(), Clock()
    storage = MemoryStorage(clock=clock.seconds)
    fold(storage, *write("a", "app1", "10:00", "/a"))
    stalled = Watched(storage)

    def overtake(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == PROCESSES:
            stalled.step_in = lambda _name, _arguments: None
            clock.at += timedelta(minutes=2)  # its lease ends
            fold(storage, write("a", "app1", "10:01", "/a", end="FAIL")[1])
            publish(storage, catalog, publish_options(clock, seconds=clock.seconds))

    stalled.step_in = overtake
    publish(stalled, catalog, publish_options(clock, seconds=clock.seconds))
    assert read_process(storage, PROCESS).parts == {}
    assert catalog.processes == {}


def test_a_mark_whose_part_is_on_record_reads_no_header() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), MemoryCatalog(), Clock()
    fold(storage.real, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    leave_marks(storage.real, [Mark(kind=PROCESS_KIND, target=PROCESS, application=APP, version=1)])
    storage.calls.clear()
    assert publish(storage, catalog, publish_options(clock)).unchanged == 1
    assert storage.calls["read applications"] == 0
    assert entries(storage.real) == ()


def test_each_header_is_read_once_for_all_processes_of_its_application() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), MemoryCatalog(), Clock()
    for number in range(10):
        fold(storage.real, *write(f"r{number}", "app1", f"10:0{number}", "/a", sink=f"/out{number}"))
    assert publish(storage, catalog, publish_options(clock)).written == 10
    assert storage.calls["read applications"] == 1


def test_a_header_that_this_process_wrote_is_read_once_for_new_processes_and_not_for_known_ones() -> None:
    storage = Watched(MemoryStorage())
    worker = Runtime(storage=storage)
    for number in range(3):
        worker.post(*write(f"r{number}", "app1", f"10:0{number}", "/a", sink=f"/out{number}"))
    storage.calls.clear()
    assert worker.publish().written == 3
    assert storage.calls["read applications"] == 1
    worker.post(*write("b", "app1", "10:05", "/b", sink="/out1"))
    storage.calls.clear()
    assert worker.publish().written == 1
    assert storage.calls["read applications"] == 0


def test_a_drain_of_many_applications_keeps_only_some_of_their_headers() -> None:
    storage = MemoryStorage()
    headers = Headers(context=context_of(storage, MemoryCatalog()))
    fold(storage, *write("a", "app1", "10:00", "/a"))
    assert len(headers.content(APP, PROCESS).contributions) == 1
    fold(storage, *write("b", "app1", "10:01", "/b"))
    for number in range(500):
        headers.state(run_id(f"other{number}"))
    assert len(headers.content(APP, PROCESS).contributions) == 2, "read again"


def test_known_assets_of_a_new_process_cost_no_read() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), MemoryCatalog(), Clock()
    fold(storage.real, *write("a", "app1", "10:00", "/a"))
    context = context_of(storage, catalog, publish_options(clock))
    Publisher(context=context).publish()
    fold(storage.real, *write("b", "app2", "10:00", "/out", sink="/a"))
    storage.calls.clear()
    assert Publisher(context=context).publish().written == 1
    assert [call for call in storage.calls if call.endswith("assets")] == []


def test_parts_are_written_together_with_the_ledger() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), MemoryCatalog(), Clock()
    fold(storage.real, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    assert storage.calls["transact processes"] == 2, "writing with the part, written"
    fold(storage.real, *write("b", "app2", "10:00", "/a"))
    storage.calls.clear()
    publish(storage, catalog, publish_options(clock))
    assert storage.calls["transact processes"] == 1, "the part alone"
    enqueue(storage.real, [PROCESS])
    storage.calls.clear()
    assert publish(storage, catalog, publish_options(clock)).unchanged == 1
    assert storage.calls["transact processes"] == 0, "nothing"


def test_another_publisher_that_changed_a_data_set_ends_the_drain_and_nothing_is_lost() -> None:
    storage, catalog, clock = Watched(MemoryStorage()), UnreliableCatalog(), Clock()
    fold(storage.real, *write("a", "app1", "10:00", "/a"))

    def conflict(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == "assets":
            storage.step_in = lambda _name, _arguments: None
            for operation in arguments[1]:
                storage.real.upsert("assets", operation.row)

    storage.step_in = conflict
    counts = publish(storage, catalog, publish_options(clock))
    assert (counts.written, counts.postponed) == (0, 0), "nothing is planned again at once"
    assert the_ledger(storage.real).state == "writing"
    assert read_queue(storage.real).entries
    clock.at += timedelta(minutes=4)
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert entries(storage.real) == ()


def test_a_mark_that_lands_late_brings_no_old_content_back() -> None:
    """Its worker remembers the commit of that version; another one has emptied the process since."""
    worker = Runtime()
    other = Runtime(storage=worker.storage, catalog=worker.catalog)
    worker.run(*write("a", "app1", "10:00", "/a"))
    assert worker.catalog.processes
    other.run(write("a", "app1", "10:01", "/a", end="FAIL")[1])
    assert not worker.catalog.processes
    leave_marks(worker.storage, [Mark(kind=PROCESS_KIND, target=PROCESS, application=APP, version=1, left=worker.now)])
    worker.publish()
    assert not worker.catalog.processes
    assert not read_process(worker.storage, PROCESS).parts
