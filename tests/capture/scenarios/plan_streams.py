"""Streams with joins and state, into Delta, files and tables, and MERGE for each batch; see plan_streams.truth.json."""

from functools import partial
from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamWriter


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the streams, and the target of the MERGE."""
    spark.sql("""
        SELECT * FROM VALUES (1, 7, 10.0D, TIMESTAMP '2024-05-01 10:00:00'),
                             (2, 8, 20.0D, TIMESTAMP '2024-05-01 10:05:00')
            AS t (order_id, shop_id, amount, at)
    """).write.parquet(f"{data}/in/orders")
    spark.sql("""
        SELECT * FROM VALUES (1, 'card', TIMESTAMP '2024-05-01 10:01:00'), (2, 'cash', TIMESTAMP '2024-05-01 10:06:00')
            AS t (paid_order, means, paid_at)
    """).write.parquet(f"{data}/in/payments")
    shops = "SELECT * FROM VALUES (7, 'north', 0.0D), (8, 'south', 0.0D) AS t (shop_id, region, total)"
    spark.sql(shops).write.format("delta").save(f"{data}/in/shops")
    spark.sql(shops).write.format("delta").save(f"{data}/out/shops")


def stream(spark: SparkSession, data: Path, source: str) -> DataFrame:
    """Read a folder's files as a stream."""
    folder = f"{data}/in/{source}"
    return spark.readStream.schema(spark.read.parquet(folder).schema).parquet(folder)


def started(writer: DataStreamWriter, data: Path, name: str) -> DataStreamWriter:
    """Say where the stream keeps its place, and that it ends when all is read."""
    return writer.option("checkpointLocation", f"{data}/checkpoints/{name}").trigger(availableNow=True)


def joined_streams(spark: SparkSession, data: Path) -> None:
    """Join two streams within a time, into Delta."""
    orders = stream(spark, data, "orders").withWatermark("at", "1 hour")
    payments = stream(spark, data, "payments").withWatermark("paid_at", "1 hour")
    paid = orders.join(
        payments, f.expr("order_id = paid_order AND paid_at >= at AND paid_at <= at + INTERVAL 1 HOUR")
    ).select("order_id", "means", "amount")
    started(paid.writeStream.format("delta"), data, "paid").start(f"{data}/out/paid").awaitTermination()


def totals(spark: SparkSession, data: Path) -> None:
    """Keep totals of each region, in Delta, as a whole."""
    shops = spark.read.format("delta").load(f"{data}/in/shops")
    amounts = stream(spark, data, "orders").join(shops, "shop_id").groupBy("region").agg(f.sum("amount").alias("total"))
    writer = started(amounts.writeStream.format("delta").outputMode("complete"), data, "totals")
    writer.start(f"{data}/out/totals").awaitTermination()


def deduplicated(spark: SparkSession, data: Path) -> None:
    """Keep the first row of each shop, into files."""
    first = stream(spark, data, "orders").dropDuplicates(["shop_id"]).select("shop_id", "amount")
    started(first.writeStream.format("parquet"), data, "first").start(f"{data}/out/first").awaitTermination()


def files(spark: SparkSession, data: Path) -> None:
    """Filter, into files."""
    large = stream(spark, data, "orders").where("amount > 15").select("order_id", f.col("shop_id").alias("shop"))
    started(large.writeStream.format("json"), data, "large").start(f"{data}/out/large").awaitTermination()


def tables(spark: SparkSession, data: Path) -> None:
    """Write a table of Delta, and one of files."""
    orders = stream(spark, data, "orders")
    writer = orders.select("order_id", "amount").writeStream.format("delta")
    started(writer, data, "delta_table").toTable("delta_table").awaitTermination()
    writer = orders.select("order_id", "shop_id").writeStream.format("parquet")
    started(writer, data, "file_table").toTable("file_table").awaitTermination()


def merge(data: Path, batch: DataFrame, _number: int) -> None:
    """Merge a batch's totals, and append its rows."""
    batch.groupBy("shop_id").agg(f.sum("amount").alias("sum")).createOrReplaceTempView("sums")
    batch.sparkSession.sql(f"""
        MERGE INTO delta.`{data}/out/shops` t USING sums s ON t.shop_id = s.shop_id
        WHEN MATCHED THEN UPDATE SET t.total = t.total + s.sum
        WHEN NOT MATCHED THEN INSERT (shop_id, total) VALUES (s.shop_id, s.sum)
    """)  # noqa: S608 - a folder of this capture
    batch.select("order_id").write.mode("append").parquet(f"{data}/out/seen")


def batches(spark: SparkSession, data: Path) -> None:
    """Give each batch to a function, filtered before."""
    orders = stream(spark, data, "orders").where("order_id > 0")
    started(orders.writeStream.foreachBatch(partial(merge, data)), data, "batches").start().awaitTermination()


def main() -> None:
    """Run one stream after the other, in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_streams").config(map=DELTA)
    spark = session.config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    write_inputs(spark, data)
    for step in (joined_streams, totals, deduplicated, files, tables, batches):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
