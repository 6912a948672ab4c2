"""Notebooks on a shared Databricks cluster: two notebooks in one application, one of them run twice, a mount, tables of
Unity Catalog; Delta's extension has another name, as there. See databricks.truth.json.
"""

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

MOUNT = "/mnt/landing"
LAKE = "abfss://lake@contoso.dfs.core.windows.net"


def attach(spark: SparkSession, notebook: str, user: str) -> None:
    """Do as Databricks does when a notebook's cell runs on a cluster."""
    context = spark.sparkContext
    context.setLocalProperty("spark.databricks.notebook.path", notebook)
    context.setLocalProperty("user", user)


def write_inputs(spark: SparkSession) -> None:
    """Write the inputs of the notebooks: in the mounted container, in the lake, and a table."""
    attach(spark, "/Users/eve@contoso.com/set up", "eve@contoso.com")
    orders = spark.sql("SELECT * FROM VALUES (1, 'ann', 12.5), (2, 'bob', 7.0) AS t (order_id, customer, amount)")
    orders.write.parquet(f"dbfs:{MOUNT}/orders")
    spark.sql("CREATE TABLE prices (product STRING, price DOUBLE) USING delta")
    spark.sql("INSERT INTO prices VALUES ('tea', 3.5)")


def load(spark: SparkSession) -> None:
    """A notebook: the mount into Delta, with a shuffle; a table that is replaced; an append and a MERGE of one sink."""
    attach(spark, "/Users/ann@contoso.com/shop/load orders", "ann@contoso.com")
    orders = spark.read.parquet(f"dbfs:{MOUNT}/orders")
    totals = orders.groupBy("customer").agg(f.sum("amount").alias("total"))
    totals.write.format("delta").mode("overwrite").save(f"{LAKE}/totals")
    orders.select("customer").write.format("delta").mode("append").save(f"{LAKE}/customers")
    spark.sql("CREATE OR REPLACE TABLE dear_products USING delta AS SELECT product FROM prices WHERE price > 1")
    spark.sql(f"""
        MERGE INTO delta.`{LAKE}/customers` t USING delta.`{LAKE}/totals` s ON t.customer = s.customer
        WHEN NOT MATCHED THEN INSERT (customer) VALUES (s.customer)
    """)  # noqa: S608 - a folder of this capture


def publish(spark: SparkSession) -> None:
    """Another notebook, out of a repository: Delta into parquet, with a shuffle; an INSERT into a table."""
    attach(spark, "/Repos/.internal/1c2b3d4e5f_commits/8e7d6c5b4a3f2e1d/publish", "bob@contoso.com")
    totals = spark.read.format("delta").load(f"{LAKE}/totals").orderBy("total").select("customer", "total")
    totals.write.mode("overwrite").parquet(f"dbfs:{MOUNT}/published/totals")
    spark.sql("CREATE TABLE IF NOT EXISTS price_list (product STRING, price DOUBLE) USING delta")
    spark.sql("INSERT INTO price_list SELECT product, price FROM prices")


def main() -> None:
    """Run the notebooks, the first one twice, in one application."""
    data = data_folder(__doc__)
    builder = SparkSession.builder.appName("Databricks Shell")
    spark = builder.config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    for notebook in (write_inputs, load, publish, load):
        notebook(spark)
    finish(spark)


if __name__ == "__main__":
    main()
