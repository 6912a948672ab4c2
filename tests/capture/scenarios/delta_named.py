"""Delta tables by their names: created, replaced, merged, cloned, read as they were; see delta_named.truth.json."""

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from delta.tables import DeltaTable  # type: ignore[import-not-found]  # comes inside Delta's jar, by spark-submit
from pyspark.sql import SparkSession

SOURCES = (
    """
    CREATE TABLE orders USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true) AS
    SELECT * FROM VALUES (10, 1, 120, 'open'), (11, 2, 80, 'paid') AS t (order_id, customer_id, amount, status)
    """,
    "CREATE TABLE customers USING delta AS SELECT * FROM VALUES (1, 'ann'), (2, 'bob') AS t (customer_id, name)",
    "INSERT INTO orders VALUES (12, 1, 10, 'open')",
)
CTAS = "CREATE TABLE open_orders USING delta AS SELECT order_id, amount FROM orders WHERE status = 'open'"
RTAS = (
    "CREATE OR REPLACE TABLE latest USING delta AS SELECT order_id FROM orders",
    "REPLACE TABLE latest USING delta AS SELECT order_id, amount * 2 AS twice FROM orders",
)
INSERTS = (
    "CREATE TABLE appended (id INT, label STRING) USING delta",
    "INSERT INTO appended SELECT customer_id, name FROM customers",
    "CREATE TABLE overwritten (id INT, label STRING) USING delta",
    "INSERT OVERWRITE overwritten SELECT customer_id, upper(name) FROM customers",
    "CREATE TABLE in_part (id INT, status STRING) USING delta PARTITIONED BY (status)",
    "INSERT INTO in_part REPLACE WHERE status = 'open' SELECT order_id, status FROM orders WHERE status = 'open'",
)
MERGE = (
    "CREATE TABLE totals (customer_id INT, name STRING, total BIGINT) USING delta",
    """
    MERGE INTO totals t
    USING (SELECT o.customer_id, c.name, sum(o.amount) AS total FROM orders o JOIN customers c
           ON o.customer_id = c.customer_id GROUP BY o.customer_id, c.name) s
    ON t.customer_id = s.customer_id
    WHEN MATCHED AND s.total <> t.total THEN UPDATE SET t.total = s.total
    WHEN NOT MATCHED THEN INSERT (customer_id, name, total) VALUES (s.customer_id, s.name, s.total)
    WHEN NOT MATCHED BY SOURCE THEN DELETE
    """,
)
MERGE_VIEW = (
    "CREATE TEMPORARY VIEW open_now AS SELECT customer_id, order_id FROM orders WHERE status = 'open'",
    "CREATE TABLE last_orders (customer_id INT, order_id INT) USING delta",
    """
    MERGE INTO last_orders t USING open_now s ON t.customer_id = s.customer_id
    WHEN MATCHED THEN UPDATE SET *
    WHEN NOT MATCHED THEN INSERT *
    """,
)
CORRECTED = (
    "CREATE TABLE corrected USING delta AS SELECT 1 AS id, 'new' AS state",
    "UPDATE corrected SET state = 'old' WHERE id = 1",
    "DELETE FROM corrected WHERE id > 5",
    "OPTIMIZE corrected",
    "OPTIMIZE corrected ZORDER BY (id)",
    "VACUUM corrected RETAIN 200 HOURS",
    "ALTER TABLE corrected ADD COLUMNS (more INT)",
    "RESTORE TABLE corrected TO VERSION AS OF 0",
    "DESCRIBE HISTORY corrected",
)
"""Its only source is itself: no lineage."""
TIME_TRAVEL = "CREATE TABLE orders_before USING delta AS SELECT order_id FROM orders VERSION AS OF 0"
CHANGES = (
    "CREATE TABLE order_changes USING delta AS SELECT order_id, _change_type AS change FROM table_changes('orders', 0)"
)
CLONE = "CREATE TABLE cloned SHALLOW CLONE customers"
STAGED = (
    "CREATE TABLE stage USING delta AS SELECT order_id, status FROM orders",
    "CREATE TABLE from_stage USING delta AS SELECT status FROM stage",
    "DROP TABLE stage",
)


def by_frames(spark: SparkSession) -> None:
    """Write tables by data frames: append, version 2 of the writer, a schema that grows."""
    orders = spark.table("orders")
    orders.selectExpr("customer_id AS id", "status AS label").write.format("delta").mode("append").saveAsTable("mixed")
    orders.select("order_id").writeTo("written_to").using("delta").createOrReplace()
    orders.select("order_id").writeTo("written_to").append()
    grown = (
        orders.select("customer_id")
        .withColumnRenamed("customer_id", "id")
        .selectExpr("id", "'x' AS label", "id AS more")
    )
    grown.write.format("delta").mode("append").option("mergeSchema", value=True).saveAsTable("mixed")
    orders.select("amount").write.format("delta").mode("overwrite").saveAsTable("saved_over")
    orders.select("status").write.format("delta").mode("overwrite").option("overwriteSchema", value=True).saveAsTable(
        "saved_over"
    )


def merge_by_name(spark: SparkSession) -> None:
    """Merge through Delta's class, by the table's name, with columns set one by one."""
    spark.sql("CREATE TABLE by_class (id INT, label STRING, seen INT) USING delta")
    source = spark.table("customers").alias("s")
    merge = DeltaTable.forName(spark, "by_class").alias("t").merge(source, "t.id = s.customer_id")
    values = {"id": "s.customer_id", "label": "upper(s.name)"}
    merge.whenMatchedUpdate(set={"seen": "t.seen + 1"}).whenNotMatchedInsert(values=values).execute()


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = (
        SparkSession.builder.appName("delta_named")
        .config(map=DELTA)
        .config("spark.sql.warehouse.dir", f"{data}/warehouse")
        .getOrCreate()
    )
    for statement in (
        *SOURCES,
        CTAS,
        *RTAS,
        *INSERTS,
        *MERGE,
        *MERGE_VIEW,
        *CORRECTED,
        TIME_TRAVEL,
        CHANGES,
        CLONE,
        *STAGED,
    ):
        spark.sql(statement)
    by_frames(spark)
    merge_by_name(spark)
    finish(spark)


if __name__ == "__main__":
    main()
