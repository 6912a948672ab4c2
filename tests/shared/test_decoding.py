"""Decoding: what is refused and where, what is tolerated and at what cost."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.errors import Unreadable
from shared.openlineage import decode
from tests.shared.building import Json, body, dataset, lineage, packed, source, uid

Change = Callable[[Json], object]


def _without(*path: str) -> Change:
    def change(event: Json) -> object:
        *way, last = path
        for key in way:
            event = event[key]
        return event.pop(last)

    return change


def _with(value: Any, *path: str | int) -> Change:
    def change(event: Any) -> object:
        *way, last = path
        for key in way:
            event = event[key]
        event[last] = value
        return event

    return change


REFUSED_FIELDS: dict[str, tuple[Change, str]] = {
    "neither run nor job nor data set": (lambda event: (event.pop("run"), event.pop("job")), "run"),
    "run is text": (_with("x", "run"), "run"),
    "no run id": (_without("run", "runId"), "run.runId"),
    "run id is a number": (_with(7, "run", "runId"), "run.runId"),
    "run id is no uuid": (_with("7", "run", "runId"), "run.runId"),
    "run id has a line break": (_with(uid("run") + "\n", "run", "runId"), "run.runId"),
    "no job": (_without("job"), "job"),
    "job is a list": (_with([], "job"), "job"),
    "no job name": (_without("job", "name"), "job.name"),
    "no job namespace": (_without("job", "namespace"), "job.namespace"),
    "job name is null": (_with(None, "job", "name"), "job.name"),
    "control character in the job's name": (_with("a\x00b", "job", "name"), "job.name"),
    "line break in the job's namespace": (_with("a\nb", "job", "namespace"), "job.namespace"),
    "no time": (_without("eventTime"), "eventTime"),
    "time is a number": (_with(1763719200, "eventTime"), "eventTime"),
    "time is no time": (_with("yesterday", "eventTime"), "eventTime"),
    "time does not exist": (_with("2026-02-30T10:00:00Z", "eventTime"), "eventTime"),
    "time before the first year": (_with("0001-01-01T00:00:00+10:00", "eventTime"), "eventTime"),
    "time before computers": (_with("1969-12-31T23:59:59Z", "eventTime"), "eventTime"),
    "time that cannot be added to": (_with("9999-12-31T23:59:59Z", "eventTime"), "eventTime"),
    "unknown event type": (_with("DONE", "eventType"), "eventType"),
    "event type in lower case": (_with("complete", "eventType"), "eventType"),
}


@pytest.mark.parametrize(("change", "field"), REFUSED_FIELDS.values(), ids=REFUSED_FIELDS)
def test_what_identifies_an_event_must_be_right(change: Change, field: str) -> None:
    broken = body()
    change(broken)
    with pytest.raises(Unreadable) as refusal:
        decode(packed(broken))
    assert refusal.value.field == field
    assert refusal.value.status == 400
    assert field in str(refusal.value)


RUN_EVENT = packed(body())
DEEP = b"[" * 100_000
REFUSED_BYTES = {
    "nothing": (b"", "not JSON"),
    "blanks": (b" \n", "not JSON"),
    "text": (b"hello", "not JSON"),
    "cut off": (RUN_EVENT[:-10], "not JSON"),
    "two events": (RUN_EVENT + RUN_EVENT, "not JSON"),
    "still packed": (gzip.compress(RUN_EVENT), "not JSON"),
    "UTF-16": (RUN_EVENT.decode().encode("utf-16"), "not JSON"),
    "byte order mark": (b"\xef\xbb\xbf" + RUN_EVENT, "not JSON"),
    "not UTF-8": (RUN_EVENT.replace(b'"tests"', b'"t\xffsts"'), "not UTF-8"),
    "half a surrogate pair": (RUN_EVENT.replace(b'"tests"', b'"t\\ud800"'), "not JSON"),
    "NaN": (RUN_EVENT.replace(b'"COMPLETE"', b"NaN"), "not JSON"),
    "a list of events": (b"[" + RUN_EVENT + b"]", "object"),
    "null": (b"null", "object"),
    "a string": (b'"event"', "object"),
    "an empty object": (b"{}", "eventTime"),
    "deep in what nobody reads": (RUN_EVENT[:-1] + b', "x": ' + DEEP + b"]" * len(DEEP) + b"}", "too deeply"),
    "deep and never closed": (RUN_EVENT[:-1] + b', "x": ' + DEEP, "too deeply"),
    "deep where anything is allowed": (
        RUN_EVENT.replace(
            b'"parent"',
            b'"environment-properties": {"environment-properties": {"a": ' + DEEP + b"]" * len(DEEP) + b'}}, "parent"',
        ),
        "too deeply",
    ),
    "a number with 5,000 digits": (RUN_EVENT.replace(b'"COMPLETE"', b"1" * 5000), "out of range"),
    "a number that is too large": (RUN_EVENT.replace(b'"COMPLETE"', b"1e999"), "out of range"),
}


@pytest.mark.parametrize(("raw", "words"), REFUSED_BYTES.values(), ids=REFUSED_BYTES)
def test_what_is_no_event_is_refused_in_words(raw: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as refusal:
        decode(raw)
    assert "[...]" not in (refusal.value.field or "")


GOOD = dataset("/in")
OMITTED: dict[str, tuple[Change, tuple[str, ...]]] = {
    "an input without a name": (_with({"namespace": "file"}, "inputs", 0), ("inputs[0]",)),
    "an input that is null": (_with(None, "inputs", 0), ("inputs[0]",)),
    "an input that is text": (_with("/in", "inputs", 0), ("inputs[0]",)),
    "an output whose name is a number": (_with(7, "outputs", 0, "name"), ("outputs[0]",)),
    "inputs that are no list": (_with({}, "inputs"), ("inputs",)),
    "facets of an input that are a list": (_with([], "inputs", 0, "facets"), ("inputs[0].facets",)),
    "symlinks without a name": (
        _with({"symlinks": {"identifiers": [{"namespace": "n"}]}}, "inputs", 0, "facets"),
        ("inputs[0].facets.symlinks",),
    ),
    "column lineage of a wrong type": (
        _with({"columnLineage": {"fields": 1}, "symlinks": None}, "outputs", 0, "facets"),
        ("outputs[0].facets.columnLineage",),
    ),
    "a bad schema and a bad symlink": (
        _with({"schema": [], "symlinks": 1}, "outputs", 0, "facets"),
        ("outputs[0].facets.schema", "outputs[0].facets.symlinks"),
    ),
    "a parent without a run": (_with({"job": {}}, "run", "facets", "parent"), ("run.facets.parent",)),
    "a parent whose run is no uuid": (
        _with({"run": {"runId": "1"}, "job": {"namespace": "n", "name": "m"}}, "run", "facets", "parent"),
        ("run.facets.parent",),
    ),
    "facets of the run that are text": (_with("x", "run", "facets"), ("run.facets",)),
    "facets of the job that are wrong": (
        _with({"jobType": 4, "sql": {"query": "SELECT 1"}}, "job", "facets"),
        ("job.facets.jobType",),
    ),
    "several at once": (
        lambda event: (_with(1, "inputs", 0)(event), _with(2, "job", "facets")(event)),
        ("job.facets", "inputs[0]"),
    ),
}


@pytest.mark.parametrize(("change", "omitted"), OMITTED.values(), ids=OMITTED)
def test_one_bad_part_costs_itself_and_is_on_record(change: Change, omitted: tuple[str, ...]) -> None:
    broken = body(inputs=["/bad", "/good"], outputs=["/bad", "/good"])
    change(broken)
    event = decode(packed(broken))
    assert event.omitted == omitted
    assert event.body is not None
    kept = [each.name for each in (*(event.body.inputs or ()), *(event.body.outputs or ()))]
    assert "/good" in kept
    assert event.type == "COMPLETE"
    assert event.run_id == uid("run")


def test_a_bad_facet_leaves_its_neighbours() -> None:
    links = {"identifiers": [{"namespace": "hive://h", "name": "d.t", "type": "TABLE"}]}
    facets: Json = {"symlinks": links, "columnLineage": {"fields": {"x": 1}}, "unknown": {"deep": [1]}}
    event = decode(packed(body(inputs=[dataset("/in", **facets)])))
    assert event.body
    assert event.body.inputs
    assert event.body.inputs[0].facets
    assert event.body.inputs[0].facets.symlinks
    assert event.body.inputs[0].facets.column_lineage is None
    assert event.omitted == ("inputs[0].facets.columnLineage",)


TOLERATED: dict[str, Change] = {
    "no producer and no schema": lambda event: (event.pop("producer"), event.pop("schemaURL")),
    "null inputs": _with(None, "inputs"),
    "no outputs": _without("outputs"),
    "null facets of the run": _with(None, "run", "facets"),
    "null facets of the job": _with(None, "job", "facets"),
    "a data set without facets": _with([{"namespace": "file", "name": "/in"}], "inputs"),
    "a data set with null facets": _with([{"namespace": "file", "name": "/in", "facets": None}], "inputs"),
    "a facet that is null": _with({"parent": None}, "run", "facets"),
    "unknown parts everywhere": lambda event: [part.update(new={"a": [1]}) for part in (event, event["job"])],
    "environment properties that are empty": _with({"environment-properties": {}}, "run", "facets"),
    "column lineage of an unknown future": _with(
        [dataset("/out", columnLineage={**lineage({"x": [source("/in", "x")]}), "later": 1})], "outputs"
    ),
    "run id in capitals": _with(uid("run").upper(), "run", "runId"),
}


@pytest.mark.parametrize("change", TOLERATED.values(), ids=TOLERATED)
def test_what_is_odd_but_harmless_costs_nothing(change: Change) -> None:
    odd = body(inputs=["/in"], outputs=["/out"])
    change(odd)
    event = decode(packed(odd))
    assert event.omitted == ()
    assert event.run_id == uid("run")


def test_a_key_may_stand_twice() -> None:
    """The listener does so with `processing_engine` in every RDD event; the last one counts."""
    facets = b'"facets": {"processing_engine": {"version": "1"}, "processing_engine": {"version": "2"}, '
    event = decode(RUN_EVENT.replace(b'"facets": {', facets, 1))
    assert event.body
    assert event.body.run.facets
    assert event.body.run.facets.processing_engine
    assert event.body.run.facets.processing_engine.version == "2"


def test_bytes_that_nobody_reads_may_be_no_text() -> None:
    """The receiver looks at the whole body; here only what is used has to be text."""
    assert decode(RUN_EVENT[:-1] + b', "x": "\xff"}').omitted == ()


def test_an_enormous_plan_is_passed_over() -> None:
    plan = b'"spark.logicalPlan": {"plan": [' + b'{"class": "Project", "x": 1.5},' * 100_000 + b"{}]}, "
    event = decode(RUN_EVENT.replace(b'"facets": {', b'"facets": {' + plan, 1))
    assert event.omitted == ()


TIMES = {
    "2026-11-21T10:00:00Z": (10, 0, 0),
    "2026-11-21t10:00:00z": (10, 0, 0),
    "2026-11-21 10:00:00Z": (10, 0, 0),
    "2026-11-21T10:00:00.1Z": (10, 0, 100_000),
    "2026-11-21T10:00:00.12Z": (10, 0, 120_000),
    "2026-11-21T10:00:00.123Z": (10, 0, 123_000),
    "2026-11-21T10:00:00.1234Z": (10, 0, 123_400),
    "2026-11-21T10:00:00.12345Z": (10, 0, 123_450),
    "2026-11-21T10:00:00.123456Z": (10, 0, 123_456),
    "2026-11-21T10:00:00.1234567Z": (10, 0, 123_456),
    "2026-11-21T10:00:00.12345678Z": (10, 0, 123_456),
    "2026-11-21T10:00:00.123456789Z": (10, 0, 123_456),
    "2026-11-21T10:00:00+00:00": (10, 0, 0),
    "2026-11-21T15:30:00+05:30": (10, 0, 0),
    "2026-11-21T05:00:00.5-05:00": (10, 0, 500_000),
    "2026-11-22T00:00:00+14:00": (10, 0, 0),
    "2026-11-21T10:00:00": (10, 0, 0),
    "2026-11-21T10:00": (10, 0, 0),
}


@pytest.mark.parametrize("text", TIMES)
def test_times_are_told_in_utc(text: str) -> None:
    hour, minute, microsecond = TIMES[text]
    event = decode(packed({**body(), "eventTime": text}))
    assert event.time == datetime(2026, 11, 21, hour, minute, 0, microsecond, tzinfo=UTC)
    assert event.time.utcoffset() == timedelta(0)


OTHER_CLASSES = {
    "job event": {"job": {"namespace": "n", "name": "j"}},
    "job event with data sets": {"job": {"namespace": "n", "name": "j"}, "inputs": [GOOD], "outputs": []},
    "job event with bad data sets": {"job": {"namespace": "n", "name": "j"}, "inputs": 3},
    "job event whose run is null": {"job": {"namespace": "n", "name": "j"}, "run": None},
    "data set event": {"dataset": {"namespace": "n", "name": "d", "facets": {}}},
}


@pytest.mark.parametrize("parts", OTHER_CLASSES.values(), ids=OTHER_CLASSES)
def test_job_and_data_set_events_have_no_body(parts: Json) -> None:
    event = decode(packed({"eventTime": "2026-11-21T10:00:00Z", "producer": "x", "schemaURL": "y", **parts}))
    assert event.body is None
    assert event.run_id == ""
    assert not event.can_end_a_run


def test_a_job_event_needs_a_time_as_well() -> None:
    with pytest.raises(Unreadable) as refusal:
        decode(packed({"eventTime": "noon", "job": {"namespace": "n", "name": "j"}}))
    assert refusal.value.field == "eventTime"


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("START", False),
        ("RUNNING", False),
        ("COMPLETE", True),
        ("FAIL", True),
        ("ABORT", True),
        ("OTHER", False),
        (None, False),
    ],
)
def test_which_types_may_end_a_run(kind: str | None, *, ends: bool) -> None:
    event = decode(packed(body(kind)))
    assert event.type == (kind or "OTHER")
    assert event.can_end_a_run is ends
