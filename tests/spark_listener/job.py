"""A job that writes for each receiver named in its argument (JSON), each in its own Spark application in one JVM.

It prints the seconds that each application took to stop.
"""

import json
import sys
import time
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf


def run(spark: SparkSession, folder: str, *, is_complete: bool) -> None:
    """Write plans with planted values; `is_complete`: also a failed, a deep and a wide one."""
    spark.range(3).selectExpr("id", "'row' AS name").write.mode("overwrite").parquet(f"{folder}/in")
    rows = spark.read.option("password", "planted-option").parquet(f"{folder}/in")
    rows.createOrReplaceTempView("rows")
    text = """
        SELECT CASE WHEN name = 'planted-literal' THEN 987654321 ELSE id END AS c FROM rows
        WHERE name LIKE 'planted-like%'
    """
    spark.sql(text).write.mode("overwrite").option("secret", "planted-option").parquet(f"{folder}/out")
    if not is_complete:
        return
    try:
        rows.select(sf.expr("CAST(raise_error('planted-message') AS int)").alias("c")).write.parquet(f"{folder}/failed")
    except (PySparkException, Py4JJavaError) as error:
        print("planted-message" in str(error))  # noqa: T201 - read by the test
    deep = sf.col("id")
    for _ in range(150):
        deep = deep + sf.col("id")
    rows.select(deep.alias("deep")).write.mode("overwrite").parquet(f"{folder}/deep")
    wide = [sf.concat(*[sf.col("name")] * 200).alias(f"c{number}") for number in range(60)]
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


def planted(spark: SparkSession, folder: str) -> None:
    """Write with a planted value in each place where people may put one; each statement has its own plan."""
    lake_authority = "viewfs://ann:planted-authority@lake"
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.ann:planted-authority@lake.link./data", f"file://{folder}/mounted")
    spark.range(3).selectExpr("id", "'row' AS name").write.parquet(f"{folder}/mounted/in")
    key = "sig=planted-signature"
    signed, delta = f"{folder}/signed?{key}", f"{folder}/delta?{key}"
    spark.range(3).selectExpr("id", "'row' AS name").write.parquet(signed)
    spark.range(3).selectExpr("id", "'row' AS name").write.format("delta").save(delta)
    spark.conf.set("spark.my.password", "planted-conf")
    statements = Path(__file__).with_name("planted.sql").read_text()
    for text in statements.format(folder=folder, signed=signed, delta=delta, authority=lake_authority).split(";\n"):
        spark.sql(text)
    spark.read.parquet(f"{lake_authority}/data/in").write.mode("append").parquet(f"{lake_authority}/data/out")
    spark.table("secret_view").write.option("fs.azure.sas.token", "planted-write-option").mode("append").save(signed)

    for url, table in ADDRESSES:
        try:
            spark.table("secrets").write.format("jdbc").options(url=url, dbtable=table).save()
        except Py4JJavaError as error:  # there is no such driver, but the plan is sent
            print(error.java_exception.getClass().getName())  # noqa: T201 - a job's output


ADDRESSES = (
    ("jdbc:oracle:thin:ann/planted-oracle@//host:1521/sales", "t"),
    ("jdbc:mysql://ann:p@planted-at@host:3306/shop", "(SELECT a FROM t # planted-remark\n) AS p"),
    ("jdbc:postgresql://ann:p/planted-slash@host/shop", "(SELECT a /* 1 /* 2 */ planted-nested */ FROM t) AS p"),
    ("jdbc:sqlserver://host;database=shop;password={p;planted-braces}", "(SELECT a FROM t WHERE b = 987_654_321) AS p"),
    (
        "jdbc:db2://host:50000/shop:user=ann;pass=planted-pass;",
        "(SELECT a FROM t WHERE b = q'[it 'planted-quote' x]') p",
    ),
)
"""Addresses with passwords, and queries with values, in the spellings of databases."""


def wait_for_senders() -> None:
    """Wait until no listener has a plan left to send, at most half a minute."""
    threads = SparkContext._jvm.java.lang.Thread  # type: ignore[union-attr]  # it exists after the first session
    for _ in range(300):
        if not any(thread.getName() == "throughline-plan" for thread in threads.getAllStackTraces().keySet()):
            return
        time.sleep(0.1)


DELTA: dict[str, bool | float | int | str | None] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
for name, url in json.loads(sys.argv[1]).items():
    builder = SparkSession.builder.appName("Plans").config("spark.throughline.plan.transport.url", url)
    if name == "planted":
        spark = builder.config(map=DELTA).getOrCreate()
        planted(spark, sys.argv[2])
    else:
        if name == "outlived":  # its listener still has plans when its context has ended
            builder = builder.config("spark.throughline.plan.flushMillis", "100")
            builder = builder.config("spark.throughline.plan.transport.timeoutInMillis", "1000")
        spark = builder.getOrCreate()
        run(spark, sys.argv[2], is_complete=name == "good")
    began = time.monotonic()
    spark.stop()
    print(json.dumps({"name": name, "stop": time.monotonic() - began}))  # noqa: T201 - read by the test
    if name == "outlived":
        wait_for_senders()
