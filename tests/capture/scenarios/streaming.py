"""Streams of files into parquet, Delta and a table: a stream that is started again, two at the same time, a join with
a table, an aggregation; see streaming.truth.json.
"""

from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the streams."""
    add_orders(spark, data, 1)
    spark.sql("SELECT * FROM VALUES (1, 'north'), (2, 'south') AS t (shop_id, region)").write.format("delta").save(
        f"{data}/in/shops"
    )
    spark.sql("SELECT id, id * 2 AS double FROM range(3)").write.format("delta").save(f"{data}/in/numbers")
    clicks = data / "in" / "clicks"
    clicks.mkdir()
    (clicks / "clicks-1.json").write_text('{"page": "home", "at": "2024-05-01T10:00:00Z"}\n')
    (clicks / "clicks-2.json").write_text('{"page": "shop", "at": "2024-05-01T11:00:00Z"}\n')


def add_orders(spark: SparkSession, data: Path, number: int) -> None:
    """Let one file of orders arrive."""
    rows = f"({number}, 1, 12.5), ({number}0, 2, 7.5)"
    orders = spark.sql(f"SELECT * FROM VALUES {rows} AS t (order_id, shop_id, amount)")  # noqa: S608 - numbers
    orders.coalesce(1).write.mode("append").parquet(f"{data}/in/orders")


def orders(spark: SparkSession, data: Path) -> DataFrame:
    """The stream of orders."""
    return spark.readStream.schema("order_id INT, shop_id INT, amount DECIMAL(3, 1)").parquet(f"{data}/in/orders")


def run(stream: DataFrame, data: Path, sink: str, *, form: str = "parquet", mode: str = "append") -> StreamingQuery:
    """Start a query that writes the available rows, and then ends."""
    writer = stream.writeStream.queryName(sink).format(form).outputMode(mode).trigger(availableNow=True)
    return writer.option("checkpointLocation", f"{data}/checkpoints/{sink}").start(f"{data}/out/{sink}")


def into_parquet(spark: SparkSession, data: Path) -> None:
    """Write selected and filtered rows."""
    large = orders(spark, data).where("amount > 5").select("order_id", f.col("amount").alias("price"))
    run(large, data, "large_orders").awaitTermination()


def started_again(spark: SparkSession, data: Path) -> None:
    """End a query and start it again when more files have come: it goes on, as the same process."""
    for number in (2, 3):
        run(orders(spark, data), data, "all_orders", form="delta").awaitTermination()
        add_orders(spark, data, number)
    run(orders(spark, data), data, "all_orders", form="delta").awaitTermination()


def two_at_once(spark: SparkSession, data: Path) -> None:
    """Run two queries at the same time: one of files, one a batch, and one of a Delta table."""
    clicks = spark.readStream.schema("page STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1)
    numbers = spark.readStream.format("delta").load(f"{data}/in/numbers")
    together = [
        run(clicks.json(f"{data}/in/clicks"), data, "clicks", form="delta"),
        run(numbers.select(f.col("double").alias("twice")), data, "numbers", form="delta"),
    ]
    for query in together:
        query.awaitTermination()


def joined(spark: SparkSession, data: Path) -> None:
    """Join the stream with a table that does not stream."""
    shops = spark.read.format("delta").load(f"{data}/in/shops")
    named = orders(spark, data).join(shops, "shop_id").select("order_id", "region")
    run(named, data, "named_orders", form="delta").awaitTermination()


def summed_up(spark: SparkSession, data: Path) -> None:
    """Keep a state, and write all of it each time."""
    totals = orders(spark, data).groupBy("shop_id").agg(f.sum("amount").alias("total"))
    run(totals, data, "totals", form="delta", mode="complete").awaitTermination()


def into_table(spark: SparkSession, data: Path) -> None:
    """Write a table of the session's catalog."""
    writer = orders(spark, data).select("order_id").writeStream.format("delta").trigger(availableNow=True)
    writer.option("checkpointLocation", f"{data}/checkpoints/order_ids").toTable("order_ids").awaitTermination()


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    builder = SparkSession.builder.appName("streaming").config(map=DELTA)
    spark = builder.config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for step in (write_inputs, into_parquet, started_again, two_at_once, joined, summed_up, into_table):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
