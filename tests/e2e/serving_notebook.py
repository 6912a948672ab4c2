"""A notebook between two dbt projects, as on a cluster with a Thrift server.

It makes a table of a model in DuckDB, serves the session's tables until the file DATA/served exists (DATA/serving says
that it does), and writes what was made meanwhile of its table to a folder.
"""

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

data = Path(sys.argv[1])
spark = SparkSession.builder.appName("orders").enableHiveSupport().getOrCreate()
database = {"url": f"jdbc:duckdb:{data}/shop.duckdb", "driver": "org.duckdb.DuckDBDriver"}
orders = spark.read.format("jdbc").options(**database, dbtable="main.open_orders").load()
spark.sql("CREATE DATABASE sales")
orders.select("customer_id", "amount").write.saveAsTable("sales.orders")

server = spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2  # type: ignore[union-attr]
server.startWithContext(spark._jsparkSession.sqlContext())
(data / "serving").touch()
while not (data / "served").exists():
    time.sleep(0.1)

spark.table("sales.totals").where("total > 1").coalesce(1).write.parquet(f"{data}/large")
spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
spark.stop()
