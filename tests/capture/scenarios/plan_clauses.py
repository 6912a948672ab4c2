"""Rarer clauses, functions and methods of frames: one folder each; see plan_clauses.truth.json."""

from collections.abc import Iterator
from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window

SOURCES = {
    "customers": "SELECT * FROM VALUES (1, 'ann', 'north', 7), (2, 'bob', 'south', 8) AS t (id, name, region, boss)",
    "orders": """
        SELECT * FROM VALUES (10, 1, 120.0D, 'open', DATE '2024-05-01'), (11, 2, 80.0D, 'paid', DATE '2024-05-02')
            AS t (order_id, customer, amount, status, day)
    """,
    "refunds": "SELECT * FROM VALUES (10, 20.0D, 'late'), (12, 5.0D, 'broken') AS t (order_id, amount, reason)",
}
"""Made of constants: they have no source."""

QUERIES = {
    "intersected_all": "SELECT order_id, amount FROM orders INTERSECT ALL SELECT order_id, amount FROM refunds",
    "minus": "SELECT order_id FROM orders MINUS SELECT order_id FROM refunds WHERE reason = 'late'",
    "union_of_three": """
        (SELECT order_id AS n FROM orders UNION ALL SELECT id FROM customers) UNION SELECT boss FROM customers
    """,
    "outer_lateral": """
        SELECT c.name, l.most FROM customers c LEFT JOIN
            LATERAL (SELECT max(o.amount) AS most FROM orders o WHERE o.customer = c.id) l ON true
    """,
    "not_existing": """
        SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)
    """,
    "either": """
        SELECT name FROM customers c
        WHERE region = 'north' OR EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > 1)
    """,
    "exists_as_value": """
        SELECT c.name, CASE WHEN c.id IN (SELECT customer FROM orders) THEN 'buys' ELSE c.region END AS kind
        FROM customers c
    """,
    "pair_in": "SELECT status FROM orders WHERE (order_id, amount) IN (SELECT order_id, amount FROM refunds)",
    "having_scalar": """
        SELECT customer, sum(amount) AS total FROM orders GROUP BY customer
        HAVING sum(amount) > (SELECT max(amount) FROM refunds)
    """,
    "stacked": "SELECT stack(2, 'status', status, 'day', string(day)) AS (what, word) FROM orders",
    "sampled": "SELECT order_id, status FROM orders TABLESAMPLE (50 PERCENT) REPEATABLE (7) WHERE amount > 1",
    "hinted": """
        SELECT /*+ BROADCAST(c), REPARTITION(2) */ o.order_id, c.region FROM orders o JOIN customers c
            ON o.customer = c.id ORDER BY o.order_id LIMIT 5 OFFSET 1
    """,
    "percentiles": """
        SELECT status, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS middle, mode(customer) AS usual,
               any_value(day) AS some_day, count(DISTINCT order_id) AS n, stddev(amount) AS spread
        FROM orders GROUP BY status
    """,
    "last_known": """
        SELECT order_id, last_value(status) IGNORE NULLS OVER (PARTITION BY customer ORDER BY day) AS last_status,
               nth_value(amount, 2) OVER (ORDER BY day) AS second, cume_dist() OVER (ORDER BY amount) AS spread
        FROM orders
    """,
    "grouped_sets": """
        SELECT region, boss, grouping(region) AS level, count(*) AS n FROM customers
        GROUP BY region, boss WITH CUBE
    """,
    "pivoted_twice": """
        SELECT * FROM (SELECT customer, status, amount, order_id FROM orders)
            PIVOT (sum(amount) AS total, max(order_id) AS last FOR status IN ('open' AS o, 'paid' AS p))
    """,
    "unpivoted_pairs": """
        SELECT * FROM (SELECT order_id, customer, amount, order_id AS other, amount * 2 AS twice FROM orders)
            UNPIVOT ((key, value) FOR pair IN ((customer, amount) AS a, (other, twice) AS b))
    """,
    "changed_structures": """
        SELECT s.word, s.inner.n AS n FROM
            (SELECT named_struct('word', status, 'inner', named_struct('n', order_id, 'a', amount)) AS s FROM orders)
    """,
    "newest_row": """
        SELECT customer, newest.status AS status FROM
            (SELECT customer, max(named_struct('day', day, 'status', status)) AS newest FROM orders GROUP BY customer)
    """,
    "arrays": """
        SELECT aggregate(array(amount, order_id), 0D, (sum, x) -> sum + x) AS total,
               zip_with(array(status), array(customer), (a, b) -> concat(a, b))[0] AS pair,
               map_from_arrays(array(status), array(day)) AS by_status, sort_array(array(amount))[0] AS least
        FROM orders
    """,
    "texts": """
        SELECT regexp_replace(name, region, '') AS short, to_json(struct(id, name)) AS text,
               from_json(concat('{"k":', boss, '}'), 'k INT').k AS k, format_string('%s-%s', name, boss) AS label
        FROM customers
    """,
    "tried": """
        SELECT try_divide(amount, order_id) AS share, try_cast(status AS INT) AS num, nvl2(status, day, NULL) AS paid,
               greatest(amount, order_id) AS most, amount BETWEEN order_id AND customer AS within, hash(status) AS h
        FROM orders
    """,
    "ranges": "SELECT r.id AS n, c.name FROM range(3) r JOIN customers c ON r.id = c.id",
    "values_only": "SELECT c.name, v.rate FROM customers c CROSS JOIN (VALUES (1.5), (2.5)) AS v (rate)",
    "qualified_star": "SELECT o.*, c.name FROM orders o JOIN customers c ON o.customer = c.id WHERE c.region <> 'x'",
    "shadowed_cte": """
        WITH orders AS (SELECT order_id, amount * 2 AS amount FROM orders WHERE status = 'paid')
        SELECT a.order_id, b.amount FROM orders a JOIN orders b ON a.order_id = b.order_id
    """,
    "used_twice": """
        WITH t AS (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer)
        SELECT customer FROM t WHERE total > (SELECT avg(total) FROM t)
    """,
}


def frames(spark: SparkSession) -> Iterator[tuple[str, DataFrame]]:
    """Frames made by methods."""
    orders, refunds, customers = (spark.table(name) for name in ("orders", "refunds", "customers"))
    yield (
        "by_name",
        orders.select("order_id", "status").unionByName(refunds.select("order_id"), allowMissingColumns=True),
    )
    pivot = (
        orders.groupBy("customer").pivot("status", ["open", "paid"]).agg(f.sum("amount"), f.max("day").alias("last"))
    )
    yield "pivoted", pivot.toDF("customer", "open_sum", "open_last", "paid_sum", "paid_last")
    yield "melted", orders.melt(["order_id"], ["amount", "customer"], "what", "value")
    yield (
        "nearest",
        orders._joinAsOf(refunds.withColumnRenamed("reason", "why"), orders.order_id, refunds.order_id).select(
            "status", "why"
        ),
    )
    filled = orders.na.fill({"status": "none"}).na.drop(subset=["day"]).na.replace(["open"], ["opened"], ["status"])
    yield "filled", filled.select("order_id", "status")
    yield "summed", orders.rollup("status").agg(f.sum("amount").alias("total"), f.grouping_id().alias("level"))
    yield "renamed", orders.withColumnRenamed("amount", "price").drop("day", "status").withColumn("n", f.lit(1))
    yield "distinct_by", orders.dropDuplicates(["customer"]).select("order_id")
    yield "observed", orders.observe("seen", f.count(f.lit(1)).alias("n")).where("amount > 1").select("customer")
    window = Window.partitionBy("customer").orderBy(f.desc("day")).rowsBetween(-1, 1)
    yield "windowed", orders.select("order_id", f.avg("amount").over(window).alias("near"))
    yield "described", orders.select("amount", "customer").summary("max", "min")
    yield "crossed", orders.crosstab("status", "customer").select("status_customer")
    yield (
        "with_field",
        orders.select(f.struct("status", "amount").alias("s")).select(
            f.col("s").withField("amount", f.lit(0)).getField("status").alias("status")
        ),
    )
    yield (
        "exploded",
        orders.select("order_id", f.explode(f.array(f.struct("status", "amount"))).alias("e")).select(
            "order_id", "e.status"
        ),
    )
    yield "exceeding", orders.select("order_id").exceptAll(refunds.select("order_id"))
    yield (
        "numbered",
        customers.select(f.monotonically_increasing_id().alias("n"), f.input_file_name().alias("file"), "name"),
    )
    yield "split", orders.randomSplit([0.5, 0.5], 3)[0].select("status")


def functions(spark: SparkSession) -> Iterator[tuple[str, DataFrame]]:
    """Table functions of Python, and a statement with parameters."""

    class Words:
        """Gives each word of a text, with a number."""

        def eval(self, text: str, number: int) -> Iterator[tuple[str, int]]:
            for word in text.split():
                yield word, number

    spark.udtf.register("words", f.udtf(Words, returnType="word STRING, number INT"))  # type: ignore[arg-type]  # a class gives a function
    yield (
        "by_table_function",
        spark.sql("SELECT o.order_id, w.word FROM orders o, LATERAL words(o.status, o.customer) w"),
    )
    parameters = {"least": 5, "word": "x"}
    yield (
        "parameterized",
        spark.sql("SELECT order_id, :word AS word FROM orders WHERE amount > :least", args=parameters),
    )
    yield (
        "identified",
        spark.sql(
            "SELECT IDENTIFIER(:column) AS id FROM IDENTIFIER(:table)", args={"column": "id", "table": "customers"}
        ),
    )


def write(frame: DataFrame, data: Path, name: str) -> None:
    """Write one frame."""
    frame.write.json(f"{data}/out/{name}")


def main() -> None:
    """Run all queries in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_clauses").config("spark.sql.warehouse.dir", f"{data}/warehouse")
    spark = session.getOrCreate()
    for name, query in SOURCES.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")
    for name, query in QUERIES.items():
        write(spark.sql(query), data, name)
    for name, frame in (*frames(spark), *functions(spark)):
        write(frame, data, name)
    finish(spark)


if __name__ == "__main__":
    main()
