"""Functions on pandas' values: of columns, of groups and of whole batches; see pandas_functions.truth.json."""

from pathlib import Path

import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # in the captures' own environment
from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps."""
    spark.sql("""
        SELECT * FROM VALUES (10, 1, 120.0D), (11, 2, 80.0D), (12, 1, 5.0D) AS t (order_id, customer_id, amount)
    """).write.parquet(f"{data}/in/orders")


def by_column(spark: SparkSession, data: Path) -> None:
    """Change a column's values, a batch at a time."""

    @f.pandas_udf("double")  # type: ignore[attr-defined,call-overload,untyped-decorator]  # stubs know no names of types
    def with_tax(amounts: pd.Series) -> pd.Series:
        return amounts * 1.25

    orders = spark.read.parquet(f"{data}/in/orders")
    orders.select("order_id", with_tax("amount").alias("gross")).write.parquet(f"{data}/out/gross")


def by_group(spark: SparkSession, data: Path) -> None:
    """Make one row of each customer's orders."""

    def largest(orders: pd.DataFrame) -> pd.DataFrame:
        return orders.nlargest(1, "amount")[["customer_id", "amount"]]

    orders = spark.read.parquet(f"{data}/in/orders")
    grouped = orders.groupBy("customer_id").applyInPandas(largest, "customer_id INT, amount DOUBLE")
    grouped.write.parquet(f"{data}/out/largest")


def by_batch(spark: SparkSession, data: Path) -> None:
    """Map whole batches of rows, after a filter by SQL."""

    def rounded(batches):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as users write them
        for batch in batches:
            yield batch.assign(amount=batch["amount"].round())

    orders = spark.read.parquet(f"{data}/in/orders").where("customer_id = 1")
    orders.mapInPandas(rounded, orders.schema).write.parquet(f"{data}/out/rounded")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("pandas_functions").getOrCreate()
    for step in (write_inputs, by_column, by_group, by_batch):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
