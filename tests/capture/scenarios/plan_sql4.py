"""Features of SQL and frames since Spark 4: pipes, functions of SQL, variables, scripts, subqueries, variants.

One folder each; see plan_sql4.truth.json.
"""

from collections.abc import Iterator
from typing import Any

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

SOURCES = {
    "orders": """
        SELECT * FROM VALUES (10, 1, 120.0D, 'open'), (11, 2, 80.0D, 'paid') AS t (order_id, customer, amount, status)
    """,
    "refunds": "SELECT * FROM VALUES (10, 20.0D, 'late'), (12, 5.0D, 'broken') AS t (order_id, amount, reason)",
    "notes": """SELECT 1 AS id, '{"k": 1, "list": [1, 2]}' AS note""",
}
"""Made of constants: they have no source."""

STATEMENTS = (
    "CREATE TEMPORARY FUNCTION gross(net DOUBLE) RETURNS DOUBLE RETURN net * 1.2",
    """
    CREATE TEMPORARY FUNCTION most_of(which STRING) RETURNS DOUBLE
        RETURN SELECT max(amount) FROM orders WHERE status = which
    """,
    """
    CREATE TEMPORARY FUNCTION of_customer(who INT) RETURNS TABLE (number INT, worth DOUBLE)
        RETURN SELECT order_id, amount FROM orders WHERE customer = who
    """,
    "DECLARE VARIABLE least DOUBLE DEFAULT 5",
)

QUERIES = {
    "piped": """
        FROM orders |> WHERE amount > 1 |> EXTEND amount * 2 AS twice |> SET status = upper(status)
            |> DROP customer |> SELECT order_id, twice, status
    """,
    "piped_groups": "FROM orders |> AGGREGATE sum(amount) AS total GROUP BY status |> ORDER BY total |> LIMIT 5",
    "piped_join": """
        FROM orders |> AS o |> JOIN refunds AS r ON o.order_id = r.order_id |> SELECT o.status, r.reason
    """,
    "piped_union": "FROM orders |> SELECT order_id |> UNION ALL SELECT order_id FROM refunds",
    "by_sql_function": "SELECT order_id, gross(amount) AS gross FROM orders",
    "by_sql_query": "SELECT r.reason, most_of(r.reason) AS most FROM refunds r",
    "by_table_function": "SELECT number, worth FROM of_customer(1)",
    "by_lateral_function": "SELECT r.reason, t.worth FROM refunds r, LATERAL of_customer(r.order_id) t",
    "by_variable": "SELECT order_id FROM orders WHERE amount > least",
    "star_without": "SELECT * EXCEPT (customer, status) FROM orders",
    "variants": "SELECT id, variant_get(parse_json(note), '$.k', 'int') AS k FROM notes",
    "variant_elements": "SELECT n.id, v.value FROM notes n, LATERAL variant_explode(parse_json(n.note)) v",
    "collated": "SELECT status COLLATE UNICODE_CI AS word, count(order_id) AS n FROM orders GROUP BY 1",
    "recursive": """
        WITH RECURSIVE chain AS (
            SELECT order_id AS n, amount FROM orders WHERE status = 'open'
            UNION ALL SELECT c.n + 1, c.amount / 2 FROM chain c WHERE c.n < 12
        ) SELECT n, amount FROM chain WHERE n IN (SELECT order_id FROM refunds)
    """,
    "group_by_all": "SELECT customer, status, max(amount) AS most FROM orders GROUP BY ALL",
    "listed": """
        SELECT status, listagg(order_id, ',') WITHIN GROUP (ORDER BY amount) AS numbers FROM orders GROUP BY status
    """,
}


def frames(spark: SparkSession) -> Iterator[tuple[str, DataFrame]]:
    """Subqueries of frames."""
    orders: Any = spark.table("orders").alias("o")
    refunds: Any = spark.table("refunds").alias("r")
    order_id: Any = f.col("o.order_id")  # the stubs are Spark 3.5's, as those of the frames
    same_order = f.col("r.order_id") == order_id.outer()
    yield "existing", orders.where(refunds.where(same_order).exists()).select("status")
    yield "scalar", orders.select("order_id", refunds.where(same_order).select(f.max("reason")).scalar().alias("why"))
    yield "lateral", orders.lateralJoin(refunds.where(same_order).select("reason")).select("o.status", "reason")


def main() -> None:
    """Run all queries in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_sql4").config("spark.sql.warehouse.dir", f"{data}/warehouse")
    spark = session.getOrCreate()
    for name, query in SOURCES.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")
    for statement in STATEMENTS:
        spark.sql(statement)
    for name, query in QUERIES.items():
        spark.sql(query).write.json(f"{data}/out/{name}")
    for name, frame in frames(spark):
        frame.write.json(f"{data}/out/{name}")
    spark.sql("CREATE TABLE at_once (id INT) USING parquet")
    spark.sql("EXECUTE IMMEDIATE 'INSERT INTO at_once SELECT order_id FROM orders WHERE amount > ?' USING 5D")
    spark.sql("CREATE TABLE scripted (id INT) USING parquet")
    spark.sql("BEGIN DECLARE n INT DEFAULT 1; INSERT INTO scripted SELECT order_id + n FROM refunds; END")
    finish(spark)


if __name__ == "__main__":
    main()
