"""A round of forwarding: when a run leaves, how often, and what becomes of one that a target does not take."""

from datetime import timedelta

import pytest

from shared.forwarding.outbox import dead_letters, pause_row, target_status
from shared.forwarding.rounds import forward, forward_due, planned
from shared.forwarding.rules import ForwardRule, ForwardRules, Mode, TargetKind, TargetRule
from shared.http_errors import TAKEN, Answer, Never, NotNow
from shared.outbox import MAX_KEPT, pause_of
from shared.records.publish_queue import forward_marks, read_queue
from shared.storage.memory import MemoryStorage
from shared.storage_layout import FORWARD, FORWARD_PARTITION, PUBLISH_QUEUE
from tests.support.building import body, packed
from tests.support.events import run_id
from tests.support.forwarding import MARQUEZ, ForwardWorld, job
from tests.support.processing import Watched

RAW = TargetRule(name="copy", kind=TargetKind.FOLDER, mode=Mode.RAW)


def test_a_run_leaves_once_ten_minutes_after_its_end() -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in"))
    assert world.round(minutes=9).marked == 1
    assert not world.targets["marquez"].taken
    assert world.round(minutes=1).delivered == 1
    assert world.round(minutes=60).delivered == 0
    (event,) = world.targets["marquez"].events
    assert event["eventType"] == "COMPLETE"
    assert event["run"]["runId"] == run_id("run")
    assert [dataset["name"] for dataset in (*event["inputs"], *event["outputs"])] == ["/in", "/out"]
    assert forward_marks(world.storage) == ()


def test_what_a_merge_reads_and_writes_in_different_events_leaves_in_one() -> None:
    world = ForwardWorld()
    start, end = job("/out", "/in")
    world.receive({**start, "outputs": []}, {**end, "inputs": []})
    world.round(minutes=10)
    (event,) = world.targets["marquez"].events
    assert [dataset["name"] for dataset in event["inputs"]] == ["/in"]
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert [dataset["name"] for dataset in fields["x"]["inputFields"]] == ["/in"]


def test_a_run_that_changes_is_sent_again_under_its_id_and_only_then() -> None:
    world = ForwardWorld()
    start, end = job("/out", "/in")
    world.receive(start, end)
    world.round(minutes=10)
    world.receive(body("OTHER", minute=0.5, run="run"))  # says nothing new
    assert world.round(minutes=10).delivered == 0
    world.receive(body("OTHER", minute=0.6, run="run", inputs=["/more"]))
    assert world.round(minutes=10).delivered == 1
    first, second = world.targets["marquez"].events
    assert first["run"]["runId"] == second["run"]["runId"]
    assert [dataset["name"] for dataset in second["inputs"]] == ["/in", "/more"]


def test_a_late_failure_leaves_as_a_failure_and_one_that_never_counted_does_not_leave() -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in"), *job("/other", "/in", run="failed", end="FAIL"))
    assert world.round(minutes=10).delivered == 1
    world.receive(body("FAIL", minute=2, run="run"))
    assert world.round(minutes=10).delivered == 1
    complete, failure = world.targets["marquez"].events
    assert (complete["eventType"], failure["eventType"]) == ("COMPLETE", "FAIL")
    assert complete["job"] == failure["job"]
    assert failure["inputs"] == failure["outputs"] == []


def test_a_failure_within_the_ten_minutes_means_that_nothing_leaves() -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in"))
    world.round(minutes=5)
    world.receive(body("FAIL", minute=2, run="run"))
    assert world.round(minutes=20).delivered == 0
    assert forward_marks(world.storage) == ()


def test_each_change_begins_ten_minutes_anew_but_an_hour_is_the_longest_wait() -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in"))
    for number in range(7):
        world.at += timedelta(minutes=9)
        world.receive(body("OTHER", minute=0.1 + number / 100, run="run", inputs=[f"/in{number}"]))
        if number < 6:
            assert world.round().delivered == 0
    assert world.round().delivered == 1


def test_raw_events_leave_as_they_came_each_once() -> None:
    world = ForwardWorld(rules=ForwardRules(targets=(RAW,)))
    events = job("/out", "/in")
    late = body("OTHER", minute=0.5, run="run", inputs=["/more"])
    world.receive(*events)
    world.round(minutes=10)
    assert [event.body for event in world.targets["copy"].taken] == list(map(packed, events))
    world.receive(late)
    world.round(minutes=10)
    assert [event.body for event in world.targets["copy"].taken[2:]] == [packed(late)]


def test_raw_events_that_were_taken_before_one_was_not_are_not_sent_again() -> None:
    world = ForwardWorld(rules=ForwardRules(targets=(RAW,)))
    target = world.targets["copy"]
    target.answer = lambda _: NotNow(why="away") if len(target.taken) == 1 else TAKEN
    world.receive(*job("/out", "/in"))
    assert world.round(minutes=10).failed == 1
    target.answer = lambda _: TAKEN
    assert world.round(minutes=10).delivered == 1
    assert len(target.taken) == 2


def test_the_first_rule_that_matches_decides_and_no_rule_means_all_targets() -> None:
    rules = (
        ForwardRule(datasets=("*secret*",), to=()),
        ForwardRule(namespaces=("tests",), jobs=("app*",), to=("marquez",)),
        ForwardRule(to=("copy",)),
    )
    world = ForwardWorld(rules=ForwardRules(targets=(MARQUEZ, RAW), rules=rules))
    world.receive(*job("/out", "/secret"), *job("/two", "/in", run="two"))
    world.receive(*job("/three", "/in", run="three", app_name="other", application="other"))
    world.round(minutes=10)
    assert [event["outputs"][0]["name"] for event in world.targets["marquez"].events] == ["/two"]
    assert {event["run"]["runId"] for event in world.targets["copy"].events} == {run_id("three")}


def test_an_outage_pauses_a_target_and_keeps_every_run() -> None:
    world = ForwardWorld()
    target = world.targets["marquez"]
    target.answer = lambda _: NotNow(why="HTTP 503")
    for number in range(6):
        world.receive(*job(f"/out{number}", "/in", run=f"run{number}"))
    forwarded = world.round(minutes=10)
    assert (forwarded.failed, forwarded.targets[0].waiting) == (3, 6)
    assert forwarded.facts(world.now())["forward_oldest"] == 0
    paused = pause_of(world.storage, pause_row("marquez"))
    assert paused
    assert paused.reason == "HTTP 503"
    assert world.round().failed == 0, "it is left alone"
    target.answer = lambda _: TAKEN
    world.round(minutes=5)
    world.round(minutes=5)
    assert len(target.taken) == 6
    assert pause_of(world.storage, pause_row("marquez")) is None
    assert target_status(world.storage, "marquez").waiting == 0


def test_one_run_that_a_target_cannot_take_delays_no_other() -> None:
    world = ForwardWorld()
    target = world.targets["marquez"]
    target.answer = lambda event: NotNow(why="HTTP 500") if run_id("run0") == event.run_id else TAKEN
    for number in range(4):
        world.receive(*job(f"/out{number}", "/in", run=f"run{number}"))
    world.round(minutes=10)
    assert len(target.taken) == 3
    assert pause_of(world.storage, pause_row("marquez")) is None


def test_a_refused_run_is_a_dead_letter_and_is_sent_again_when_it_changes() -> None:
    world = ForwardWorld()
    target = world.targets["marquez"]
    target.answer = lambda _: Never(why="HTTP 422")
    world.receive(*job("/out", "/in"))
    assert world.round(minutes=10).refused == 1
    assert [letter.error for letter in dead_letters(world.storage, "marquez")] == ["HTTP 422"]
    target.answer = lambda _: TAKEN
    world.receive(body("OTHER", minute=0.6, run="run", inputs=["/more"]))
    assert world.round(minutes=10).delivered == 1
    assert list(dead_letters(world.storage, "marquez")) == []


def test_a_run_is_a_dead_letter_after_two_weeks() -> None:
    world = ForwardWorld()
    world.targets["marquez"].answer = lambda _: NotNow(why="HTTP 403")
    world.receive(*job("/out", "/in"))
    world.round(minutes=10)
    world.at += MAX_KEPT + timedelta(minutes=1)
    assert world.round().refused == 1
    assert target_status(world.storage, "marquez").dead_because == "HTTP 403"


def test_a_mark_whose_commit_has_not_come_waits_for_it() -> None:
    world = ForwardWorld()
    storage = Watched(world.storage)

    class DiedError(BaseException):
        pass

    def die(name: str, arguments: tuple[object, ...]) -> None:
        if name == "transact" and arguments[0] == "applications":
            raise DiedError

    storage.step_in = die
    real, world.storage = world.storage, storage
    with pytest.raises(DiedError):
        world.receive(*job("/out", "/in"))
    world.storage = real
    assert len(forward_marks(real)) == 1
    assert world.round(minutes=20).marked == 1
    world.processor.fold(run_id("application"))  # as the host delivers it again
    assert world.round(minutes=10).delivered == 1


def test_a_run_that_changes_while_it_is_sent_is_sent_again() -> None:
    world = ForwardWorld()
    target = world.targets["marquez"]

    def overtaken(_: object) -> object:
        target.answer = lambda _: TAKEN
        row = next(iter(world.storage.partition(FORWARD, "marquez", since="open|", before="open|~")))
        world.storage.upsert(FORWARD, row)  # another worker, which has the lease by now, was there too
        return TAKEN

    target.answer = overtaken  # type: ignore[assignment]  # returns an answer
    world.receive(*job("/out", "/in"))
    world.round(minutes=10)
    world.round(minutes=1)
    assert len(target.taken) == 2
    assert target_status(world.storage, "marquez").waiting == 0


@pytest.mark.parametrize("answer", [TAKEN, Never(why="HTTP 422")])
def test_what_targets_have_or_refuse_is_forgotten_with_the_run(answer: Answer) -> None:
    world = ForwardWorld()
    world.targets["marquez"].answer = lambda _: answer
    world.receive(*job("/out", "/in"))
    world.round(minutes=10)
    world.at += timedelta(days=31)
    world.round()
    assert f"run|{run_id('run')}" in [row.key for row in world.storage.partition(FORWARD, "marquez")]
    world.storage.delete("applications", run_id("application"), f"run|{run_id('run')}")
    world.at += timedelta(days=1)
    world.round()
    assert list(world.storage.partition(FORWARD, "marquez")) == []


def test_the_plan_names_what_would_leave_and_writes_nothing() -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in"))
    storage = Watched(world.storage)
    (planned_run,) = planned(storage, world.options)
    assert (planned_run[0], planned_run[1].run.run_id) == ("marquez", run_id("run"))
    assert not {name for name in storage.calls if name not in {"read", "partition"}}


def test_two_workers_do_not_forward_at_a_time() -> None:
    world = ForwardWorld()
    lease = world.storage.lease("forward", 60)
    assert forward(world.storage, world.options) is None
    lease.release()
    assert forward(world.storage, world.options)


def test_what_does_not_forward_calls_nothing_for_it() -> None:
    """Off, neither a fold nor the sweeper makes one more call, and no row is written."""

    def calls(*, forwards: bool) -> tuple[dict[str, int], MemoryStorage]:
        world = ForwardWorld(forwards=forwards)
        real, world.storage = world.storage, Watched(world.storage)
        world.receive(*job("/out", "/in"))
        return dict(world.storage.calls), real

    off, storage = calls(forwards=False)
    on, forwarding = calls(forwards=True)
    assert list(storage.partition(PUBLISH_QUEUE, FORWARD_PARTITION)) == []
    assert list(storage.scan(FORWARD)) == []
    assert len(list(forwarding.partition(PUBLISH_QUEUE, FORWARD_PARTITION))) == 1
    assert {name: on[name] - off.get(name, 0) for name in on if on[name] != off.get(name, 0)} == {"transact": 1}
    watched = Watched(storage)
    assert forward_due(watched, None) == {}
    assert watched.calls == {}


def test_the_publisher_does_not_read_the_marks_of_runs() -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in"))
    assert [[mark.kind for mark in entry.marks] for entry in read_queue(world.storage).entries] == [["process"]]
    assert [mark.target for mark in forward_marks(world.storage)] == [run_id("run")]
