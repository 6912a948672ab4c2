"""The lake in a notebook or a job of a cluster, in the Spark session that is there. Needs PySpark.

    from throughline.lake import Lake, Meaning, Order, run

`main` is the entry point for spark-submit; docs/reference/lake.md shows each platform.
"""

from spark_pipeline.gold.impact import column_edges, columns_of, downstream
from spark_pipeline.pipeline import Order, Stage, run
from spark_pipeline.silver.refinement import Meaning
from spark_pipeline.submit import main
from spark_pipeline.tables.lake import Lake, LakeError
from spark_pipeline.tables.schemas import COVERAGE, SCHEMA_CHANGES

__all__ = [
    "COVERAGE",
    "SCHEMA_CHANGES",
    "Lake",
    "LakeError",
    "Meaning",
    "Order",
    "Stage",
    "column_edges",
    "columns_of",
    "downstream",
    "main",
    "run",
]
