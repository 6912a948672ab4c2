"""Data frames whose lineage only Spark's plan shows: functions of Python, pandas and Arrow, kept frames, sessions,
threads, views and writers; one sink each. See plan_frames.truth.json.
"""

from collections.abc import Iterable
from pathlib import Path
from threading import Thread

import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # in the captures' own environment
import pyarrow as pa  # type: ignore[import-not-found,import-untyped,unused-ignore]  # as above
from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps."""
    spark.sql("""
        SELECT * FROM VALUES (10, 1, 120.0D, 'open', '2024-05-01'), (11, 2, 80.0D, 'paid', '2024-05-02')
            AS t (order_id, customer_id, amount, status, day)
    """).write.parquet(f"{data}/in/orders")
    spark.sql(
        "SELECT * FROM VALUES (1, 'ann', 'north'), (2, 'bob', 'south') AS t (customer_id, name, region)"
    ).write.csv(f"{data}/in/customers", header=True)


def orders(spark: SparkSession, data: Path) -> DataFrame:
    """Read the orders."""
    return spark.read.parquet(f"{data}/in/orders")


def customers(spark: SparkSession, data: Path) -> DataFrame:
    """Read the customers."""
    return spark.read.csv(f"{data}/in/customers", header=True, schema="customer_id INT, name STRING, region STRING")


def python_functions(spark: SparkSession, data: Path) -> None:
    """Use two columns in a function, one in another, and a third in a filter."""
    label = f.udf(lambda status, amount: f"{status}{amount}", "string")
    late = f.udf(lambda day: day > "2024", "boolean")
    frame = orders(spark, data).where(late("day"))
    frame.select("order_id", label("status", "amount").alias("label")).write.json(f"{data}/out/by_python")


def pandas_functions(spark: SparkSession, data: Path) -> None:
    """Use a function of pandas for each row, and one for each group."""

    def gross(amount: pd.Series) -> pd.Series:
        return amount * 1.2

    def middle(amount: pd.Series) -> float:
        return float(amount.median())

    gross_function = f.pandas_udf(gross, "double")  # type: ignore[attr-defined,call-overload]  # stubs know no names of types
    group = f.pandas_udf(middle, "double")  # type: ignore[attr-defined,call-overload]  # as above
    orders(spark, data).select("order_id", gross_function("amount").alias("gross")).write.json(f"{data}/out/by_pandas")
    grouped = orders(spark, data).groupBy("status").agg(group("amount").alias("middle"))
    grouped.write.json(f"{data}/out/by_pandas_group")


def arrow_function(spark: SparkSession, data: Path) -> None:
    """Exchange a Python function's values by Arrow."""
    shout = f.udf(lambda text: f"{text}!", "string", useArrow=True)
    orders(spark, data).select("order_id", shout("status").alias("loud")).write.json(f"{data}/out/by_arrow")


def mapped(spark: SparkSession, data: Path) -> None:
    """Give whole batches to functions: any column may be in any other."""

    def pandas(batches: Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
        for batch in batches:
            yield batch.assign(both=batch["order_id"].astype(str) + batch["status"])[["order_id", "both"]]

    def arrow(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        yield from batches

    order_states = orders(spark, data).select("order_id", "status")
    order_states.mapInPandas(pandas, "order_id INT, both STRING").write.json(f"{data}/out/mapped_pandas")
    order_states.mapInArrow(arrow, "order_id INT, status STRING").write.json(f"{data}/out/mapped_arrow")


def applied(spark: SparkSession, data: Path) -> None:
    """Give each group to a function, and two frames' groups together."""

    def largest(group: pd.DataFrame) -> pd.DataFrame:
        return group.nlargest(1, "amount")[["customer_id", "amount"]]

    def together(left_rows: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        return left_rows.merge(right, on="customer_id")[["amount", "name"]]

    amounts = orders(spark, data).select("customer_id", "amount")
    amounts.groupBy("customer_id").applyInPandas(largest, "customer_id INT, amount DOUBLE").write.json(
        f"{data}/out/applied"
    )
    right = customers(spark, data).select("customer_id", "name")
    grouped_pair = amounts.groupBy("customer_id").cogroup(right.groupBy("customer_id"))
    grouped_pair.applyInPandas(together, "amount DOUBLE, name STRING").write.json(f"{data}/out/applied_together")


def kept(spark: SparkSession, data: Path) -> None:
    """Keep frames in memory and on disk, with steps before and after it."""
    spark.sparkContext.setCheckpointDir(f"{data}/checkpoints")
    cached = orders(spark, data).where("amount > 1").cache()
    cached.groupBy("status").agg(f.max("day").alias("last")).write.json(f"{data}/out/cached")
    cached.alias("a").join(cached.alias("b"), f.expr("a.customer_id = b.customer_id")).selectExpr(
        "a.order_id", "b.day AS other_day"
    ).write.json(f"{data}/out/cached_with_itself")
    cached.unpersist()
    joined = orders(spark, data).join(customers(spark, data), "customer_id").select("order_id", "name", "amount")
    joined.checkpoint().groupBy("name").agg(f.sum("amount").alias("total")).write.json(f"{data}/out/checkpointed")
    local = orders(spark, data).where("status = 'open'").select("order_id").localCheckpoint()
    local.selectExpr("order_id AS id").write.json(f"{data}/out/checkpointed_locally")


def rows_and_back(spark: SparkSession, data: Path) -> None:
    """Turn a frame into an RDD and back: the function between may do anything."""
    rows = orders(spark, data).select("order_id", "status").rdd.map(lambda row: (row.order_id, row.status))
    rows.toDF(["id", "word"]).write.json(f"{data}/out/through_rows")


def views(spark: SparkSession, data: Path) -> None:
    """Read files by a view of the session, of the application, of the catalog, and by their path."""
    spark.sql(f"""
        CREATE TEMPORARY VIEW customer_files USING csv
        OPTIONS (path '{data}/in/customers', header 'true', inferSchema 'true')
    """)
    spark.sql("SELECT customer_id, name FROM customer_files WHERE region = 'north'").write.json(f"{data}/out/by_view")
    orders(spark, data).where("amount > 1").createOrReplaceGlobalTempView("large_orders")
    spark.sql("SELECT order_id FROM global_temp.large_orders").write.json(f"{data}/out/by_global_view")
    spark.sql(f"CREATE TABLE catalog_orders USING parquet LOCATION '{data}/in/orders'")
    spark.sql("CREATE VIEW open_orders AS SELECT order_id AS id, day FROM catalog_orders WHERE status = 'open'")
    spark.sql("SELECT id, day FROM open_orders").write.json(f"{data}/out/by_catalog_view")
    spark.sql(f"SELECT upper(status) AS status FROM parquet.`{data}/in/orders`").write.json(f"{data}/out/by_path")  # noqa: S608 - a folder of this capture


def writers(spark: SparkSession, data: Path) -> None:
    """Write tables by the catalog's writers: bucketed, partitioned, by name, twice in one statement, into folders."""
    frame = orders(spark, data)
    frame.select("order_id", "status").write.bucketBy(2, "order_id").sortBy("order_id").saveAsTable("bucketed")
    frame.select("order_id", "amount", "status").write.partitionBy("status").saveAsTable("by_status")
    spark.sql("CREATE TABLE by_name (day STRING, id INT) USING parquet")
    frame.createOrReplaceTempView("frame")
    spark.sql("INSERT INTO by_name BY NAME SELECT order_id AS id, day FROM frame")
    spark.sql("CREATE TABLE by_position (a INT, b STRING) USING parquet")
    frame.select("order_id", "status").write.insertInto("by_position")
    spark.sql("CREATE TABLE small (id INT) USING parquet")
    spark.sql("CREATE TABLE large (id INT, amount DOUBLE) USING parquet")
    spark.sql("""
        FROM frame
        INSERT INTO small SELECT order_id WHERE amount <= 100
        INSERT INTO large SELECT order_id, amount WHERE amount > 100
    """)
    spark.sql(f"INSERT OVERWRITE DIRECTORY '{data}/out/directory' USING parquet SELECT order_id, day FROM frame")  # noqa: S608 - as above
    spark.sql("CREATE TABLE by_day (id INT, day STRING) USING parquet PARTITIONED BY (day)")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql("INSERT OVERWRITE by_day SELECT order_id, day FROM frame")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")


def sessions(spark: SparkSession, data: Path) -> None:
    """Write from another session, in which a view has the name of one that is here."""
    other = spark.newSession()
    customers(spark, data).createOrReplaceTempView("people")
    orders(other, data).createOrReplaceTempView("people")
    other.sql("SELECT status AS word FROM people").write.json(f"{data}/out/other_session")
    spark.sql("SELECT name AS word FROM people").write.json(f"{data}/out/this_session")


def threads(spark: SparkSession, data: Path) -> None:
    """Write two frames at the same time."""

    def write(column: str) -> None:
        orders(spark, data).select(column).distinct().write.json(f"{data}/out/thread_{column}")

    running = [Thread(target=write, args=(column,)) for column in ("status", "day")]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_frames").config("spark.sql.warehouse.dir", f"{data}/warehouse")
    spark = session.getOrCreate()
    write_inputs(spark, data)
    for step in (
        python_functions,
        pandas_functions,
        arrow_function,
        mapped,
        applied,
        kept,
        rows_and_back,
        views,
        writers,
        sessions,
        threads,
    ):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
