"""Forms of a SELECT: one table a step, by CREATE TABLE AS SELECT; see queries.truth.json."""

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession

SOURCES = {
    "customers": """
        SELECT * FROM VALUES (1, 'ann', 'ann@example.com', 'north'), (2, 'bob', 'bob@example.com', 'south')
            AS t (customer_id, name, email, region)
    """,
    "orders": """
        SELECT * FROM VALUES (10, 1, 120.0, 'open', '2024-05-01'), (11, 2, 80.0, 'paid', '2024-05-02')
            AS t (order_id, customer_id, amount, status, day)
    """,
    "baskets": """
        SELECT 1 AS basket_id,
               named_struct('street', 'High Street', 'city', named_struct('name', 'Oslo', 'code', 'NO')) AS address,
               array(named_struct('sku', 'a1', 'price', 2.5), named_struct('sku', 'b2', 'price', 3.5)) AS items,
               map('gift', 'yes') AS tags
    """,
}
"""Made of constants: they have no source."""

QUERIES = {
    "filtered": "SELECT order_id FROM orders WHERE status = 'open' AND day > '2024-01-01' ORDER BY amount LIMIT 5",
    "constant_columns": """
        SELECT order_id, 'web' AS channel, 1 + 1 AS two, current_date() AS loaded, CAST(NULL AS STRING) AS nothing
        FROM orders
    """,
    "only_constants": "SELECT 1 AS one FROM orders",
    "with_cte": """
        WITH totals AS (SELECT customer_id, sum(amount) AS total FROM orders GROUP BY customer_id),
             best AS (SELECT customer_id FROM totals WHERE total > 100)
        SELECT name FROM customers JOIN best USING (customer_id)
    """,
    "unions": """
        SELECT customer_id AS id, name AS label FROM customers
        UNION SELECT order_id, status FROM orders
        UNION ALL SELECT -1, 'unknown'
    """,
    "excepted": "SELECT customer_id FROM customers EXCEPT SELECT customer_id FROM orders",
    "windows": """
        SELECT order_id, lag(amount) OVER (PARTITION BY customer_id ORDER BY day) AS amount_before,
               rank() OVER (ORDER BY amount DESC) AS place
        FROM orders
    """,
    "cases": """
        SELECT CASE WHEN status = 'paid' THEN amount WHEN status = 'open' THEN 0 END AS paid,
               if(day > '2024-05-01', customer_id, order_id) AS either, coalesce(status, 'none') AS state
        FROM orders
    """,
    "self_joined": """
        SELECT a.order_id, b.order_id AS earlier FROM orders a LEFT JOIN orders b
            ON a.customer_id = b.customer_id AND b.day < a.day
    """,
    "pivoted": "SELECT * FROM (SELECT customer_id, status, amount FROM orders) "
    "PIVOT (sum(amount) FOR status IN ('open' AS open, 'paid' AS paid))",
    "scalar_subquery": """
        SELECT order_id, amount / (SELECT count(*) FROM customers) AS share,
               (SELECT max(name) FROM customers) AS last_name
        FROM orders
    """,
    "in_subquery": """
        SELECT order_id FROM orders WHERE customer_id IN (SELECT customer_id FROM customers WHERE region = 'north')
    """,
    "not_existing": """
        SELECT name FROM customers c
        WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.status = 'open')
    """,
    "structs": "SELECT basket_id, address.city.name AS city, struct(basket_id, address.street) AS key FROM baskets",
    "exploded": "SELECT basket_id, item.sku, item.price * 2 AS price FROM baskets LATERAL VIEW explode(items) AS item",
    "maps": "SELECT tags['gift'] AS gift, transform(items, i -> i.price) AS prices, size(items) AS n FROM baskets",
    "grouped": """
        SELECT region, name, count(*) AS n FROM customers GROUP BY ROLLUP (region, name) HAVING count(*) > 0
    """,
    "aggregates": """
        SELECT count(DISTINCT customer_id) AS customers, sum(amount) FILTER (WHERE status = 'paid') AS paid,
               max(day) AS last_day
        FROM orders
    """,
    "masks": """
        SELECT sha2(email, 256) AS email_hash, md5(concat(name, region)) AS key, upper(name) AS name FROM customers
    """,
    "crossed": "SELECT order_id, region FROM orders CROSS JOIN (SELECT DISTINCT region FROM customers)",
}


def main() -> None:
    """Run all queries in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("queries").config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for name, query in (SOURCES | QUERIES).items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")
    finish(spark)


if __name__ == "__main__":
    main()
