"""Replay: which runs, in which order, what it costs, where it stops, and that doing it twice writes nothing."""

import gzip
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.catalog.memory import MemoryCatalog
from shared.errors import StorageUnavailable
from shared.events.dead_letters import dead_letters, discard
from shared.events.stored_runs import RunFilter, prefixes, stored_runs
from shared.maintenance.replay import (
    LetterOutcome,
    ReplayedLetter,
    ReplayedRun,
    ReplayOutcome,
    ReplayPosition,
    last_position,
    plan,
    publish_all,
    replay,
)
from shared.naming.names import BUILT_IN, Names
from shared.naming.rules.rule import rule
from shared.processing.processor import RunProcessor
from shared.processing.triggers import Replayed
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import BlobFact
from shared.storage_layout import EVENTS, StoredEvent
from tests.support.dead_letters import Stepped, replace_blob
from tests.support.events import event, run_id, write
from tests.support.processing import post, settle, state_of, supported_inputs
from tests.support.publishing import UnreliableCatalog, context_of

ALL = ReplayPosition(wanted=RunFilter())
MINE = Names(rules=(rule("mine", type="fs_path", namespace="file", path="(?P<path>.*)", to="mine:/{path}"),))
"""A file of names that was put right after the runs had been settled."""


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def settled(storage: MemoryStorage, *bodies: bytes) -> list[StoredEvent]:
    places = post(storage, *bodies)
    for place in places:
        settle(storage, place)
    return places


def runs_of(
    storage: Any, wanted: RunFilter, *, after: str = "", names: Names = BUILT_IN
) -> dict[str, list[ReplayOutcome]]:
    """The outcomes of each run, hour by hour."""
    found: dict[str, list[ReplayOutcome]] = {}
    for each in replay(storage, ReplayPosition(wanted=wanted, after=after), names=names):
        if isinstance(each, ReplayedRun):
            found.setdefault(each.run.run_id, []).append(each.outcome)
    return found


def three_days(storage: MemoryStorage) -> None:
    for day in (20, 21, 22):
        settled(storage, *write(f"r{day}", f"app{day}", f"2026-11-{day}T10:00", f"/s{day}", sink=f"/o{day}"))


def catalogued(catalog: MemoryCatalog) -> dict[str, list[str]]:
    return {name: sorted(key[1] for key in process.inputs) for name, process in catalog.processes.items()}


def test_a_replay_converges_on_the_current_names_and_a_second_one_writes_nothing() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    three_days(storage)
    publish_all(context_of(storage, catalog))
    list(replay(storage, ALL, names=MINE))
    publish_all(context_of(storage, catalog))
    fresh, expected = MemoryStorage(), MemoryCatalog()
    for fact in storage.blobs(EVENTS):
        fresh.put_new(EVENTS, fact.name, storage.get(EVENTS, fact.name) or b"")
    list(replay(fresh, ALL, names=MINE))
    publish_all(context_of(fresh, expected))
    assert catalogued(catalog) == catalogued(expected)
    assert all(name.startswith("mine:/") for inputs in catalogued(catalog).values() for name in inputs)
    writes = catalog.writes
    list(replay(storage, ALL, names=MINE))
    done, left = publish_all(context_of(storage, catalog))
    assert (done.written, done.unchanged, left, catalog.writes) == (0, 3, 0, writes)
    assert status(storage).published == 6


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RunFilter(), ["r20", "r21", "r22"]),
        (RunFilter(since=utc("2026-11-21T00:00")), ["r21", "r22"]),
        (RunFilter(before=utc("2026-11-21T00:00")), ["r20"]),
        (RunFilter(since=utc("2026-11-21T00:00"), before=utc("2026-11-22T10:00")), ["r21"]),
        (RunFilter(since=utc("2026-11-21T10:00:15"), before=utc("2026-11-21T10:01")), ["r21"]),
        (RunFilter(since=utc("2026-11-21T10:00:31"), before=utc("2026-11-22T10:00")), []),
        (RunFilter(run_id=run_id("r21")), ["r21"]),
        (RunFilter(run_id=run_id("nobody")), []),
        (RunFilter(run_id=run_id("r21"), before=utc("2026-11-21T00:00")), []),
        (RunFilter(job="app.*"), ["r20", "r21", "r22"]),
    ],
    ids=str,
)
def test_only_runs_that_match_the_filter_are_replayed(wanted: RunFilter, expected: list[str]) -> None:
    storage = MemoryStorage()
    three_days(storage)
    assert runs_of(storage, wanted) == {run_id(name): [ReplayOutcome.PROCESSED] for name in expected}


def test_jobs_are_chosen_by_their_names() -> None:
    storage = MemoryStorage()
    settled(
        storage, event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/o"], application="x", job="nightly.q")
    )
    settled(storage, event("b", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/o"], application="x", job="hourly.q"))
    for place in post(storage, event("c", "COMPLETE", "10:01:00", application="x", outputs=["/c"], job="nightly.r")):
        storage.delete("runs", place.run_id, place.row_key)
    assert runs_of(storage, RunFilter(job="nightly*")) == {
        run_id("a"): [ReplayOutcome.PROCESSED],
        run_id("b"): [ReplayOutcome.OTHER_JOB],
        run_id("c"): [ReplayOutcome.PROCESSED],
    }


def long_run(storage: MemoryStorage) -> None:
    """A run over three hours."""
    options: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/o"], "application": "app"}
    times = (("START", "10:30:00"), ("RUNNING", "11:30:00"), ("COMPLETE", "12:30:00"))
    settled(storage, *(event("long", kind, at, **options) for kind, at in times))


def test_a_run_over_several_hours_is_settled_once() -> None:
    storage = MemoryStorage()
    long_run(storage)
    before = state_of(storage, "long").generation
    assert runs_of(storage, RunFilter()) == {
        run_id("long"): [ReplayOutcome.PROCESSED, ReplayOutcome.PROCESSED_EARLIER, ReplayOutcome.PROCESSED_EARLIER]
    }
    assert state_of(storage, "long").generation == before + 1
    assert runs_of(storage, RunFilter(since=utc("2026-11-21T11:00"))) == {
        run_id("long"): [ReplayOutcome.PROCESSED, ReplayOutcome.PROCESSED_EARLIER]
    }


def test_a_replay_settles_blobs_whose_rows_are_lost() -> None:
    storage = MemoryStorage()
    long_run(storage)
    lost = [row for row in storage.scan("runs") if row.key.startswith("event|")]
    for row in lost:
        storage.delete("runs", row.partition, row.key)
    storage.delete("runs", run_id("long"), "state")
    runs_of(storage, RunFilter())
    assert len(state_of(storage, "long").merged) == 3
    assert state_of(storage, "long").end == "COMPLETE"
    assert supported_inputs(storage) == ["/a"]


def test_an_unsettled_run_is_left_waiting_for_its_end() -> None:
    storage = MemoryStorage()
    post(storage, write("a", "app", "10:00", "/a")[0])
    assert runs_of(storage, RunFilter()) == {run_id("a"): [ReplayOutcome.WAITING]}
    assert storage.read("runs", run_id("a"), "state") is None


def test_an_end_that_no_trigger_delivered_is_settled() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    assert runs_of(storage, RunFilter()) == {run_id("a"): [ReplayOutcome.PROCESSED]}
    assert (state_of(storage, "a").end, supported_inputs(storage)) == ("COMPLETE", ["/a"])


def test_a_plan_writes_nothing_and_reports_the_work_of_a_replay() -> None:
    storage = MemoryStorage()
    three_days(storage)
    long_run(storage)
    post(storage, write("open", "app", "10:00", "/a")[0])
    before = {table: list(storage.scan(table)) for table in storage._tables}
    planned = [(each.run.folder, each.outcome) for each in plan(storage, ALL)]
    assert {table: list(storage.scan(table)) for table in storage._tables} == before
    done = [(each.run.folder, each.outcome) for each in replay(storage, ALL) if isinstance(each, ReplayedRun)]
    assert planned == done
    assert Counter(outcome for _, outcome in planned) == {
        ReplayOutcome.PROCESSED: 4,
        ReplayOutcome.PROCESSED_EARLIER: 2,
        ReplayOutcome.WAITING: 1,
    }


def test_a_stopped_replay_continues_after_its_last_run() -> None:
    storage = MemoryStorage()
    three_days(storage)
    taken: list[str] = []
    wanted = RunFilter(since=utc("2026-11-20T00:00"), job="app*")
    for each in replay(storage, ReplayPosition(wanted=wanted), stopped=lambda: len(taken) == 2):
        assert isinstance(each, ReplayedRun)
        taken.append(each.run.run_id)
    assert taken == [run_id("r20"), run_id("r21")]
    stop = last_position(storage)
    assert stop
    assert stop.wanted == wanted
    assert stop.after == f"2026/11/21/10/{run_id('r21')}"
    rest = [each.run.run_id for each in replay(storage, stop) if isinstance(each, ReplayedRun)]
    assert rest == [run_id("r22")]
    assert last_position(storage) is None


def test_an_outage_of_storage_leaves_a_checkpoint() -> None:
    storage = Stepped(MemoryStorage())
    for number in range(150):
        post(storage.real, *write(f"r{number}", "app", "10:00", f"/s{number}", sink=f"/o{number}"))
    taken: list[str] = []

    def away(_name: str, _arguments: tuple[Any, ...]) -> None:
        if len(taken) == 120:
            raise StorageUnavailable("no answer")

    storage.step_in = away
    folders = (each.run.folder for each in replay(storage, ALL) if isinstance(each, ReplayedRun))
    with pytest.raises(StorageUnavailable):
        taken.extend(folders)
    stop = last_position(storage.real)
    assert stop
    assert stop.after == taken[99]
    rest = [each.run.folder for each in replay(storage.real, stop) if isinstance(each, ReplayedRun)]
    assert len(rest) == 50
    assert status(storage.real).waiting_for == {"the catalog": 300}


def test_a_replay_that_begins_during_another_keeps_its_own_checkpoint() -> None:
    storage = MemoryStorage()
    three_days(storage)
    first = replay(storage, ALL)
    next(first)
    other = RunFilter(since=utc("2026-11-21T00:00"))
    second = replay(storage, ReplayPosition(wanted=other))
    next(second)
    assert len(list(first)) == 2
    stop = last_position(storage)
    assert stop
    assert stop.wanted == other


def test_dead_letters_within_the_filter_are_replayed_first_and_their_runs_settled_once() -> None:
    storage = MemoryStorage()
    three_days(storage)
    start, end = post(storage, *write("dead", "app", "2026-11-21T11:00", "/a", sink="/dead"))
    replace_blob(storage, start, b"hello")
    settle(storage, end)
    replayed = list(replay(storage, ReplayPosition(wanted=RunFilter(since=utc("2026-11-22T00:00")))))
    assert [type(each) for each in replayed] == [ReplayedRun], "it is not within"
    replayed = list(replay(storage, ALL))
    assert isinstance(replayed[0], ReplayedLetter)
    assert (replayed[0].outcome, replayed[0].letter.count) == (LetterOutcome.FAILED, 2)
    assert [each.count for each in dead_letters(storage)] == [2]
    replace_blob(storage, start, gzip.compress(write("dead", "app", "2026-11-21T11:00", "/a")[0]))
    replayed = list(replay(storage, ALL))
    assert [each.outcome for each in replayed if isinstance(each, ReplayedLetter)] == [LetterOutcome.USED]
    assert list(dead_letters(storage)) == []


def test_a_discarded_dead_letter_is_returned_only_if_its_event_can_be_used_now() -> None:
    storage = MemoryStorage()
    start, end = post(storage, *write("dead", "app", "2026-11-21T11:00", "/a", sink="/dead"))
    replace_blob(storage, start, b"hello")
    settle(storage, end)
    discard(storage, start.digest)
    assert not [each for each in replay(storage, ALL) if isinstance(each, ReplayedLetter)]
    assert [bool(each.discarded) for each in dead_letters(storage)] == [True]
    replace_blob(storage, start, gzip.compress(write("dead", "app", "2026-11-21T11:00", "/a")[0]))
    assert [each.outcome for each in replay(storage, ALL) if isinstance(each, ReplayedLetter)] == [LetterOutcome.USED]
    assert list(dead_letters(storage)) == []


def test_blobs_are_listed_on_demand_and_only_for_the_wanted_period() -> None:
    """28 days; the first run is returned before the second day is listed."""
    asked: list[str] = []
    given: list[str] = []

    class Listed(MemoryStorage):
        def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
            if container == EVENTS:
                asked.append(prefix)
            for fact in super().blobs(container, prefix):
                given.append(fact.name)
                yield fact

    storage = Listed()
    for day in range(1, 29):
        settled(storage, *write(f"r{day}", "app", f"2026-11-{day:02}T10:00", "/a"))
    asked.clear()
    given.clear()
    found = stored_runs(storage, RunFilter(since=utc("2026-11-14T09:30"), before=utc("2026-11-16T12:00")))
    assert next(found).run_id == run_id("r14")
    assert len(given) <= 3
    assert {run.run_id for run in found} == {run_id("r15"), run_id("r16")}
    assert {name[:10] for name in given} == {"2026/11/14", "2026/11/15", "2026/11/16"}
    assert asked[-13:] == ["2026/11/15/", *(f"2026/11/16/{hour:02}/" for hour in range(12))]


MOMENTS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis wants bounds without a zone


@given(MOMENTS | st.none(), MOMENTS | st.none(), MOMENTS)
def test_a_few_sorted_prefixes_cover_each_hour_of_a_period_once(
    since: datetime | None, before: datetime | None, moment: datetime
) -> None:
    found = list(prefixes(since, before))
    assert found == sorted(found)
    assert len(found) <= 200
    hits = sum(f"{moment:%Y/%m/%d/%H/}".startswith(prefix) for prefix in found)
    if (since is None or since <= moment) and (before is None or moment < before):
        assert hits == 1
    else:
        assert hits <= 1


def test_an_unavailable_catalog_is_reported_and_not_called_during_the_pause() -> None:
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    settled(storage, *write("a", "app", "10:00", "/a"))
    catalog.away = True
    done, left = publish_all(context_of(storage, catalog))
    assert (done.error, left) == ("no answer", 1)
    calls = catalog.calls
    done, left = publish_all(context_of(storage, catalog))
    assert "publishing is paused until" in done.error
    assert "no answer" in done.error
    assert (catalog.calls, left) == (calls, 1)


def test_a_replay_does_not_change_contributions_when_nothing_else_has_changed() -> None:
    storage = MemoryStorage()
    three_days(storage)
    before = sorted(supported_inputs(storage))
    RunProcessor(storage=storage).process(run_id("r21"), Replayed())
    runs_of(storage, RunFilter())
    assert sorted(supported_inputs(storage)) == before
