"""Events as rows in Arrow's batches -> runs, without Spark."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from tests.lake.files import OF_SPARK
from throughline.lake.bronze.decoded_events import kept
from throughline.lake.engine.arrow import schema_of, through
from throughline.lake.silver.run_merging import MERGED, merge_all
from throughline.lake.tables.encoding import unpack_run

pytestmark = OF_SPARK

LINES = (Path(__file__).parents[2] / "golden/spark35-ol1.53/reruns/events.jsonl").read_text().splitlines()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OF_NO_RUN = '{"eventTime": "2026-03-01T12:00:00Z", "dataset": {"namespace": "file", "name": "/t"}}'
EVENTS = pa.schema(
    [
        ("run_id", pa.string()),
        ("arrived", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("content", pa.binary()),
        ("plain", pa.bool_()),
    ]
)


def _batches(texts: list[tuple[str, str]], size: int) -> list[pa.RecordBatch]:
    """Every third event as its text, the others as bronze keeps them."""
    rows = [
        {"run_id": run_id, "arrived": NOON + timedelta(minutes=number % 7), "day": date(2026, 3, 1 + number % 2)}
        | {"content": text.encode() if plain else kept(decode(text.encode())), "plain": plain}
        for number, (run_id, text) in enumerate(texts)
        for plain in (number % 3 == 0,)
    ]
    batches: list[pa.RecordBatch] = pa.Table.from_pylist(rows, EVENTS).to_batches(max_chunksize=size)
    return batches


def _merged(batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    merged_batches = through(batches, merge_all, schema_of(MERGED), weigh="merged")
    merged_rows: list[dict[str, Any]] = pa.Table.from_batches(merged_batches).to_pylist()
    return merged_rows


def _runs() -> dict[str, list[tuple[str, Event]]]:
    events_by_run: dict[str, list[tuple[str, Event]]] = {}
    for text in LINES:
        event = decode(text.encode())
        if event.body:
            events_by_run.setdefault(event.run_id, []).append((text, event))
    return events_by_run


def test_runs_are_merged_for_any_division_into_batches() -> None:
    runs = _runs()
    texts = [(run_id, text) for run_id, run_pairs in runs.items() for text, _ in run_pairs]
    for size in (1, 3, 1_000):
        batches = pa.Table.from_batches(through(_batches(texts, size), merge_all, schema_of(MERGED), weigh="merged"))
        rows = {row["run_id"]: row for row in batches.to_pylist()}
        assert rows.keys() == runs.keys()
        for run_id, own in runs.items():
            run = merge([event for _, event in own])
            assert unpack_run(rows[run_id]["merged"]) == run
            assert (rows[run_id]["first"], rows[run_id]["last"]) == (run.first, run.last)
            assert rows[run_id]["events"] == len(own)


def test_a_run_that_the_core_cannot_merge_is_a_row_with_its_problem() -> None:
    """All of its events are counted, and the next run is not affected."""
    (run_id, run_pairs), *_ = _runs().items()
    texts = [*[("0", OF_NO_RUN)] * 3, *((run_id, text) for text, _ in run_pairs)]
    broken, intact_row = _merged(_batches(texts, 2))
    assert broken["problem"].startswith("ValueError: ")
    assert (broken["run_id"], broken["application_run"], broken["merged"]) == ("0", "0", None)
    assert (broken["events"], broken["arrived"]) == (3, NOON + timedelta(minutes=2))
    assert broken["days"] == [date(2026, 3, 1), date(2026, 3, 2)]
    assert (intact_row["events"], intact_row["problem"]) == (len(run_pairs), None)


def test_an_event_that_a_later_core_refuses_stops_no_other_run() -> None:
    (run_id, run_pairs), *_ = _runs().items()
    refused = {"run_id": "0", "arrived": NOON, "day": NOON.date(), "content": b'{"eventTime": 1}', "plain": True}
    first = pa.RecordBatch.from_pylist([refused], EVENTS)
    broken, intact_row = _merged([first, *_batches([(run_id, text) for text, _ in run_pairs], 2)])
    assert broken["problem"].startswith("Unreadable: ")
    assert (broken["events"], intact_row["events"], intact_row["problem"]) == (1, len(run_pairs), None)
