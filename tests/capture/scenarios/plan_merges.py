"""MERGE, whose own checkpoints are not the user's, in and outside of foreachBatch; see plan_merges.truth.json."""

from functools import partial
from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the orders, and make the targets."""
    spark.range(3).selectExpr("id", "id * 2 AS amount").write.parquet(f"{data}/in/orders")
    for name in ("one", "two", "three"):
        spark.sql(f"CREATE TABLE delta.`{data}/out/{name}` (id BIGINT, amount BIGINT) USING delta")


def merge(spark: SparkSession, data: Path, name: str, source: str) -> None:
    """Merge a view into a table."""
    spark.sql(f"""
        MERGE INTO delta.`{data}/out/{name}` t USING {source} s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET amount = s.amount WHEN NOT MATCHED THEN INSERT *
    """)


def batch(data: Path, rows: DataFrame, _number: int) -> None:
    """Merge a batch twice; write a checkpoint of it, and the batch itself."""
    rows.groupBy("id").agg(f.sum("amount").alias("amount")).createOrReplaceTempView("sums")
    for name in ("one", "two"):
        merge(rows.sparkSession, data, name, "sums")
    maxima = rows.groupBy("id").agg(f.max("amount").alias("most")).localCheckpoint()
    maxima.write.mode("append").parquet(f"{data}/out/most")
    rows.select(f.col("amount").alias("raw")).write.mode("append").parquet(f"{data}/out/raw")


def batches(spark: SparkSession, data: Path) -> None:
    """Give each batch of a stream to a function."""
    stream = spark.readStream.schema("id long, amount long").parquet(f"{data}/in/orders").writeStream
    stream = stream.foreachBatch(partial(batch, data)).option("checkpointLocation", f"{data}/checkpoints/batches")
    stream.trigger(availableNow=True).start().awaitTermination()


def checkpointed(spark: SparkSession, data: Path) -> None:
    """Merge a checkpoint, and write it."""
    sums = spark.read.parquet(f"{data}/in/orders").groupBy("id").agg(f.sum("amount").alias("amount")).localCheckpoint()
    sums.createOrReplaceTempView("kept")
    merge(spark, data, "three", "kept")
    sums.write.parquet(f"{data}/out/sums")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("plan_merges").config(map=DELTA).getOrCreate()
    for step in (write_inputs, batches, checkpointed):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
