"""A job without a notebook on a Databricks cluster of its own; see databricks_job.truth.json."""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession

LAKE = "abfss://lake@contoso.dfs.core.windows.net"


def write_inputs(spark: SparkSession) -> None:
    """Write the inputs of the steps."""
    spark.sql("SELECT id, id * 2 AS double FROM range(3)").write.format("delta").save(f"{LAKE}/numbers")


def attach(spark: SparkSession) -> None:
    """Do as Databricks does when a job's task starts: one run of a job that is scheduled."""
    for name, value in (("id", "42"), ("type", "python"), ("runId", "7001")):
        spark.sparkContext.setLocalProperty(f"spark.databricks.job.{name}", value)


def copy_distinct(spark: SparkSession) -> None:
    """Write parquet from Delta, with a shuffle."""
    numbers = spark.read.format("delta").load(f"{LAKE}/numbers").select("double").distinct()
    numbers.write.parquet(f"{LAKE}/doubles")


def copy_into_delta(spark: SparkSession) -> None:
    """Write Delta: none of the run's own events has Databricks' properties."""
    spark.read.parquet(f"{LAKE}/doubles").write.format("delta").save(f"{LAKE}/kept_doubles")


def copy_by_rdd(spark: SparkSession, data: Path) -> None:
    """Write without SQL: tables only, no columns."""
    (data / "in" / "notes").mkdir(parents=True)
    (data / "in" / "notes" / "notes.txt").write_text("one two\nthree\n")
    spark.sparkContext.textFile(f"{data}/in/notes").saveAsTextFile(f"{data}/out/notes")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("Databricks Shell").getOrCreate()
    attach(spark)
    write_inputs(spark)
    copy_distinct(spark)
    copy_into_delta(spark)
    copy_by_rdd(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
