"""Tables that are renamed, altered, truncated, dropped or not written after all; see changes.truth.json."""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

SOURCES = (
    """
    CREATE TABLE customers USING parquet AS
    SELECT * FROM VALUES (1, 'ann', 'north'), (2, 'bob', 'south') AS t (customer_id, name, region)
    """,
    """
    CREATE TABLE orders USING parquet AS
    SELECT * FROM VALUES (10, 1, 120.0, 'open'), (11, 2, 80.0, 'paid') AS t (order_id, customer_id, amount, status)
    """,
)
RENAMED = (
    "CREATE TABLE draft USING parquet AS SELECT order_id, amount FROM orders",
    "ALTER TABLE draft RENAME TO final",
    "CREATE TABLE from_final USING parquet AS SELECT order_id FROM final",
)
"""A table is written under one name and read under another."""
SWAPPED = (
    "CREATE TABLE current USING parquet AS SELECT 0 AS customer_id, 'none' AS name",
    "CREATE TABLE current_new USING parquet AS SELECT customer_id, name FROM customers",
    "DROP TABLE current",
    "ALTER TABLE current_new RENAME TO current",
)
"""A table is created under another name and then replaces the old one."""
ADDED_COLUMN = (
    "CREATE TABLE grown (id INT) USING parquet",
    "INSERT INTO grown SELECT customer_id FROM customers",
    "ALTER TABLE grown ADD COLUMNS (region STRING)",
    "INSERT INTO grown SELECT customer_id, region FROM customers",
    "ALTER TABLE grown SET TBLPROPERTIES ('comment' = 'has grown')",
)
TRUNCATED = (
    "CREATE TABLE emptied (id INT) USING parquet",
    "INSERT INTO emptied SELECT customer_id FROM customers",
    "TRUNCATE TABLE emptied",
    "INSERT INTO emptied SELECT order_id FROM orders",
)
"""A table that is not dropped: both inserts belong to the job."""
PARTITIONED = (
    "CREATE TABLE parts (id INT, region STRING) USING parquet PARTITIONED BY (region)",
    "INSERT INTO parts SELECT customer_id, region FROM customers",
    "ALTER TABLE parts DROP PARTITION (region = 'north')",
    "ALTER TABLE parts ADD PARTITION (region = 'west')",
    "MSCK REPAIR TABLE parts",
    "ANALYZE TABLE parts COMPUTE STATISTICS",
    "REFRESH TABLE parts",
)
"""Definitions change around one insert."""
NO_DATA = (
    "CREATE TABLE IF NOT EXISTS orders USING parquet AS SELECT * FROM customers",
    "CREATE TABLE nothing_yet LIKE customers",
    "DROP TABLE IF EXISTS never_there",
    "CREATE VIEW seen AS SELECT * FROM customers",
    "ALTER VIEW seen AS SELECT name FROM customers",
    "DESCRIBE TABLE customers",
    "SHOW TABLES",
    "EXPLAIN SELECT * FROM customers",
)
"""Statements that move no row: the first finds its table there already."""


def existing_target(spark: SparkSession, data: Path) -> None:
    """Write a folder, then try two more times in modes that leave existing data unchanged."""
    spark.table("orders").select("order_id").write.parquet(f"{data}/out/once")
    spark.table("customers").select("customer_id").write.mode("ignore").parquet(f"{data}/out/once")
    try:
        spark.table("customers").select("name").write.mode("error").parquet(f"{data}/out/once")
    except AnalysisException:
        return
    raise AssertionError("this write was made to fail")


def only_read(spark: SparkSession) -> None:
    """Read in many ways, and write nothing that is kept."""
    orders = spark.table("orders")
    orders.count()
    orders.toLocalIterator()
    orders.foreach(lambda _: None)
    orders.write.format("noop").mode("overwrite").save()
    orders.createOrReplaceGlobalTempView("shared_orders")
    spark.table("global_temp.shared_orders").take(1)


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("changes").config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for statement in (*SOURCES, *RENAMED, *SWAPPED, *ADDED_COLUMN, *TRUNCATED, *PARTITIONED, *NO_DATA):
        spark.sql(statement)
    existing_target(spark, data)
    only_read(spark)
    finish(spark)


if __name__ == "__main__":
    main()
