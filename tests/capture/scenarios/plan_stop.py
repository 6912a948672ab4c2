"""Tables that are created just before the application stops, or dropped again; see plan_stop.truth.json.

It does not wait for the listeners: the location of such a table is looked up when the session has stopped.
"""

from _session import DELTA, data_folder  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_stop").config(map=DELTA)
    spark = session.config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    spark.sql("SELECT * FROM VALUES (1, 10), (2, 20) AS t (id, amount)").write.parquet(f"{data}/in/orders")
    orders = spark.read.parquet(f"{data}/in/orders")
    orders.createOrReplaceTempView("orders")
    spark.sql("CREATE DATABASE shop")
    spark.sql("CREATE TABLE shop.created USING delta AS SELECT id FROM orders")
    spark.sql(f"CREATE TABLE outside USING delta LOCATION '{data}/out/outside' AS SELECT id, amount FROM orders")  # noqa: S608 - a folder of this capture
    spark.sql("CREATE TABLE files USING parquet AS SELECT amount FROM orders")
    spark.sql("CREATE TABLE staged USING delta AS SELECT id, amount + 1 AS more FROM orders")
    spark.sql("CREATE TABLE kept USING delta AS SELECT more FROM staged")
    spark.sql("DROP TABLE staged")
    orders.write.format("delta").saveAsTable("saved")
    orders.selectExpr("id AS number").writeTo("written").using("delta").createOrReplace()
    orders.select("amount").write.format("delta").mode("overwrite").saveAsTable("saved_over")
    spark.sql(
        "CREATE OR REPLACE TABLE replaced USING delta AS SELECT id, amount + 1 AS more FROM orders WHERE amount > 1"
    )
    spark.stop()


if __name__ == "__main__":
    main()
