"""Histories of jobs: one sink written twice, RDD writes, failures, reading only, a drop; see lifecycle.truth.json."""

import argparse
import shutil
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps."""
    for letter in ("a", "b"):
        spark.sql("SELECT id, id * 2 AS double FROM range(3)").write.parquet(f"{data}/in/{letter}")
    (data / "in" / "notes").mkdir()
    (data / "in" / "notes" / "notes.txt").write_text("one\ntwo\n")


def append_twice(spark: SparkSession, data: Path) -> None:
    """Write one sink from two sources, in two writes: one process."""
    for letter in ("a", "b"):
        spark.read.parquet(f"{data}/in/{letter}").select("id").write.mode("append").parquet(f"{data}/out/both")


def copy_by_rdd(spark: SparkSession, data: Path) -> None:
    """Write without SQL: tables only, no columns."""
    spark.sparkContext.textFile(f"{data}/in/notes").saveAsTextFile(f"{data}/out/notes")


def fail_in_sql(spark: SparkSession, data: Path) -> None:
    """Fail while rows are written: the intended write is no lineage."""
    broken = spark.read.parquet(f"{data}/in/a").selectExpr("id", "cast(raise_error('made to fail') AS string) AS wrong")
    try:
        broken.write.parquet(f"{data}/out/failed_sql")
    except (Py4JJavaError, PySparkException):  # the second since Spark 4
        return
    raise AssertionError("this write was made to fail")


def fail_in_analysis(spark: SparkSession, data: Path) -> None:
    """Fail before any row is read: a file has no two columns of one name."""
    impossible = spark.read.parquet(f"{data}/in/a").selectExpr("id", "id")
    try:
        impossible.write.parquet(f"{data}/out/failed_analysis")
    except AnalysisException:
        return
    raise AssertionError("this write was made to fail")


def fail_in_rdd(spark: SparkSession, data: Path) -> None:
    """Fail while an RDD reads: its input is gone when the job runs."""
    (data / "in" / "gone").mkdir()
    (data / "in" / "gone" / "notes.txt").write_text("one\n")
    notes = spark.sparkContext.textFile(f"{data}/in/gone")
    notes.getNumPartitions()
    shutil.rmtree(data / "in" / "gone")
    try:
        notes.saveAsTextFile(f"{data}/out/failed_rdd")
    except Py4JJavaError:
        return
    raise AssertionError("this write was made to fail")


def only_read(spark: SparkSession, data: Path) -> None:
    """Read and write nothing."""
    spark.read.parquet(f"{data}/in/a").where("id > 1").collect()


def create_and_drop(spark: SparkSession) -> None:
    """Drop a table that was written without inputs."""
    spark.sql("CREATE TABLE scratch USING parquet AS SELECT 1 AS one")
    spark.sql("DROP TABLE scratch")


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    spark = (
        SparkSession.builder.appName("lifecycle").config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    )
    for step in (write_inputs, append_twice, copy_by_rdd, fail_in_sql, fail_in_analysis, fail_in_rdd, only_read):
        step(spark, data)
    create_and_drop(spark)
    spark.stop()


if __name__ == "__main__":
    main()
