"""Translation of runs as rows in Arrow's batches, without Spark, with the facts of their application."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.model import RunLineage, Span
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from shared.translation.run.application import (
    NO_APPLICATION_FACTS,
    RunContext,
    StreamBatch,
    application_facts_of,
    enclosing_batches,
)
from shared.translation.run.datasets import Datasets, schemas_in
from shared.translation.run.translate import translate
from tests.lake.files import OF_SPARK
from throughline.lake.engine.arrow import schema_of, through
from throughline.lake.silver.stream_batches import Batches
from throughline.lake.silver.translation import TRANSLATED, translations
from throughline.lake.silver.translation_cache import MAX_CACHED_BYTES
from throughline.lake.tables.encoding import digest, pack, unpack_process

if TYPE_CHECKING:
    from shared.openlineage.run import MergedRun

pytestmark = OF_SPARK

LINES = (Path(__file__).parents[2] / "golden/spark35-ol1.53/reruns/events.jsonl").read_bytes().splitlines()
RUN = merge([next(event for event in map(decode, LINES) if event.body)])

moments = st.sampled_from([0, 1, 1_000, 2_000, 3_000, 500_000, 999_999, 1_000_000, 1_500_000, 3_000_000])
spans = st.tuples(moments, moments).map(sorted)


def _span(micros: list[int]) -> Span:
    first, last = (RUN.first + timedelta(microseconds=microseconds) for microseconds in micros)
    return Span(first=first, last=last)


@given(intervals=st.lists(st.tuples(spans, st.booleans()), max_size=12), ran=st.lists(spans, min_size=1, max_size=3))
def test_the_batches_around_a_run_are_those_that_enclose_it(
    intervals: list[tuple[list[int], bool]], ran: list[list[int]]
) -> None:
    """With batches in parallel, in sequence, and without a known beginning; one of them is the run itself."""
    known_batches = Batches()
    batches = [
        StreamBatch(seen=_span(micros), run_id=str(number), inputs=(), began=began)
        for number, (micros, began) in enumerate(sorted(intervals, key=lambda interval: interval[0][1]))
    ]
    for batch in batches:
        known_batches.add(batch)
    assert len(known_batches) == len(batches)
    for micros in ran:
        seen_span = _span(micros)
        run: MergedRun = replace(RUN, run_id="0", first=seen_span.first, last=seen_span.last)
        assert known_batches.around(run) == enclosing_batches(batches, run)


_OF_APPLICATION, _OF_RUN = 0, 2
RUNS = pa.schema(
    [
        ("application_run", pa.string()),
        ("piece", pa.int32()),
        ("rank", pa.int32()),
        ("first", pa.timestamp("us", tz="UTC")),
        ("last", pa.timestamp("us", tz="UTC")),
        ("run_id", pa.string()),
        ("contexts", pa.list_(pa.binary())),
        ("merged", pa.binary()),
        ("timed_out", pa.bool_()),
    ]
)


def test_translations_equal_the_cores_for_every_batch_size() -> None:
    """One application in two pieces, each after the application facts of all runs."""
    events: dict[str, list[Event]] = {}
    for event in map(decode, LINES):
        if event.body:
            events.setdefault(event.run_id, []).append(event)
    runs = [merge(own_event) for own_event in events.values()]
    application_facts = NO_APPLICATION_FACTS
    for run in runs:
        application_facts |= application_facts_of(run)
    rows: list[dict[str, Any]] = []
    for piece in (0, 1):
        rows.append(
            {"rank": _OF_APPLICATION, "piece": piece, "contexts": [pack(application_facts_of(run)) for run in runs]}
        )
        for run in runs[piece::2]:
            row = {"rank": _OF_RUN, "piece": piece, "run_id": run.run_id, "merged": pack(run), "timed_out": False}
            rows.append(row)
    table = pa.Table.from_pylist([row | {"application_run": "a"} for row in rows], RUNS)
    for size in (1, 4, 1_000):
        translated_batches = through(
            table.to_batches(max_chunksize=size), partial(translations, None, MAX_CACHED_BYTES), schema_of(TRANSLATED)
        )
        rows_by_run = {row["run_id"]: row for row in pa.Table.from_batches(translated_batches).to_pylist()}
        assert rows_by_run.keys() == events.keys()
        assert {row["outcome"] for row in rows_by_run.values()} >= {"translated", "skipped"}
        for run in runs:
            run_context = RunContext(facts=application_facts)
            result = translate(run, run_context)
            row = rows_by_run[run.run_id]
            processes = result.processes if isinstance(result, RunLineage) else ()
            assert [unpack_process(contribution["content"]) for contribution in row["contributions"]] == list(processes)
            assert [contribution["digest"] for contribution in row["contributions"]] == [
                digest(pack(process)) for process in processes
            ]
            seen_schemas = schemas_in(Datasets.of(run, run_context)) if run.ended == "COMPLETE" else ()
            assert [
                (
                    schema["qualified_name"],
                    schema["written"],
                    tuple((field["name"], field["type"]) for field in schema["fields"]),
                )
                for schema in row["schemas"]
            ] == list(seen_schemas)
            assert row["reason"] == (None if isinstance(result, RunLineage) else result.reason)


def test_an_unreadable_batch_is_reported_once() -> None:
    """Its own row reports it, where it is translated; the row that precedes others for its inputs does not."""
    broken = {"run_id": "b", "merged": b"no run", "timed_out": False}
    readable = {"run_id": RUN.run_id, "merged": pack(RUN), "timed_out": False}
    rows = [broken | {"rank": 1}, broken | {"rank": _OF_RUN}, readable | {"rank": _OF_RUN}]
    unreadable_batch = pa.RecordBatch.from_pylist([row | {"application_run": "a", "piece": 0} for row in rows], RUNS)
    translated_rows = pa.Table.from_batches(
        through([unreadable_batch], partial(translations, None, MAX_CACHED_BYTES), schema_of(TRANSLATED))
    ).to_pylist()
    assert [row["run_id"] for row in translated_rows] == ["b", RUN.run_id]
    assert (translated_rows[0]["outcome"], translated_rows[0]["contributions"]) == ("unusable", [])
    assert translated_rows[1]["outcome"] != "unusable"
