"""PostgreSQL by JDBC, where only the query's text has the lineage: joins, aggregates and subqueries of the database.

One sink a step; see plan_jdbc.truth.json.
"""

import argparse
from pathlib import Path

from _session import finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jdbc", required=True, help="URL of the database")
    options = parser.parse_args()
    data = options.data
    spark = SparkSession.builder.appName("plan_jdbc").getOrCreate()
    properties = {"url": options.jdbc, "user": "spark", "driver": "org.postgresql.Driver"}

    def read(**more: str) -> DataFrame:
        return spark.read.format("jdbc").options(**properties, **more).load()

    def write(frame: DataFrame, table: str) -> None:
        frame.write.format("jdbc").options(**properties, dbtable=table).mode("append").save()

    write(spark.sql("SELECT 1 AS order_id, 1 AS customer_id, 12.5D AS amount, 'n' AS done"), "public.orders")
    write(spark.sql("SELECT 1 AS customer_id, 'ann' AS name, 'north' AS region"), "public.customers")
    read(
        query="""
            SELECT c.name, sum(o.amount) AS total FROM public.orders o JOIN public.customers c
                ON o.customer_id = c.customer_id WHERE o.done = 'n' GROUP BY c.name
        """
    ).write.parquet(f"{data}/out/totals")
    read(dbtable="(SELECT order_id, amount * 2 AS twice FROM public.orders WHERE amount > 1) AS large").write.parquet(
        f"{data}/out/large"
    )
    read(
        query="SELECT name FROM public.customers WHERE customer_id IN (SELECT customer_id FROM public.orders)"
    ).write.parquet(f"{data}/out/buyers")
    joined = read(query="SELECT order_id, customer_id FROM public.orders").join(
        read(dbtable="public.customers").where("region = 'north'"), "customer_id"
    )
    joined.select("order_id", "name").write.parquet(f"{data}/out/joined_here")
    write(read(dbtable="public.orders").selectExpr("order_id AS id", "amount + 1 AS more"), "public.copied")
    finish(spark)


if __name__ == "__main__":
    main()
