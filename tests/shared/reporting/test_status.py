"""Status: the counts by day and job reconcile with one another and the blobs, at a bounded number of calls."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from shared.events.dead_letters import dead_letters, discard
from shared.maintenance.publish_missing import publish_all
from shared.publishing.shadow import Shadow
from shared.reporting.status import ARCHIVED, By, EventGroup, Status, Waiting, status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, EVENTS
from shared.sweeping.closing import ClosingOptions
from shared.sweeping.sweep import SweepOptions, sweep
from tests.support.building import body, packed
from tests.support.damages import PLANTED, consistent_world
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import Killed, Watched, deliver_event, post
from tests.support.publishing import context_of
from tests.support.runtime import Runtime

WHOLE = "app.adaptive_spark_plan.out"


def on(day: int, job: str, run: str, *, sink: str) -> Iterator[bytes]:
    options: dict[str, Any] = {"inputs": ["/a"], "outputs": [sink], "application": "app", "job": job}
    yield event(run, "START", f"2026-11-{day}T10:00:00", **options)
    yield event(run, "COMPLETE", f"2026-11-{day}T10:01:00", **options)


@pytest.fixture
def storage() -> MemoryStorage:
    """Two jobs on two days, one event of each state: published, waiting for its end, for the parser, ignored, dead."""
    memory_storage = MemoryStorage()
    for place in post(memory_storage, *on(20, "app.one", "a", sink="/o"), *on(21, "app.one", "b", sink="/o")):
        deliver_event(memory_storage, place)
    publish_all(context_of(memory_storage, MemoryCatalog()))
    post(memory_storage, next(on(21, "app.two", "open", sink="/p")))
    post(memory_storage, *on(21, "app.two", "new", sink="/p"))
    memory_storage.put_new("ignored", f"2026/11/21/11/not-needed/{'0' * 32}.json.gz", b"")
    memory_storage.put_new(EVENTS, "notes.txt", b"hello")
    sweep(memory_storage, SweepOptions())
    return memory_storage


def by(current_status: Status) -> dict[tuple[str, str], tuple[int, int, int, int, int]]:
    return {
        (group.day, group.job): (group.received, group.published, group.skipped, group.waiting, group.dead)
        for group in current_status.groups
    }


def test_events_are_counted_by_day_and_job(storage: MemoryStorage) -> None:
    current_status = status(storage, by=(By.DAY, By.JOB))
    today = f"{next(storage.blobs(EVENTS, 'notes')).arrived:%Y-%m-%d}"
    assert by(current_status) == {
        ("2026-11-20", "app.one"): (2, 2, 0, 0, 0),
        ("2026-11-21", "app.one"): (2, 2, 0, 0, 0),
        ("2026-11-21", "app.two"): (3, 0, 0, 3, 0),
        ("2026-11-21", ""): (1 + (today == "2026-11-21"), 0, 1, 0, today == "2026-11-21"),
        **({} if today == "2026-11-21" else {(today, ""): (1, 0, 0, 0, 1)}),
    }
    assert current_status.reconciles


@pytest.mark.parametrize("groupings", [(By.DAY,), (By.JOB,), (By.SENDER,), (By.DAY, By.JOB)], ids=str)
def test_groups_add_up_to_the_whole(storage: MemoryStorage, groupings: tuple[By, ...]) -> None:
    grouped_status, plain_status = status(storage, by=groupings), status(storage)
    assert plain_status.groups == ()
    for name in ("received", "published", "skipped", "waiting", "dead"):
        assert (
            sum(getattr(group, name) for group in grouped_status.groups)
            == getattr(plain_status, name)
            == getattr(grouped_status, name)
        )
    assert (plain_status.received, plain_status.waiting, plain_status.dead) == (9, 3, 1)
    assert list(grouped_status.groups) == sorted(
        grouped_status.groups, key=lambda group: (group.day, group.job, group.sender)
    )


def test_events_are_counted_by_sender_until_they_are_archived() -> None:
    """The namespace of the job: one noisy workspace is seen at once."""
    runtime = Runtime()
    other = [body.replace(b'"namespace": "tests"', b'"namespace": "noisy"') for body in write("n", "b", "11:00", "/a")]
    runtime.run(*write("a", "a", "10:00", "/a"), *other)
    runtime.receive(event("open", "START", "12:00:00", application="c"))
    groups = {group.sender: group.received for group in status(runtime.storage, by=(By.SENDER,)).groups}
    assert groups == {"noisy": 2, "tests": 3}
    runtime.archive()
    groups = {group.sender: group.received for group in status(runtime.storage, by=(By.SENDER,)).groups}
    assert groups == {ARCHIVED: 4, "tests": 1}


def test_an_event_that_is_sent_again_after_it_was_archived_counts_once() -> None:
    runtime = Runtime()
    bodies = list(write("a", "app", "10:00", "/a"))
    runtime.run(*bodies)
    runtime.archive()
    runtime.run(*bodies)
    current_status = status(runtime.storage)
    assert (current_status.received, current_status.published, current_status.reconciles) == (2, 2, True)
    runtime.archive()
    assert status(runtime.storage).received == 2


def test_a_late_event_of_a_closed_run_is_skipped() -> None:
    runtime = Runtime()
    runtime.run(*write("a", "app", "10:00", "/a"))
    runtime.archive()
    runtime.closing = ClosingOptions(quiet=None)
    runtime.run(event("a", "RUNNING", "10:00:10", inputs=["/b"], outputs=["/out"], application="app"))
    current_status = status(runtime.storage)
    assert (current_status.received, current_status.published, current_status.skipped_because) == (3, 2, {"closed": 1})
    runtime.archive()
    assert status(runtime.storage).skipped_because == {"closed": 1}


@pytest.mark.parametrize("calls", range(1, 60))
def test_the_counts_add_up_at_every_moment_of_archiving(calls: int) -> None:
    """However far an archiving sweep comes, every event has one state, and none is received twice."""
    runtime = Runtime()
    runtime.run(*write("a", "app", "10:00", "/a"), *write("b", "app2", "11:00", "/b"))
    runtime.receive(event("i", "RUNNING", "12:30:00", application="app"))
    storage = runtime.storage
    status_before = status(storage)
    watched = Watched(storage)

    def step_in(_name: str, _arguments: tuple[Any, ...]) -> None:
        if watched.calls.total() == calls:
            raise Killed

    watched.step_in = step_in
    runtime.storage = watched
    with suppress(Killed):
        runtime.archive()
    for groupings in ((), (By.JOB,)):
        current_status = status(storage, by=groupings)
        assert current_status.reconciles
        assert (current_status.received, current_status.skipped) == (status_before.received, status_before.skipped)
        assert current_status.waiting_for.keys() <= {Waiting.CATALOG}, "closing tells the publisher, before it commits"


def test_a_group_that_does_not_add_up_is_reported() -> None:
    fine: dict[str, Any] = {"received": 2, "published": 2, "skipped": 0, "waiting": 0, "dead": 0}
    other_counts: dict[str, Any] = {
        "rejected": 0,
        "skipped_because": {},
        "waiting_for": {},
        "oldest_waiting": None,
        "processes": 0,
        "publish_queue": 0,
        "sweep_is_behind": False,
    }
    other_counts["shadow"] = Shadow()
    groups = (EventGroup(day="a", received=1, published=2), EventGroup(day="b", received=1, published=0))
    assert Status(**fine, **other_counts, last_errors=()).reconciles
    assert not Status(**fine, **other_counts, last_errors=(), groups=groups).reconciles


def test_a_discarded_letter_counts_for_its_job_as_skipped() -> None:
    storage = MemoryStorage()
    consistent_world(storage, MemoryCatalog())
    (letter,) = dead_letters(storage)
    dead_before = {group.job: group.dead for group in status(storage, by=(By.JOB,)).groups}
    assert dead_before == {"app": 0, WHOLE: 1}
    discard(storage, letter.digest)
    current_status = status(storage, by=(By.JOB,))
    assert sum(group.dead for group in current_status.groups) == 0
    assert current_status.skipped_because["discarded"] == 1


@pytest.mark.parametrize("name", ["lost content of a record", "lost content of a header", "lost header", "lost record"])
def test_lost_rows_do_not_stop_the_count(name: str) -> None:
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    status_before = status(world.storage)
    PLANTED[name].plant(world)
    status_after = status(world.storage)
    assert status_after.reconciles
    assert status_after.received == status_before.received
    assert status_after.waiting == (2 if "record" in name else 0)


def test_a_lost_blob_does_not_count_as_received() -> None:
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    received_before = status(world.storage).received
    world.storage.delete_blob(EVENTS, next(iter(world.storage.blobs(EVENTS))).name)
    assert (status(world.storage).received, status(world.storage).reconciles) == (received_before - 1, True)


def test_the_calls_do_not_grow_with_the_runs_or_the_applications_that_drop_tables() -> None:
    """A listing is one call of the port for any number of pages: no call may be made for each run."""
    costs = []
    for applications in (2, 40):
        storage = MemoryStorage()
        for number in range(applications):
            name = f"app{number}"
            drop = event(
                f"d{number}", "COMPLETE", "12:00:00", outputs=["/s"], application=name, states={"/s": ("DROP", "")}
            )
            for place in post(storage, *write(f"r{number}", name, "10:00", "/a", sink=f"/o{number}"), drop):
                deliver_event(storage, place)
        publish_all(context_of(storage, MemoryCatalog()))
        watched = Watched(storage)
        assert status(watched, by=(By.DAY, By.JOB)).reconciles
        costs.append(Counter(watched.calls))
    assert costs[0] == costs[1]
    assert costs[0].total() < 14


def test_progress_is_reported(storage: MemoryStorage) -> None:
    counts: Counter[str] = Counter()

    def seen(kind: str, increment: int) -> None:
        counts[kind] += increment

    current_status = status(storage, seen=seen)
    assert counts["events"] + counts["ignored"] == current_status.received
    assert counts["applications"] == sum(1 for _ in storage.scan(APPLICATIONS))


def test_plans_that_did_not_arrive_are_counted_once_for_an_application() -> None:
    """Each plan says how many were lost before it; at the end the application's own run says so."""
    runtime = Runtime()
    for minute, (run, lost_count) in enumerate((("a", 0), ("b", 2), ("app", 5))):
        facets = {"throughline_plan": {"format": 1, "lost": lost_count}} if lost_count else {}
        is_application = run == "app"
        runtime.run(
            packed(
                body(
                    "COMPLETE",
                    minute=minute,
                    run=run,
                    application=None if is_application else "app",
                    inputs=[] if is_application else ["/a"],
                    outputs=[] if is_application else [f"/{run}"],
                    run_facets=facets,
                )
            )
        )
    assert status(runtime.storage).plans_lost == 5
