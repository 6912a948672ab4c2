"""Shared by the scenarios: their one argument, and an end at which the listener has sent everything.

spark-submit puts a script's folder first on the path: scenarios import this as `_session`.
"""

import argparse
from pathlib import Path

from pyspark.sql import SparkSession

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # VACUUM shuffles the names of files to as many tasks: 10,000 by default.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
"""The properties of a session with Delta tables, and those that keep it small."""


def data_folder(description: str | None) -> Path:
    """Return the folder that `--data` names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True)
    folder: Path = parser.parse_args().data
    return folder


def finish(spark: SparkSession) -> None:
    """Let the listeners catch up, for a minute at most, then stop.

    To report a Delta table's files, the OpenLineage listener has Delta run small jobs. One that it begins while the
    session stops never ends, and stop() waits for the listener: so it must have nothing left to do by then.
    """
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    spark.stop()
