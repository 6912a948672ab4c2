"""A job in Spark SQL only, for any Spark from 3.3 on: a report, a failing write, a checkpoint, a table, a MERGE."""

import sys

from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.appName("compatible").getOrCreate()
spark.range(9).selectExpr("id", "id % 3 AS customer", "id * 2 AS amount").write.parquet(f"{folder}/orders")
spark.range(3).selectExpr("id AS customer", "concat('c', id) AS name").write.parquet(f"{folder}/customers")
orders, customers = spark.read.parquet(f"{folder}/orders"), spark.read.parquet(f"{folder}/customers")
orders.createOrReplaceTempView("orders")
customers.createOrReplaceTempView("customers")
report = spark.sql("""
    SELECT c.name, sum(o.amount) AS total, max(CASE WHEN o.id > 1 THEN o.amount END) AS late,
           rank() OVER (PARTITION BY c.name ORDER BY sum(o.amount)) AS place
    FROM orders o JOIN customers c ON o.customer = c.customer GROUP BY c.name
""")
report.write.parquet(f"{folder}/report")
try:
    orders.selectExpr("CAST(raise_error('no') AS int) AS c").write.parquet(f"{folder}/failed")
except Exception as error:  # noqa: BLE001 - a class of its own in each version
    print("failed", type(error).__name__)  # noqa: T201 - a job's output
report.localCheckpoint().write.parquet(f"{folder}/checkpoint")
customers.selectExpr("name AS who").write.option("path", f"{folder}/made").saveAsTable("made")
customers.write.format("delta").save(f"{folder}/target")
spark.read.format("delta").load(f"{folder}/target").createOrReplaceTempView("target")
spark.sql("""
    MERGE INTO target t USING (SELECT customer, concat(name, customer) AS name FROM customers) s
    ON t.customer = s.customer WHEN MATCHED THEN UPDATE SET t.name = s.name WHEN NOT MATCHED THEN INSERT *
""")
spark.stop()
