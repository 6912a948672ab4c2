"""The facts of runs that silver keeps from earlier steps."""

from typing import Any

from pyspark.sql import SparkSession

from tests.lake.files import OF_SPARK
from throughline.lake.silver.refinement import _known
from throughline.lake.tables.schemas import RUNS

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
    found = {row.run_id: (row.problem, row.weight) for row in _known(stored, needed).collect()}
    assert found == {"broken": ("ValueError: no", None), "skipped": (None, 5)}
