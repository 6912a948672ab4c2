"""Decoding: refused events and their fields, tolerated content, and the parts left out."""

import copy
import gzip
import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from shared.errors import Unreadable
from shared.openlineage.decoding import ENDS, decode, run_id_of
from shared.translation.reference import translate_history
from tests.support.building import Json, body, dataset, lineage, packed, source
from tests.support.events import run_id

Change = Callable[[Json], object]


def _without(*path: str | int) -> Change:
    def change(event: Any) -> object:
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
    "run id is empty": (_with("", "run", "runId"), "run.runId"),
    "run id is blank": (_with("  ", "run", "runId"), "run.runId"),
    "run id is too long": (_with("x" * 8_193, "run", "runId"), "run.runId"),
    "run id has a line break": (_with(run_id("run") + "\n", "run", "runId"), "run.runId"),
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
def test_an_event_with_a_wrong_identifying_field_is_refused(change: Change, field: str) -> None:
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
    "UTF-16": (RUN_EVENT.decode().encode("utf-16"), "looks like UTF-16"),
    "UTF-16 without its mark": (RUN_EVENT.decode().encode("utf-16-le"), "looks like UTF-16-LE"),
    "UTF-32": (RUN_EVENT.decode().encode("utf-32-be"), "looks like UTF-32-BE"),
    "not UTF-8": (RUN_EVENT.replace(b'"tests"', b'"t\xffsts"'), "not UTF-8"),
    "NaN and an end too early": (RUN_EVENT[:-1] + b', "x": NaN', "not JSON"),
    "a word that is no number": (RUN_EVENT[:-1] + b', "x": Infinit}', "not JSON"),
    "NaN where there must be text": (RUN_EVENT.replace(b'"tests"', b"NaN"), "Expected `str`"),
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


@pytest.mark.parametrize(("raw", "message"), REFUSED_BYTES.values(), ids=REFUSED_BYTES)
def test_invalid_events_are_refused_with_a_message(raw: bytes, message: str) -> None:
    with pytest.raises(Unreadable, match=message) as refusal:
        decode(raw)
    assert "[...]" not in (refusal.value.field or "")


WRITTEN_ODDLY: dict[str, bytes] = {
    "byte order mark": b"\xef\xbb\xbf" + RUN_EVENT,
    "NaN": RUN_EVENT[:-1] + b', "x": NaN}',
    "infinities": RUN_EVENT[:-1] + b', "x": [Infinity, -Infinity,NaN], "y": {"a":-Infinity}}',
    "NaN and text that looks like it": RUN_EVENT[:-1] + b', "x": NaN, "y": "a \\", NaN, b", "z": "\\\\"}',
    "the first half of a surrogate pair": RUN_EVENT[:-1] + b', "x": "a\\ud83d"}',
    "the second half of a surrogate pair": RUN_EVENT[:-1] + b', "x": "\\ude00 b"}',
    "halves in the wrong order": RUN_EVENT[:-1] + b', "x": "\\ude00\\ud83d"}',
    "two first halves and a pair": RUN_EVENT[:-1] + b', "x": "\\uD83d\\ud83d\\ud83D\\uDE00"}',
    "half a pair in a key": RUN_EVENT[:-1] + b', "\\ud83d": 1}',
    "half a pair and NaN": RUN_EVENT[:-1] + b', "x": "\\ud83d", "y": NaN}',
}


@pytest.mark.parametrize("raw", WRITTEN_ODDLY.values(), ids=WRITTEN_ODDLY)
def test_common_mistakes_of_json_writers_are_tolerated(raw: bytes) -> None:
    assert decode(raw) == decode(RUN_EVENT)


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    odd = packed(body(inputs=[dataset("a\ud83d"), dataset("\\ud83d"), dataset("\U0001f600")], outputs=["NaN"]))
    assert b'"a\\ud83d"' in odd
    event = decode(odd)
    assert event.body
    assert [input_dataset.name for input_dataset in event.body.inputs or ()] == ["a\ufffd", "\\ud83d", "\U0001f600"]
    assert [output.name for output in event.body.outputs or ()] == ["NaN"]
    assert event.omitted == ()


RUN_TEXTS: dict[str, tuple[str, str, str]] = {
    "a uuid": (run_id("run"), run_id("run"), ""),
    "a uuid in capitals": (run_id("run").upper(), run_id("run"), ""),
    "a word": ("run_id", "0a68e49e-00d6-53ad-92dd-0b660167023b", "run_id"),
    "a number": ("7", "", "7"),
    "Airflow's": ("manual__2026-11-21T10:00:00+00:00", "", "manual__2026-11-21T10:00:00+00:00"),
    "a uuid without dashes": (run_id("run").replace("-", ""), "", run_id("run").replace("-", "")),
    "36 other characters": ("x" * 36, "", "x" * 36),
    "beyond ASCII": ("Lauf ü 7", "", "Lauf ü 7"),
    "as long as may be": ("x" * 8_192, "", "x" * 8_192),
}


@pytest.mark.parametrize(("sent_id", "expected", "text"), RUN_TEXTS.values(), ids=RUN_TEXTS)
def test_a_run_id_that_is_no_uuid_becomes_one(sent_id: str, expected: str, text: str) -> None:
    document = body(inputs=["/in"])
    _with(sent_id, "run", "runId")(document)
    event = decode(packed(document))
    assert event.body
    assert event.run_text == text
    assert event.run_id == event.body.run.run_id.lower() == run_id_of(sent_id)
    assert UUID(event.run_id).version == 5
    assert not expected or event.run_id == expected


def test_a_parents_id_is_converted_like_the_run_id_of_the_parent_itself() -> None:
    child, parent = body(), body(application=None)
    _with("nightly 7", "run", "facets", "parent", "run", "runId")(child)
    _with("nightly 7", "run", "runId")(parent)
    event = decode(packed(child))
    assert event.body
    assert event.body.run.facets
    assert event.body.run.facets.parent
    assert event.body.run.facets.parent.run.run_id == decode(packed(parent)).run_id


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
    "a parent whose run has no id": (
        _with({"run": {"runId": " "}, "job": {"namespace": "n", "name": "m"}}, "run", "facets", "parent"),
        ("run.facets.parent",),
    ),
    "facets of the run that are text": (_with("x", "run", "facets"), ("run.facets",)),
    "facets of the job that are wrong": (
        _with({"jobType": 4, "sql": {"query": "SELECT 1"}}, "job", "facets"),
        ("job.facets.jobType",),
    ),
    "statistics of a wrong type": (
        _with({"outputStatistics": {"rowCount": "many"}}, "outputs", 0, "outputFacets"),
        ("outputs[0].outputFacets.outputStatistics",),
    ),
    "output facets that are a list": (_with([], "outputs", 0, "outputFacets"), ("outputs[0].outputFacets",)),
    "several at once": (
        lambda event: (_with(1, "inputs", 0)(event), _with(2, "job", "facets")(event)),
        ("job.facets", "inputs[0]"),
    ),
}


@pytest.mark.parametrize(("change", "omitted"), OMITTED.values(), ids=OMITTED)
def test_only_the_bad_part_of_an_event_is_left_out_and_recorded(change: Change, omitted: tuple[str, ...]) -> None:
    broken = body(inputs=["/bad", "/good"], outputs=["/bad", "/good"])
    change(broken)
    event = decode(packed(broken))
    assert event.omitted == omitted
    assert event.body is not None
    kept_names = [kept_dataset.name for kept_dataset in (*(event.body.inputs or ()), *(event.body.outputs or ()))]
    assert "/good" in kept_names
    assert event.type == "COMPLETE"
    assert event.run_id == run_id("run")


def test_a_bad_facet_does_not_affect_other_facets() -> None:
    links = {"identifiers": [{"namespace": "hive://h", "name": "d.t", "type": "TABLE"}]}
    facets: Json = {"symlinks": links, "columnLineage": {"fields": {"x": 1}}, "unknown": {"deep": [1]}}
    event = decode(packed(body(inputs=[dataset("/in", **facets)])))
    assert event.body
    assert event.body.inputs
    assert event.body.inputs[0].facets
    assert event.body.inputs[0].facets.symlinks
    assert event.body.inputs[0].facets.column_lineage is None
    assert event.omitted == ("inputs[0].facets.columnLineage",)


_STEP = {"type": "DIRECT", "subtype": "IDENTITY"}
_DESCRIBED_OUTPUT = dataset("/out") | {
    "facets": {
        "symlinks": {"identifiers": [{"namespace": "hive://h", "name": "db.out", "type": "TABLE"}]},
        "columnLineage": {"fields": {"x": {"inputFields": [source("/in", "y") | {"transformations": [_STEP]}]}}},
        "lifecycleStateChange": {"lifecycleStateChange": "CREATE"},
        "tags": {"tags": [{"key": "pii", "value": "yes"}]},
        "documentation": {"description": "Orders."},
    }
}
_FACETS = "outputs 0 facets"
_FIRST_STEP = f"{_FACETS} columnLineage fields x inputFields 0 transformations 0"
MAY_BE_NULL = {
    "the type of a step": f"{_FIRST_STEP} type",
    "its subtype": f"{_FIRST_STEP} subtype",
    "the type of another name": f"{_FACETS} symlinks identifiers 0 type",
    "a change of the lifecycle": f"{_FACETS} lifecycleStateChange lifecycleStateChange",
    "the value of a tag": f"{_FACETS} tags tags 0 value",
    "a description": f"{_FACETS} documentation description",
    "a statement": "job facets sql query",
}


@pytest.mark.parametrize("place", MAY_BE_NULL.values(), ids=MAY_BE_NULL)
def test_null_means_the_same_as_no_value(place: str) -> None:
    path = [int(part) if part.isdigit() else part for part in place.split()]
    full_event = body(inputs=["/in"], outputs=[_DESCRIBED_OUTPUT], job_facets={"sql": {"query": "SELECT 1"}})
    null, reduced_event = copy.deepcopy(full_event), copy.deepcopy(full_event)
    _with(None, *path)(null)
    _without(*path)(reduced_event)
    event = decode(packed(null))
    assert event.omitted == ()
    assert event == decode(packed(reduced_event))
    assert event != decode(packed(full_event))
    assert len(translate_history([event]).processes[0].columns) == 1


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
    "run id in capitals": _with(run_id("run").upper(), "run", "runId"),
}


@pytest.mark.parametrize("change", TOLERATED.values(), ids=TOLERATED)
def test_odd_but_harmless_content_loses_no_part(change: Change) -> None:
    odd = body(inputs=["/in"], outputs=["/out"])
    change(odd)
    event = decode(packed(odd))
    assert event.omitted == ()
    assert event.run_id == run_id("run")


def test_a_repeated_key_is_accepted_and_its_last_value_counts() -> None:
    """The listener does so with `processing_engine` in every RDD event; the last one counts."""
    facets = b'"facets": {"processing_engine": {"version": "1"}, "processing_engine": {"version": "2"}, '
    event = decode(RUN_EVENT.replace(b'"facets": {', facets, 1))
    assert event.body
    assert event.body.run.facets
    assert event.body.run.facets.processing_engine
    assert event.body.run.facets.processing_engine.version == "2"


def test_invalid_text_in_an_unused_part_is_accepted() -> None:
    """The receiver looks at the whole body; here only the used parts have to be text."""
    assert decode(RUN_EVENT[:-1] + b', "x": "\xff"}').omitted == ()


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"1" * 5000], ids=["large", "small", "long"])
def test_a_used_facet_with_a_number_out_of_range_is_left_out(number: bytes) -> None:
    """In an unused facet the number is accepted."""
    properties = b'"environment-properties": {"environment-properties": {"a": %b}}, ' % number
    event = decode(RUN_EVENT.replace(b'"facets": {', b'"facets": {' + properties, 1))
    assert event.omitted == ("run.facets.environment-properties",)
    assert event.body
    assert event.body.run.facets
    assert event.body.run.facets.parent
    assert decode(RUN_EVENT.replace(b'"facets": {', b'"facets": {"x": %b, ' % number, 1)).omitted == ()


PLAN = b'"spark.logicalPlan": {"plan": [' + b'{"class": "Project", "x": 1.5},' * 100_000 + b"{}]}, "
WITH_PLAN = RUN_EVENT.replace(b'"facets": {', b'"facets": {' + PLAN, 1)
BESIDE_A_PLAN: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "nothing wrong": (WITH_PLAN, ()),
    "a bad data set": (WITH_PLAN.replace(b'"inputs": [', b'"inputs": [7'), ("inputs[0]",)),
    "a bad facet": (
        WITH_PLAN.replace(b'"facets": {', b'"facets": {"processing_engine": [], ', 1),
        ("run.facets.processing_engine",),
    ),
    "a bad parent, and the plan twice": (
        WITH_PLAN.replace(b'"parent": {', b'"parent": 1, ' + PLAN + b'"x": {'),
        ("run.facets.parent",),
    ),
}


@pytest.mark.parametrize(("raw", "omitted"), BESIDE_A_PLAN.values(), ids=BESIDE_A_PLAN)
def test_an_enormous_logical_plan_is_never_built_in_memory(raw: bytes, omitted: tuple[str, ...]) -> None:
    """It is skipped, also when another part has to be left out."""
    tracemalloc.start()
    event = decode(raw)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert event.omitted == omitted
    assert len(raw) > 3_000_000
    assert peak < 100_000


def test_nan_beside_an_enormous_plan_takes_the_memory_of_one_more_copy() -> None:
    raw = WITH_PLAN[:-1] + b', "x": NaN}'
    tracemalloc.start()
    assert decode(raw).omitted == ()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.1 * len(raw)


def test_a_list_of_junk_is_left_out_as_a_whole() -> None:
    """Two bytes of it would take seventy in memory: more than a million parts are not decoded one by one."""
    raw = RUN_EVENT.replace(b'"inputs": [', b'"inputs": [' + b"7," * 1_500_000 + b"7")
    tracemalloc.start()
    event = decode(raw)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert event.omitted == ("inputs",)
    assert peak < 2 * len(raw)


def test_omitted_parts_beyond_a_thousand_are_only_counted() -> None:
    event = decode(RUN_EVENT.replace(b'"inputs": [', b'"inputs": [' + b"7," * 4999 + b"7"))
    assert event.omitted[:2] == ("inputs[0]", "inputs[1]")
    assert event.omitted[-2:] == ("inputs[999]", "and 4000 more")


USED: Json = {
    "eventType": "FAIL",
    "eventTime": "2026-11-21T10:00:00Z",
    "run": {
        "runId": run_id("run"),
        "facets": {
            "parent": {"run": {"runId": run_id("application")}, "job": {"namespace": "n", "name": "app"}},
            "environment-properties": {"environment-properties": {"mountPoints": [{"mountPoint": "/mnt/x"}]}},
            "processing_engine": {"name": "spark", "version": "3.5.9", "openlineageAdapterVersion": "1.53.0"},
        },
    },
    "job": {
        "namespace": "n",
        "name": "app.node",
        "facets": {
            "jobType": {"processingType": "STREAMING", "integration": "SPARK", "jobType": "SQL_JOB"},
            "sql": {"query": "SELECT 1"},
        },
    },
    "inputs": [{**GOOD, "inputFacets": {"dataQualityMetrics": {"rowCount": 17}}}],
    "outputs": [
        {
            "namespace": "file",
            "name": "/out",
            "facets": {
                "schema": {"fields": [{"name": "id", "type": "long"}, {"name": "s"}]},
                "symlinks": {"identifiers": [{"namespace": "hive://h", "name": "d.t", "type": "TABLE"}]},
                "lifecycleStateChange": {
                    "lifecycleStateChange": "RENAME",
                    "previousIdentifier": {"namespace": "file", "name": "/before"},
                },
                "columnLineage": lineage({"x": [source("/in", "x")]}, rows=[source("/in", "y")]),
            },
            "outputFacets": {"outputStatistics": {"rowCount": 3, "size": 4282}},
        }
    ],
}
"""Every part that anybody relies on, in the wire's own spelling."""


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _with_more(value: Any) -> Any:
    """The same with an unknown part in every object."""
    if isinstance(value, dict):
        return {"_producer": "https://example.com", **{key: _with_more(inner) for key, inner in value.items()}}
    return [_with_more(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("bad", [False, True], ids=["at once", "part by part"])
def test_all_that_is_used_is_decoded_and_nothing_else(*, bad: bool) -> None:
    content = copy.deepcopy(USED)
    del content["run"]["facets"]["environment-properties"], content["outputs"][0]["facets"]["columnLineage"]
    raw = packed({**_with_more(content), **({"inputs": [7, *content["inputs"]]} if bad else {})})
    event = decode(raw)
    assert event.omitted == (("inputs[0]",) if bad else ())
    assert _without_nulls(json.loads(msgspec.json.encode(event.body))) == content


def test_properties_and_column_lineage_are_decoded_with_all_their_keys() -> None:
    """The keys of properties, and the columns of column lineage."""
    assert _without_nulls(json.loads(msgspec.json.encode(decode(packed(USED)).body))) == USED


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
def test_times_are_in_utc(text: str) -> None:
    hour, minute, microsecond = TIMES[text]
    event = decode(packed({**body(), "eventTime": text}))
    assert event.time == datetime(2026, 11, 21, hour, minute, 0, microsecond, tzinfo=UTC)
    assert event.time.utcoffset() == timedelta(0)


DECLARED: dict[str, tuple[Json, tuple[str, ...], tuple[str, ...]]] = {
    "job event": ({"job": {"namespace": "n", "name": "j"}}, (), ()),
    "job event with data sets": (
        {"job": {"namespace": "n", "name": "j"}, "inputs": [GOOD], "outputs": [dataset("/out")]},
        ("/in", "/out"),
        (),
    ),
    "job event with bad data sets": (
        {"job": {"namespace": "n", "name": "j", "facets": {"sql": 1}}, "inputs": 3, "outputs": [{}, GOOD]},
        ("/in",),
        ("job.facets.sql", "inputs", "outputs[0]"),
    ),
    "job event whose run is null": ({"job": {"namespace": "n", "name": "j"}, "run": None, "inputs": None}, (), ()),
    "data set event": ({"dataset": {"namespace": "n", "name": "d", "facets": {}}}, (), ()),
    "data set event of a table that nothing is said to feed": (
        {"dataset": {"namespace": "n", "name": "d", "facets": {"lineage": {"fields": {}}}}},
        (),
        (),
    ),
    "data set event of a view": (
        {"dataset": {"namespace": "n", "name": "j", "facets": {"lineage": {"inputs": []}}}},
        ("j",),
        (),
    ),
    "data set event with a bad facet": (
        {"dataset": {"namespace": "n", "name": "d", "facets": {"schema": 1, "symlinks": {"identifiers": []}}}},
        (),
        ("dataset.facets.schema",),
    ),
}


@pytest.mark.parametrize(("parts", "names", "omitted"), DECLARED.values(), ids=DECLARED)
def test_events_without_a_run_are_decoded(parts: Json, names: tuple[str, ...], omitted: tuple[str, ...]) -> None:
    event = decode(packed({"eventTime": "2026-11-21T10:00:00Z", "producer": "x", "schemaURL": "y", **parts}))
    assert event.time == datetime(2026, 11, 21, 10, tzinfo=UTC)
    assert event.omitted == omitted
    assert (event.type in ENDS) == bool(names)
    if names:
        assert event.body
        assert event.body.job.name == "j"
        datasets = (*(event.body.inputs or ()), *(event.body.outputs or ()))
        assert tuple(dataset_entry.name for dataset_entry in datasets) == names
    else:
        assert (event.body, event.run_id) == (None, "")


def test_the_run_id_of_a_job_event_depends_on_its_time() -> None:
    content = {"job": {"namespace": "n", "name": "j"}, "outputs": [GOOD]}
    ten, repeated_event, eleven = (
        decode(packed({**content, "eventTime": time}))
        for time in ("2026-11-21T10:00:00Z", "2026-11-21T11:00:00+01:00", "2026-11-21T11:00:00Z")
    )
    assert ten.run_id == repeated_event.run_id != eleven.run_id


def test_a_job_event_without_a_valid_time_is_refused() -> None:
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
def test_the_type_of_an_event_decides_whether_it_can_end_a_run(kind: str | None, *, ends: bool) -> None:
    event = decode(packed(body(kind)))
    assert event.type == (kind or "OTHER")
    assert (event.type in ENDS) is ends
