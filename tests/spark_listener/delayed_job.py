"""Three jobs for each receiver named in the argument (JSON), each receiver in its own Spark application in one JVM.

Nothing waits for the listeners: short applications are over before a slow receiver has answered their first event.
"""

import json
import sys
from functools import partial

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf


def failing(spark: SparkSession, folder: str) -> None:
    """Write, fail in a task, write elsewhere, and fail to overwrite what is there."""
    rows = spark.read.parquet(f"{folder}/in")
    rows.write.parquet(f"{folder}/one")
    for values, target in (
        (rows.selectExpr("id", "raise_error('no') AS v"), "two"),
        (rows.selectExpr("v AS id"), "one"),
    ):
        try:
            values.write.parquet(f"{folder}/{target}")
        except (PySparkException, Py4JJavaError):
            continue
        raise AssertionError("this write was to fail")
    rows.select("id").write.parquet(f"{folder}/four")


def created(spark: SparkSession, folder: str) -> None:
    """Write a table from a checkpoint, read it, and drop it."""
    sums = spark.read.parquet(f"{folder}/in").groupBy("id").agg(sf.sum("v").alias("total")).localCheckpoint()
    sums.write.saveAsTable("sums")
    spark.sql("CREATE TABLE kept USING parquet AS SELECT total AS t FROM sums WHERE id > 1")
    spark.sql("DROP TABLE sums")


def batch(folder: str, rows: DataFrame, _number: int) -> None:
    """Write a micro-batch, and a checkpoint of it."""
    maxima = rows.groupBy("id").agg(sf.max("v").alias("most")).localCheckpoint()
    maxima.write.mode("append").parquet(f"{folder}/most")
    rows.selectExpr("v AS w").write.mode("append").parquet(f"{folder}/raw")


def streamed(spark: SparkSession, folder: str) -> None:
    """Give a function each micro-batch of a stream."""
    writer = spark.readStream.schema("id long, v long").parquet(f"{folder}/in").writeStream
    writer = writer.foreachBatch(partial(batch, folder)).option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()


for name, url in json.loads(sys.argv[1]).items():
    folder = f"{sys.argv[2]}/{name}"
    builder = SparkSession.builder.appName("Delayed").config("spark.sql.warehouse.dir", f"{folder}/warehouse")
    spark = builder.config("spark.openlineage.transport.url", url).getOrCreate()
    spark.range(3).selectExpr("id", "id * 2 AS v").write.parquet(f"{folder}/in")
    for job in (failing, created, streamed):
        job(spark, folder)
    spark.stop()
