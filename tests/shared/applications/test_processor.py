"""What a fold commits, beside other workers and other runs of its application."""

from typing import Any

import pytest

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor, FoldRequest
from shared.errors import ContentLost
from shared.events.dead_letters import dead_letters
from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from shared.records.publish_queue import FORWARD_KIND, Mark
from shared.storage_layout import APPLICATIONS, DEAD_LETTERS, PUBLISH_QUEUE, RUN
from tests.support.applications import Applications
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
