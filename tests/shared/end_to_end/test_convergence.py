"""Any order of events, repetition or crash of a worker gives the same catalog.

The expected result comes from the pure core, given all events at once.
"""

from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared.atlas.entities import ProcessEntity, process_entity
from shared.openlineage.decoding import decode
from shared.publishing.context import PublishOptions
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.translation.aggregate import SupersessionPolicy
from shared.translation.reference import translate_history
from tests.plugins.sample import Sample
from tests.support.chaos import Outcome, simulate_history
from tests.support.events import event, write
from tests.support.publishing import publish
from tests.support.receiving import receive

GOLDEN = Path(__file__).parents[2] / "golden" / "spark35-ol1.53"


def captured(name: str) -> list[bytes]:
    return (GOLDEN / name / "events.jsonl").read_bytes().splitlines()


PATH = "spark.databricks.notebook.path"
NOTEBOOK = {PATH: "/Users/ada/load"}


def tabled(run: str, clock_time: str, source: str, sink: str, sql: str = "") -> list[bytes]:
    """A run that makes one table of another; tables are called like their folders."""
    options: dict[str, Any] = {
        "inputs": [source],
        "outputs": [sink],
        "application": "app",
        "tables": {path: f"default.{path[1:]}" for path in (source, sink)},
        "sql": sql,
    }
    return [event(run, "START", f"{clock_time}:00", **options), event(run, "COMPLETE", f"{clock_time}:30", **options)]


HISTORIES: dict[str, list[bytes]] = {
    "a real merge": captured("customer_merge"),
    "a real join": captured("customer_master"),
    "a source that was dropped": [
        event("app1", "START", "10:00:00"),
        *write("a", "app1", "10:01", "/a"),
        *write("b", "app1", "10:02", "/b"),
        event("app1", "COMPLETE", "10:03:00"),
        event("app2", "START", "11:00:00"),
        *write("c", "app2", "11:01", "/a"),
        event("app2", "COMPLETE", "11:03:00"),
    ],
    "a newer application that failed": [
        *write("a", "app1", "10:01", "/a"),
        event("app1", "COMPLETE", "10:03:00"),
        *write("b", "app2", "11:01", "/b"),
        event("app2", "FAIL", "11:03:00"),
    ],
    "a failure after a success": [
        *write("a", "app1", "10:01", "/a"),
        *write("b", "app1", "10:02", "/b"),
        write("b", "app1", "10:03", "/b", end="FAIL")[1],
        event("app1", "COMPLETE", "10:04:00"),
    ],
    "nothing but a failure after a success": [
        *write("a", "app1", "10:01", "/a"),
        write("a", "app1", "10:03", "/a", end="FAIL")[1],
    ],
    "two runs that say the same, one of which failed": [
        *write("a", "app1", "10:01", "/a"),
        *write("a2", "app1", "10:02", "/a"),
        write("a2", "app1", "10:03", "/a", end="FAIL")[1],
    ],
    "an event in the middle that adds an input": [
        *write("a", "app1", "10:01", "/a"),
        event("a", "RUNNING", "10:01:10", inputs=["/late"], outputs=["/out"], application="app1"),
    ],
    "a run whose events disagree about their application": [
        *write("a", "app1", "10:01", "/a"),
        *write("b", "app1", "10:02", "/b"),
        event("b", "RUNNING", "10:01:50", inputs=["/b"], outputs=["/out"]),
        event("app1", "COMPLETE", "10:04:00"),
    ],
    "an application that began first and never ends": [
        event("app2", "START", "09:00:00"),
        *write("a", "app1", "10:01", "/a"),
        event("app1", "COMPLETE", "10:04:00"),
        *write("b", "app2", "10:03", "/b"),
    ],
    "streams side by side, whose batches enclose writes without a source": [
        event("batch1", "START", "10:00:00", inputs=["/s1"], application="app", streaming=True),
        event("batch2", "START", "10:00:01", inputs=["/s2"], application="app", streaming=True),
        event("m1", "START", "10:00:02", inputs=["/t1"], outputs=["/t1"], application="app"),
        event("m1", "COMPLETE", "10:00:05", inputs=["/t1"], outputs=["/t1"], application="app"),
        event("batch1", "COMPLETE", "10:00:06", inputs=["/s1"], application="app", streaming=True),
        event("m2", "COMPLETE", "10:00:07", inputs=["/t2"], outputs=["/t2"], application="app"),
        event("batch2", "COMPLETE", "10:00:08", inputs=["/s2"], application="app", streaming=True),
    ],
    "a staging table that is dropped": [
        *write("a", "app", "10:01", "/a", sink="/stage"),
        *write("b", "app", "10:02", "/stage"),
        event("drop", "COMPLETE", "10:03:00", outputs=["/stage"], application="app", states={"/stage": ("DROP", "")}),
        *write("c", "app2", "11:01", "/a", sink="/stage"),
    ],
    "a table that is swapped in": [
        *write("a", "app", "10:01", "/a", sink="/new"),
        *write("b", "app", "10:02", "/new", sink="/report"),
        event("drop", "COMPLETE", "10:03:00", outputs=["/now"], application="app", states={"/now": ("DROP", "")}),
        event("swap", "COMPLETE", "10:04:00", outputs=["/now"], application="app", states={"/now": ("RENAME", "/new")}),
        *write("c", "app", "10:05", "/b", sink="/now"),
    ],
    "a staging table that is dropped by its name alone": [
        *tabled("a", "10:01", "/a", "/stage"),
        *tabled("b", "10:02", "/stage", "/out"),
        event("drop", "COMPLETE", "10:03:00", application="app", job="app.drop_table", sql="DROP TABLE stage"),
    ],
    "a table that only a statement names": [
        *tabled("a", "10:01", "/a", "/rates"),
        *tabled("b", "10:02", "/b", "/out", sql="CREATE TABLE out AS SELECT x, (SELECT max(r.y) FROM rates r) FROM b"),
        *tabled("c", "10:03", "/c", "/other"),
    ],
    "a notebook that only some runs tell": [
        *write("a", "app", "10:01", "/a"),
        event("b", "START", "10:02:00", application="app", properties=NOTEBOOK),
        *write("b", "app", "10:02", "/b"),
        *write("c", "app", "10:03", "/c", sink="/other"),
        event("app", "COMPLETE", "10:04:00"),
    ],
    "two notebooks in one application": [
        *write("a", "app", "10:01", "/a"),
        event("b", "START", "10:02:00", application="app", properties=NOTEBOOK),
        *write("b", "app", "10:02", "/b"),
        event("c", "START", "10:03:00", application="app", properties={**NOTEBOOK, PATH: "/Users/ada/other"}),
        *write("c", "app", "10:03", "/c", sink="/other"),
    ],
    "three applications at once": [
        body
        for number in range(3)
        for body in (
            event(f"app{number}", "START", f"1{number}:00:00"),
            *write(f"r{number}", f"app{number}", f"1{number}:01", f"/s{number}"),
            *write(f"t{number}", f"app{number}", f"1{number}:02", "/s", sink=f"/out{number}"),
            event(f"app{number}", "COMPLETE", f"1{number}:03:00"),
        )
    ],
}


@cache
def expected(bodies: tuple[bytes, ...]) -> dict[str, ProcessEntity]:
    history = translate_history(map(decode, bodies))
    return {process.qualified_name: process_entity(process) for process in history.processes}


def check(outcome: Outcome, bodies: list[bytes]) -> None:
    assert outcome.deaths or not outcome.left_due, "nobody died, so no mark may be left lying"
    assert outcome.catalog.processes == expected(tuple(bodies))
    current_status = status(outcome.storage)
    assert current_status.reconciles
    assert current_status.received == len(set(bodies))
    assert current_status.in_progress == 0
    assert current_status.dead == 0


@pytest.mark.parametrize("name", HISTORIES)
def test_a_worker_killed_at_any_call_does_not_change_the_result(name: str, sample: Sample) -> None:
    bodies = HISTORIES[name]
    calm = simulate_history(bodies)
    check(calm, bodies)
    check(simulate_history(bodies, kill_at=(calm.calls, "after")), bodies)
    for call in sample(range(1, calm.calls + 1)):  # with one worker, after a call is before the next
        check(simulate_history(bodies, kill_at=(call, "before")), bodies)


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("death", [0.0, 0.05], ids=["calm", "deadly"])
def test_order_repetition_and_interleaving_do_not_change_the_result(name: str, death: float, sample: Sample) -> None:
    bodies = HISTORIES[name]
    deaths = 0
    for seed in sample(range(25)):
        outcome = simulate_history(bodies, seed=seed, workers=4, death=death, duplicates=5)
        deaths += outcome.deaths
        try:
            check(outcome, bodies)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
    assert (deaths > 0) == (death > 0)


def test_receiving_all_events_again_writes_nothing() -> None:
    bodies = [body for history in HISTORIES.values() for body in history]
    outcome = simulate_history(bodies)
    writes = outcome.catalog.writes
    for body in bodies:
        receive(outcome.storage, body, most_bytes=1_000_000)
    options = PublishOptions(patience=SupersessionPolicy(quiet=timedelta(days=100_000)))
    publish(outcome.storage, outcome.catalog, options)
    assert outcome.catalog.writes == writes


def test_a_body_that_comes_again_is_stored_once() -> None:
    storage = MemoryStorage()
    body = event("a", "START", "10:00:00", inputs=["/a"], application="app")
    first = receive(storage, body, most_bytes=1000)
    assert receive(storage, body, most_bytes=1000) == first
    assert status(storage).received == 1
