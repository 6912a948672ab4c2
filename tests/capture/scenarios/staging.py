"""Tables that one application creates, reads and drops, and some that only look like it; see staging.truth.json."""

import shutil
from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
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
STAGED = (
    "CREATE TABLE stage_open USING parquet AS SELECT order_id, amount AS price FROM orders WHERE status = 'open'",
    "CREATE TABLE open_orders USING parquet AS SELECT order_id, price * 2 AS twice FROM stage_open",
    "DROP TABLE stage_open",
)
"""The plain case."""
CHAIN = (
    "CREATE TABLE stage_joined USING parquet AS SELECT * FROM orders JOIN customers USING (customer_id)",
    "CREATE TABLE stage_totals (region STRING, total DECIMAL(14, 1)) USING parquet",
    "INSERT INTO stage_totals SELECT region, sum(amount) FROM stage_joined GROUP BY region",
    "CREATE TABLE region_totals USING parquet AS SELECT region, total FROM stage_totals WHERE total > 0",
    "CREATE TABLE region_names USING parquet AS SELECT DISTINCT name FROM stage_joined",
    "DROP TABLE stage_joined",
    "DROP TABLE stage_totals",
)
"""One temporary table made of another; one is read twice."""
DROPPED_FIRST = (
    "DROP TABLE IF EXISTS kept_stage",
    "CREATE TABLE kept_stage USING parquet AS SELECT order_id FROM orders",
    "CREATE TABLE from_kept USING parquet AS SELECT order_id FROM kept_stage",
)
"""Dropped before it is made, as jobs do that may run again: it stays, so it is not temporary."""
REMADE = (
    "CREATE TABLE target (id INT) USING parquet",
    "DROP TABLE target",
    "CREATE TABLE target (id INT, name STRING) USING parquet",
    "INSERT INTO target SELECT customer_id, name FROM customers",
)
"""A target dropped and created again before it is written: not temporary."""
REPLACED = (
    "CREATE TABLE replaced USING parquet AS SELECT customer_id AS id FROM customers",
    "DROP TABLE replaced",
    "CREATE TABLE replaced USING parquet AS SELECT order_id AS id FROM orders",
)
"""The first version is dropped: its rows come from the orders alone."""
DEAD_END = (
    "CREATE TABLE never_read USING parquet AS SELECT * FROM customers",
    "DROP TABLE never_read",
)
"""A table that is written and dropped without a reader."""
CONSTANTS = (
    "CREATE TABLE rates USING parquet AS SELECT 'open' AS status, 0.5 AS rate",
    "CREATE TABLE risks USING parquet AS SELECT order_id, amount * rate AS risk FROM orders JOIN rates USING (status)",
    "DROP TABLE rates",
)
"""A temporary table of constants: it has no source to put in its place."""
REFILLED = (
    "CREATE TABLE buffer (id INT) USING parquet",
    "INSERT INTO buffer SELECT customer_id FROM customers",
    "CREATE TABLE buffered_customers USING parquet AS SELECT id FROM buffer",
    "TRUNCATE TABLE buffer",
    "INSERT INTO buffer SELECT order_id FROM orders",
    "CREATE TABLE buffered_orders USING parquet AS SELECT id FROM buffer",
    "DROP TABLE buffer",
)
"""A temporary table that is filled twice: reads after one fill do not come from the sources of the other."""


def staging_folder(spark: SparkSession, data: Path) -> None:
    """Write a folder, read it, and delete it by means that no listener sees."""
    spark.table("orders").select("order_id", "amount").write.parquet(f"{data}/scratch/stage")
    spark.read.parquet(f"{data}/scratch/stage").select("order_id").write.parquet(f"{data}/out/order_ids")
    shutil.rmtree(data / "scratch")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("staging").config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for statement in (
        *SOURCES,
        *STAGED,
        *CHAIN,
        *DROPPED_FIRST,
        *REMADE,
        *REPLACED,
        *DEAD_END,
        *CONSTANTS,
        *REFILLED,
    ):
        spark.sql(statement)
    staging_folder(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
