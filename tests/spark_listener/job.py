"""A job that writes once or more for each receiver named in its argument (JSON), each in a Spark application of its
own in one JVM; it prints how many seconds each needed to stop.
"""

import json
import sys
import time

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf


def run(spark: SparkSession, folder: str, *, whole: bool) -> None:
    """Write plans with planted values; `whole`: also a failed, a deep and a wide one."""
    spark.range(3).selectExpr("id", "'row' AS name").write.mode("overwrite").parquet(f"{folder}/in")
    rows = spark.read.option("password", "planted-option").parquet(f"{folder}/in")
    rows.createOrReplaceTempView("rows")
    text = """
        SELECT CASE WHEN name = 'planted-literal' THEN 987654321 ELSE id END AS c FROM rows
        WHERE name LIKE 'planted-like%'
    """
    spark.sql(text).write.mode("overwrite").option("secret", "planted-option").parquet(f"{folder}/out")
    if not whole:
        return
    try:
        rows.select(sf.expr("CAST(raise_error('planted-message') AS int)").alias("c")).write.parquet(f"{folder}/failed")
    except (PySparkException, Py4JJavaError) as error:
        print("planted-message" in str(error))  # noqa: T201 - read by the test
    deep = sf.col("id")
    for _ in range(150):
        deep = deep + sf.col("id")
    rows.select(deep.alias("deep")).write.mode("overwrite").parquet(f"{folder}/deep")
    wide = [sf.concat(*[sf.col("name")] * 200).alias(f"c{each}") for each in range(60)]
    rows.select(*wide).limit(0).write.mode("overwrite").parquet(f"{folder}/wide")
    clear = rows.select("id", "name").localCheckpoint()
    clear.write.mode("overwrite").parquet(f"{folder}/clear")
    clear.where("id > 1").localCheckpoint().write.mode("overwrite").parquet(f"{folder}/unclear")
    named = rows.selectExpr("id", "'planted-name'", "name = 'planted-name'")  # Spark names columns by these values
    named.where("`planted-name` > ''").select("id").write.mode("overwrite").parquet(f"{folder}/named")
    pivoted = rows.groupBy("id").pivot("name", ["planted-pivot"]).count()
    pivoted.selectExpr("id", "`planted-pivot` AS c").write.mode("overwrite").parquet(f"{folder}/pivoted")
    query = "SELECT tablename FROM sys.systables WHERE tablename <> 'planted-query' AND 987654321 > 1"
    database = rows.sparkSession.read.format("jdbc").option("query", query)
    database = database.option("url", "jdbc:derby:memory:db;create=true;user=app;password=planted-password")
    database.load().write.mode("overwrite").parquet(f"{folder}/queried")
    try:
        address = "jdbc:planted://user:planted-password@127.0.0.1/db?token=planted-token"
        rows.write.format("jdbc").options(url=address, dbtable="t", password="planted-password").save()  # noqa: S106 - planted
    except Py4JJavaError as error:
        print(error.java_exception.getClass().getName())  # noqa: T201 - a job's output


for name, url in json.loads(sys.argv[1]).items():
    builder = SparkSession.builder.appName("Plans").config("spark.throughline.plan.transport.url", url)
    spark = builder.getOrCreate()
    run(spark, sys.argv[2], whole=name == "good")
    began = time.monotonic()
    spark.stop()
    print(json.dumps({"name": name, "stop": time.monotonic() - began}))  # noqa: T201 - read by the test
