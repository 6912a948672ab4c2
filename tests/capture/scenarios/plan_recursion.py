"""Queries that refer to themselves, which Spark has from 4.1 on; see plan_recursion.truth.json."""

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession

QUERIES = {
    "levels": """
        WITH RECURSIVE tree AS (
            SELECT id, name, 1 AS level FROM employees WHERE boss IS NULL
            UNION ALL SELECT e.id, e.name, t.level + 1 FROM employees e JOIN tree t ON e.boss = t.id
        ) SELECT name, level FROM tree
    """,
    "numbered": """
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3)
        SELECT e.name, n.n FROM employees e JOIN numbers n ON e.id = n.n
    """,
}


def main() -> None:
    """Run all queries in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_recursion").config("spark.sql.warehouse.dir", f"{data}/warehouse")
    spark = session.getOrCreate()
    spark.sql("""
        CREATE TABLE employees USING parquet AS
        SELECT * FROM VALUES (1, 'ann', NULL), (2, 'bob', 1), (3, 'cy', 2) AS t (id, name, boss)
    """)
    for name, query in QUERIES.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")
    finish(spark)


if __name__ == "__main__":
    main()
