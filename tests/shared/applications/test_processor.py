"""What a fold commits, beside other workers and other runs of its application."""

import base64
import random
from typing import Any

import pytest

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor, FoldRequest
from shared.errors import ContentLost
from shared.events.dead_letters import dead_letters
from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from shared.records.publish_queue import FORWARD_KIND, Mark
from shared.storage_layout import APPLICATIONS, DEAD_LETTERS, HEADER, PUBLISH_QUEUE, RUN
from tests.support.applications import Applications
from tests.support.building import body, dataset, packed
from tests.support.events import DAY, event, run_id
from tests.support.plans_alone import plan_event

UNUSABLE = Names(rules=(rule("unusable", type="fs_path", namespace="file", path="/unusable", to="{host}/{path}"),))


def copy(time: str, run: str = "run", source: str = "/a", *, kind: str = "COMPLETE", application: str = "app") -> bytes:
    return event(run, kind, time, inputs=[source], outputs=["/b"], application=application)


def test_an_event_that_comes_again_beside_another_run_costs_one_query() -> None:
    world = Applications()
    (first, _) = world.receive(copy("10:00:00"), copy("10:00:01", run="other", kind="START"))
    world.deliver(first)
    world.receive(copy("10:00:02", run="other"))
    world.storage.calls.clear()
    world.deliver(first, worker=world.new_worker())
    assert world.storage.calls == {"partition": 1, "read": 1, "transact": 2}
    assert world.record("app", "other")


def test_a_plan_whose_record_is_lost_joins_no_run() -> None:
    world = Applications()
    world.process(plan_event(run_id("plan"), f"{DAY}T10:00:00Z", application=run_id("app")))
    world.memory.delete(APPLICATIONS, run_id("app"), f"{RUN}{run_id('plan')}")
    (end,) = world.receive(copy("10:00:00"))
    with pytest.raises(ContentLost, match=f"record of run {run_id('plan')} is missing"):
        world.deliver(end, worker=world.new_worker())


def test_one_commit_has_forty_runs_at_the_most_or_eight_whose_records_are_read() -> None:
    world = Applications()
    numbers: list[int] = []

    def note(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == APPLICATIONS:
            numbers.append(sum(operation.row.key.startswith(RUN) for operation in arguments[1]))

    world.storage.before = note
    world.deliver(world.receive(*(copy("10:00:00", run=f"run {number}") for number in range(45)))[0])
    assert numbers == [40, 5]
    starts = world.receive(*(copy("10:00:00", run=f"open {number}", kind="START") for number in range(45)))
    request = FoldRequest(timed_out=frozenset(start.run_id for start in starts))
    world.worker.processor.fold(run_id("app"), request)
    assert numbers[2:] == [8, 8, 8, 8, 8, 5], "so many records are read first"


def test_only_a_run_that_contributes_is_forwarded() -> None:
    world = Applications()
    worker = Delivery(processor=ApplicationProcessor(storage=world.storage, forwards=True))
    world.deliver(
        *world.receive(event("nothing", "COMPLETE", "10:00:00", application="app"), copy("10:00:01")), worker=worker
    )
    marks = map(Mark.of, world.memory.scan(PUBLISH_QUEUE))
    assert [mark.target for mark in marks if mark.kind == FORWARD_KIND] == [run_id("run")]


def test_a_run_that_another_worker_can_use_meanwhile_leaves_no_dead_letter(caplog: pytest.LogCaptureFixture) -> None:
    world = Applications()
    unusable = event("run", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/unusable"], application="app")
    (bad, *other) = world.receive(unusable, event("run", "FAIL", "09:00:00", outputs=["/b"], application="app"))
    workers = [Delivery(processor=ApplicationProcessor(storage=world.storage, names=UNUSABLE)) for _ in range(2)]
    world.memory.delete(APPLICATIONS, run_id("app"), other[0].row_key)

    def step_in(_name: str, arguments: tuple[Any, ...]) -> None:
        if arguments[0] == DEAD_LETTERS and other:
            world.deliver(other.pop(), worker=workers[1])

    world.storage.before = step_in
    world.deliver(bad, worker=workers[0])
    assert not other
    assert list(dead_letters(world.memory)) == []
    assert f"run cannot be used run={run_id('run')}" in caplog.text


@pytest.mark.parametrize(("number", "commits"), [(8, 1), (9, 2)])
def test_a_few_runs_whose_context_changes_are_folded_in_the_same_commit(number: int, commits: int) -> None:
    world = Applications()
    world.process(*(copy("10:00:00", run=f"run {index}") for index in range(number)))
    properties = {"spark.databricks.notebook.path": "/Users/x"}
    (named,) = world.receive(event("named", "COMPLETE", "10:00:05", application="app", properties=properties))
    version = world.application("app").state.version
    world.deliver(named)
    assert world.application("app").state.version == version + commits
    assert world.application("app").state.stale == ()


def test_rows_of_folded_events_go_in_the_transaction_of_their_commit() -> None:
    world = Applications()
    sizes: list[int] = []

    def note(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == APPLICATIONS:
            sizes.append(len(arguments[1]))
            assert arguments[1][0].row.key == HEADER

    world.storage.before = note
    runs = [f"run {number}" for number in range(45)]
    events = world.receive(
        *(copy("10:00:00", run=run, kind="START") for run in runs), *(copy("10:00:01", run=run) for run in runs)
    )
    world.deliver(events[-1])
    assert sizes == [100, 37]


def noise(length: int, seed: int) -> str:
    """A text that takes so many bytes also when it is compressed."""
    return base64.b64encode(random.Random(seed).randbytes(length)).decode()


def test_runs_whose_records_do_not_fit_into_one_transaction_are_committed_in_several() -> None:
    world = Applications()
    for number in range(9):
        fields: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/b"], "application": "app"}
        further = (event(f"run {number}", "RUNNING", f"10:00:0{second}", **fields) for second in range(9))
        world.receive(
            event(f"run {number}", "COMPLETE", "10:00:10", sql=f"SELECT '{noise(450_000, number)}'", **fields), *further
        )
    world.worker.processor.fold(run_id("app"))
    snapshot = world.application("app")
    assert (len(snapshot.records), snapshot.unfolded, snapshot.state.version) == (9, {}, 2)


def test_a_run_that_does_not_fit_into_one_transaction_by_itself_is_refused() -> None:
    world = Applications()
    outputs = [
        dataset(f"/b{number}", schema={"fields": [{"name": "x", "type": noise(100_000, number)}]})
        for number in range(44)
    ]
    with pytest.raises(ValueError, match="a transaction holds more"):
        world.process(packed(body(run="wide", application="app", inputs=["/a"], outputs=outputs)))


def test_a_run_whose_record_is_lost_is_left_to_repair_when_its_context_changes() -> None:
    world = Applications()
    fields: dict[str, Any] = {"inputs": ["/stream"], "application": "app", "streaming": True}
    write = event("write", "COMPLETE", "10:00:01", outputs=["/b"], application="app")
    world.process(event("batch", "START", "10:00:00", **fields), write)
    world.memory.delete(APPLICATIONS, run_id("app"), f"{RUN}{run_id('write')}")
    (end,) = world.receive(event("batch", "COMPLETE", "10:00:02", **fields))
    world.deliver(end, worker=world.new_worker())
    snapshot = world.application("app")
    assert snapshot.records.keys() == {run_id("batch")}
    assert snapshot.state.stale == (run_id("write"),)


def test_a_run_that_is_folded_twice_in_a_row_keeps_its_events() -> None:
    """Its context changes by a run that no longer fits into the commit of its late event."""
    world = Applications()
    runs = [f"run {number}" for number in range(12)]
    world.process(*(copy("10:00:00", run=run) for run in runs))
    late = world.receive(*(copy("10:00:02", run=run, source=f"/late {run}", kind="RUNNING") for run in runs))
    properties = {"spark.databricks.notebook.path": "/Users/x"}
    world.receive(event("named", "COMPLETE", "10:00:05", application="app", properties=properties))
    world.new_worker().processor.fold(run_id("app"), FoldRequest(force=frozenset(event.run_id for event in late)))
    snapshot = world.application("app")
    assert not snapshot.unfolded
    assert not snapshot.state.stale
    assert [len(snapshot.records[run_id(run)].events) for run in runs] == [2] * len(runs)
    assert {source for source, _ in world.edges()} == {"/a", *(f"/late {run}" for run in runs)}
