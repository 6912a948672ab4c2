"""Fields of structures inside arrays, each with its own sources; see plan_parts.truth.json."""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession

VIEWS = {
    "lists": "SELECT customer, collect_list(struct(day, amount)) AS rows FROM orders GROUP BY customer",
    "everything": "SELECT collect_list(struct(day, amount)) AS rows FROM orders",
}

QUERIES = {
    "amounts": "SELECT customer, rows.amount AS amounts FROM lists",
    "whole": "SELECT customer, rows FROM lists",
    "some": "SELECT filter(rows, r -> r.day > '2024').amount AS late FROM everything",
    "sums": """
        SELECT aggregate(rows, 0.0D, (sum, r) -> sum + r.amount) AS total, exists(rows, r -> r.day = '2024') AS seen
        FROM everything
    """,
    "places": """
        SELECT rows[0].amount AS first, element_at(rows, -1).day AS last, slice(rows, 1, 2).amount AS two
        FROM everything
    """,
    "newest": """
        SELECT customer, newest.amount AS amount, dearest.day AS day FROM (
            SELECT customer, max(struct(day, amount)) AS newest, max_by(struct(day, status), amount) AS dearest
            FROM orders GROUP BY customer)
    """,
    "by_time": "SELECT sort_array(rows)[0].amount AS earliest FROM everything",
    "side_by_side": "SELECT order_id, transform(arrays_zip(tags, scores), z -> z.tags) AS tags FROM orders",
    "paired": "SELECT order_id, zip_with(tags, scores, (t, s) -> named_struct('t', t, 's', s)).s AS scores FROM orders",
    "nested": """
        SELECT transform(rows, r -> named_struct('a', r.amount, 'd', r.day)).a AS amounts
        FROM everything
    """,
    "exploded": "SELECT row.amount AS amount FROM (SELECT explode(rows) AS row FROM everything)",
    "inlined": "SELECT d FROM (SELECT inline(rows) AS (d, a) FROM everything)",
    "running": """
        SELECT order_id, before.amount AS amounts
        FROM (SELECT order_id, collect_list(struct(day, amount)) OVER (PARTITION BY customer) AS before FROM orders)
    """,
    "either": """
        SELECT chosen.amount AS amount
        FROM (SELECT CASE WHEN status = 'x' THEN struct(day, amount) END AS chosen FROM orders)
    """,
    "united": """
        SELECT row.amount AS amount FROM (
            SELECT array(struct(day, amount)) AS row FROM orders
            UNION ALL SELECT array(struct(status, fee)) FROM orders)
    """,
    "of_a_table": "SELECT lines.price AS prices, transform(lines, l -> l.piece) AS pieces FROM orders",
}


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the orders."""
    spark.sql("""
        SELECT order_id, customer, day, amount, fee, status, array('a', status) AS tags, array(1, order_id) AS scores,
               array(named_struct('price', amount, 'piece', status)) AS lines
        FROM VALUES (1, 'ann', '2024-05-01', 10.0D, 1.0D, 'open'), (2, 'bob', '2024-05-02', 20.0D, 2.0D, 'paid')
            AS t (order_id, customer, day, amount, fee, status)
    """).write.parquet(f"{data}/in/orders")


def main() -> None:
    """Write each query into a folder of its name."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("plan_parts").getOrCreate()
    write_inputs(spark, data)
    spark.read.parquet(f"{data}/in/orders").createOrReplaceTempView("orders")
    for name, query in VIEWS.items():
        spark.sql(query).createOrReplaceTempView(name)
    for name, query in QUERIES.items():
        spark.sql(query).write.parquet(f"{data}/out/{name}")
    finish(spark)


if __name__ == "__main__":
    main()
