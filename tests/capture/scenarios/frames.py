"""Data frames: cached, united, joined, pivoted, with Python functions; one sink a step; see frames.truth.json."""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps."""
    spark.sql("""
        SELECT * FROM VALUES (10, 1, 120.0, 'open', '2024-05-01'), (11, 2, 80.0, 'paid', '2024-05-02')
            AS t (order_id, customer_id, amount, status, day)
    """).write.parquet(f"{data}/in/orders")
    spark.sql("""
        SELECT * FROM VALUES (1, 'ann', array('a', 'b')), (2, 'bob', array('c')) AS t (customer_id, name, tags)
    """).write.parquet(f"{data}/in/customers")


def cached_twice(spark: SparkSession, data: Path) -> None:
    """Keep a frame in memory and write it twice."""
    cached = spark.read.parquet(f"{data}/in/orders").where("amount > 1").select("order_id", "status").cache()
    cached.count()
    cached.write.parquet(f"{data}/out/cached_one")
    cached.groupBy("status").agg(f.max("order_id").alias("last")).write.parquet(f"{data}/out/cached_two")
    cached.unpersist()


def cached_table(spark: SparkSession, data: Path) -> None:
    """Cache a temporary view by SQL, and write from it."""
    spark.read.parquet(f"{data}/in/customers").createOrReplaceTempView("people")
    spark.sql("CACHE TABLE people_names AS SELECT customer_id, name FROM people")
    spark.table("people_names").write.json(f"{data}/out/from_cached_table")


def checkpointed(spark: SparkSession, data: Path) -> None:
    """Cut a frame's plan off by a local checkpoint before it is written."""
    orders = spark.read.parquet(f"{data}/in/orders").select("order_id", "day").localCheckpoint()
    orders.write.parquet(f"{data}/out/checkpointed")


def python_functions(spark: SparkSession, data: Path) -> None:
    """Change values by Python functions, by name in SQL and by column."""
    shout = f.udf(lambda text: f"{text}!", "string")
    spark.udf.register("twice", lambda number: float(number) * 2, "double")
    orders = spark.read.parquet(f"{data}/in/orders")
    orders.select("order_id", shout("status").alias("loud"), f.expr("twice(amount)").alias("doubled")).write.parquet(
        f"{data}/out/by_functions"
    )


def joined(spark: SparkSession, data: Path) -> None:
    """Join by a column of one name, with a hint."""
    customers = spark.read.parquet(f"{data}/in/customers")
    orders = spark.read.parquet(f"{data}/in/orders").join(f.broadcast(customers), "customer_id", "left")
    orders.select("order_id", "name").write.parquet(f"{data}/out/joined")


def united(spark: SparkSession, data: Path) -> None:
    """Unite two frames by their columns' names, with one that only the first has."""
    orders = spark.read.parquet(f"{data}/in/orders").select("customer_id", "status")
    customers = spark.read.parquet(f"{data}/in/customers").select("customer_id")
    orders.unionByName(customers, allowMissingColumns=True).write.parquet(f"{data}/out/united")


def pivoted(spark: SparkSession, data: Path) -> None:
    """Turn values into columns."""
    orders = spark.read.parquet(f"{data}/in/orders")
    orders.groupBy("customer_id").pivot("status", ["open", "paid"]).agg(f.sum("amount")).write.json(
        f"{data}/out/pivoted"
    )


def melted(spark: SparkSession, data: Path) -> None:
    """Turn columns into values."""
    orders = spark.read.parquet(f"{data}/in/orders").selectExpr("order_id", "status", "day")
    orders.unpivot("order_id", ["status", "day"], "what", "value").write.json(f"{data}/out/melted")


def exploded(spark: SparkSession, data: Path) -> None:
    """Make rows of an array's elements, with their positions."""
    customers = spark.read.parquet(f"{data}/in/customers")
    customers.select("name", f.posexplode("tags").alias("position", "tag")).write.json(f"{data}/out/exploded")


def windowed(spark: SparkSession, data: Path) -> None:
    """Keep the newest row of each customer by a window, then drop the column that says so."""
    newest_first = Window.partitionBy("customer_id").orderBy(f.desc("day"))
    ranked = spark.read.parquet(f"{data}/in/orders").withColumn("position", f.row_number().over(newest_first))
    ranked.where("position = 1").drop("position").select("customer_id", "status").write.json(f"{data}/out/newest")


def deduplicated(spark: SparkSession, data: Path) -> None:
    """Keep one row for each value of a column that is not written."""
    orders = spark.read.parquet(f"{data}/in/orders").dropDuplicates(["customer_id"])
    orders.select("order_id").repartition(2).write.json(f"{data}/out/deduplicated")


def replaced(spark: SparkSession, data: Path) -> None:
    """Give columns new values under their old names, and leave out rows without a value."""
    orders = spark.read.parquet(f"{data}/in/orders").dropna(subset=["day"]).fillna({"status": "new"})
    orders.withColumn("amount", f.col("amount") * f.lit(1.25)).drop("customer_id").write.json(f"{data}/out/replaced")


def with_local_rows(spark: SparkSession, data: Path) -> None:
    """Join rows of the driver: they are no data set."""
    rates = spark.createDataFrame([("open", 0.5), ("paid", 0.0)], "status STRING, rate DOUBLE")
    orders = spark.read.parquet(f"{data}/in/orders").join(rates, "status")
    orders.selectExpr("order_id", "amount * rate AS risk", "rate").write.json(f"{data}/out/risks")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("frames").getOrCreate()
    write_inputs(spark, data)
    for step in (
        cached_twice,
        cached_table,
        checkpointed,
        python_functions,
        joined,
        united,
        pivoted,
        melted,
        exploded,
        windowed,
        deduplicated,
        replaced,
        with_local_rows,
    ):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
