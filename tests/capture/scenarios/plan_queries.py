"""Queries whose lineage only Spark's analyzed plan shows whole: one folder each; see plan_queries.truth.json."""

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession

SOURCES = {
    "customers": """
        SELECT * FROM VALUES (1, 'ann', 'ann@example.com', 'north', 7), (2, 'bob', 'bob@example.com', 'south', 8)
            AS t (customer_id, name, email, region, manager)
    """,
    "orders": """
        SELECT * FROM VALUES (10, 1, 120.0, 'open', '2024-05-01'), (11, 2, 80.0, 'paid', '2024-05-02')
            AS t (order_id, customer_id, amount, status, day)
    """,
    "refunds": "SELECT * FROM VALUES (10, 20.0, 'late'), (12, 5.0, 'broken') AS t (order_id, amount, reason)",
    "baskets": """
        SELECT 1 AS basket_id, array(named_struct('sku', 'a1', 'price', 2.5)) AS items,
               array('red', 'blue') AS tags, map('gift', 'yes') AS extras, '{"k": 1}' AS note
    """,
    "quarters": "SELECT * FROM VALUES (1, 10.0, 20.0, 30.0) AS t (shop, q1, q2, q3)",
}
"""Made of constants: they have no source."""

JOINS = {
    "inner_joined": """
        SELECT o.order_id, r.reason FROM orders o JOIN refunds r ON o.order_id = r.order_id AND r.amount < o.amount
    """,
    "left_joined": "SELECT o.status, r.amount FROM orders o LEFT JOIN refunds r ON o.order_id = r.order_id",
    "right_joined": "SELECT o.status, r.reason FROM orders o RIGHT JOIN refunds r USING (order_id)",
    "full_joined": "SELECT order_id, o.status, r.reason FROM orders o FULL JOIN refunds r USING (order_id)",
    "semi_joined": "SELECT order_id, day FROM orders o LEFT SEMI JOIN refunds r ON o.order_id = r.order_id",
    "anti_joined": """
        SELECT order_id FROM orders o LEFT ANTI JOIN refunds r ON o.order_id = r.order_id AND r.reason > 'a'
    """,
    "cross_joined": "SELECT order_id, name FROM orders CROSS JOIN customers",
    "natural_joined": "SELECT customer_id, amount, region FROM orders NATURAL JOIN customers",
    "theta_joined": "SELECT a.order_id, b.day FROM orders a JOIN orders b ON a.amount > b.amount + 1",
    "three_joined": """
        SELECT c.name, r.amount AS refund FROM customers c JOIN orders o ON c.customer_id = o.customer_id
            LEFT JOIN refunds r ON o.order_id = r.order_id WHERE o.status <> 'open'
    """,
    "lateral_joined": """
        SELECT o.order_id, l.who FROM orders o,
            LATERAL (SELECT upper(c.name) AS who FROM customers c WHERE c.customer_id = o.customer_id) l
    """,
    "values_joined": """
        SELECT o.order_id, v.label FROM orders o JOIN VALUES ('open', 'still open') AS v (status, label)
            ON o.status = v.status
    """,
}

SETS = {
    "united_all": "SELECT order_id, amount FROM orders UNION ALL SELECT order_id, -amount FROM refunds",
    "united": "SELECT order_id FROM orders UNION SELECT order_id FROM refunds",
    "intersected": "SELECT order_id FROM orders INTERSECT SELECT order_id FROM refunds",
    "subtracted_all": "SELECT order_id, amount FROM orders EXCEPT ALL SELECT order_id, amount FROM refunds",
    "union_of_filters": """
        SELECT order_id, 'big' AS size FROM orders WHERE amount > 100
        UNION ALL SELECT order_id, reason FROM refunds WHERE amount > 1
    """,
}

GROUPS = {
    "grouping_sets": """
        SELECT region, manager, max(name) AS last_name FROM customers GROUP BY GROUPING SETS ((region), (manager), ())
    """,
    "rolled_up": "SELECT status, day, sum(amount) AS total FROM orders GROUP BY ROLLUP (status, day)",
    "cubed": "SELECT status, customer_id, min(amount) AS least FROM orders GROUP BY CUBE (status, customer_id)",
    "having": "SELECT status, max(day) AS last_day FROM orders GROUP BY status HAVING sum(amount) > 10",
    "filtered_aggregates": """
        SELECT customer_id, sum(amount) FILTER (WHERE status = 'paid') AS paid,
               count(order_id) FILTER (WHERE day > '2024') AS recent FROM orders GROUP BY customer_id
    """,
    "grouped_expression": """
        SELECT substr(day, 1, 7) AS month, avg(amount) AS mean FROM orders GROUP BY substr(day, 1, 7)
    """,
    "distinct_rows": "SELECT DISTINCT status, customer_id FROM orders",
    "collected": """
        SELECT region, collect_list(name) AS names, max_by(email, manager) AS best FROM customers GROUP BY region
    """,
    "pivoted": """
        SELECT * FROM (SELECT customer_id, status, amount FROM orders)
            PIVOT (max(amount) FOR status IN ('open' AS open, 'paid' AS paid))
    """,
    "unpivoted": "SELECT * FROM quarters UNPIVOT (amount FOR quarter IN (q1, q2, q3))",
}

WINDOWS = {
    "running_total": """
        SELECT order_id, sum(amount) OVER (PARTITION BY customer_id ORDER BY day ROWS BETWEEN 1 PRECEDING
            AND CURRENT ROW) AS running FROM orders
    """,
    "ranged": """
        SELECT order_id, avg(amount) OVER (ORDER BY order_id RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS near
        FROM orders
    """,
    "ranked": """
        SELECT order_id, rank() OVER w AS place, dense_rank() OVER w AS dense, percent_rank() OVER w AS share,
               ntile(4) OVER w AS tile, row_number() OVER w AS number
        FROM orders WINDOW w AS (PARTITION BY status ORDER BY amount DESC)
    """,
    "shifted": """
        SELECT order_id, lag(amount, 1, 0.0) OVER (PARTITION BY customer_id ORDER BY day) AS before,
               first_value(status) OVER (PARTITION BY customer_id ORDER BY day) AS first_status FROM orders
    """,
    "newest": """
        SELECT customer_id, order_id FROM
            (SELECT *, row_number() OVER (PARTITION BY customer_id ORDER BY day DESC) AS n FROM orders) WHERE n = 1
    """,
    "windowed_aggregate": """
        SELECT status, sum(amount) AS total, rank() OVER (ORDER BY sum(amount)) AS place FROM orders GROUP BY status
    """,
}

GENERATORS = {
    "exploded": "SELECT basket_id, tag FROM baskets LATERAL VIEW explode(tags) t AS tag",
    "exploded_outer": "SELECT basket_id, n, tag FROM baskets LATERAL VIEW OUTER posexplode(tags) t AS n, tag",
    "exploded_map": "SELECT explode(extras) AS (extra, answer) FROM baskets",
    "inlined": "SELECT basket_id, sku, price FROM baskets LATERAL VIEW inline(items) i AS sku, price",
    "twice_exploded": """
        SELECT tag, item.price FROM baskets LATERAL VIEW explode(tags) t AS tag LATERAL VIEW explode(items) i AS item
    """,
    "parsed": "SELECT basket_id, k FROM baskets LATERAL VIEW json_tuple(note, 'k') j AS k",
}

SUBQUERIES = {
    "scalar": "SELECT order_id, (SELECT max(amount) FROM refunds WHERE reason = 'late') AS worst FROM orders",
    "correlated": """
        SELECT o.order_id, (SELECT max(r.reason) FROM refunds r WHERE r.order_id = o.order_id) AS reason FROM orders o
    """,
    "existing": """
        SELECT name FROM customers c
        WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.amount > 5)
    """,
    "in_list_of": "SELECT order_id FROM orders WHERE order_id IN (SELECT order_id FROM refunds WHERE amount > 1)",
    "not_in_list_of": "SELECT day FROM orders WHERE order_id NOT IN (SELECT order_id FROM refunds)",
    "nested": """
        SELECT name FROM customers WHERE customer_id IN
            (SELECT customer_id FROM orders WHERE order_id IN (SELECT order_id FROM refunds WHERE reason = 'late'))
    """,
    "scalar_condition": "SELECT order_id FROM orders WHERE amount > (SELECT avg(amount) FROM refunds)",
    "from_subquery": """
        SELECT t.who, t.total FROM
            (SELECT c.name AS who, sum(o.amount) AS total FROM customers c JOIN orders o USING (customer_id)
             GROUP BY c.name) t WHERE t.total > 1
    """,
    "ctes": """
        WITH big AS (SELECT * FROM orders WHERE amount > 100),
             named AS (SELECT b.order_id, c.name FROM big b JOIN customers c USING (customer_id))
        SELECT n.name, b.day FROM named n JOIN big b ON n.order_id = b.order_id
    """,
    "nested_ctes": """
        WITH outer_one AS (WITH inner_one AS (SELECT order_id, reason FROM refunds) SELECT reason FROM inner_one)
        SELECT reason FROM outer_one
    """,
}

EXPRESSIONS = {
    "cases": """
        SELECT CASE WHEN status = 'paid' THEN amount WHEN day > '2024' THEN -amount ELSE 0 END AS signed,
               CASE status WHEN 'open' THEN day END AS open_day, if(amount > 1, status, day) AS either FROM orders
    """,
    "chained": """
        SELECT coalesce(name, email, region) AS first_known, nvl(region, name) AS place,
               nullif(name, email) AS other FROM customers
    """,
    "nested_choice": """
        SELECT CASE WHEN amount > 5 THEN if(status = 'open', day, 'done') ELSE coalesce(status, day) END AS word
        FROM orders
    """,
    "hashed": """
        SELECT sha2(email, 256) AS email_hash, md5(lower(name)) AS name_hash, length(email) AS size FROM customers
    """,
    "structures": """
        SELECT named_struct('id', customer_id, 'who', name).who AS who, array(name, email)[0] AS first_one,
               map(name, region) AS by_name FROM customers
    """,
    "higher_order": """
        SELECT transform(items, i -> i.price * basket_id) AS prices, filter(tags, t -> t <> note) AS some FROM baskets
    """,
    "lateral_alias": "SELECT amount * 2 AS twice, twice + 1 AS more FROM orders",
    "constants": "SELECT order_id, 'web' AS channel, CAST(NULL AS STRING) AS nothing, rand() AS luck FROM orders",
    "sorted_rows": "SELECT order_id FROM orders ORDER BY day DESC, amount LIMIT 3",
}


def main() -> None:
    """Run all queries in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_queries").config("spark.sql.warehouse.dir", f"{data}/warehouse")
    spark = session.getOrCreate()
    for name, query in SOURCES.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")
    for name, query in (JOINS | SETS | GROUPS | WINDOWS | GENERATORS | SUBQUERIES | EXPRESSIONS).items():
        spark.sql(query).write.parquet(f"{data}/out/{name}")
    finish(spark)


if __name__ == "__main__":
    main()
