"""Histories with plans that the plan listener sent alone, since it knew no run of the listener for their executions."""

import itertools
import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from tests.support.events import run_id
from tests.support.plans import PlanBuilder, alias, column, facet

Json = dict[str, Any]
INSERT = "execute_insert_into_hadoop_fs_relation_command"


def plan_event(
    run: str,
    event_time: str,
    *,
    application: str,
    source: str = "/a",
    sink: str = "/b",
    columns: Iterable[tuple[str, str]] = (("x", "x"),),
    failed: bool = False,
    problem: str = "",
    execution: int = 0,
) -> bytes:
    """The event of a plan alone: `sink` is written from `source`, each column (first) from one of it (second).

    `run` and `application` are ids; `event_time` is an ISO time. With a `problem` the plan could not be written.
    """
    of_plan: Json = {"format": 1, "spark": "4.1.4", "application": "local-1", "execution": execution, "joined": False}
    if failed:
        of_plan["failed"] = "org.apache.spark.SparkException"
    if problem:
        of_plan["problem"] = problem
    else:
        of_plan["plan"] = _document(source, sink, tuple(columns))
    parent = {"run": {"runId": application}, "job": {"namespace": "tests", "name": "app"}}
    job_type = {"jobType": "SQL_JOB", "processingType": "BATCH", "integration": "SPARK"}
    event: Json = {
        "eventType": "FAIL" if failed else "COMPLETE",
        "eventTime": event_time,
        "producer": "https://throughline.dev/spark-listener/0.1.0",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": {"parent": parent, "throughline_plan": of_plan}},
        "job": {"namespace": "tests", "name": f"app.{INSERT}", "facets": {"jobType": job_type}},
        "inputs": [],
        "outputs": [],
    }
    return json.dumps(event).encode()


def _document(source: str, sink: str, columns: tuple[tuple[str, str], ...]) -> str:
    plans = PlanBuilder()
    sources = {name: column(number, name) for number, name in enumerate(dict.fromkeys(name for _, name in columns), 1)}
    table = plans.table(f"file:{source}", *sources.values())
    named = [alias(100 + number, name, sources[source_number]) for number, (name, source_number) in enumerate(columns)]
    return facet(plans.writing(plans.project(table, *named), f"file:{sink}")).plan or ""


def with_plans_alone(bodies: Sequence[bytes], draw: random.Random) -> list[bytes]:
    """The same events, with plans alone: some of those that the listener's runs have get runs of their own, and some of
    the writes that have none get a plan, which may say that they failed. Some executions of an application end at once.
    """
    events: list[Json] = [json.loads(body) for body in bodies]
    planned = {_run(event) for event in events if (_facets(event).get("throughline_plan") or {}).get("joined")}
    lone_runs = {run: run_id(f"alone {draw.random()}") for run in sorted(planned) if draw.random() < 0.7}
    for event in events:
        of_plan = _facets(event).get("throughline_plan")
        if of_plan and _run(event) in lone_runs:
            event["run"]["runId"] = lone_runs[_run(event)]
            of_plan["joined"] = False
    planned = {_run(event) for event in events if _facets(event).get("throughline_plan")}
    last = {_run(event): event for event in sorted(events, key=lambda event: str(event["eventTime"]))}
    writes = [event for run, event in sorted(last.items()) if run not in planned and _is_write(event)]
    for first_write, other in itertools.pairwise(writes):
        if _application(first_write) == _application(other) and draw.random() < 0.3:
            first_write["eventTime"] = other["eventTime"] = max(first_write["eventTime"], other["eventTime"])
    plans: list[bytes] = []
    for number, event in enumerate(writes):
        if draw.random() < 0.5:
            plans += [_plan_of(event, draw, number) for _ in range(draw.choice((1, 1, 1, 1, 2)))]
    return [*(json.dumps(event).encode() for event in events), *plans]


def _plan_of(event: Json, draw: random.Random, number: int) -> bytes:
    path = draw.choice(("/a", "/s", "/u"))
    source = draw.choice(
        [*(dataset["name"] for dataset in event.get("inputs", ()) if dataset["namespace"] == "file"), path]
    )
    sinks = [dataset["name"] for dataset in event.get("outputs", ()) if dataset["namespace"] == "file"]
    return plan_event(
        run_id(f"alone {draw.random()}"),
        event["eventTime"],
        application=_application(event),
        source=source,
        sink=draw.choice([*sinks, *sinks, *sinks, path]),
        columns=draw.choice(((("x", "x"),), (("x", "y"),), (("x", "x"), ("y", "x")))),
        failed=draw.random() < 0.2,
        problem="too large" if draw.random() < 0.15 else "",
        execution=number,
    )


def _is_write(event: Json) -> bool:
    return event["eventType"] in {"COMPLETE", "FAIL"} and bool(event.get("outputs")) and bool(_application(event))


def _facets(event: Json) -> Json:
    return event["run"].get("facets") or {}


def _run(event: Json) -> str:
    return str(event.get("run", {}).get("runId", ""))


def _application(event: Json) -> str:
    parent = _facets(event).get("parent")
    return str(parent["run"]["runId"]) if parent else ""
