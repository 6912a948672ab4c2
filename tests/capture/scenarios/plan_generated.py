"""Columns that Delta computes when rows are written, and its change feeds; see plan_generated.truth.json."""

from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from delta.tables import DeltaTable, DeltaTableBuilder, IdentityGenerator  # type: ignore[import-not-found,import-untyped,unused-ignore]  # in the captures' own environment
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the orders."""
    spark.sql("""
        SELECT * FROM VALUES (1, 'open', TIMESTAMP '2024-05-01 10:00:00'), (2, 'paid', TIMESTAMP '2024-05-02 10:00:00')
            AS t (order_id, status, at)
    """).write.parquet(f"{data}/in/orders")


def made(table: DeltaTableBuilder) -> None:
    """Make a table with an identity, and columns computed by a cast, a condition and a mask."""
    table = table.addColumn("order_id", "INT").addColumn("status", "STRING").addColumn("at", "TIMESTAMP")
    table = table.addColumn("day", "DATE", generatedAlwaysAs="CAST(at AS DATE)")
    table = table.addColumn("old", "INT", generatedAlwaysAs="CASE WHEN year(at) < 2024 THEN order_id ELSE 0 END")
    table = table.addColumn("hidden", "STRING", generatedAlwaysAs="sha2(status, 256)")
    table.addColumn("number", "BIGINT", generatedAlwaysAs=IdentityGenerator()).partitionedBy("day").execute()


def writes(spark: SparkSession, data: Path) -> None:
    """Write by path, by table, by statement, by stream, by MERGE; and with a given value for a computed column."""
    orders = spark.read.parquet(f"{data}/in/orders")
    orders.createOrReplaceTempView("orders")
    for name in ("by_path", "by_statement", "streamed", "merged", "given"):
        made(DeltaTable.create(spark).location(f"{data}/out/{name}"))
    made(DeltaTable.create(spark).tableName("by_table"))
    orders.write.format("delta").mode("append").save(f"{data}/out/by_path")
    orders.write.format("delta").mode("append").saveAsTable("by_table")
    spark.sql(f"INSERT INTO delta.`{data}/out/by_statement` (order_id, at) SELECT order_id, at FROM orders")  # noqa: S608 - a folder of this capture
    stream = spark.readStream.schema(orders.schema).parquet(f"{data}/in/orders").writeStream.format("delta")
    stream = stream.option("checkpointLocation", f"{data}/checkpoints/streamed").trigger(availableNow=True)
    stream.start(f"{data}/out/streamed").awaitTermination()
    spark.sql(f"""
        MERGE INTO delta.`{data}/out/merged` t USING orders s ON t.order_id = s.order_id
        WHEN MATCHED THEN UPDATE SET at = s.at
        WHEN NOT MATCHED THEN INSERT (order_id, at) VALUES (s.order_id, s.at)
    """)  # noqa: S608 - a folder of this capture
    dated_orders = orders.withColumn("day", f.to_date("at"))
    dated_orders.write.format("delta").mode("append").save(f"{data}/out/given")


def feeds(spark: SparkSession, data: Path) -> None:
    """Read the changes of a table, by its name, its path and in a statement."""
    spark.sql("""
        CREATE TABLE fed (order_id INT, status STRING) USING delta
        TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')
    """)
    spark.sql("INSERT INTO fed SELECT order_id, status FROM orders")
    changes = spark.read.option("readChangeFeed", "true").option("startingVersion", 0)
    changes.table("fed").select("order_id", "_change_type").write.parquet(f"{data}/out/feed_by_name")
    folder = f"{data}/warehouse/fed"
    changes.format("delta").load(folder).where("status = 'open'").select("order_id").write.parquet(
        f"{data}/out/feed_by_path"
    )
    spark.sql("SELECT upper(status) AS status FROM table_changes('fed', 0)").write.parquet(f"{data}/out/feed_by_sql")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_generated").config(map=DELTA)
    spark = session.config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for step in (write_inputs, writes, feeds):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
