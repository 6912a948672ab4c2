"""What runs change in the state of their application, fold by fold."""

import json
from typing import Any

from shared.applications.fold import fold
from shared.applications.state import MAX_CHANGES, MAX_ENDS, ApplicationState, Folded, RunInput, RunRecord
from shared.openlineage.decoding import decode
from shared.storage_layout import digest_of, stored
from tests.support.building import body, dataset, packed
from tests.support.events import DAY, event, run_id
from tests.support.plans_alone import plan_event

APPLICATION = run_id("application")


def run_of(*payloads: bytes) -> RunInput:
    """A run with these events."""
    events = tuple(map(decode, payloads))
    references = (stored(part, digest_of(payload)).reference for part, payload in zip(events, payloads, strict=True))
    return RunInput(references=tuple(references), events=events)


def folded(state: ApplicationState, run: str, *payloads: bytes) -> Folded:
    """The fold of a run with these events."""
    return fold(APPLICATION, state, {run_id(run): run_of(*payloads)})


def check(run: str, minute: float, *, passed: bool) -> bytes:
    """An event of a job that only tests a data set."""
    source = dataset("/orders")
    source["inputFacets"] = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": passed}]}}
    return packed(body("COMPLETE", run=run, minute=minute, inputs=[source]))


def test_the_last_result_of_a_quality_test_counts_whenever_it_comes() -> None:
    state = ApplicationState()
    results = []
    for run, minute, passed in (("second", 2, False), ("third", 3, True), ("first", 1, False), ("fourth", 4, False)):
        fold_of_run = folded(state, run, check(run, minute, passed=passed))
        state = fold_of_run.state
        (changes,) = state.assets.values()
        (test,) = changes.tests
        results.append((test.passed, fold_of_run.assets == state.assets.keys()))
    assert results == [(False, True), (True, True), (True, False), (False, True)], "with whether the publisher hears"


def copy(run: str, minute: int) -> bytes:
    """The listener's end of a run that copies a data set."""
    time = f"1{minute // 60}:{minute % 60:02}:00"
    return event(run, "COMPLETE", time, inputs=["/a"], outputs=["/b"], application="application")


def test_the_second_end_of_the_last_run_of_a_process_is_heard_though_it_says_nothing_new() -> None:
    """The publisher may wait for it."""
    of_plan = json.loads(plan_event(run_id("last"), f"{DAY}T10:05:00Z", application=APPLICATION, problem="too long"))
    of_plan["run"]["facets"]["throughline_plan"]["joined"] = True
    first = folded(ApplicationState(), "last", copy("last", 5))
    second = folded(first.state, "last", copy("last", 5), packed(of_plan))
    again = folded(second.state, "last", copy("last", 5), packed(of_plan))
    assert second.state.contents == first.state.contents
    assert (len(first.processes), second.processes, again.processes) == (1, first.processes, frozenset())


def test_an_application_without_plans_reads_no_records_for_a_late_end() -> None:
    runs = {run_id(f"run {minute}"): run_of(copy(f"run {minute}", minute)) for minute in range(MAX_ENDS + 6)}
    state = fold(APPLICATION, ApplicationState(), runs).state
    late = {run_id("late"): run_of(copy("late", 2))}
    assert state.ended_until
    reads: list[str] = []

    def all_records() -> dict[str, RunRecord]:
        reads.append("all")
        return {}

    fold(APPLICATION, state, late, all_records=all_records)
    assert reads == []


def drop(run: str, minute: int, name: str = "/s", **fields: Any) -> bytes:
    """An event of a run that drops a data set."""
    states = {name: ("DROP", "")}
    return event(
        run, "COMPLETE", f"10:{minute:02}:00", outputs=[name], states=states, application="application", **fields
    )


def test_a_data_set_is_named_as_by_the_latest_run_that_changed_it() -> None:
    named = folded(ApplicationState(), "latest", drop("latest", 5, tables={"/s": "sales.orders"})).state
    (changes,) = folded(named, "older", drop("older", 2)).state.assets.values()
    assert changes.asset.tables == ("sales.orders",)
    assert len(changes.by_run) == 2


def test_of_many_runs_that_changed_a_data_set_the_last_change_counts_and_the_oldest_are_not_kept_one_by_one() -> None:
    state = ApplicationState()
    for number in range(MAX_CHANGES + 3):
        state = folded(state, f"run {number}", drop(f"run {number}", number)).state
    (changes,) = state.assets.values()
    assert [change.time.minute for change in changes.latest] == [MAX_CHANGES + 2]
    assert changes.by_run.keys() == {run_id(f"run {number}") for number in range(3, MAX_CHANGES + 3)}
    assert [change.time.minute for change in changes.folded] == [2]


def test_changes_of_a_writers_own_files_do_not_count_and_a_renamed_data_set_is_created() -> None:
    state = folded(ApplicationState(), "checkpoint", drop("checkpoint", 1, "/s/_delta_log")).state
    assert state.assets == {}
    renamed = event(
        "rename",
        "COMPLETE",
        "10:05:00",
        outputs=["/new"],
        states={"/new": ("RENAME", "/old")},
        application="application",
    )
    state = folded(state, "rename", renamed).state
    names = {changes.asset.name: [change.state for change in changes.latest] for changes in state.assets.values()}
    assert names == {"/old": ["RENAME"], "/new": ["CREATE"]}
