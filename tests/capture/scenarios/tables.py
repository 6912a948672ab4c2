"""Tables of the session's catalog, by SQL and saveAsTable. One sink a step; see tables.truth.json."""

import argparse
from pathlib import Path

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
    """
    CREATE TABLE employees USING parquet AS
    SELECT * FROM VALUES (1, 'eve', 2), (2, 'fay', 2) AS t (employee_id, name, manager_id)
    """,
)
INSERT_SELECT = (
    "CREATE TABLE order_totals (customer_id INT, total DECIMAL(14, 1)) USING parquet",
    "INSERT INTO order_totals SELECT customer_id, sum(amount) FROM orders GROUP BY customer_id",
)
TEMPORARY_VIEW = (
    """
    CREATE TEMPORARY VIEW named_orders AS
    SELECT o.order_id, c.name AS customer_name FROM orders o JOIN customers c ON o.customer_id = c.customer_id
    """,
    "CREATE TABLE north_orders USING parquet AS SELECT order_id, customer_name FROM named_orders",
)
CTE_UNION = """
    CREATE TABLE parties USING parquet AS
    WITH clients AS (SELECT customer_id AS party_id, name FROM customers),
         staff AS (SELECT employee_id AS party_id, name FROM employees)
    SELECT party_id, name FROM clients UNION ALL SELECT party_id, name FROM staff
"""
SELF_JOIN = """
    CREATE TABLE managers USING parquet AS
    SELECT e.name AS employee, m.name AS manager FROM employees e JOIN employees m ON e.manager_id = m.employee_id
"""
WINDOW_AND_CASE = """
    CREATE TABLE ranked USING parquet AS
    SELECT order_id,
           row_number() OVER (PARTITION BY customer_id ORDER BY day) AS position,
           CASE WHEN amount > 100 THEN 'big' ELSE 'small' END AS size
    FROM orders
"""


def save_as_table(spark: SparkSession) -> None:
    """CTAS by the data frame API, filtered by a column that is not written."""
    orders = spark.table("orders").where("day > '2024-05-01'").select("order_id", "amount")
    orders.write.format("parquet").saveAsTable("recent_orders")


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    spark = SparkSession.builder.appName("tables").config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for statement in SOURCES:
        spark.sql(statement)
    save_as_table(spark)
    for statement in (*INSERT_SELECT, *TEMPORARY_VIEW, CTE_UNION, SELF_JOIN, WINDOW_AND_CASE):
        spark.sql(statement)
    spark.stop()


if __name__ == "__main__":
    main()
