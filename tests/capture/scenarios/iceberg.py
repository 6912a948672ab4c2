"""Iceberg tables of a Hadoop catalog: made, filled, merged, changed in both modes; see iceberg.truth.json."""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

SOURCES = (
    """
    CREATE TABLE lake.shop.orders USING iceberg AS
    SELECT * FROM VALUES (10, 1, 120, 'open'), (11, 2, 80, 'paid') AS t (order_id, customer_id, amount, status)
    """,
    """
    CREATE TABLE lake.shop.customers USING iceberg AS
    SELECT * FROM VALUES (1, 'ann'), (2, 'bob') AS t (customer_id, name)
    """,
)
CTAS = """
    CREATE TABLE lake.shop.open_orders USING iceberg AS
    SELECT order_id, amount FROM lake.shop.orders WHERE status = 'open'
"""
RTAS = """
    CREATE OR REPLACE TABLE lake.shop.latest USING iceberg AS
    SELECT order_id, amount * 2 AS twice FROM lake.shop.orders
"""
INSERTS = (
    "CREATE TABLE lake.shop.appended (id INT, label STRING) USING iceberg",
    "INSERT INTO lake.shop.appended SELECT customer_id, name FROM lake.shop.customers",
    "CREATE TABLE lake.shop.by_status (id INT, status STRING) USING iceberg PARTITIONED BY (status)",
    "INSERT OVERWRITE lake.shop.by_status SELECT order_id, status FROM lake.shop.orders",
)
MODES = {"cow": "copy-on-write", "mor": "merge-on-read"}


def in_both_modes(spark: SparkSession) -> None:
    """Merge into, update and delete from a table of each mode; the sources stand in joins and subqueries."""
    for short, mode in MODES.items():
        for table in ("merged", "updated", "deleted"):
            spark.sql(f"""
                CREATE TABLE lake.shop.{table}_{short} USING iceberg TBLPROPERTIES ('format-version' = '2',
                    'write.merge.mode' = '{mode}', 'write.update.mode' = '{mode}', 'write.delete.mode' = '{mode}')
                AS SELECT 1 AS customer_id, 'old' AS name, 0 AS total
            """)
        spark.sql(f"""
            MERGE INTO lake.shop.merged_{short} t
            USING (SELECT customer_id, sum(amount) AS total FROM lake.shop.orders GROUP BY customer_id) s
            ON t.customer_id = s.customer_id
            WHEN MATCHED THEN UPDATE SET t.total = s.total
            WHEN NOT MATCHED THEN INSERT (customer_id, name, total) VALUES (s.customer_id, 'new', s.total)
        """)  # noqa: S608 - the names are this script's own
        spark.sql(f"""
            UPDATE lake.shop.updated_{short} SET total = total + 1
            WHERE customer_id IN (SELECT customer_id FROM lake.shop.orders WHERE status = 'open')
        """)  # noqa: S608 - as above
        spark.sql(f"""
            DELETE FROM lake.shop.deleted_{short}
            WHERE customer_id NOT IN (SELECT customer_id FROM lake.shop.customers)
        """)  # noqa: S608 - as above


def by_frames(spark: SparkSession, data: Path) -> None:
    """Write a table by data frames, and a folder from a table; read one as it was."""
    orders = spark.table("lake.shop.orders")
    orders.select("order_id", "status").writeTo("lake.shop.frames").partitionedBy(f.col("status")).createOrReplace()
    orders.select("order_id", "status").writeTo("lake.shop.frames").overwritePartitions()
    orders.select("order_id").write.parquet(f"{data}/out/exported")
    (first,) = spark.sql("SELECT snapshot_id FROM lake.shop.orders.snapshots ORDER BY committed_at LIMIT 1").collect()
    rows_before = spark.sql(f"SELECT * FROM lake.shop.orders VERSION AS OF {first.snapshot_id}")  # noqa: S608 - a number
    rows_before.select("customer_id").writeTo("lake.shop.before").create()


def housekeeping(spark: SparkSession) -> None:
    """Change definitions and files, but no row; then make a table by way of one that is dropped."""
    for statement in (
        "ALTER TABLE lake.shop.appended ADD COLUMNS (more INT)",
        "CALL lake.system.rewrite_data_files('shop.appended')",
        "CALL lake.system.expire_snapshots('shop.appended')",
        "CREATE TABLE lake.shop.stage USING iceberg AS SELECT order_id FROM lake.shop.orders",
        "CREATE TABLE lake.shop.from_stage USING iceberg AS SELECT order_id FROM lake.shop.stage",
        "DROP TABLE lake.shop.stage",
    ):
        spark.sql(statement)


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("iceberg").getOrCreate()
    for statement in (*SOURCES, CTAS, RTAS, *INSERTS):
        spark.sql(statement)
    in_both_modes(spark)
    by_frames(spark, data)
    housekeeping(spark)
    finish(spark)


if __name__ == "__main__":
    main()
