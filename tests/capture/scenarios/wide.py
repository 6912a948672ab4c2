"""A table of 300 columns, copied, joined and added up; see wide.truth.json."""

from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

COLUMNS = tuple(f"measure_{number:03}" for number in range(299))


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps."""
    values = [f.lit(number).alias(name) for number, name in enumerate(COLUMNS)]
    spark.range(2).select("id", *values).write.format("delta").save(f"{data}/in/wide")
    spark.range(2).selectExpr("id", "'north' AS region").write.format("delta").save(f"{data}/in/regions")


def copy_wide(spark: SparkSession, data: Path) -> None:
    """Copy all columns."""
    spark.read.format("delta").load(f"{data}/in/wide").write.parquet(f"{data}/out/copied")


def join_wide(spark: SparkSession, data: Path) -> None:
    """Copy all columns of the rows that another table lets through."""
    wide = spark.read.format("delta").load(f"{data}/in/wide")
    regions = spark.read.format("delta").load(f"{data}/in/regions").where("region = 'north'").select("id")
    wide.join(regions, "id").where(f"{COLUMNS[0]} >= 0").write.format("delta").save(f"{data}/out/joined")


def narrow(spark: SparkSession, data: Path) -> None:
    """Add all columns up into one."""
    total = f.expr(" + ".join(COLUMNS)).alias("total")
    spark.read.format("delta").load(f"{data}/in/wide").select("id", total).write.parquet(f"{data}/out/totals")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("wide").config(map=DELTA).getOrCreate()
    for step in (write_inputs, copy_wide, join_wide, narrow):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
