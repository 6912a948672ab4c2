"""Kafka: topics read and written in batches and as streams, two topics at once, from files and into Delta; see
kafka.truth.json.
"""

import argparse
from functools import partial
from pathlib import Path

from _session import DELTA, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

TEXT = "CAST(value AS STRING) AS value"


class Broker:
    """A broker, by Spark's Kafka source and sink."""

    def __init__(self, spark: SparkSession, address: str, data: Path) -> None:
        """Remember the session and the options of every access."""
        self.spark = spark
        self._address = {"kafka.bootstrap.servers": address}
        self.data = data

    def read(self, **options: str) -> DataFrame:
        """Read a batch."""
        return self.spark.read.format("kafka").options(**self._address, **options).load()

    def stream(self, **options: str) -> DataFrame:
        """Read a stream from its beginning."""
        reader = self.spark.readStream.format("kafka").options(**self._address, **options)
        return reader.option("startingOffsets", "earliest").load()

    def write(self, frame: DataFrame, **options: str) -> None:
        """Write a batch."""
        frame.write.format("kafka").options(**self._address, **options).save()

    def send(self, stream: DataFrame, name: str, **options: str) -> None:
        """Write a stream until nothing is left."""
        writer = stream.writeStream.format("kafka").options(**self._address, **options).trigger(availableNow=True)
        writer.option("checkpointLocation", f"{self.data}/checkpoints/{name}").start().awaitTermination()


def write_inputs(broker: Broker) -> None:
    """Write the inputs of the steps."""
    for topic in ("orders", "returns", "visits"):
        broker.write(broker.spark.sql("SELECT 'a' AS key, 'one' AS value"), topic=topic)
    broker.spark.sql("SELECT * FROM VALUES (1, 'ann') AS t (id, name)").write.parquet(f"{broker.data}/in/people")
    broker.spark.sql("SELECT 'a' AS code, 'apple' AS product").write.parquet(f"{broker.data}/in/products")


def batch_into_delta(broker: Broker) -> None:
    """Read a topic, write Delta."""
    orders = broker.read(subscribe="orders").selectExpr(TEXT)
    orders.write.format("delta").save(f"{broker.data}/out/orders")


def two_topics(broker: Broker) -> None:
    """Read two topics at once, write parquet."""
    broker.read(subscribe="orders,returns").selectExpr("topic", TEXT).write.parquet(f"{broker.data}/out/movements")


def files_into_topic(broker: Broker) -> None:
    """Read files, write a topic."""
    people = broker.spark.read.parquet(f"{broker.data}/in/people")
    broker.write(people.select(f.to_json(f.struct("id", "name")).alias("value")), topic="people")


def topic_into_topic(broker: Broker) -> None:
    """Copy a topic in a batch."""
    broker.write(broker.read(subscribe="visits").select("key", "value"), topic="copied_visits")


def stream_into_delta(broker: Broker) -> None:
    """Stream a topic into Delta."""
    writer = broker.stream(subscribe="visits").selectExpr(TEXT).writeStream.format("delta").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{broker.data}/checkpoints/visits")
    writer.start(f"{broker.data}/out/visits").awaitTermination()


def stream_with_files(broker: Broker) -> None:
    """Stream two topics, joined with files, into Delta."""
    products = broker.spark.read.parquet(f"{broker.data}/in/products")
    movements = broker.stream(subscribe="orders,returns").selectExpr("CAST(key AS STRING) AS code", TEXT)
    joined = movements.join(products, "code").select("value", "product").writeStream.format("delta")
    joined = joined.option("checkpointLocation", f"{broker.data}/checkpoints/joined").trigger(availableNow=True)
    joined.start(f"{broker.data}/out/products").awaitTermination()


def stream_into_topic(broker: Broker) -> None:
    """Stream a topic into another."""
    broker.send(broker.stream(subscribe="orders").select("key", "value"), "routed", topic="routed_orders")


def stream_into_topic_by_column(broker: Broker) -> None:
    """Stream a topic into those that a column names."""
    chosen_returns = broker.stream(subscribe="returns").selectExpr("'chosen_returns' AS topic", "value")
    broker.send(chosen_returns, "chosen")


def stream_of_pattern(broker: Broker) -> None:
    """Stream the topics that a pattern fits into Delta."""
    writer = broker.stream(subscribePattern="visit.*").selectExpr(TEXT).writeStream.format("delta")
    writer = writer.option("checkpointLocation", f"{broker.data}/checkpoints/pattern").trigger(availableNow=True)
    writer.start(f"{broker.data}/out/pattern").awaitTermination()


def append_batch(data: Path, batch: DataFrame, _number: int) -> None:
    """Append a batch."""
    batch.write.format("delta").mode("append").save(f"{data}/out/returns")


def stream_by_batches(broker: Broker) -> None:
    """Stream a topic by foreachBatch into Delta."""
    writer = (
        broker.stream(subscribe="returns").selectExpr(TEXT).writeStream.foreachBatch(partial(append_batch, broker.data))
    )
    writer = writer.option("checkpointLocation", f"{broker.data}/checkpoints/batches").trigger(availableNow=True)
    writer.start().awaitTermination()


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kafka", required=True, help="HOST:PORT of the broker")
    options = parser.parse_args()
    spark = SparkSession.builder.appName("kafka").config(map=DELTA).getOrCreate()
    broker = Broker(spark, options.kafka, options.data)
    for step in (
        write_inputs,
        batch_into_delta,
        two_topics,
        files_into_topic,
        topic_into_topic,
        stream_into_delta,
        stream_with_files,
        stream_into_topic,
        stream_into_topic_by_column,
        stream_of_pattern,
        stream_by_batches,
    ):
        step(broker)
    finish(spark)


if __name__ == "__main__":
    main()
