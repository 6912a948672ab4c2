"""The bounds of an event: each is tested at its edge; parts beyond it are refused or left out, on record."""

import gzip
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.errors import Refused, TooLarge, Unreadable
from shared.ingest.bodies import AT_ONCE, LARGE, turn_for
from shared.openlineage import facets
from shared.openlineage.decoding import decode
from shared.openlineage.facets import DATASETS, Bound
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from shared.translation.reference import translate_history
from tests.support.building import Json, body, dataset, lineage, packed, source
from tests.support.processing import deliver_blob
from tests.support.receiving import receive, receive_batch

ROOT = Path(__file__).parents[3]
MOST = 64 * 1024 * 1024
BOUNDS = tuple(value for value in vars(facets).values() if isinstance(value, Bound))
BOUND = {bound.what: bound for bound in BOUNDS}
(NAME, COLUMN_NAME, _, COLUMNS, SOURCES, OTHER_NAMES, STEPS, PROPERTIES, *DECLARED, VALUES) = BOUNDS
TAGS, OWNERS, DESCRIPTION, ASSERTIONS, ENTRIES = DECLARED


def _with_facet(name: str, value: Any) -> Json:
    return body(inputs=[dataset("/a", **{name: value})])


def _named(length: int) -> Json:
    return body(inputs=[dataset("x" * length), "/b"])


def _in_namespace(length: int) -> Json:
    return body(inputs=[dataset("x", "n" * length), "/b"])


def _columns(count: int) -> Json:
    return _with_facet("schema", {"fields": [{"name": f"c{index}"} for index in range(count)]})


def _column_name(length: int) -> Json:
    return _with_facet("schema", {"fields": [{"name": "c" * length}]})


def _fields(count: int) -> Json:
    return _with_facet("columnLineage", {"fields": {f"c{index}": {"inputFields": []} for index in range(count)}})


def _sources(count: int) -> Json:
    return _with_facet("columnLineage", lineage({"x": [source("/b", f"c{index}") for index in range(count)]}))


def _steps(count: int) -> Json:
    return _with_facet("columnLineage", lineage({"x": [source("/b", "c", *[{"type": "DIRECT"}] * count)]}))


def _other_names(count: int) -> Json:
    names = [{"namespace": "hive://h", "name": f"d.t{index}", "type": "TABLE"} for index in range(count)]
    return _with_facet("symlinks", {"identifiers": names})


def _properties(count: int) -> Json:
    return body(
        inputs=["/a"],
        run_facets={"environment-properties": {"environment-properties": {f"k{index}": 1 for index in range(count)}}},
    )


def _values(count: int) -> Json:
    """A property that is a list of so many, with as many commas but one."""
    return body(
        inputs=["/a"],
        run_facets={"environment-properties": {"environment-properties": {"k": [0] * (count + 1)}}},
    )


def _tags(count: int) -> Json:
    return _with_facet("tags", {"tags": [{"key": "k", "value": "v"}] * count})


def _owners(count: int) -> Json:
    return _with_facet("ownership", {"owners": [{"name": "team:data"}] * count})


def _description(length: int) -> Json:
    return _with_facet("documentation", {"description": "x" * length})


def _assertions(count: int) -> Json:
    return _with_facet("dataQualityAssertions", {"assertions": [{"assertion": "unique", "success": True}] * count})


def _entries(count: int) -> Json:
    entry = {"namespace": "n", "name": "t", "type": "DATASET"}
    return body(inputs=["/a"], job_facets={"lineage": {"entries": [entry] * count}})


LEFT_OUT: dict[str, tuple[Any, Bound, str]] = {
    "a data set's name": (_named, NAME, "inputs[0]"),
    "a data set's namespace": (_in_namespace, NAME, "inputs[0]"),
    "columns": (_columns, COLUMNS, "inputs[0].facets.schema"),
    "a column's name": (_column_name, COLUMN_NAME, "inputs[0].facets.schema"),
    "columns with lineage": (_fields, COLUMNS, "inputs[0].facets.columnLineage"),
    "sources of a column": (_sources, SOURCES, "inputs[0].facets.columnLineage"),
    "transformations": (_steps, STEPS, "inputs[0].facets.columnLineage"),
    "other names": (_other_names, OTHER_NAMES, "inputs[0].facets.symlinks"),
    "properties": (_properties, PROPERTIES, "run.facets.environment-properties"),
    "tags": (_tags, TAGS, "inputs[0].facets.tags"),
    "owners": (_owners, OWNERS, "inputs[0].facets.ownership"),
    "a description": (_description, DESCRIPTION, "inputs[0].facets.documentation"),
    "tests": (_assertions, ASSERTIONS, "inputs[0].facets.dataQualityAssertions"),
    "entries of explicit lineage": (_entries, ENTRIES, "job.facets.lineage"),
    "values": (_values, VALUES, "run.facets.environment-properties"),
}


@pytest.mark.parametrize(("make", "bound", "path"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_part_beyond_a_bound_is_left_out_and_recorded(make: Any, bound: Bound, path: str) -> None:
    assert decode(packed(make(bound.most - 10))).omitted == ()
    beyond = decode(packed(make(bound.most + 1)))
    assert beyond.omitted == (path,)
    assert beyond.body
    assert [input_dataset.name for input_dataset in beyond.body.inputs or ()][-1] in {"/a", "/b"}, "all else is used"
    storage = MemoryStorage()
    receipt = receive(storage, packed(make(bound.most + 1)), most_bytes=MOST)
    assert receipt.omitted == (path,)
    assert [row.values["omitted"] for row in storage.scan("applications")] == [path]


REFUSED: dict[str, tuple[Json, int, str, str | None]] = {
    "inputs": (body(inputs=["/a"] * (DATASETS.most + 1)), 413, "10,000 inputs", None),
    "outputs": (body(outputs=["/a"] * (DATASETS.most + 1)), 413, "10,000 inputs", None),
    "a job's name": (body(job="j" * NAME.most), 400, "length <= 8192", "job.name"),
}


@pytest.mark.parametrize(("content", "code", "message", "field"), REFUSED.values(), ids=REFUSED)
def test_an_event_beyond_another_bound_is_refused_with_a_message(
    content: Json, code: int, message: str, field: str | None
) -> None:
    with pytest.raises(Refused, match=message) as error_info:
        decode(packed(content))
    assert (error_info.value.status, error_info.value.field) == (code, field)


def test_an_event_may_have_the_maximum_number_of_data_sets() -> None:
    event = decode(packed(body(inputs=[f"/{index}" for index in range(DATASETS.most)])))
    assert event.body
    assert len(event.body.inputs or ()) == DATASETS.most


def test_the_documentation_has_every_bound() -> None:
    text = (ROOT / "docs/operate/input-limits.md").read_text()
    for bound in BOUNDS:
        assert f"| {bound.what} | {bound.most:,} | {bound.beyond} |" in text


def _huge_transformations() -> bytes:
    head = b'{"inputs":[{"namespace":"","name":"","facets":{"columnLineage":{"fields":{"x":{"inputFields":'
    template = b'[{"namespace":"","name":"","field":"","transformations":[%s]}]}}}}}],'
    return head + template % b",".join([b"{}"] * 3_000_000)


def _huge_lists() -> bytes:
    head = b'{"run2":1,"outputs":[{"namespace":"","name":"","facets":{"x":[%s]}}],'
    return head % b",".join([b"[]"] * 3_000_000)


def _huge_data_sets() -> bytes:
    return b'{"inputs":[%s],' % b",".join([b'{"namespace":"","name":""}'] * 1_000_000)


HUGE = {"transformations": _huge_transformations, "lists": _huge_lists, "data sets": _huge_data_sets}


@pytest.mark.parametrize("start", HUGE.values(), ids=HUGE)
def test_no_body_becomes_many_times_as_large_in_memory(start: Callable[[], bytes]) -> None:
    raw = start() + packed(body())[1:].replace(b'"inputs": [], "outputs": []', b'"x": 0')
    tracemalloc.start()
    try:
        decode(raw)
    except TooLarge:
        pass  # that is an answer too
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 20 * len(raw) / 3


def test_a_batch_beyond_a_thousand_events_is_refused_with_little_memory() -> None:
    raw = b"[" + b"0," * 5_000_000 + b"0]"
    tracemalloc.start()
    with pytest.raises(TooLarge, match="1,000 events"):
        receive_batch(MemoryStorage(), raw, most_bytes=MOST)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_a_batch_may_have_a_thousand_events() -> None:
    raw = b"[" + b",".join([b"{}"] * 1000) + b"]"
    assert receive_batch(MemoryStorage(), raw, most_bytes=MOST).document["summary"]["failed"] == 1000


@pytest.mark.parametrize("size_limit", [10_000, 1_000_000])
def test_a_gzip_bomb_unpacks_no_further_than_the_bound(size_limit: int) -> None:
    bomb = gzip.compress(b" " * 200_000_000)
    tracemalloc.start()
    with pytest.raises(TooLarge):
        receive(MemoryStorage(), bomb, encoding="gzip", most_bytes=size_limit)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * size_limit + 1_000_000


def test_a_body_that_was_compressed_twice_is_refused() -> None:
    inner = gzip.compress(gzip.compress(packed(body())))
    with pytest.raises(Unreadable):
        receive(MemoryStorage(), inner, encoding="gzip", most_bytes=MOST)


ODD = {
    "control characters": "a\x00\x1f\x7f\x9fb",
    "line breaks": "a\r\nb\u2028c",
    "half a surrogate pair": "a\ud800b",
    "direction marks": "a\u202eb\u2066",
    "what keys forbid": "a/\\#?%|~b",
    "only blanks": "   ",
    "nothing": "",
    "long": "x" * NAME.most,
}


@pytest.mark.parametrize("name", ODD.values(), ids=ODD)
def test_odd_names_of_data_sets_columns_and_jobs_are_stored_and_processed(name: str) -> None:
    """A job's name is refused where it has control characters; everywhere else they come to nothing."""
    columns = {name or "x": {"inputFields": [{"namespace": "file", "name": name, "field": name}]}}
    content = body(
        inputs=[dataset(name), dataset("/in")],
        outputs=[dataset(f"/out{name}", columnLineage={"fields": columns}, schema={"fields": [{"name": name}]})],
        run_facets={"environment-properties": {"environment-properties": {name: name}}},
    )
    storage = MemoryStorage()
    receipt = receive(storage, packed(content), most_bytes=MOST)
    (fact,) = storage.blobs(EVENTS)
    deliver_blob(storage, fact.name)
    current_status = status(storage)
    assert (current_status.received, current_status.dead, current_status.reconciles) == (1, 0, True), receipt
    history = translate_history([decode(packed(content))])
    assert all(process.qualified_name.isprintable() for process in history.processes)


@pytest.mark.parametrize("kind", ODD)
def test_only_a_job_with_control_characters_is_refused(kind: str) -> None:
    content = {**body(), "job": {"namespace": "tests", "name": ODD[kind]}}
    if kind == "control characters":
        with pytest.raises(Unreadable, match="Control characters"):
            decode(packed(content))
    else:
        event = decode(packed(content))
        assert event.body
        assert event.body.job.name == ODD[kind].replace("\ud800", "\ufffd").replace("\r\n", " ")


def test_a_job_named_by_a_query_of_several_lines_is_kept() -> None:
    """As the listener calls a write by JDBC; the operation stands between the application's name and the query."""
    content = body(app_name="app", job="save_into_data_source_command.(SELECT a\n\tFROM t) AS p")
    event = decode(packed(content))
    assert event.body
    assert event.body.job.name == "app.save_into_data_source_command.(SELECT a FROM t) AS p"
    event_body = body(app_name="an\napp", job="save_into_data_source_command.t")
    event = decode(packed(event_body))
    assert event.body
    facets = event.body.run.facets
    assert facets
    assert facets.parent
    assert (event.body.job.name, facets.parent.job.name) == ("an app.save_into_data_source_command.t", "an app")


def test_large_bodies_take_turns_and_small_ones_do_not() -> None:
    inside, let_go = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        with turn_for(bytes(LARGE)):
            inside.release()
            let_go.wait(60)

    threads = [threading.Thread(target=hold, daemon=True) for _ in range(AT_ONCE + 1)]
    for thread in threads:
        thread.start()
    for _ in range(AT_ONCE):
        assert inside.acquire(timeout=60)
    assert not inside.acquire(timeout=0.2), "one more than may be is inside"
    with turn_for(b"small"):
        pass
    let_go.set()
    assert inside.acquire(timeout=60)
    for thread in threads:
        thread.join(10)
