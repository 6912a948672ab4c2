"""Replay of a selection: which applications, where it stops, dead letters, and that doing it twice writes nothing."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.applications.partition import read_whole
from shared.errors import StorageUnavailable
from shared.events.dead_letters import dead_letters, discard
from shared.events.stored_runs import RunFilter, prefixes, stored_runs
from shared.maintenance.publish_missing import publish_all
from shared.maintenance.replay import (
    REPLAY,
    LetterOutcome,
    ReplayedApplication,
    ReplayedLetter,
    ReplayOutcome,
    ReplayPosition,
    replay,
    wanted_applications,
)
from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from shared.records.states import State
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import BlobFact
from shared.storage_layout import APPLICATIONS, EVENTS
from tests.support.dead_letters import replace_blob
from tests.support.events import event, run_id, write
from tests.support.processing import Watched
from tests.support.publishing import UnreliableCatalog, context_of
from tests.support.runtime import Runtime

ALL = ReplayPosition(wanted=RunFilter())
MINE = Names(rules=(rule("mine", type="fs_path", namespace="file", path="(?P<path>.*)", to="mine:/{path}"),))
"""A file of names that was put right after the runs had been folded."""


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def replayed(runtime: Runtime, begin: ReplayPosition = ALL) -> dict[str, ReplayOutcome]:
    """The outcome of each application."""
    outcomes = [
        replayed_item
        for replayed_item in replay(runtime.processor, begin)
        if isinstance(replayed_item, ReplayedApplication)
    ]
    assert len({outcome.application for outcome in outcomes}) == len(outcomes), "each once"
    return {outcome.application: outcome.outcome for outcome in outcomes}


def letters_of(runtime: Runtime) -> list[LetterOutcome]:
    return [
        replayed_item.outcome
        for replayed_item in replay(runtime.processor, ALL)
        if isinstance(replayed_item, ReplayedLetter) and replayed_item.is_news
    ]


def three_days() -> Runtime:
    runtime = Runtime()
    for day in (20, 21, 22):
        runtime.run(*write(f"r{day}", f"app{day}", f"2026-11-{day}T10:00", f"/s{day}", sink=f"/o{day}"))
    return runtime


def test_a_replay_converges_on_the_current_names_and_a_second_one_writes_nothing() -> None:
    runtime = three_days()
    runtime.names = MINE
    assert set(replayed(runtime).values()) == {ReplayOutcome.CHANGED}
    assert runtime.publish().written == 3
    inputs = [sorted(key[1] for key in process.inputs) for process in runtime.catalog.processes.values()]
    assert sorted(inputs) == [["mine://s20"], ["mine://s21"], ["mine://s22"]]
    writes = runtime.catalog.writes
    assert set(replayed(runtime).values()) == {ReplayOutcome.SAME}
    publish_result, remaining_count = publish_all(runtime.context)
    assert (publish_result.written, publish_result.unchanged, remaining_count, runtime.catalog.writes) == (
        0,
        3,
        0,
        writes,
    )
    assert status(runtime.storage).published == 6


@pytest.mark.parametrize(
    ("run_filter", "expected"),
    [
        (RunFilter(), ["app20", "app21", "app22"]),
        (RunFilter(since=utc("2026-11-21T00:00")), ["app21", "app22"]),
        (RunFilter(before=utc("2026-11-21T00:00")), ["app20"]),
        (RunFilter(since=utc("2026-11-21T00:00"), before=utc("2026-11-22T10:00")), ["app21"]),
        (RunFilter(since=utc("2026-11-21T10:00:15"), before=utc("2026-11-21T10:01")), ["app21"]),
        (RunFilter(since=utc("2026-11-21T10:00:31"), before=utc("2026-11-22T10:00")), []),
        (RunFilter(run_id=run_id("r21")), ["app21"]),
        (RunFilter(run_id=run_id("nobody")), []),
        (RunFilter(run_id=run_id("r21"), before=utc("2026-11-21T00:00")), []),
        (RunFilter(job="app.*"), ["app20", "app21", "app22"]),
        (RunFilter(job="other.*"), []),
    ],
    ids=str,
)
@pytest.mark.parametrize("archived", [False, True])
def test_only_applications_of_runs_that_match_the_filter_are_computed(
    run_filter: RunFilter, expected: list[str], archived: bool
) -> None:
    runtime = three_days()
    if archived:
        runtime.archive()
    begin = ReplayPosition(wanted=run_filter)
    planned = {application for _, application, _ in wanted_applications(runtime.storage, begin)}
    assert planned == {run_id(name) for name in expected}
    assert replayed(runtime, begin) == dict.fromkeys(planned, ReplayOutcome.SAME)


def test_an_application_over_several_hours_is_computed_once() -> None:
    runtime = Runtime()
    options: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/o"], "application": "app"}
    times = (("START", "10:30:00"), ("RUNNING", "11:30:00"), ("COMPLETE", "12:30:00"))
    runtime.run(*(event("long", kind, event_time, **options) for kind, event_time in times))
    assert replayed(runtime) == {run_id("app"): ReplayOutcome.SAME}


def test_a_replay_folds_what_was_never_noted_or_never_delivered() -> None:
    runtime = Runtime()
    runtime.receive(*write("a", "app", "10:00", "/a"), *write("b", "other", "10:00", "/b"))
    runtime.post(write("open", "app", "11:00", "/a")[0])
    for row in list(runtime.storage.scan(APPLICATIONS)):
        if run_id("b") in row.key:
            runtime.storage.delete(APPLICATIONS, row.partition, row.key)
    replayed(runtime)
    assert runtime.publish().written == 1, "both write it"
    current_status = status(runtime.storage)
    assert (current_status.published, current_status.waiting_for) == (4, {"the end of the run": 1})


def test_a_selection_brings_nothing_back_that_was_forgotten() -> None:
    runtime = three_days()
    runtime.archive(keep_runs=timedelta(days=1))
    for day in (1, 2, 3):
        runtime.run(*write(f"n{day}", f"new{day}", f"2026-12-0{day}T10:00", "/s20", sink="/o20"))
        runtime.run(event(f"new{day}", "COMPLETE", f"2026-12-0{day}T11:00:00"))
    for _ in range(12):
        runtime.sweep(timedelta(days=2))
        runtime.publish()
    assert not read_whole(runtime.storage, run_id("app20")).etag, "superseded by a closed one, and forgotten"
    rows_before = list(runtime.storage.scan(APPLICATIONS))
    assert replayed(runtime)[run_id("app20")] is ReplayOutcome.FORGOTTEN
    assert list(runtime.storage.scan(APPLICATIONS)) == rows_before


def test_a_stopped_replay_continues_after_its_last_application() -> None:
    runtime = three_days()
    taken_applications: list[str] = []
    wanted_run_filter = RunFilter(since=utc("2026-11-20T00:00"), job="app*")
    for replayed_item in replay(
        runtime.processor, ReplayPosition(wanted=wanted_run_filter), stopped=lambda: len(taken_applications) == 2
    ):
        assert isinstance(replayed_item, ReplayedApplication)
        taken_applications.append(replayed_item.application)
    assert taken_applications == [run_id("app20"), run_id("app21")]
    stop = REPLAY.load(runtime.storage)
    assert stop
    assert stop.wanted == wanted_run_filter
    assert stop.after == f"2026/11/21/10/{run_id('app21')}/{run_id('r21')}"
    assert list(replayed(runtime, stop)) == [run_id("app22")]
    assert REPLAY.load(runtime.storage) is None


def test_an_outage_of_storage_leaves_a_checkpoint() -> None:
    runtime = Runtime()
    for number in range(150):
        runtime.receive(*write(f"r{number}", f"app{number}", "10:00", f"/s{number}", sink=f"/o{number}"))
    taken_applications: list[str] = []
    watched = Watched(runtime.storage)

    def away(_name: str, _arguments: tuple[Any, ...]) -> None:
        if len(taken_applications) == 120:
            raise StorageUnavailable("no answer")

    watched.step_in = away
    outcomes = replay(replace(runtime.processor, storage=watched), ALL)
    with pytest.raises(StorageUnavailable):
        taken_applications.extend(
            outcome.application for outcome in outcomes if isinstance(outcome, ReplayedApplication)
        )
    stop = REPLAY.load(runtime.storage)
    assert stop
    assert f"/{taken_applications[99]}/" in stop.after
    assert len(replayed(runtime, stop)) == 50
    assert status(runtime.storage).waiting_for == {"the catalog": 300}


def test_a_replay_that_begins_during_another_keeps_its_own_checkpoint() -> None:
    runtime = three_days()
    first = replay(runtime.processor, ALL)
    next(first)
    other = RunFilter(since=utc("2026-11-21T00:00"))
    second = replay(runtime.processor, ReplayPosition(wanted=other))
    next(second)
    assert len(list(first)) == 2
    stop = REPLAY.load(runtime.storage)
    assert stop
    assert stop.wanted == other


def test_dead_letters_of_the_selection_are_replayed_and_used_once_they_can_be() -> None:
    runtime = three_days()
    start, end = runtime.receive(*write("dead", "app", "2026-11-21T11:00", "/a", sink="/dead"))
    replace_blob(runtime.storage, start, b"hello")
    runtime.deliver(end)
    position = ReplayPosition(wanted=RunFilter(since=utc("2026-11-22T00:00")))
    assert not [
        replayed_item
        for replayed_item in replay(runtime.processor, position)
        if isinstance(replayed_item, ReplayedLetter)
    ]
    assert letters_of(runtime) == [LetterOutcome.FAILED]
    assert [letter.count for letter in dead_letters(runtime.storage)] == [2]
    discard(runtime.storage, start.digest)
    assert letters_of(runtime) == [], "a discarded one is no news"
    assert [bool(letter.discarded) for letter in dead_letters(runtime.storage)] == [True]
    replace_blob(runtime.storage, start, gzip.compress(write("dead", "app", "2026-11-21T11:00", "/a")[0]))
    runtime.memory = type(runtime.memory)()
    assert letters_of(runtime) == [LetterOutcome.USED]
    assert list(dead_letters(runtime.storage)) == []
    assert read_whole(runtime.storage, run_id("app")).records[run_id("dead")].verdict is State.CONTRIBUTED


def test_blobs_are_listed_on_demand_and_only_for_the_wanted_period() -> None:
    """28 days; the first run is returned before the second day is listed."""
    asked_prefixes: list[str] = []
    blob_names: list[str] = []

    class Listed(MemoryStorage):
        def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
            if container == EVENTS:
                asked_prefixes.append(prefix)
            for fact in super().blobs(container, prefix):
                blob_names.append(fact.name)
                yield fact

    storage = Listed()
    runtime = Runtime(storage=storage)
    for day in range(1, 29):
        runtime.receive(*write(f"r{day}", "app", f"2026-11-{day:02}T10:00", "/a"))
    asked_prefixes.clear()
    blob_names.clear()
    matching_runs = stored_runs(storage, RunFilter(since=utc("2026-11-14T09:30"), before=utc("2026-11-16T12:00")))
    assert next(matching_runs).run_id == run_id("r14")
    assert len(blob_names) <= 3
    assert {run.run_id for run in matching_runs} == {run_id("r15"), run_id("r16")}
    assert {name[:10] for name in blob_names} == {"2026/11/14", "2026/11/15", "2026/11/16"}
    assert asked_prefixes[-13:] == ["2026/11/15/", *(f"2026/11/16/{hour:02}/" for hour in range(12))]


MOMENTS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis wants bounds without a zone


@given(MOMENTS | st.none(), MOMENTS | st.none(), MOMENTS)
def test_a_few_sorted_prefixes_cover_each_hour_of_a_period_once(
    since: datetime | None, before: datetime | None, moment: datetime
) -> None:
    prefix_list = list(prefixes(since, before))
    assert prefix_list == sorted(prefix_list)
    assert len(prefix_list) <= 200
    hits = sum(f"{moment:%Y/%m/%d/%H/}".startswith(prefix) for prefix in prefix_list)
    if (since is None or since <= moment) and (before is None or moment < before):
        assert hits == 1
    else:
        assert hits <= 1


def test_an_unavailable_catalog_is_reported_and_not_called_during_the_pause() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    Runtime(storage=storage).post(*write("a", "app", "10:00", "/a"))
    catalog.away = True
    publish_result, remaining_count = publish_all(context_of(storage, catalog))
    assert (publish_result.error, remaining_count) == ("no answer", 1)
    calls = catalog.calls
    publish_result, remaining_count = publish_all(context_of(storage, catalog))
    assert "publishing is paused until" in publish_result.error
    assert "no answer" in publish_result.error
    assert (catalog.calls, remaining_count) == (calls, 1)
