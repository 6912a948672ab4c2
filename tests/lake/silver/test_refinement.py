"""The facts of runs that silver keeps from earlier steps."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from shared.openlineage.decoding import decode
from shared.translation.reference import contributions_of
from shared.translation.run.application import JOINED
from tests.lake.files import OF_SPARK
from tests.support.events import event, run_id
from tests.support.plans_alone import plan_event
from throughline.lake.bronze.ingestion import ingest
from throughline.lake.engine.session import prepare
from throughline.lake.silver.refinement import Meaning, _known, refine
from throughline.lake.tables.encoding import unpack_process
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import RUN_CONTRIBUTIONS, RUNS

pytestmark = OF_SPARK


def test_the_reason_why_a_run_could_not_be_merged_is_kept(spark: SparkSession) -> None:
    """Such a run cannot be translated again; a merged one gets its reason from its translation."""
    rows: list[dict[str, Any]] = [
        {"run_id": "broken", "outcome": "unusable", "reason": "ValueError: no"},
        {"run_id": "skipped", "outcome": "skipped", "reason": "the run failed", "merged": b"12345"},
        {"run_id": "another", "outcome": "translated", "merged": b"1"},
    ]
    stored = spark.createDataFrame([tuple(row.get(name) for name in RUNS.names) for row in rows], RUNS.struct())
    needed = spark.createDataFrame([("broken",), ("skipped",)], "run_id string")
    problems = {row.run_id: (row.problem, row.weight) for row in _known(stored, needed).collect()}
    assert problems == {"broken": ("ValueError: no", None), "skipped": (None, 5)}


@pytest.mark.on_sail
def test_a_plan_that_came_alone_counts_with_the_run_that_another_step_brings(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In one application the plan comes first, in the other one the listener's run."""
    lake = Lake(session=prepare(spark), root=str(tmp_path / "lake"))
    source = tmp_path / "events"
    source.mkdir()
    steps: tuple[list[bytes], list[bytes]] = ([], [])
    for app, sink in (("one", "/b"), ("two", "/d")):
        moment, application = "2026-11-21T10:00:00Z", run_id(app)
        steps[app == "one"].append(
            event(f"{app} l", "COMPLETE", "10:00:00", inputs=["/c"], outputs=[sink], application=app)
        )
        steps[app == "two"].append(
            plan_event(run_id(f"{app} p"), moment, application=application, source="/a", sink=sink)
        )
    for batch, bodies in enumerate(steps, 1):
        (source / f"{batch}.jsonl").write_bytes(b"\n".join(bodies))
        ingest(lake, [str(source)], batch=batch)
        refine(lake, Meaning(), batch=batch, since=batch - 1)
    runs = {row["run_id"]: row for row in lake.read(RUNS).collect()}
    for app in ("one", "two"):
        plan, run = runs[run_id(f"{app} p")], runs[run_id(f"{app} l")]
        assert (plan["outcome"], plan["reason"]) == ("skipped", JOINED)
        assert (run["outcome"], run["columns_by"]) == ("translated", "plan")
    rows = lake.live(RUN_CONTRIBUTIONS).orderBy("process").select("run_id", "content").collect()
    expected = sorted(contributions_of(map(decode, chain(*steps))), key=lambda share: share.content.qualified_name)
    assert [row["run_id"] for row in rows] == [run_id("one l"), run_id("two l")]
    assert [unpack_process(bytes(row["content"])) for row in rows] == [share.content for share in expected]
