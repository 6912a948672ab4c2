"""A job that adds the plan listener by py4j alone, to a receiver and in a folder (arguments); it prints its results."""

import json
import sys

from pyspark.sql import SparkSession

import throughline

url, folder = sys.argv[1:]
spark = SparkSession.builder.appName("Notebook").getOrCreate()
spark.range(3).selectExpr("id", "'row' AS name").write.parquet(f"{folder}/before")
rows = spark.read.parquet(f"{folder}/before")
try:
    throughline.plan.watch(spark)
except throughline.Misconfigured as error:
    print(json.dumps({"refused": str(error)}))  # noqa: T201 - read by the test
with throughline.plan.watch(spark, url=url, key="a-key", namespace="notebooks") as watch:
    again = throughline.plan.watch(spark, url=url)
    print(json.dumps({"added": [watch.added, again.added]}))  # noqa: T201 - read by the test
    again.stop()
    rows.selectExpr("upper(name) AS loud").write.parquet(f"{folder}/watched")
    spark.newSession().read.parquet(f"{folder}/before").where("id > 1").write.parquet(f"{folder}/other_session")
rows.write.parquet(f"{folder}/after")
throughline.plan.watch(spark, url=url)
rows.write.parquet(f"{folder}/never_stopped")
spark.stop()
