"""Folding an application's events, in any order, grouping and repetition, gives what the reference says of all."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.applications import fold as fold_module
from shared.applications.fold import CLOSED, fold
from shared.applications.state import (
    MAX_BATCHES,
    MAX_CHANGES,
    MAX_ENDS,
    MAX_SUPPORTERS,
    ApplicationState,
    RunInput,
    RunRecord,
)
from shared.model import Contribution
from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from shared.openlineage.decoding import ENDS, Event, decode
from shared.openlineage.selection import Ignore, select
from shared.records.states import State
from shared.storage_layout import digest_of, process_key, stored
from shared.translation.reference import contributions_of
from shared.translation.run.application import JOINED, MAX_AT_ONCE
from shared.translation.run.columns import merge_run
from tests.support.events import event, run_id
from tests.support.golden import FOLDERS
from tests.support.golden import _events as golden_events
from tests.support.histories import history
from tests.support.plans_alone import plan_event, with_plans_alone

Shares = Mapping[tuple[str, str], Sequence[str]]


def reference(events: Sequence[Event]) -> Shares:
    """Return what applications contribute to processes, according to the reference."""
    shares = defaultdict(list)
    for contribution in contributions_of(events):
        key = contribution.application_run, process_key(contribution.content.qualified_name)
        shares[key].append(repr(contribution))
    return {key: sorted(texts) for key, texts in shares.items()}


class Folding:
    """The fold of one application, fed with groups of events."""

    def __init__(self, application: str) -> None:
        self.application = application
        self.state = ApplicationState()
        self.records: dict[str, RunRecord] = {}
        self.events: dict[str, dict[str, Event]] = defaultdict(dict)
        self.unfolded: set[str] = set()
        self.processes: frozenset[str] = frozenset()
        """The keys of the processes that the last fold changed."""

    def add(self, events: Sequence[Event]) -> None:
        for item in events:
            self.events[item.run_id][digest_of(repr(item).encode())] = item
            self.unfolded.add(item.run_id)
        while runs := self._runs():
            while True:
                inputs = {run: self._input(run) for run in sorted(runs)}
                folded = fold(self.application, self.state, inputs, all_records=lambda: self.records)
                if not folded.companions:
                    break
                assert folded.companions.isdisjoint(runs)
                runs |= folded.companions
            assert not folded.errors
            self.state, self.unfolded = folded.state, self.unfolded - runs
            self.processes = folded.processes
            self.records |= folded.records

    def _input(self, run: str) -> RunInput:
        return RunInput(
            record=self.records.get(run),
            references=tuple(stored(item, digest).reference for digest, item in self.events[run].items()),
            events=tuple(self.events[run].values()),
        )

    def _runs(self) -> set[str]:
        ended_runs = {run for run in self.unfolded if any(item.type in ENDS for item in self.events[run].values())}
        return ended_runs | (self.unfolded & self.records.keys()) | set(self.state.stale)

    def shares(self) -> Mapping[str, Sequence[Contribution]]:
        return self.state.contributions(self.application)


def folded(events: Sequence[Event], chance: random.Random) -> Shares:
    """Fold the kept events of each application in a random order, in random groups, a fifth of them twice."""
    kept_events = [item for item in events if not isinstance(select(item), Ignore)]
    runs = defaultdict(list)
    for item in kept_events:
        runs[item.run_id].append(item)
    applications: dict[str, list[Event]] = defaultdict(list)
    for own_events in runs.values():
        applications[merge_run(own_events).application_run] += own_events
    shares = {}
    for application, own_events in applications.items():
        delivery = [*own_events, *(chance.choice(own_events) for _ in range(len(own_events) // 5))]
        chance.shuffle(delivery)
        folding = Folding(application)
        while delivery:
            size = chance.choice((1, 1, 2, 5, 50))
            folding.add(delivery[:size])
            del delivery[:size]
        for process, contributions in folding.shares().items():
            shares[application, process] = sorted(map(repr, contributions))
    return shares


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), order=st.integers(0, 10_000))
def test_any_order_of_a_history_folds_to_the_reference(seed: int, order: int) -> None:
    events = [decode(body) for body in history(seed)]
    assert folded(events, random.Random(order)) == reference(events)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), order=st.integers(0, 10_000))
def test_any_order_of_a_history_with_plans_alone_folds_to_the_reference(seed: int, order: int) -> None:
    bodies = with_plans_alone(history(seed), random.Random(seed))
    events = [decode(body) for body in bodies]
    assert folded(events, random.Random(order)) == reference(events)


@pytest.mark.parametrize("capture", [name for name in FOLDERS if "ol1.53" in name])
def test_captured_events_fold_to_the_reference(capture: str) -> None:
    events = golden_events(FOLDERS[capture])
    assert folded(events, random.Random(capture)) == reference(events)


def _input(record: RunRecord | None, *bodies: bytes, timed_out: bool = False) -> RunInput:
    events = [decode(body) for body in bodies]
    references = tuple(stored(event, digest_of(body)).reference for event, body in zip(events, bodies, strict=True))
    return RunInput(record=record, references=references, events=tuple(events), timed_out=timed_out)


def _copy(kind: str, time: str, run: str = "run", source: str = "/a") -> bytes:
    return event(run, kind, time, inputs=[source], outputs=["/b"], application="app")


def test_a_failure_takes_back_what_a_run_contributed() -> None:
    run, application = run_id("run"), run_id("app")
    first = fold(application, ApplicationState(), {run: _input(None, _copy("COMPLETE", "10:00:00"))})
    assert first.records[run].verdict is State.CONTRIBUTED
    assert len(first.processes) == 1
    events = _input(first.records[run], _copy("COMPLETE", "10:00:00"), _copy("FAIL", "10:00:01"))
    second = fold(application, first.state, {run: events})
    assert second.records[run].verdict is State.SKIPPED
    assert not second.state.contents
    assert not second.state.latest
    assert second.processes == first.processes


def test_a_failure_takes_back_that_a_data_set_was_dropped() -> None:
    run, application = run_id("run"), run_id("app")
    fields: Mapping[str, Any] = {"outputs": ["/s"], "states": {"/s": ("DROP", "")}, "application": "app"}
    dropped, failed = (event("run", kind, f"10:00:0{n}", **fields) for n, kind in enumerate(("COMPLETE", "FAIL")))
    first = fold(application, ApplicationState(), {run: _input(None, dropped)})
    (key,) = first.assets
    assert (set(first.state.lifecycle), len(first.state.assets[key].latest)) == ({run}, 1)
    second = fold(application, first.state, {run: _input(first.records[run], dropped, failed)})
    assert second.assets == {key}, "the publisher is told"
    assert (second.state.lifecycle, second.state.assets[key].latest) == ({}, ())


def test_a_process_that_a_dropped_data_set_hid_is_published_when_the_drop_failed_after_all() -> None:
    """The run of the drop says of the process what another run of the same moment says, too."""
    fields: Mapping[str, Any] = {"inputs": ["/a"], "outputs": ["/s"], "application": "app"}
    write = decode(event("w", "COMPLETE", "12:00:00", **fields))
    drop, failure = (
        decode(event("d", kind, "12:00:00", states={"/s": ("DROP", "")}, **fields)) for kind in ("COMPLETE", "FAIL")
    )
    folding = Folding(run_id("app"))
    folding.add([write, drop])
    assert folding.shares() == {}
    folding.add([failure])
    assert folding.processes == folding.shares().keys() != set()


def test_a_run_leaves_a_content_to_its_other_supporters() -> None:
    application, runs = run_id("app"), {name: _copy("COMPLETE", "10:00:00", run=name) for name in ("one", "two")}
    first = fold(application, ApplicationState(), {run_id(name): _input(None, body) for name, body in runs.items()})
    late = _input(first.records[run_id("one")], runs["one"], _copy("FAIL", "10:00:01", run="one"))
    second = fold(application, first.state, {run_id("one"): late})
    (content,) = second.state.contents.values()
    assert content.supporters.keys() == {run_id("two")}


def test_equal_runs_support_one_content_and_old_ones_become_a_span() -> None:
    application, state = run_id("app"), ApplicationState()
    records: dict[str, RunRecord] = {}
    for number in range(MAX_SUPPORTERS + 6):
        body = _copy("COMPLETE", f"10:{number // 60:02}:{number % 60:02}", run=f"run {number}")
        result = fold(application, state, {run_id(f"run {number}"): _input(None, body)})
        state, records = result.state, records | result.records
        assert len(result.processes) == 1
    (content,) = state.contents.values()
    assert len(content.supporters) == MAX_SUPPORTERS
    assert content.folded is not None
    assert content.seen.first.minute == 0
    assert state.runs == len(records) == MAX_SUPPORTERS + 6


def test_an_unchanged_fold_of_a_run_changes_nothing_but_the_version() -> None:
    run, application = run_id("run"), run_id("app")
    first = fold(application, ApplicationState(), {run: _input(None, _copy("COMPLETE", "10:00:00"))})
    repetition = fold(application, first.state, {run: _input(first.records[run], _copy("COMPLETE", "10:00:00"))})
    assert (repetition.processes, repetition.assets) == (frozenset(), frozenset())
    assert repetition.records == first.records
    assert repetition.state.version == first.state.version + 1


def test_a_run_without_an_end_waits_until_it_is_timed_out() -> None:
    run, application = run_id("run"), run_id("app")
    start = _copy("START", "10:00:00")
    waiting = fold(application, ApplicationState(), {run: _input(None, start)})
    assert waiting.records[run].verdict is State.WAITING
    assert not waiting.state.contents
    timed_out_fold = fold(application, waiting.state, {run: _input(waiting.records[run], start, timed_out=True)})
    assert timed_out_fold.records[run].verdict is State.CONTRIBUTED
    late_fold = fold(application, timed_out_fold.state, {run: _input(timed_out_fold.records[run], start)})
    assert late_fold.records[run].verdict is State.CONTRIBUTED, "a timeout is remembered"


def test_events_that_cannot_be_merged_are_dead_and_harm_no_other_run() -> None:
    bad, good, application = run_id("bad"), run_id("good"), run_id("app")
    runs = {bad: _input(None), good: _input(None, _copy("COMPLETE", "10:00:00", run="good"))}
    runs[bad] = RunInput(references=("20261121T100000000000Z|COMPLETE|0|x",))
    result = fold(application, ApplicationState(), runs)
    assert (result.records[bad].verdict, result.records[bad].reason) == (State.DEAD, "none of its events can be used")
    assert (result.records[good].verdict, result.records[good].reason) == (State.CONTRIBUTED, "")


@pytest.mark.parametrize("step", ["merge_run", "batch_of", "merge_plan", "translate"])
def test_what_raises_at_one_run_is_its_dead_letter_and_harms_no_other(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a step meets in a run that it was not made for."""
    real = getattr(fold_module, step)

    def fail(content: Any, *arguments: Any, **options: Any) -> Any:
        own_events = content if isinstance(content, tuple) else [content]
        if own_events and own_events[0].run_id == run_id("bad"):
            raise ValueError("by chance")
        return real(content, *arguments, **options)

    monkeypatch.setattr(fold_module, step, fail)
    bad, good, plan = run_id("bad"), run_id("good"), _plan("10:00:00")
    batch = event("bad", "COMPLETE", "10:00:00", inputs=["/c"], streaming=True, **_BELOW)
    runs = {bad: _input(None, _copy("COMPLETE", "10:00:00", run="bad", source="/c"))}
    if step == "merge_plan":
        runs[plan.run_id] = RunInput(references=(stored(plan, digest_of(b"plan")).reference,), events=(plan,))
    elif step == "translate":
        runs[bad] = _input(None, batch)
    runs[good] = _input(None, _copy("COMPLETE", "11:00:00", run="good"))
    result = fold(run_id("app"), ApplicationState(), runs)
    assert (result.records[bad].verdict, result.records[bad].reason) == (State.DEAD, "ValueError: by chance")
    assert list(result.errors) == [bad]
    assert result.records[good].verdict is State.CONTRIBUTED
    assert bad not in result.state.batches


def test_a_run_that_can_be_used_no_more_withdraws_its_lineage_but_not_what_it_says_of_its_application() -> None:
    """Its application keeps its name, so that the processes of other runs do."""
    run, application = run_id("run"), run_id("app")
    notebook = {"spark.databricks.notebook.path": "/Users/x"}
    good = event("run", "START", "10:00:00", inputs=["/a"], outputs=["/b"], application="app", properties=notebook)
    bad = _copy("COMPLETE", "10:00:01", source="/unusable")
    rule_without_group = rule("unusable", type="fs_path", namespace="file", path="/unusable", to="{host}/{path}")
    names = Names(rules=(rule_without_group,))
    first = fold(application, ApplicationState(), {run: _input(None, good, timed_out=True)}, names=names)
    assert first.records[run].verdict is State.CONTRIBUTED
    second = fold(application, first.state, {run: _input(first.records[run], good, bad)}, names=names)
    assert second.records[run].verdict is State.DEAD
    assert not second.state.contents
    assert second.processes == first.processes
    assert second.state.facts == first.state.facts
    assert second.state.facts.identities


def test_an_event_of_a_closed_run_is_late_and_changes_nothing() -> None:
    run, application = run_id("run"), run_id("app")
    first = fold(application, ApplicationState(), {run: _input(None, _copy("COMPLETE", "10:00:00"))})
    closed = _closed(first.records[run])
    late = _input(closed, _copy("FAIL", "10:00:01"))
    result = fold(application, first.state, {run: late})
    assert result.records[run].late == late.references
    assert result.records[run].verdict is State.CONTRIBUTED
    assert result.processes == frozenset()
    assert CLOSED


def test_a_closed_run_that_is_folded_again_keeps_what_it_says_of_its_application() -> None:
    """Else the processes of its other runs would lose their name, and get a second one."""
    run, application = run_id("run"), run_id("app")
    properties = {"spark.databricks.notebook.path": "/Users/x"}
    named = event(
        "run", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/b"], application="app", properties=properties
    )
    first = fold(application, ApplicationState(), {run: _input(None, named)})
    late = _input(_closed(first.records[run]), _copy("FAIL", "10:00:01"))
    second = fold(application, first.state, {run: late}, all_records=lambda: first.records)
    assert second.state.facts == first.state.facts
    assert second.state.facts.identities


def _closed(record: RunRecord) -> RunRecord:
    from msgspec.structs import replace  # noqa: PLC0415 - beside its only use

    assert record.seen is not None
    return replace(record, closed=record.seen.last, outcome=("published", ""))


def test_the_context_of_other_runs_makes_them_stale() -> None:
    application, run, other = run_id("app"), run_id("run"), run_id("other")
    first = fold(application, ApplicationState(), {run: _input(None, _copy("COMPLETE", "10:00:00"))})
    named = event(
        "other", "COMPLETE", "10:00:05", application="app", properties={"spark.databricks.notebook.path": "/Users/x"}
    )
    second = fold(application, first.state, {other: _input(None, named)}, all_records=lambda: first.records)
    assert second.state.stale == (run,)
    third = fold(
        application,
        second.state,
        {run: _input(first.records[run], _copy("COMPLETE", "10:00:00"))},
        all_records=lambda: first.records,
    )
    assert third.state.stale == ()
    assert third.records[run].contents != first.records[run].contents, "the job is known by its notebook now"


def test_runs_of_other_applications_and_closed_ones_do_not_become_stale() -> None:
    application, run, closed, moved = run_id("app"), run_id("run"), run_id("closed"), run_id("moved")
    runs = {name: _input(None, _copy("COMPLETE", "10:00:00", run=name)) for name in ("run", "closed")}
    first = fold(application, ApplicationState(), {run_id(name): value for name, value in runs.items()})
    records = {
        run: first.records[run],
        closed: _closed(first.records[closed]),
        moved: RunRecord(run_id=moved, home=run_id("another")),
    }
    named = event(
        "other", "COMPLETE", "10:00:05", application="app", properties={"spark.databricks.notebook.path": "/N"}
    )
    second = fold(application, first.state, {run_id("other"): _input(None, named)}, all_records=lambda: records)
    assert second.state.stale == (run,)


_BELOW: Mapping[str, Any] = {"application": "app"}


def test_an_application_remembers_its_latest_batches_and_changes_of_a_data_set() -> None:
    application = run_id("app")
    batches = {
        name: event(name, "COMPLETE", f"1{minute // 60}:{minute % 60:02}:00", inputs=["/a"], streaming=True, **_BELOW)
        for minute in range(MAX_BATCHES + 6)
        for name in (f"batch {minute:02}",)
    }
    drops = {
        name: event(name, "COMPLETE", f"13:{minute:02}:00", outputs=["/s"], states={"/s": ("DROP", "")}, **_BELOW)
        for minute in range(MAX_CHANGES + 4)
        for name in (f"drop {minute:02}",)
    }
    runs = {run_id(name): _input(None, body) for name, body in {**batches, **drops}.items()}
    state = fold(application, ApplicationState(), runs).state
    assert state.batches.keys() == {run_id(name) for name in sorted(batches)[-MAX_BATCHES:]}
    assert state.lifecycle.keys() == {run_id(name) for name in sorted(drops)[-MAX_CHANGES:]}


def test_facts_of_a_run_that_belongs_elsewhere_go_and_those_of_others_stay() -> None:
    application = run_id("app")
    notebooks = {name: {"spark.databricks.notebook.path": f"/{name}"} for name in ("moved", "stays")}
    runs = {
        run_id(name): _input(None, event(name, "COMPLETE", "10:00:00", application="app", properties=properties))
        for name, properties in notebooks.items()
    }
    first = fold(application, ApplicationState(), runs)
    moved = RunInput(record=first.records[run_id("moved")], home=run_id("another"))
    second = fold(application, first.state, {run_id("moved"): moved}, all_records=lambda: first.records)
    assert second.state.facts == first.records[run_id("stays")].facts
    assert second.state.facts != first.state.facts
    assert second.state.stale == (run_id("stays"),)
    assert (second.records[run_id("moved")].verdict, second.errors) == (State.SKIPPED, {})


def _plan(time: str, run: str = "plan", *, failed: bool = False, columns: str = "y", sink: str = "/b") -> Event:
    event_time, application = f"2026-11-21T{time}Z", run_id("app")
    return decode(
        plan_event(run_id(run), event_time, application=application, failed=failed, columns=[("x", columns)], sink=sink)
    )


def test_a_plan_that_came_alone_moves_to_the_listeners_run() -> None:
    plan, listener = _plan("10:00:00"), decode(_copy("COMPLETE", "10:00:00", source="/c"))
    folding = Folding(run_id("app"))
    folding.add([plan])
    (lone_content,) = folding.state.contents
    assert folding.records[plan.run_id].verdict is State.CONTRIBUTED
    folding.add([listener])
    assert folding.records[plan.run_id].reason == JOINED
    assert folding.records[plan.run_id].joined == listener.run_id
    (content,) = folding.state.contents.values()
    assert lone_content not in folding.state.contents, "what the plan said alone is withdrawn"
    assert content.supporters.keys() == {listener.run_id}
    assert [asset.name for asset in content.process.inputs] == ["/a", "/c"]


@pytest.mark.parametrize("is_plan_first", [True, False])
def test_a_plan_that_failed_takes_back_what_the_listener_calls_complete(*, is_plan_first: bool) -> None:
    events = [_plan("10:00:00", failed=True), decode(_copy("COMPLETE", "10:00:00"))]
    folding = Folding(run_id("app"))
    for item in events if is_plan_first else reversed(events):
        folding.add([item])
    assert not folding.state.contents
    assert folding.records[run_id("run")].ended == "FAIL"


def test_two_equal_writes_keep_their_own_plans() -> None:
    """The first failed; both write the same place."""
    events = [
        decode(_copy("COMPLETE", time, run=run, source=source))
        for time, run, source in (("10:00:00", "one", "/a"), ("10:00:01", "two", "/c"))
    ]
    plans = [_plan("10:00:01", "second"), _plan("10:00:00", "first", failed=True)]
    folding = Folding(run_id("app"))
    for item in (*plans, *events):
        folding.add([item])
    joins = {run: record.joined for run, record in folding.records.items() if record.joined}
    assert joins == {run_id("first"): run_id("one"), run_id("second"): run_id("two")}
    assert [run.run_id for run in folding.state.latest.values()] == [run_id("two")]


def test_a_plan_leaves_a_run_when_a_better_one_comes() -> None:
    listener, other = decode(_copy("COMPLETE", "10:00:00")), event("other", "COMPLETE", "10:00:00", application="app")
    folding = Folding(run_id("app"))
    folding.add([_plan("10:00:00")])
    folding.add([decode(other)])
    assert folding.records[run_id("plan")].joined == run_id("other"), "the only run that ended then"
    folding.add([listener])
    assert folding.records[run_id("plan")].joined == listener.run_id
    assert folding.records[run_id("other")].verdict is State.SKIPPED
    assert len(folding.state.contents) == 1


def test_a_run_loses_a_plan_that_ended_later_after_all() -> None:
    listener = decode(_copy("COMPLETE", "10:00:00"))
    folding = Folding(run_id("app"))
    folding.add([listener])
    (content,) = folding.state.contents
    folding.add([_plan("10:00:00", sink="/b")])
    assert content not in folding.state.contents
    folding.add([_plan("10:00:09", failed=True)])
    assert folding.state.contents.keys() == {content}
    assert folding.records[run_id("plan")].joined == ""


def test_a_plan_finds_a_run_that_ended_long_before_others() -> None:
    folding = Folding(run_id("app"))
    names = [f"run {number}" for number in range(MAX_ENDS + 6)]
    times = {name: f"10:{number // 60:02}:{number % 60:02}" for number, name in enumerate(names)}
    for name in names:
        folding.add([decode(_copy("COMPLETE", times[name], run=name))])
    assert folding.state.ends.keys() == {run_id(name) for name in names[-MAX_ENDS:]}
    folding.add([_plan(times["run 2"])])
    assert folding.records[run_id("plan")].joined == run_id("run 2")
    folding.add([_plan(times["run 9"], "other"), _plan("11:00:00", "later")])
    assert folding.records[run_id("other")].joined == run_id("run 9")


def test_a_run_finds_a_plan_that_ended_long_before_others() -> None:
    folding = Folding(run_id("app"))
    for number in range(MAX_ENDS + 6):
        folding.add([_plan(f"10:{number // 60:02}:{number % 60:02}", f"plan {number}")])
    folding.add([decode(_copy("COMPLETE", "10:00:02"))])
    assert folding.records[run_id("plan 2")].joined == run_id("run")


def test_of_too_many_runs_that_end_at_once_none_gets_a_plan() -> None:
    folding = Folding(run_id("app"))
    folding.add([_plan("10:00:00")])
    for number in range(MAX_AT_ONCE):
        folding.add([decode(_copy("COMPLETE", "10:00:00", run=f"run {number}"))])
        assert bool(folding.records[run_id("plan")].joined) is (number + 2 <= MAX_AT_ONCE)
    folding.add([decode(_copy("COMPLETE", "10:00:05", run="run 0"))])
    assert folding.records[run_id("plan")].joined, "one of them ended later after all"


@pytest.mark.parametrize("is_plan_first", [True, False])
def test_what_comes_after_its_counterpart_was_closed_changes_nothing(*, is_plan_first: bool) -> None:
    pair = [_plan("10:00:00"), decode(_copy("COMPLETE", "10:00:00"))]
    first, second = pair if is_plan_first else pair[::-1]
    folding = Folding(run_id("app"))
    folding.add([first])
    contents = folding.state.contents
    folding.records[first.run_id] = _closed(folding.records[first.run_id])
    for _ in range(2):
        folding.add([second])
        record = folding.records[second.run_id]
        assert (record.verdict, record.reason, record.outcome) == (State.SKIPPED, CLOSED, ("skipped", CLOSED))
        assert (record.closed, len(record.late)) == (folding.records[first.run_id].closed, 1)
        assert folding.state.contents == contents


def test_a_plan_stays_with_a_run_that_was_closed_with_it() -> None:
    listener = decode(_copy("COMPLETE", "10:00:00"))
    folding = Folding(run_id("app"))
    folding.add([_plan("10:00:00"), listener])
    contents = folding.state.contents
    folding.records[listener.run_id] = _closed(folding.records[listener.run_id])
    folding.add([_plan("10:00:00")])
    folding.add([decode(_copy("COMPLETE", "10:00:00", run="late", source="/c"))])
    assert folding.records[run_id("plan")].joined == listener.run_id
    assert contents.keys() < folding.state.contents.keys(), "the other run counts with its own lineage"
