"""Plans that the jar could not assign to a run of the listener find it by application, time and output."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.openlineage.decoding import decode
from shared.openlineage.run import MergedDataset, MergedRun
from shared.openlineage.run_facets import JobName
from shared.translation.reference import contributions_of, translate_history
from shared.translation.run.application import JOINED, MAX_AT_ONCE, joins_in
from tests.support.events import event, run_id
from tests.support.plans_alone import plan_event

LATE = (Path(__file__).parent / "late_plans.jsonl").read_bytes().splitlines()
"""Events of Spark 4.1 with a listener whose receiver took a second for each answer, and a jar that knew only runs that
had begun in time. Of six writes `two` and `five` failed in a task, which the listener does not tell.
"""

INSERT, CTAS = "execute_insert_into_hadoop_fs_relation_command", "create_table_as_select"
APPLICATION = JobName(namespace="default", name="app")


def run(
    name: str,
    *outputs: str,
    offset: int = 0,
    plan: int | None = None,
    node: str = INSERT,
    app: str = "one",
    reads: str = "",
    began: int = 0,
    kind: str = "SQL_JOB",
) -> MergedRun:
    """A run that ended so many milliseconds after a point in time; `plan`: the number of the execution of a plan."""
    end = datetime(2026, 11, 21, 10, 0, tzinfo=UTC) + timedelta(milliseconds=offset)
    return MergedRun(
        run_id=name,
        job=JobName(namespace="default", name=f"app.{node}"),
        application_run=app,
        application=APPLICATION,
        job_type=kind,
        first=end - timedelta(seconds=9 - began),
        last=end,
        ended="COMPLETE",
        inputs=tuple(MergedDataset(namespace="file", name=path) for path in reads.split()),
        outputs=tuple(MergedDataset(namespace="file", name=output) for output in outputs),
        plan_execution=plan,
        has_plan=plan is not None,
    )


P, Q = run("p", "/a", plan=3), run("q", "/a", plan=4)


@pytest.mark.parametrize(
    ("runs", "joins"),
    [
        pytest.param([P, run("l", "/a")], {"p": "l"}, id="the same end and output"),
        pytest.param([P, run("l", "/a", offset=1)], {}, id="another time"),
        pytest.param([P, run("l", "/a", app="two")], {}, id="another application"),
        pytest.param([P, run("l", "/b")], {}, id="another output"),
        pytest.param([P, run("l", "/a", kind="RDD_JOB")], {}, id="a run that is no execution of SQL"),
        pytest.param([run("p", "/w/a", plan=3), run("l", "default.a")], {"p": "l"}, id="a table by its name"),
        pytest.param([P, run("l")], {"p": "l"}, id="the listener knows no output"),
        pytest.param([run("p", plan=3), run("l", "/a")], {"p": "l"}, id="the plan shows no place"),
        pytest.param([run("p", plan=3), run("l", "/a"), run("m", "/b")], {}, id="one of two runs"),
        pytest.param(
            [P, run("q", "/b", plan=4), run("l", "/b"), run("m", "/a")],
            {"p": "m", "q": "l"},
            id="two executions that end at once",
        ),
        pytest.param(
            [P, run("q", "/a", plan=4, node=CTAS), run("l", "/a", node=f"atomic_{CTAS}"), run("m", "/a")],
            {"p": "m", "q": "l"},
            id="a table and the insert into it",
        ),
        pytest.param(
            [
                run("p", "/a", plan=3, reads="/x"),
                run("q", "/a", plan=4, reads="/x /y"),
                run("l", "/a", reads="/x /y"),
                run("m", "/a", reads="/x"),
            ],
            {"p": "m", "q": "l"},
            id="two equal writes of different sources",
        ),
        pytest.param(
            [P, Q, run("l", "/a", began=2), run("m", "/a", began=1)],
            {"p": "m", "q": "l"},
            id="two equal writes in the order in which they began",
        ),
        pytest.param([run("l", "/a"), run("m", "/a")], {}, id="no plan"),
        pytest.param([P], {}, id="no listener"),
        pytest.param([P, *(run(f"l{number}", "/a") for number in range(MAX_AT_ONCE))], {}, id="too many at once"),
    ],
)
def test_which_run_a_plan_joins(runs: list[MergedRun], joins: dict[str, str]) -> None:
    assert joins_in(runs) == joins
    assert joins_in(reversed(runs)) == joins


executions = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=12)
"""Executions of an application: when they ended, what they wrote, whether the listener and a plan tell of them."""


@given(executions=executions, chance=st.randoms(use_true_random=False))
def test_joins_do_not_depend_on_the_order_and_never_mix_executions(
    executions: list[tuple[int, str, bool, bool]], chance: random.Random
) -> None:
    numbered = list(enumerate(executions))
    listeners = [
        run(f"l{number}", output, offset=offset)
        for number, (offset, output, has_listener, _) in numbered
        if has_listener
    ]
    plans = [
        run(f"p{number}", output, offset=offset, plan=number) for number, (offset, output, _, has) in numbered if has
    ]
    runs = [*listeners, *plans]
    joins = joins_in(runs)
    chance.shuffle(runs)
    assert joins_in(runs) == joins
    assert len(set(joins.values())) == len(joins)
    by_id = {merged_run.run_id: merged_run for merged_run in runs}
    for plan, listener in joins.items():
        assert by_id[plan].last == by_id[listener].last
        assert by_id[plan].outputs == by_id[listener].outputs
    for number, (at, output, told, planned) in numbered:
        alike = [numbered_run for numbered_run in numbered if numbered_run[1][:2] == (at, output)]
        if told and planned and len(alike) == 1:
            assert joins[f"p{number}"] == f"l{number}"


def test_late_plans_give_the_lineage_of_writes_that_did_not_fail() -> None:
    events = [decode(line) for line in LATE]
    history = translate_history(events)
    assert [[asset.name for asset in process.outputs] for process in history.processes] == [
        ["/data/throughline/four"],
        ["/data/throughline/one"],
    ]
    assert sum(verdict.reason == JOINED for verdict in history.runs) == 4
    assert history.jobs.keys() == {verdict.run_id for verdict in history.runs}
    assert translate_history([*reversed(events), *events]) == history


def test_a_joined_plan_is_merged_as_an_event_of_the_run() -> None:
    """As if the jar had known the listener's run."""
    listener = decode(event("l", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/b"], application="app"))
    event_time, application = "2026-11-21T10:00:00Z", run_id("app")
    lone_event = decode(plan_event(run_id("p"), event_time, application=application))
    known_event = decode(plan_event(run_id("l"), event_time, application=application))
    assert contributions_of([listener, lone_event]) == contributions_of([listener, known_event])
    assert contributions_of([lone_event, listener]) != contributions_of([listener])


def test_a_failed_plan_withdraws_the_write_that_the_listener_calls_complete() -> None:
    listener = decode(event("l", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/b"], application="app"))
    failed = plan_event(
        run_id("p"), "2026-11-21T10:00:00Z", application=run_id("app"), failed=True, problem="too large"
    )
    assert translate_history([listener]).processes
    assert not translate_history([listener, decode(failed)]).processes


def test_a_write_is_one_process_whatever_the_listener_calls_the_application() -> None:
    fields: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/b"], "application": "app"}
    unnamed, named = (
        event("l", "COMPLETE", "10:00:00", job=f"{name}.{INSERT}.b", parent=name, **fields)
        for name in ("unknown", "app")
    )
    lone_body = plan_event(run_id("p"), "2026-11-21T10:00:00Z", application=run_id("app"))
    joined, known_history = (translate_history([decode(body), decode(lone_body)]) for body in (unnamed, named))
    assert [process.qualified_name for process in joined.processes] == ["throughline:v1://tests/app/file/b"]
    assert joined.processes == known_history.processes
