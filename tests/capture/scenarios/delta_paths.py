"""Delta by path: time travel, partitions, changes of rows and files, schemas that grow; see delta_paths.truth.json."""

from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from delta.tables import DeltaTable  # type: ignore[import-not-found]  # comes inside Delta's jar, by spark-submit
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the sources, and the target that is changed."""
    orders = spark.sql("SELECT * FROM VALUES (10, 1, 'open'), (11, 2, 'paid') AS t (order_id, customer_id, status)")
    for _ in range(2):
        orders.write.format("delta").mode("append").save(f"{data}/in/orders")
    orders.select("order_id", "status").write.format("delta").save(f"{data}/out/changed")
    orders.write.parquet(f"{data}/out/converted")


def time_travel(spark: SparkSession, data: Path) -> None:
    """Read a table as it was."""
    rows_before = spark.read.format("delta").option("versionAsOf", 0).load(f"{data}/in/orders")
    rows_before.select("order_id").write.format("delta").save(f"{data}/out/before")


def partitions(spark: SparkSession, data: Path) -> None:
    """Replace the rows that a condition selects, then only the written partitions."""
    orders = spark.read.format("delta").load(f"{data}/in/orders").select("order_id", "status")
    writer = orders.where("status = 'open'").write.format("delta").partitionBy("status").mode("overwrite")
    writer.option("replaceWhere", "status = 'open'").save(f"{data}/out/replaced_where")
    for _ in range(2):
        writer = orders.write.format("delta").partitionBy("status").mode("overwrite")
        writer.option("partitionOverwriteMode", "dynamic").save(f"{data}/out/dynamic")


def grown_schema(spark: SparkSession, data: Path) -> None:
    """Append a column that was not there."""
    orders = spark.read.format("delta").load(f"{data}/in/orders")
    orders.select("order_id").write.format("delta").save(f"{data}/out/grown")
    writer = orders.select("order_id", "customer_id").write.format("delta").mode("append")
    writer.option("mergeSchema", value=True).save(f"{data}/out/grown")


def change_rows(spark: SparkSession, data: Path) -> None:
    """Change and delete rows by conditions on the table itself: no source, no lineage."""
    path = f"{data}/out/changed"
    table = DeltaTable.forPath(spark, path)
    table.update("status = 'open'", {"status": f.lit("new")})
    table.delete("order_id = 11")
    spark.sql(f"UPDATE delta.`{path}` SET status = upper(status)")  # noqa: S608 - a folder of this capture
    spark.sql(f"OPTIMIZE delta.`{path}`")
    table.optimize().executeZOrderBy("order_id")
    table.vacuum(200)
    table.restoreToVersion(0)
    table.history().collect()


def convert(spark: SparkSession, data: Path) -> None:
    """Make a Delta table of parquet files where they lie: it is the same data set."""
    spark.sql(f"CONVERT TO DELTA parquet.`{data}/out/converted`")


def delete_by_source(spark: SparkSession, data: Path) -> None:
    """Delete the rows that a source names, by a MERGE that inserts and updates nothing."""
    for table in ("deleted", "growing"):
        spark.sql("SELECT 10 AS order_id, 'open' AS status").write.format("delta").save(f"{data}/out/{table}")
    spark.sql(f"""
        MERGE INTO delta.`{data}/out/deleted` t
        USING (SELECT DISTINCT order_id, status FROM delta.`{data}/in/orders`) s ON t.order_id = s.order_id
        WHEN MATCHED AND s.status = 'paid' THEN DELETE
    """)  # noqa: S608 - as above


def merge_and_grow(spark: SparkSession, data: Path) -> None:
    """Merge rows that have a column more, from a file."""
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", value=True)
    spark.read.format("delta").load(f"{data}/in/orders").write.json(f"{data}/out/as_json")
    spark.read.json(f"{data}/out/as_json").dropDuplicates(["order_id"]).createOrReplaceTempView("rows")
    spark.sql(f"""
        MERGE INTO delta.`{data}/out/growing` t USING rows s ON t.order_id = s.order_id
        WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
    """)


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("delta_paths").config(map=DELTA).getOrCreate()
    for step in (
        write_inputs,
        time_travel,
        partitions,
        grown_schema,
        change_rows,
        convert,
        delete_by_source,
        merge_and_grow,
    ):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
