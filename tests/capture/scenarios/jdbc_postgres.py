"""PostgreSQL by JDBC: tables, queries and partitioned reads into files and Delta; appends and overwrites from files and
from another table. One sink a step; see jdbc_postgres.truth.json.
"""

import argparse
from pathlib import Path

from _session import DELTA, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession


class Database:
    """One database, by Spark's JDBC source."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        """Remember the session and the options of every access."""
        self.spark = spark
        self._options = {"url": url, "user": "spark", "driver": "org.postgresql.Driver"}

    def read(self, **options: str) -> DataFrame:
        """Read by `dbtable` or `query`."""
        return self.spark.read.format("jdbc").options(**self._options, **options).load()

    def write(self, frame: DataFrame, table: str, mode: str = "append") -> None:
        """Write a table."""
        frame.write.format("jdbc").options(**self._options, dbtable=table).mode(mode).save()


def write_inputs(database: Database, data: Path) -> None:
    """Write the inputs of the steps."""
    orders = "SELECT * FROM VALUES (1, 1, 12.5D, 'n'), (2, 2, 7.0D, 'y') AS t (order_id, customer_id, amount, done)"
    database.write(database.spark.sql(orders), "orders")
    customers = "SELECT * FROM VALUES (1, 'ann', 'north'), (2, 'bob', 'south') AS t (customer_id, name, region)"
    database.write(database.spark.sql(customers), "public.customers")
    database.write(database.spark.sql("SELECT * FROM VALUES (1, 3) AS t (order_id, pieces)"), '"Order Lines"')
    database.spark.sql(customers).write.parquet(f"{data}/in/customers")


def read_table(database: Database, data: Path) -> None:
    """Read a table, filtered; write parquet."""
    orders = database.read(dbtable="orders").where("amount > 5").select("order_id", "amount")
    orders.write.parquet(f"{data}/out/orders")


def read_quoted_table(database: Database, data: Path) -> None:
    """Read a table whose name needs quotes; write parquet."""
    database.read(dbtable='"Order Lines"').write.parquet(f"{data}/out/order_lines")


def read_partitioned(database: Database, data: Path) -> None:
    """Read a table in two queries; write Delta."""
    bounds = {"partitionColumn": "order_id", "lowerBound": "1", "upperBound": "2", "numPartitions": "2"}
    database.read(dbtable="public.orders", **bounds).write.format("delta").save(f"{data}/out/orders_delta")


def read_query(database: Database, data: Path) -> None:
    """Let the database join; write parquet."""
    query = """
        SELECT o.order_id, c.name AS customer FROM orders o JOIN public.customers c ON o.customer_id = c.customer_id
    """
    database.read(query=query).write.parquet(f"{data}/out/named_orders")


def read_subquery(database: Database, data: Path) -> None:
    """Read a query in the place of a table; write Delta."""
    large = database.read(dbtable="(SELECT order_id, amount FROM orders WHERE amount > 10) AS large")
    large.write.format("delta").save(f"{data}/out/large_orders")


def join_with_files(database: Database, data: Path) -> None:
    """Join a table with files, in Spark; write Delta."""
    customers = database.spark.read.parquet(f"{data}/in/customers")
    joined = database.read(dbtable="orders").join(customers, "customer_id").select("order_id", "region")
    joined.write.format("delta").save(f"{data}/out/regions")


def append(database: Database, data: Path) -> None:
    """Append files to a table."""
    customers = database.spark.read.parquet(f"{data}/in/customers").selectExpr("customer_id", "upper(name) AS name")
    database.write(customers, "staged_customers")


def overwrite(database: Database, _data: Path) -> None:
    """Overwrite a table from another one."""
    done_orders = database.read(dbtable="orders").where("done = 'y'").select("order_id", "amount")
    database.write(done_orders, "public.done_orders", mode="overwrite")


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jdbc", required=True, help="URL of the database")
    options = parser.parse_args()
    spark = SparkSession.builder.appName("jdbc_postgres").config(map=DELTA).getOrCreate()
    database = Database(spark, options.jdbc)
    for step in (
        write_inputs,
        read_table,
        read_quoted_table,
        read_partitioned,
        read_query,
        read_subquery,
        join_with_files,
        append,
        overwrite,
    ):
        step(database, options.data)
    finish(spark)


if __name__ == "__main__":
    main()
