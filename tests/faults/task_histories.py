"""Histories changed in ways that captures lack: tasks above applications, split runs, schemas, runs nothing can use.

Airflow above Spark is the usual case: the application's own START and COMPLETE name the task as their parent, and its
jobs name the application. Listeners differ in which of an application's events do so.
"""

import json
import random
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from tests.support.events import run_id

Json = dict[str, Any]
Below = Literal["all", "some", "late", "none"]
"""Which of an application's own events name the task: all, some, or only the last one."""

_BELOW: tuple[Below, ...] = ("all", "all", "some", "late", "none")
_TASK_JOB = {"namespace": "tests", "name": "dag.task"}
_AIRFLOW = {"jobType": {"jobType": "TASK", "processingType": "BATCH", "integration": "AIRFLOW"}}
_STREAM_FACETS = tuple(
    {
        "jobType": {
            "jobType": "JOB",
            "processingType": "STREAMING",
            "integration": "FLINK",
            "emissionPattern": {"eventContentMode": mode},
        }
    }
    for mode in ("ACCUMULATIVE", "COMPLETE_SNAPSHOT")
)
_LONG_STREAMS = 0.4
"""The share of streams with more events than are read again for each fold."""
_COLUMNS = (("x", "int"), ("y", "string"), ("x", "string"), ("z", "int"))

UNUSABLE_NAMES = Names(
    rules=(rule("unusable", type="fs_path", namespace="file", path="/unusable/.*", to="{host}/{path}"),)
)
"""A rule of a user that refers to a group which its pattern lacks: no run that names `/unusable/…` can be used."""


def with_tasks(bodies: Sequence[bytes], draw: random.Random) -> list[bytes]:
    """The same events, with tasks above some of their applications, and with some runs split between applications."""
    events: list[Json] = [json.loads(body) for body in bodies]
    parents = {_parent(event) for event in events} - {""}
    applications = sorted({_run(event) for event in events if not _parent(event)} | parents)
    tasks = [run_id(f"task {draw.randrange(10**6)}") for _ in range(draw.choice((1, 1, 2)))]
    for application in applications:
        events += _own_events(application, events, draw) if application in parents else ()
        own_events = [event for event in events if _run(event) == application and not _parent(event)]
        _put_below(own_events, draw.choice(_BELOW), draw.choice(tasks), draw)
    jobs = [event for event in events if _parent(event) in applications]
    for event in draw.sample(jobs, min(len(jobs), draw.choice((0, 0, 1, 2)))):
        _set_parent(event, draw.choice((*applications, *tasks)))
    for task in tasks:
        events += _task_events(task, events, draw)
    return [json.dumps(event).encode() for event in events]


def _own_events(application: str, events: Iterable[Json], draw: random.Random) -> list[Json]:
    """Events of the application itself, where the history has none, in half of all cases."""
    if any(_run(event) == application for event in events) or draw.random() < 0.5:
        return []
    child = next(event for event in events if _parent(event) == application)
    job = child["run"]["facets"]["parent"]["job"]
    first, last = _times(events)
    kinds = (("START", first - timedelta(seconds=2)), ("COMPLETE", last + timedelta(seconds=1)))
    return [_bare(application, kind, moment, job) for kind, moment in kinds]


def _put_below(task_events: Sequence[Json], placement: Below, task: str, draw: random.Random) -> None:
    order = sorted(task_events, key=_time)
    indexes: Collection[int] = {
        "all": range(len(order)),
        "some": [index for index in range(len(order)) if draw.random() < 0.5],
        "late": range(max(0, len(order) - 1), len(order)),
        "none": (),
    }[placement]
    for index in indexes:
        _set_parent(order[index], task)


def _task_events(task: str, events: Sequence[Json], draw: random.Random) -> list[Json]:
    first, last = _times(events)
    task_events = []
    if draw.random() < 0.7:
        task_events.append(_bare(task, "START", first - timedelta(seconds=1), _TASK_JOB))
    if draw.random() < 0.7:
        task_events.append(_bare(task, draw.choice(("COMPLETE", "FAIL")), last + timedelta(seconds=30), _TASK_JOB))
    if draw.random() < 0.5:
        for event in task_events:
            event["job"] = {**_TASK_JOB, "facets": _AIRFLOW}
    return task_events


def with_schemas(bodies: Sequence[bytes], draw: random.Random) -> list[bytes]:
    """The same events, whose data sets have schemas that differ from run to run."""
    events: list[Json] = [json.loads(body) for body in bodies]
    for event in events:
        for dataset in (*event.get("inputs", ()), *event.get("outputs", ())):
            if draw.random() < 0.7:
                columns = dict(draw.sample(_COLUMNS, draw.randint(1, 3)))
                fields = [{"name": name, "type": kind} for name, kind in sorted(columns.items())]
                dataset.setdefault("facets", {})["schema"] = {"fields": fields}
    return [json.dumps(event).encode() for event in events]


def unusable_run(bodies: Sequence[bytes], draw: random.Random) -> list[bytes]:
    """The events of a run below an application of the history that no translation with `UNUSABLE_NAMES` can use."""
    neighbour: Json = json.loads(draw.choice(bodies))
    application = _parent(neighbour) or _run(neighbour)
    run = run_id(f"unusable {draw.randrange(10**6)}")
    kinds = ("START", "COMPLETE") if draw.random() < 0.5 else ("COMPLETE",)
    bodies_of_run = []
    for index, kind in enumerate(kinds):
        event = _bare(
            run, kind, _time(neighbour) + timedelta(seconds=index), {"namespace": "tests", "name": "app.write"}
        )
        event["inputs"] = [{"namespace": "file", "name": "/a"}]
        event["outputs"] = [{"namespace": "file", "name": f"/unusable/{draw.choice('ab')}"}]
        _set_parent(event, application, {"namespace": "tests", "name": "app"})
        bodies_of_run.append(json.dumps(event).encode())
    return bodies_of_run


def stream_events(bodies: Sequence[bytes], draw: random.Random) -> list[bytes]:
    """The events of a stream that no application is above: it runs, may be cancelled or fail, and may be restarted
    under a new id with other inputs. It writes a data set that other jobs may write or read.
    """
    first, last = _times([json.loads(body) for body in bodies])
    job = {"namespace": "tests", "name": "stream", "facets": draw.choice(_STREAM_FACETS)}
    events: list[Json] = []
    moment = first
    for _ in range(draw.choice((1, 1, 2))):
        run = run_id(f"stream {draw.randrange(10**6)}")
        number = 8 if random.Random(f"long {run}").random() < _LONG_STREAMS else draw.choice((0, 1, 1, 3))
        kinds = ["START", *["RUNNING"] * number, draw.choice(("", "", "ABORT", "FAIL", "COMPLETE"))]
        for kind in filter(None, kinds):
            event = _bare(run, kind, moment, job)
            if draw.random() < 0.7:
                event["inputs"] = [{"namespace": "file", "name": f"/{draw.choice('ab')}"}]
                event["outputs"] = [{"namespace": "file", "name": f"/{draw.choice('cd')}"}]
            events.append(event)
            moment += timedelta(seconds=draw.uniform(1, max(2.0, (last - first).total_seconds() / max(1, number / 3))))
    return [json.dumps(event).encode() for event in events]


def spoiling_event(bodies: Sequence[bytes], draw: random.Random) -> bytes:
    """A later event of a run of the history, after which no translation with `UNUSABLE_NAMES` can use the run."""
    event: Json = json.loads(draw.choice([body for body in bodies if b'"COMPLETE"' in body] or bodies))
    event["eventTime"] = (_time(event) + timedelta(seconds=draw.uniform(1, 900))).isoformat()
    event["eventType"] = draw.choice(("COMPLETE", "RUNNING"))
    event["inputs"] = [*event.get("inputs", ()), {"namespace": "file", "name": "/a"}]
    event["outputs"] = [*event.get("outputs", ()), {"namespace": "file", "name": "/unusable/c"}]
    return json.dumps(event).encode()


def _bare(run: str, kind: str, moment: datetime, job: Json) -> Json:
    return {
        "eventType": kind,
        "eventTime": moment.isoformat(),
        "producer": "https://example.com/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run},
        "job": dict(job),
        "inputs": [],
        "outputs": [],
    }


def _run(event: Json) -> str:
    return str(event.get("run", {}).get("runId", ""))


def _parent(event: Json) -> str:
    facets = event.get("run", {}).get("facets") or {}
    return str(facets["parent"]["run"]["runId"]) if facets.get("parent") else ""


def _set_parent(event: Json, task: str, job: Json | None = None) -> None:
    """Name a parent: of a run that names one already, only the parent's run changes."""
    facets = event["run"].setdefault("facets", {})
    facets["parent"] = {**facets.get("parent", {"job": job or dict(_TASK_JOB)}), "run": {"runId": task}}


def _time(event: Json) -> datetime:
    return datetime.fromisoformat(event["eventTime"])


def _times(events: Iterable[Json]) -> tuple[datetime, datetime]:
    times = sorted(map(_time, events))
    return times[0], times[-1]
