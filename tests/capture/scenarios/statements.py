"""SQL statements that write tables, folders and views of the session's catalog; see statements.truth.json."""

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
    SELECT * FROM VALUES (10, 1, 120.0, '2024-05-01'), (11, 2, 80.0, '2024-05-02')
        AS t (order_id, customer_id, amount, day)
    """,
)
CREATE_LIKE = (
    "CREATE TABLE orders_copy LIKE orders",
    "INSERT INTO orders_copy SELECT * FROM orders",
)
EMPTY_LIKE = "CREATE TABLE orders_empty LIKE orders"
INSERT_OVERWRITE = (
    "CREATE TABLE regions (region STRING, customers BIGINT) USING orc",
    "INSERT OVERWRITE TABLE regions SELECT region, count(customer_id) FROM customers GROUP BY region",
)
INSERT_BY_NAME = (
    "CREATE TABLE by_name (name STRING, id INT) USING parquet",
    "INSERT INTO by_name (id, name) SELECT customer_id, name FROM customers",
)
INSERT_TABLE = (
    "CREATE TABLE all_customers (customer_id INT, name STRING, region STRING) USING parquet",
    "INSERT INTO all_customers TABLE customers",
    "INSERT INTO all_customers VALUES (9, 'zoe', 'west')",
)
INSERT_TWO = (
    "CREATE TABLE small_orders (order_id INT) USING parquet",
    "CREATE TABLE large_orders (order_id INT) USING parquet",
    """
    FROM orders
    INSERT INTO small_orders SELECT order_id WHERE amount <= 100
    INSERT INTO large_orders SELECT order_id WHERE amount > 100
    """,
)
VIEWS = (
    "CREATE VIEW northern AS SELECT customer_id, name AS northerner FROM customers WHERE region = 'north'",
    "CREATE TEMPORARY VIEW northern_orders AS SELECT * FROM northern JOIN orders USING (customer_id)",
    "CREATE TABLE northern_amounts USING parquet AS SELECT northerner, amount FROM northern_orders",
    "DROP VIEW northern",
)
OTHER_DATABASE = (
    "CREATE DATABASE mart",
    "CREATE TABLE mart.names USING csv AS SELECT customer_id, initcap(name) AS name FROM default.customers",
)


def directories(spark: SparkSession, data: Path) -> None:
    """Write a folder by INSERT DIRECTORY."""
    spark.sql(f"""
        INSERT OVERWRITE DIRECTORY '{data}/out/exported' USING json
        SELECT customer_id, region FROM customers WHERE name <> 'bob'
    """)  # noqa: S608 - a folder of this capture


def external_table(spark: SparkSession, data: Path) -> None:
    """Create a table at a location of its own; read and write it by its name, then read it by its path."""
    spark.sql(f"""
        CREATE TABLE outside USING parquet LOCATION '{data}/out/outside' AS SELECT order_id, day FROM orders
    """)  # noqa: S608 - as above
    spark.sql("CREATE TABLE from_outside USING parquet AS SELECT day FROM outside")
    spark.sql(f"""
        CREATE TABLE from_path USING parquet AS SELECT order_id FROM parquet.`{data}/out/outside`
    """)  # noqa: S608 - as above


def by_frames(spark: SparkSession) -> None:
    """Append to a table by its name, insert into it by position, and overwrite another."""
    orders = spark.table("orders")
    orders.select("order_id", "day").write.mode("append").saveAsTable("order_days")
    orders.selectExpr("order_id + 100", "day").write.insertInto("order_days")
    for _ in range(2):
        orders.select("day").distinct().write.mode("overwrite").format("json").saveAsTable("days")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = (
        SparkSession.builder.appName("statements").config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    )
    for statement in (
        *SOURCES,
        *CREATE_LIKE,
        EMPTY_LIKE,
        *INSERT_OVERWRITE,
        *INSERT_BY_NAME,
        *INSERT_TABLE,
        *INSERT_TWO,
        *VIEWS,
        *OTHER_DATABASE,
    ):
        spark.sql(statement)
    directories(spark, data)
    external_table(spark, data)
    by_frames(spark)
    finish(spark)


if __name__ == "__main__":
    main()
