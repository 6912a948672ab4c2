"""Applications that are computed again are as on record, or repaired; what can't be computed stays."""

import base64
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from shared.applications import rows
from shared.applications.partition import read_whole
from shared.applications.processor import MAX_ATTEMPTS
from shared.applications.recompute import recompute, recomputed
from shared.errors import WriteConflict
from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from shared.records.publish_queue import FORWARD_KIND, Mark, read_queue
from shared.records.states import State
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import APPLICATIONS, ARCHIVE, HEADER, PUBLISH_QUEUE, RUN
from tests.faults.generated_events import events_of
from tests.faults.task_histories import with_tasks
from tests.support.building import body, dataset, packed
from tests.support.events import event, run_id, write
from tests.support.histories import history
from tests.support.plans_alone import with_plans_alone
from tests.support.processing import Killed, Watched
from tests.support.runtime import Runtime

APP = run_id("app")
OTHER_NAMES = Names(rules=(rule("mine", type="fs_path", namespace="file", path="(?P<path>.*)", to="mine:/{path}"),))


def applications(storage: MemoryStorage) -> list[str]:
    return sorted({row.partition for row in storage.scan(APPLICATIONS)})


def tables(storage: MemoryStorage) -> dict[str, list[Row]]:
    return {table: list(storage.scan(table)) for table in storage._tables}


@pytest.mark.parametrize("seed", range(16))
def test_what_is_on_record_is_what_its_events_give(seed: int) -> None:
    """In any order of arrival, split, late, timed out, archived; folded in parts or at once."""
    draw = random.Random(seed)
    bodies = history(seed) if seed % 2 else with_tasks(events_of(seed), draw)
    bodies = with_plans_alone(bodies, draw) if seed % 3 else bodies
    draw.shuffle(bodies)
    runtime = Runtime(end_timeout=timedelta(hours=6))
    runtime.run(*bodies)
    runtime.sweep(timedelta(days=2))
    runtime.publish()
    if seed % 4 > 1:
        runtime.archive()
    previous = tables(runtime.storage)
    number = 0
    for application in applications(runtime.storage):
        outcome = recomputed(runtime.processor, application, max_events=(1, 2, 1000)[seed % 3])
        assert not outcome.differs, (outcome.processes, outcome.assets, outcome.runs)
        assert not outcome.kept
        number += len(outcome.records)
    assert number > 0
    assert tables(runtime.storage) == previous, "nothing was written"


def with_state(storage: MemoryStorage, change: Callable[[Any], Any]) -> None:
    snapshot = read_whole(storage, APP)
    storage.upsert(APPLICATIONS, rows.header(APP, change(snapshot.state), "", {}, storage).row)


def with_record(storage: MemoryStorage, run: str, **changes: Any) -> None:
    record = structs.replace(read_whole(storage, APP).records[run_id(run)], **changes)
    storage.upsert(APPLICATIONS, rows.run_row(APP, record, storage))


DAMAGES: dict[str, Callable[[MemoryStorage], object]] = {
    "no header": lambda storage: storage.delete(APPLICATIONS, APP, HEADER),
    "no contents": lambda storage: with_state(storage, lambda state: structs.replace(state, contents={})),
    "other times": lambda storage: with_state(storage, lambda state: structs.replace(state, ended="FAIL")),
    "no lifecycle": lambda storage: with_state(storage, lambda state: structs.replace(state, lifecycle={}, shares={})),
    "a verdict": lambda storage: with_record(storage, "a", verdict=State.SKIPPED, reason="no"),
    "no contents of a record": lambda storage: with_record(storage, "a", contents=()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_differs_is_repaired_and_published(damage: Callable[[MemoryStorage], object]) -> None:
    runtime = Runtime()
    drop = event("e", "COMPLETE", "12:20:00", outputs=["/staged"], application="app", states={"/staged": ("DROP", "")})
    runtime.run(
        event("app", "START", "09:00:00"),
        *write("a", "app", "10:00", "/a"),
        *write("c", "app", "12:00", "/c", sink="/staged"),
        *write("d", "app", "12:10", "/staged", sink="/final"),
        drop,
        event("app", "COMPLETE", "13:00:00"),
    )
    good, catalog = read_whole(runtime.storage, APP), dict(runtime.catalog.processes)
    damage(runtime.storage)
    assert recompute(runtime.processor, APP).differs
    repaired = read_whole(runtime.storage, APP)
    assert repaired.records == good.records
    assert structs.replace(repaired.state, version=0) == structs.replace(good.state, version=0)
    assert not recomputed(runtime.processor, APP).differs
    runtime.publish()
    assert runtime.catalog.processes == catalog


def test_an_application_that_goes_on_gets_its_times_back_from_events_that_wait() -> None:
    runtime = Runtime()
    runtime.run(event("app", "START", "09:00:00"), *write("a", "app", "10:00", "/a"))
    good = read_whole(runtime.storage, APP)
    assert good.state.first
    assert good.unfolded
    runtime.storage.delete(APPLICATIONS, APP, HEADER)
    recompute(runtime.processor, APP)
    assert structs.replace(read_whole(runtime.storage, APP).state, version=0) == structs.replace(good.state, version=0)


def test_a_long_event_is_read_once() -> None:
    runtime = Runtime()
    text = base64.b64encode(random.Random(0).randbytes(150_000)).decode()
    runtime.run(event("a", "COMPLETE", "10:00:00", outputs=["/out"], application="app", sql=f"SELECT '{text}'"))
    watched = Watched(runtime.storage)
    recomputed(replace(runtime.processor, storage=watched), APP)
    assert watched.calls["get"] == 1


def test_an_application_that_always_changes_is_given_up_for_now() -> None:
    runtime = Runtime()
    runtime.run(*write("a", "app", "10:00", "/a"))
    watched, pauses = Watched(runtime.storage), list[float]()

    def step_in(name: str, arguments: tuple[Any, ...]) -> None:
        header = runtime.storage.read(APPLICATIONS, APP, HEADER)
        if name == "transact" and arguments[0] == APPLICATIONS and header:
            runtime.storage.upsert(APPLICATIONS, header)

    watched.step_in = step_in
    with pytest.raises(WriteConflict, match="kept changing while it was computed again"):
        recompute(replace(runtime.processor, storage=watched, names=OTHER_NAMES, pause=pauses.append), APP)
    assert len(pauses) == MAX_ATTEMPTS
    assert sum(pauses) > 1


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_another_worker_may_commit_between_the_transactions_and_die(moment: int) -> None:
    runtime = Runtime()
    runtime.run(*(body for number in range(90) for body in write(f"r{number}", "app", "10:00", f"/s{number}")))
    watched, others = Watched(runtime.storage), Watched(runtime.storage)
    other = Runtime(storage=others, catalog=runtime.catalog, names=OTHER_NAMES)
    commits = Counter[str]()

    def step_in(name: str, arguments: tuple[Any, ...]) -> None:
        commits["watched"] += name == "transact" and arguments[0] == APPLICATIONS
        if commits["watched"] == moment and not commits["others"]:
            with suppress(Killed):
                other.post(*write("new", "app", "10:10", "/n"))

    def die(name: str, arguments: tuple[Any, ...]) -> None:
        commits["others"] += name == "transact" and arguments[0] == APPLICATIONS
        if commits["others"] == 2:
            raise Killed

    watched.step_in, others.step_in = step_in, die
    recompute(replace(runtime.processor, storage=watched, names=OTHER_NAMES), APP)
    assert commits["others"] > 0
    assert not recomputed(replace(runtime.processor, names=OTHER_NAMES), APP).differs


def test_all_that_an_application_contributes_is_looked_at_again() -> None:
    """A replay publishes what was purged, and what a filter of paths hid."""
    runtime = Runtime()
    runtime.run(*write("a", "app", "10:00", "/a"))
    assert not recompute(runtime.processor, APP).differs
    assert len(read_queue(runtime.storage).entries) == 1
    assert runtime.publish().unchanged == 1


def test_other_names_give_other_lineage_also_of_closed_runs() -> None:
    runtime = Runtime()
    runtime.run(*write("a", "app", "10:00", "/a"))
    runtime.archive()
    previous = read_whole(runtime.storage, APP).records[run_id("a")]
    outcome = recompute(replace(runtime.processor, names=OTHER_NAMES), APP)
    assert len(outcome.processes) == 1
    record = read_whole(runtime.storage, APP).records[run_id("a")]
    assert record.contents != previous.contents
    assert (record.closed, record.archived, record.outcome) == (previous.closed, previous.archived, previous.outcome)


def test_a_run_that_contributes_something_else_is_forwarded_again() -> None:
    runtime = Runtime()
    runtime.post(*write("a", "app", "10:00", "/a"), event("nothing", "COMPLETE", "11:00:00", application="app"))
    recompute(replace(runtime.processor, names=OTHER_NAMES, forwards=True), APP)
    marks = map(Mark.of, runtime.storage.scan(PUBLISH_QUEUE))
    assert [mark.target for mark in marks if mark.kind == FORWARD_KIND] == [run_id("a")]


def test_what_can_not_be_computed_stays() -> None:
    """A run whose events retention has deleted, and runs whose records are forgotten."""
    runtime = Runtime()
    tested = dataset("/tested")
    tested["inputFacets"] = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": True}]}}
    runtime.run(
        *write("a", "app", "10:00", "/a"),
        event("b", "COMPLETE", "11:00:00", outputs=["/out"], application="app", states={"/out": ("DROP", "")}),
        packed(body("COMPLETE", run="c", application="app", inputs=[tested])),
    )
    runtime.archive(keep_runs=timedelta(hours=2))
    for fact in list(runtime.storage.blobs(ARCHIVE)):
        runtime.storage.delete_blob(ARCHIVE, fact.name)
    previous = read_whole(runtime.storage, APP)
    outcome = recompute(replace(runtime.processor, names=OTHER_NAMES), APP)
    assert outcome.kept == {run_id("a"), run_id("b"), run_id("c")}
    assert not outcome.differs
    assert read_whole(runtime.storage, APP) == previous
    runtime.sweep(timedelta(hours=4))
    forgotten = read_whole(runtime.storage, APP)
    assert (forgotten.records, forgotten.state.forgotten) == ({}, 3)
    outcome = recompute(runtime.processor, APP)
    assert not outcome.differs
    assert read_whole(runtime.storage, APP).state == forgotten.state


def test_events_that_came_after_a_run_was_closed_do_not_count() -> None:
    runtime = Runtime()
    runtime.run(*write("a", "app", "10:00", "/a"))
    runtime.archive()
    runtime.run(event("a", "RUNNING", "10:00:10", inputs=["/late"], outputs=["/out"], application="app"))
    runtime.sweep()
    runtime.archive()
    assert len(read_whole(runtime.storage, APP).records[run_id("a")].late) == 1
    assert not recomputed(runtime.processor, APP).differs


@pytest.mark.parametrize("dies_at", [None, 2, 3, 4])
def test_more_records_than_a_transaction_holds_are_written_in_several(dies_at: int | None) -> None:
    """A worker that dies in between leaves runs that are stale; who comes next repairs them."""
    runtime = Runtime()
    runtime.run(*(body for number in range(130) for body in write(f"r{number}", "app", "10:00", f"/s{number}")))
    watched = Watched(runtime.storage)
    commits: list[Any] = []

    def step_in(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == APPLICATIONS:
            commits.append(arguments)
            if len(commits) == dies_at:
                raise Killed

    watched.step_in = step_in
    worker = replace(runtime.processor, storage=watched, names=OTHER_NAMES)
    if dies_at:
        with pytest.raises(Killed):
            recompute(worker, APP)
        late = [event("r7", "RUNNING", "10:00:10", inputs=["/more"], outputs=["/out"], application="app")]
        other = Runtime(storage=runtime.storage, catalog=runtime.catalog, names=OTHER_NAMES)
        other.post(*late, *write("new", "app", "10:10", "/n"))
        other.sweep(timedelta(hours=1))
        assert not recomputed(other.processor, APP).differs
    else:
        recompute(worker, APP)
        assert len(commits) == 4
        assert not recomputed(worker, APP).differs
    assert read_whole(runtime.storage, APP).state.stale == ()
    inputs = {
        asset.qualified_name
        for content in read_whole(runtime.storage, APP).state.contents.values()
        for asset in content.process.inputs
    }
    assert all(name.startswith("mine:/") for name in inputs)


def test_a_lost_record_is_repaired_by_what_is_stored() -> None:
    runtime = Runtime()
    stored = runtime.run(*write("a", "app", "10:00", "/a"), *write("b", "app", "11:00", "/b"))
    previous = read_whole(runtime.storage, APP)
    key = f"{RUN}{run_id('a')}"
    runtime.storage.upsert(APPLICATIONS, Row(partition=APP, key=key, values={"blob": "nowhere"}))
    damaged_state = structs.replace(
        previous.records[run_id("a")], verdict=State.WAITING, contents=(), job="", sender="", seen=None, ended=None
    )
    assert len(stored) == 4
    recompute(runtime.processor, APP, {run_id("a"): damaged_state})
    assert read_whole(runtime.storage, APP).records == previous.records
