"""Streams that write by foreachBatch: a MERGE by SQL, one by API, an append; see foreach_batch.truth.json."""

from functools import partial
from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from delta.tables import DeltaTable  # type: ignore[import-not-found]  # comes inside Delta's jar, by spark-submit
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the streams, in two files each, and the targets that they change."""
    customers = "SELECT * FROM VALUES ({0}1, 'ann', 10.5), ({0}2, 'bob', 20.0) AS t (customer_id, name, balance)"
    prices = "SELECT * FROM VALUES ({0}7, 'tea', 3.5), ({0}8, 'milk', 1.2) AS t (product_id, label, price)"
    for source, rows in (("customers", customers), ("prices", prices), ("stock", prices)):
        for number in (1, 2):
            spark.sql(rows.format(number)).coalesce(1).write.mode("append").parquet(f"{data}/in/{source}")
    spark.sql(customers.format(1)).write.format("delta").save(f"{data}/out/customers")
    spark.sql(prices.format(1)).write.format("delta").save(f"{data}/out/prices")


def start(spark: SparkSession, data: Path, source: str, write: "partial[None]") -> StreamingQuery:
    """Start a stream of a folder's files, one a batch."""
    folder = f"{data}/in/{source}"
    files = spark.readStream.schema(spark.read.parquet(folder).schema).option("maxFilesPerTrigger", 1).parquet(folder)
    writer = files.writeStream.queryName(source).foreachBatch(write).trigger(availableNow=True)
    return writer.option("checkpointLocation", f"{data}/checkpoints/{source}").start()


def merge_customers(data: Path, batch: DataFrame, _number: int) -> None:
    """Merge a batch by SQL: its source is a temporary view of the batch."""
    batch.createOrReplaceTempView("changes")
    batch.sparkSession.sql(f"""
        MERGE INTO delta.`{data}/out/customers` t USING changes s ON t.customer_id = s.customer_id
        WHEN MATCHED THEN UPDATE SET t.balance = s.balance
        WHEN NOT MATCHED THEN INSERT *
    """)


def merge_prices(data: Path, batch: DataFrame, _number: int) -> None:
    """Merge a batch through Delta's class."""
    prices = DeltaTable.forPath(batch.sparkSession, f"{data}/out/prices").alias("t")
    merge = prices.merge(batch.alias("s"), "t.product_id = s.product_id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def append_stock(data: Path, batch: DataFrame, _number: int) -> None:
    """Append a batch to two sinks."""
    batch.write.format("delta").mode("append").save(f"{data}/out/stock")
    batch.select("label").write.mode("append").parquet(f"{data}/out/labels")


def main() -> None:
    """Run one stream alone, then two at the same time, in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("foreach_batch").config(map=DELTA).getOrCreate()
    write_inputs(spark, data)
    start(spark, data, "stock", partial(append_stock, data)).awaitTermination()
    together = [
        start(spark, data, "customers", partial(merge_customers, data)),
        start(spark, data, "prices", partial(merge_prices, data)),
    ]
    for query in together:
        query.awaitTermination()
    finish(spark)


if __name__ == "__main__":
    main()
