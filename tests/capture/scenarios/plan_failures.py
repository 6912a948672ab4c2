"""Writes that fail, before and while they run, beside writes that do not; see plan_failures.truth.json."""

from collections.abc import Callable
from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps."""
    rows = "SELECT * FROM VALUES (10, 'open'), (11, 'paid') AS t (order_id, status)"
    spark.sql(rows).write.parquet(f"{data}/in/orders")


def failing(write: Callable[[], object]) -> None:
    """Run a write that must fail."""
    try:
        write()
    except Exception:  # noqa: BLE001 - any of Spark's
        return
    raise AssertionError("This write was to fail.")


def before(spark: SparkSession, data: Path) -> None:
    """Write to a folder that is there: refused before anything runs. Then append to it from elsewhere."""
    frame = spark.read.parquet(f"{data}/in/orders")
    spark.sql("SELECT 1 AS order_id, 'x' AS status").write.parquet(f"{data}/out/there")
    failing(lambda: frame.write.parquet(f"{data}/out/there"))


def during(spark: SparkSession, data: Path) -> None:
    """Fail in a task: at all, and the first time only."""
    frame = spark.read.parquet(f"{data}/in/orders")
    broken = f.udf(lambda number: number // 0, "int")
    failing(lambda: frame.select(broken("order_id").alias("id")).write.parquet(f"{data}/out/broken"))
    failing(lambda: frame.select(broken("order_id").alias("id"), "status").write.parquet(f"{data}/out/repeated"))
    frame.select(f.col("order_id").alias("id")).write.mode("overwrite").parquet(f"{data}/out/repeated")


def statements(spark: SparkSession, data: Path) -> None:
    """Fail in statements: a table from a query that raises an error, a MERGE that finds two rows, a wrong row."""
    spark.read.parquet(f"{data}/in/orders").createOrReplaceTempView("orders")
    failing(
        lambda: spark.sql("""
            CREATE TABLE never USING delta AS SELECT order_id, CAST(raise_error(status) AS STRING) AS status FROM orders
        """)
    )
    spark.sql("CREATE TABLE target USING delta AS SELECT 10 AS order_id, 'x' AS status")
    failing(
        lambda: spark.sql("""
            MERGE INTO target t
            USING (SELECT order_id, status FROM orders UNION ALL SELECT order_id, status FROM orders) s
            ON t.order_id = s.order_id WHEN MATCHED THEN UPDATE SET t.status = s.status
        """)
    )
    spark.sql("ALTER TABLE target ADD CONSTRAINT known CHECK (status <> 'paid')")
    failing(lambda: spark.sql("INSERT INTO target SELECT order_id, status FROM orders"))
    spark.sql("CREATE TABLE good USING delta AS SELECT order_id FROM orders WHERE status = 'open'")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_failures").config(map=DELTA)
    spark = session.config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for step in (write_inputs, before, during, statements):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
