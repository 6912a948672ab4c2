"""Aggregation: the process that all contributions give, and when it may change. Rule 5 of the design."""

import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from shared.model import ApplicationTimes, Contribution, Process
from shared.translation.aggregate import AggregatedProcess, SupersessionPolicy, aggregate
from tests.support.building import START, asset, contribution, edge, process
from tests.support.events import run_id

Facts = dict[str, ApplicationTimes]


def _ended(application: str, state: str = "COMPLETE", day: float = 0) -> Facts:
    moment = START + timedelta(days=day)
    return {run_id(application): ApplicationTimes(first=moment, last=moment + timedelta(minutes=30), ended=state)}


def _sum(
    contributions: Iterable[Contribution], facts: Facts | None = None, now: datetime | None = None
) -> AggregatedProcess:
    """The aggregate, which is the same for every order of the contributions."""
    sums = [aggregate(order, facts or {}, now=now) for order in itertools.permutations(contributions)]
    assert all(aggregated_process == sums[0] for aggregated_process in sums)
    return sums[0]


def _sources(
    contributions: Iterable[Contribution], facts: Facts | None = None, now: datetime | None = None
) -> list[str]:
    aggregated_process = _sum(contributions, facts, now).process
    return [input_asset.name for input_asset in aggregated_process.inputs] if aggregated_process else []


def _at(day: float = 0, minutes: float = 0) -> datetime:
    return START + timedelta(days=day, minutes=minutes)


A, B = contribution("one", "/a"), contribution("one", "/b", minute=20)
NEW_A, NEW_B = contribution("two", "/a", day=1), contribution("two", "/b", day=1, minute=20)


def test_no_contributions_give_no_process() -> None:
    assert _sum([]) == AggregatedProcess(process=None)


def test_a_contribution_is_part_of_the_process_at_once() -> None:
    assert _sources([A]) == ["/a"]
    assert _sources([A, B]) == ["/a", "/b"]


class TestAJobThatAppendsFromAThenFromB:
    """Every run is the same, so nothing may change, for any time between runs."""

    @pytest.mark.parametrize("gap", [0.5, 1, 7, 30, 365])
    @pytest.mark.parametrize("state", ["COMPLETE", None])
    def test_no_source_is_removed_while_the_job_runs_again(self, gap: float, state: str | None) -> None:
        facts = _ended("one")
        new_a, new_b = contribution("two", "/a", day=gap), contribution("two", "/b", day=gap, minute=20)
        assert _sources([A, B, new_a], facts, _at(gap, 5)) == ["/a", "/b"]
        assert _sources([A, B, new_a, new_b], facts, _at(gap, 25)) == ["/a", "/b"]
        facts |= _ended("two", day=gap) if state else {}
        assert _sources([A, B, new_a, new_b], facts, _at(gap, 500)) == ["/a", "/b"]

    def test_a_source_that_the_new_run_lacks_is_removed_when_the_run_ends(self) -> None:
        facts = _ended("one")
        assert _sources([A, B, NEW_A], facts, _at(1, 1)) == ["/a", "/b"]
        assert _sources([A, B, NEW_A], facts | _ended("two", day=1), _at(1, 1)) == ["/a"]


def test_an_application_that_was_quiet_for_an_hour_is_over() -> None:
    facts = _ended("one")
    assert _sources([A, NEW_B], facts, _at(1, 20 + 59)) == ["/a", "/b"]
    assert _sources([A, NEW_B], facts, _at(1, 20 + 60)) == ["/b"]


def test_an_applications_own_events_restart_its_quiet_time() -> None:
    facts = {run_id("two"): ApplicationTimes(first=_at(1), last=_at(1, 120), ended=None)}
    assert _sources([A, NEW_B], facts, _at(1, 150)) == ["/a", "/b"]
    assert _sources([A, NEW_B], facts, _at(1, 180)) == ["/b"]


def test_without_a_clock_no_application_is_quiet() -> None:
    assert _sources([A, NEW_B], _ended("one"), None) == ["/a", "/b"]


@pytest.mark.parametrize("state", ["FAIL", "ABORT"])
def test_a_newer_run_that_failed_supersedes_nothing(state: str) -> None:
    facts = _ended("one") | _ended("two", state, day=1)
    assert _sources([A, NEW_B], facts, _at(5)) == ["/a", "/b"]


@pytest.mark.parametrize("state", ["COMPLETE", "FAIL", "ABORT", None])
def test_an_older_run_is_superseded_however_it_ended(state: str | None) -> None:
    facts = (_ended("one", state) if state else {}) | _ended("two", day=1)
    assert _sources([A, NEW_B], facts, _at(1, 1)) == ["/b"]


def test_the_end_of_the_older_run_supersedes_nothing() -> None:
    assert _sources([A, NEW_B], _ended("one"), _at(1, 21)) == ["/a", "/b"]


def test_a_late_old_run_changes_nothing() -> None:
    facts = _ended("two", day=1) | _ended("zero", day=-1)
    late = contribution("zero", "/old", day=-1)
    assert _sources([NEW_A], facts) == _sources([NEW_A, late], facts) == ["/a"]


def test_a_run_between_two_others_is_superseded_by_the_newest_alone() -> None:
    three = contribution("three", "/c", day=2)
    facts = _ended("one") | _ended("two", day=1)
    assert _sources([A, NEW_B, three], facts, _at(2, 1)) == ["/b", "/c"]
    assert _sources([A, NEW_B, three], facts | _ended("three", day=2), _at(2, 1)) == ["/c"]


def test_the_first_event_of_an_application_decides_whether_it_is_newer() -> None:
    """Two runs that overlap: the one that wrote first may be the one that began later."""
    facts = {
        run_id("early"): ApplicationTimes(first=_at(0, 0), last=_at(0, 90), ended="COMPLETE"),
        run_id("late"): ApplicationTimes(first=_at(0, 30), last=_at(0, 60), ended="COMPLETE"),
    }
    contributions = [contribution("early", "/early", minute=80), contribution("late", "/late", minute=40)]
    assert _sources(contributions, facts, _at(1)) == ["/late"]


def test_ties_are_broken_by_id() -> None:
    first_contribution, two = contribution("one", "/one"), contribution("two", "/two")
    newest = max("one", "two", key=run_id)
    assert _sources([first_contribution, two], _ended("one") | _ended("two")) == [f"/{newest}"]


class TestApplicationsThatNeverEnd:
    """Streams and interactive clusters: edges that were not seen for seven days are removed."""

    def test_an_edge_unseen_for_more_than_seven_days_is_removed(self) -> None:
        stream = [contribution("stream", "/a"), contribution("stream", "/b", day=7)]
        assert _sources(stream) == ["/a", "/b"]
        assert _sources([*stream, contribution("stream", "/b", day=7.01)]) == ["/b"]

    def test_time_alone_does_not_remove_an_edge(self) -> None:
        assert _sources([contribution("stream", "/a")], None, _at(300)) == ["/a"]

    def test_an_edge_that_is_seen_again_stays(self) -> None:
        stream = [
            contribution("stream", "/a"),
            contribution("stream", "/b", day=6),
            contribution("stream", "/a", day=12),
        ]
        assert _sources(stream) == ["/a", "/b"]

    def test_an_older_application_that_never_ended_is_removed_after_seven_days(self) -> None:
        assert _sources([contribution("old stream", "/a"), contribution("stream", "/b", day=8)]) == ["/b"]

    def test_edges_of_an_ended_application_are_removed_after_seven_days_of_newer_writes(self) -> None:
        contributions = [A, contribution("stream", "/b", day=30), contribution("stream", "/b", day=36)]
        assert _sources(contributions, _ended("one")) == ["/a", "/b"]
        assert _sources([*contributions, contribution("stream", "/b", day=37.1)], _ended("one")) == ["/b"]

    def test_an_ended_application_keeps_its_edges_of_any_age(self) -> None:
        slow = [contribution("slow", "/a"), contribution("slow", "/b", day=20)]
        assert _sources(slow, _ended("slow")) == ["/a", "/b"]


def test_the_aggregate_has_the_time_at_which_it_may_change() -> None:
    facts = _ended("one")
    assert _sum([A], facts, _at(0, 5)).revisit is None
    assert _sum([A, NEW_B], facts, _at(1, 25)).revisit == _at(1, 20 + 60)
    assert _sum([A, NEW_B], facts, _at(1, 80)).revisit is None
    assert _sum([A, NEW_B], facts | _ended("two", day=1), _at(1, 25)).revisit is None
    assert _sum([A, NEW_B], facts | _ended("two", "FAIL", day=1), _at(1, 25)).revisit is None


def test_the_earliest_end_of_several_quiet_times_is_the_next_check() -> None:
    long = [contribution("long", "/long", minute=minute) for minute in (0, 50)]
    short = contribution("short", "/short", minute=10)
    oldest = contribution("oldest", "/oldest", day=-1)
    aggregation = _sum([oldest, *long, short], None, _at(0, 55))
    assert aggregation.revisit == _at(0, 70)
    assert _sources([oldest, *long, short], None, aggregation.revisit) == ["/short"]


def test_the_quiet_time_and_the_unseen_time_are_settings() -> None:
    hasty = SupersessionPolicy(quiet=timedelta(minutes=1), unseen=timedelta(hours=1))
    stream = [contribution("s", "/a"), contribution("s", "/b", day=1)]
    unseen = aggregate(stream, {}, now=None, patience=hasty).process
    quiet = aggregate([A, NEW_B], _ended("one"), now=_at(1, 22), patience=hasty).process
    assert unseen == quiet == process("/b")


def _seen(application: str, content: Process) -> Contribution:
    return Contribution(application_run=run_id(application), content=content, seen=A.seen)


def test_operations_assets_and_columns_are_united() -> None:
    seed, merge = process("/a", operations=("insert",)), process("/b", operations=("merge",))
    assert _sum([_seen("one", seed), _seen("one", merge)]).process == process(
        "/a", "/b", operations=("insert", "merge")
    )


def test_a_self_loop_is_removed_with_its_columns() -> None:
    aggregated_process = _sum([_seen("one", process("/a", "/out"))]).process
    assert aggregated_process == process("/a")
    assert aggregated_process
    assert aggregated_process.columns == (edge("/a", "/out"),)


@pytest.mark.parametrize("content", [process("/out"), process()], ids=["only itself", "nothing"])
def test_contributions_without_inputs_give_no_process(content: Process) -> None:
    assert _sum([_seen("one", content)]).process is None


def test_contributions_without_inputs_are_judged_after_aggregation() -> None:
    """An INSERT of constants into a MERGE's target is no process alone, yet one of its operations."""
    constants = process(operations=("insert",))
    aggregated_process = _sum([_seen("one", constants), _seen("one", process("/a", operations=("merge",)))]).process
    assert aggregated_process
    assert aggregated_process.operations == ("insert", "merge")
    assert aggregated_process.inputs == (asset("/a"),)


def test_a_rewrite_without_inputs_removes_the_process() -> None:
    empty = contribution("two", day=1)
    assert _sources([A], _ended("one")) == ["/a"]
    assert _sources([A, empty], _ended("one") | _ended("two", day=1)) == []


def test_one_contribution_with_a_seen_end_is_enough() -> None:
    unseen = contribution("one", "/a", end_not_seen=True)
    assert _sum([unseen]).process == process("/a", end_not_seen=True)
    assert _sum([unseen, A]).process == process("/a")
