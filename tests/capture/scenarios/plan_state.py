"""Streams that keep state: windows, sessions, outer joins, functions of pandas with a state; one sink each.

See plan_state.truth.json.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # in the captures' own environment
from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the streams."""
    spark.sql("""
        SELECT * FROM VALUES (1, 7, 10.0D, TIMESTAMP '2024-05-01 10:00:00'),
                             (2, 8, 20.0D, TIMESTAMP '2024-05-01 10:05:00')
            AS t (order_id, shop_id, amount, at)
    """).write.parquet(f"{data}/in/orders")
    spark.sql(
        "SELECT * FROM VALUES (1, 'card', TIMESTAMP '2024-05-01 10:01:00') AS t (paid, means, paid_at)"
    ).write.parquet(f"{data}/in/payments")
    spark.sql("SELECT * FROM VALUES (7, 'north') AS t (shop_id, region)").write.parquet(f"{data}/in/shops")


def stream(spark: SparkSession, data: Path, source: str) -> DataFrame:
    """Read a folder's files as a stream."""
    folder = f"{data}/in/{source}"
    return spark.readStream.schema(spark.read.parquet(folder).schema).parquet(folder)


def write(frame: DataFrame, data: Path, name: str) -> None:
    """Write until all is read."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{data}/checkpoints/{name}")
    writer.trigger(availableNow=True).start(f"{data}/out/{name}").awaitTermination()


def windows(spark: SparkSession, data: Path) -> None:
    """Sum by windows of time, sliding ones, and sessions."""
    orders = stream(spark, data, "orders").withWatermark("at", "1 hour")
    hourly = orders.groupBy(f.window("at", "1 hour"), "shop_id").agg(f.sum("amount").alias("total"))
    write(hourly.selectExpr("window.start AS hour", "shop_id", "total"), data, "hourly")
    sliding = orders.groupBy(f.window("at", "1 hour", "30 minutes")).agg(f.max("amount").alias("most"))
    write(sliding.selectExpr("window.end AS until", "most"), data, "sliding")
    sessions = orders.groupBy(f.session_window("at", "5 minutes"), "shop_id").agg(
        f.min("order_id").alias("first_order")
    )
    write(sessions.select("shop_id", "first_order"), data, "sessions")


def joins(spark: SparkSession, data: Path) -> None:
    """Join with another stream and with a table, keeping rows without a partner."""
    orders = stream(spark, data, "orders").withWatermark("at", "1 hour")
    payments = stream(spark, data, "payments").withWatermark("paid_at", "1 hour")
    join_condition = f.expr("order_id = paid AND paid_at BETWEEN at AND at + INTERVAL 1 HOUR")
    write(orders.join(payments, join_condition, "left").select("order_id", "means"), data, "left_joined")
    shops = spark.read.parquet(f"{data}/in/shops")
    write(orders.join(shops, "shop_id", "left").select("order_id", "region"), data, "with_table")
    order_ids = orders.select("order_id").union(payments.select("paid"))
    write(order_ids, data, "united")


def distinct(spark: SparkSession, data: Path) -> None:
    """Keep the first row of each key within the watermark."""
    orders = stream(spark, data, "orders").withWatermark("at", "1 hour")
    write(orders.dropDuplicatesWithinWatermark(["shop_id"]).select("order_id"), data, "first_within")


def with_state(spark: SparkSession, data: Path) -> None:
    """Give each group to a function that keeps a state."""

    def count(key: tuple[int], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        total = (state.get[0] if state.exists else 0) + sum(len(frame) for frame in frames)
        state.update((total,))
        yield pd.DataFrame({"shop": [key[0]], "orders": [total]})

    orders = stream(spark, data, "orders").select("shop_id", "order_id")
    counted = orders.groupBy("shop_id").applyInPandasWithState(
        count, "shop INT, orders INT", "total INT", "append", GroupStateTimeout.NoTimeout
    )
    write(counted, data, "with_state")


def main() -> None:
    """Run one stream after the other, in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("plan_state").getOrCreate()
    write_inputs(spark, data)
    for step in (windows, joins, distinct, with_state):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
