"""Files: CSV, JSON, parquet and text; append, overwrite, partitions, a glob. One sink a step; see files.truth.json."""

import argparse
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps: some without Spark, as other systems do."""
    spark.sql("""
        SELECT * FROM VALUES (1, 'ann', 12.5, '2024-05-01'), (2, 'bob', 7.0, '2024-05-02')
            AS orders (order_id, customer, amount, day)
    """).write.mode("overwrite").parquet(f"{data}/in/orders")
    daily = data / "in" / "daily"
    daily.mkdir(parents=True, exist_ok=True)
    (data / "in" / "customers.csv").write_text("customer_id,name\n1,ann\n2,bob\n")
    (data / "in" / "clicks.json").write_text('{"page": "home", "visitor": 1}\n{"page": "shop", "visitor": 2}\n')
    (daily / "sales-1.csv").write_text("shop,amount\nnorth,1.5\nsouth,2.5\n")
    (daily / "sales-2.csv").write_text("shop,amount\nnorth,3.5\n")
    (daily / "returns-1.csv").write_text("shop,amount\nnorth,9.5\n")


def append_csv(spark: SparkSession, data: Path) -> None:
    """Append parquet rows to CSV files, filtered by a column that is not written."""
    orders = spark.read.parquet(f"{data}/in/orders").where("amount > 5").select("order_id", "customer")
    orders.write.mode("append").option("header", value=True).csv(f"{data}/out/csv_append")


def overwrite_json(spark: SparkSession, data: Path) -> None:
    """Read one CSV file with an inferred schema; overwrite JSON files."""
    customers = spark.read.csv(f"{data}/in/customers.csv", header=True, inferSchema=True)
    customers.select("customer_id", f.upper("name").alias("name")).write.mode("overwrite").json(f"{data}/out/json")


def read_json(spark: SparkSession, data: Path) -> None:
    """Read one JSON file, write parquet."""
    clicks = spark.read.json(f"{data}/in/clicks.json")
    clicks.select("page", f.col("visitor").alias("visitor_id")).write.mode("overwrite").parquet(f"{data}/out/clicks")


def static_partition(spark: SparkSession, data: Path) -> None:
    """Write one partition's folder: the data set is the folder above it."""
    orders = spark.read.parquet(f"{data}/in/orders").where("day = '2024-05-01'").select("order_id", "amount")
    orders.write.mode("overwrite").parquet(f"{data}/out/by_day_static/day=2024-05-01")


def dynamic_partitions(spark: SparkSession, data: Path) -> None:
    """Overwrite only the partitions that the rows belong to."""
    orders = spark.read.parquet(f"{data}/in/orders").select("order_id", "amount", "day")
    writer = orders.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy("day")
    writer.parquet(f"{data}/out/by_day")


def read_glob(spark: SparkSession, data: Path) -> None:
    """Sum up the files that a pattern names: the data set is their folder."""
    sales = spark.read.csv(f"{data}/in/daily/sales-*.csv", header=True, schema="shop STRING, amount DOUBLE")
    sales.groupBy("shop").agg(f.sum("amount").alias("total")).write.mode("overwrite").parquet(f"{data}/out/totals")


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    spark = SparkSession.builder.appName("files").getOrCreate()
    write_inputs(spark, data)
    for step in (append_csv, overwrite_json, read_json, static_partition, dynamic_partitions, read_glob):
        step(spark, data)
    spark.stop()


if __name__ == "__main__":
    main()
