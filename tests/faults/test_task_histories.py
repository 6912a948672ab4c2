"""Histories with tasks above applications: what is generated, and what the pure core makes of it."""

import json
import random
from collections import Counter
from datetime import timedelta

from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from shared.translation.reference import translate_history
from tests.faults.generated_events import events_of, history_of
from tests.faults.reference import pure_end
from tests.faults.simulation import EPOCH, NEVER
from tests.faults.task_histories import UNUSABLE_NAMES, unusable_run, with_schemas, with_tasks
from tests.support.events import event, run_id, write

HISTORY = [event("app", "START", "10:00:00"), *write("r", "app", "10:01", "/a"), event("app", "COMPLETE", "10:02:00")]


def by_run(bodies: list[bytes]) -> dict[str, list[Event]]:
    events_by_run: dict[str, list[Event]] = {}
    for body in bodies:
        events_by_run.setdefault(decode(body).run_id, []).append(decode(body))
    return events_by_run


def parents(events: list[Event]) -> list[str]:
    bodies = [found.body for found in events]
    return [body.parent.run.run_id if body and body.parent else "" for body in bodies]


def test_an_application_s_own_events_name_the_task_all_or_some_or_the_last_alone() -> None:
    ways = Counter[tuple[bool, ...]]()
    for seed in range(60):
        runs = by_run(with_tasks(HISTORY, random.Random(seed)))
        ways[tuple(bool(parent) for parent in parents(runs[run_id("app")]))] += 1
    assert set(ways) == {(True, True), (False, True), (True, False), (False, False)}
    assert ways[True, True] > 15


def test_the_application_lies_in_the_task_s_run_and_its_jobs_in_its_own() -> None:
    events_by_run = next(
        runs
        for seed in range(60)
        for runs in (by_run(with_tasks(HISTORY, random.Random(seed))),)
        if all(parents(runs[run_id("app")])) and set(parents(runs[run_id("r")])) == {run_id("app")}
    )
    task = merge(events_by_run[run_id("app")]).application_run
    assert task not in {run_id("app"), run_id("r")}
    assert merge(events_by_run[run_id("r")]).application_run == run_id("app")


def test_runs_are_split_between_applications_in_some_histories() -> None:
    split = [
        seed
        for seed in range(60)
        if any(
            len(set(parents(events)) - {""}) > 1 for events in by_run(with_tasks(HISTORY, random.Random(seed))).values()
        )
    ]
    assert 5 < len(split) < 55


def test_a_share_of_all_histories_has_tasks() -> None:
    with_task = sum(any(b"dag.task" in body for body in history_of(seed).bodies) for seed in range(100))
    assert 25 < with_task < 60


def test_the_reference_without_a_clock_is_the_pure_core() -> None:
    for seed in range(60):
        bodies = events_of(seed)
        pure = translate_history(map(decode, bodies))
        end = pure_end(bodies, now=EPOCH, quiet=NEVER, times_out=False)
        assert end.processes == pure.processes
        assert end.states.total() == len(set(bodies))


def test_the_reference_times_runs_out_and_counts_quiet_applications_as_over() -> None:
    open_end = [event("r", "START", "10:00:00", inputs=["/a"], outputs=["/out"], application="app")]
    awaited = pure_end(open_end, now=EPOCH, quiet=NEVER, times_out=False)
    assert (awaited.states["waiting"], awaited.processes) == (1, ())
    quiet_end = pure_end(open_end, now=EPOCH, quiet=NEVER, times_out=True)
    assert (quiet_end.states["published"], len(quiet_end.processes)) == (1, 1)
    damaged = pure_end(open_end, now=EPOCH, quiet=NEVER, times_out=True, unreadable=1)
    assert damaged.states == Counter(published=1, dead=1)
    two = [*write("r", "old", "10:00", "/a"), *write("s", "new", "11:00", "/b")]
    merged_processes, newer = (
        pure_end(two, now=EPOCH, quiet=quiet, times_out=False).processes for quiet in (NEVER, timedelta(hours=1))
    )
    assert [len(processes[0].inputs) for processes in (merged_processes, newer)] == [2, 1]


def test_unusable_runs_are_dead_and_change_nothing_else() -> None:
    added = unusable_run(HISTORY, random.Random(1))
    plain = pure_end(HISTORY, now=EPOCH, quiet=NEVER, times_out=False, names=UNUSABLE_NAMES)
    end = pure_end([*HISTORY, *added], now=EPOCH, quiet=NEVER, times_out=False, names=UNUSABLE_NAMES)
    assert end.states == plain.states + Counter(dead=len(added))
    assert end.processes == plain.processes


def test_schemas_differ_from_run_to_run() -> None:
    schemas = with_schemas([body for _ in range(4) for body in HISTORY], random.Random(1))
    outputs = [dataset for body in schemas for dataset in json.loads(body)["outputs"]]
    assert len({json.dumps(dataset["facets"].get("schema")) for dataset in outputs}) > 3
