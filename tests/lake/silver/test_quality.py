"""Tests and measures of data sets as rows of the lake."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lake.files import OF_SPARK
from tests.support.building import Json, body, dataset
from tests.support.events import run_id
from throughline.lake.bronze.ingestion import ingest
from throughline.lake.engine.session import prepare
from throughline.lake.silver.quality import failed_tests, refine_quality
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import QUALITY

pytestmark = [*OF_SPARK, pytest.mark.on_sail]


def _tested(run: str, minute: float, *, success: bool, kind: str = "COMPLETE", rows: int = 9) -> Json:
    """A run that tests one column and counts the rows."""
    facets = {
        "dataQualityAssertions": {"assertions": [{"assertion": "not_null", "column": "id", "success": success}]},
        "dataQualityMetrics": {"rowCount": rows, "columnMetrics": {}},
    }
    tested_dataset = {**dataset("/orders"), "inputFacets": facets}
    return body(kind, run=run, minute=minute, application="app", app_name="dq", job="check", inputs=[tested_dataset])


def _write(path: Path, *events: Json) -> None:
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))


def _update(lake: Lake, source: Path, batch: int) -> None:
    ingest(lake, [str(source)], batch=batch)
    refine_quality(lake, None, batch=batch, since=batch - 1)


def test_the_last_result_of_a_run_counts_and_the_last_run_decides(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(session=prepare(spark), root=str(tmp_path / "lake"))
    source = tmp_path / "events"
    source.mkdir()
    _write(
        source / "1.jsonl",
        _tested("one", 2, success=False),
        _tested("one", 1, success=True, kind="RUNNING"),
        body(run="other", inputs=["/a"], outputs=["/b"]),
    )
    _update(lake, source, 1)
    rows = {(row["run_id"], row["name"]): row for row in lake.read(QUALITY).collect()}
    assert rows.keys() == {(run_id("one"), "not_null"), (run_id("one"), "rowCount")}
    test, count = rows[run_id("one"), "not_null"], rows[run_id("one"), "rowCount"]
    assert (test["qualified_name"], test["column"], test["success"], test["value"]) == (
        "file:///orders",
        "id",
        False,
        None,
    )
    assert (count["column"], count["success"], count["value"], count["job"]) == ("", None, 9.0, "dq.check")
    (failed,) = failed_tests(lake).collect()
    assert failed["run_id"] == run_id("one")

    earlier, later_event = _tested("one", 0, success=True, kind="START"), _tested("two", 9, success=True, rows=10)
    _write(source / "2.jsonl", earlier, later_event)
    _update(lake, source, 2)
    assert {row["run_id"]: row["success"] for row in lake.read(QUALITY).where("kind = 'test'").collect()} == {
        run_id("one"): False,
        run_id("two"): True,
    }, "an earlier event of a run says nothing new"
    assert failed_tests(lake).collect() == []
    assert lake.read(QUALITY).count() == 4
