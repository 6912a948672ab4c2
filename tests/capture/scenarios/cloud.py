"""Cloud names: ADLS Gen2 (abfss), Blob (wasbs), OneLake; parquet, CSV and Delta; see cloud.truth.json."""

import argparse
from pathlib import Path

from pyspark.sql import SparkSession

LAKE = "abfss://lake@contoso.dfs.core.windows.net"
BLOB = "wasbs://landing@contoso.blob.core.windows.net"
ONELAKE = "abfss://sales@onelake.dfs.fabric.microsoft.com/shop.Lakehouse"


def write_inputs(spark: SparkSession) -> None:
    """Write the inputs of the steps."""
    orders = spark.sql("SELECT * FROM VALUES (1, 'ann', 12.5), (2, 'bob', 7.0) AS t (order_id, customer, amount)")
    orders.write.option("header", value=True).csv(f"{BLOB}/export/orders")
    orders.write.format("delta").save(f"{ONELAKE}/Tables/orders")


def land(spark: SparkSession) -> None:
    """Copy from Blob to ADLS Gen2."""
    orders = spark.read.csv(
        f"{BLOB}/export/orders", header=True, schema="order_id INT, customer STRING, amount DECIMAL(3, 1)"
    )
    orders.write.mode("overwrite").parquet(f"{LAKE}/raw/orders")


def curate(spark: SparkSession) -> None:
    """Write Delta from parquet, in ADLS Gen2."""
    orders = spark.read.parquet(f"{LAKE}/raw/orders").where("amount > 5")
    orders.write.format("delta").mode("overwrite").save(f"{LAKE}/curated/orders")


def write_blanks(spark: SparkSession) -> None:
    """Write to folders whose names have a blank, as parquet and as Delta."""
    orders = spark.read.parquet(f"{LAKE}/raw/orders").select("order_id")
    orders.write.mode("overwrite").parquet(f"{LAKE}/test zone/order numbers")
    orders.write.format("delta").mode("overwrite").save(f"{LAKE}/test zone/delta numbers")


def merge_into_onelake(spark: SparkSession) -> None:
    """Merge the Delta table in ADLS Gen2 into a lakehouse's."""
    spark.sql(f"""
        MERGE INTO delta.`{ONELAKE}/Tables/orders` t USING delta.`{LAKE}/curated/orders` s ON t.order_id = s.order_id
        WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT *
    """)


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not used: the names are the cloud's")
    parser.parse_args()
    spark = (
        SparkSession.builder.appName("cloud")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .getOrCreate()
    )
    for step in (write_inputs, land, curate, write_blanks, merge_into_onelake):
        step(spark)
    spark.stop()


if __name__ == "__main__":
    main()
