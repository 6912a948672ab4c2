"""Names of folders and columns with everything a user may put in: blanks, unicode, signs; see names.truth.json."""

from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

FOLDERS = (
    "two words",
    "100% sure",
    "real%20percent",
    "a+b",
    "größe/日本語",
    "it's",
    "a&b;c,d",
    "hash#tag",
    "UPPER/lower",
    ".hidden-not",
    "semi~tilde@at!",
)
"""Read from `in/<name>`, written to `out/<name>`."""


def rows(spark: SparkSession, path: str) -> None:
    """Write a few rows."""
    spark.sql("SELECT 1 AS id, 'ann' AS name").write.mode("overwrite").parquet(path)


def folders(spark: SparkSession, data: Path) -> None:
    """Copy from a folder of each name to a folder of the same name."""
    for name in FOLDERS:
        rows(spark, f"{data}/in/{name}")
        spark.read.parquet(f"{data}/in/{name}").select("id").write.parquet(f"{data}/out/{name}")


def brackets(spark: SparkSession, data: Path) -> None:
    """Read a folder whose name would be a pattern."""
    rows(spark, f"{data}/in/[brackets] {{curly}}")
    source = spark.read.parquet(f"{data}/in/\\[brackets\\] \\{{curly\\}}")
    source.select("id").write.parquet(f"{data}/out/[brackets] {{curly}}")


def delta_folders(spark: SparkSession, data: Path) -> None:
    """Copy Delta tables by path; the listener and Delta spell a path each in its own way."""
    for name in ("delta+plus", "delta-ünïcode", "delta words", "delta%percent"):
        spark.sql("SELECT 1 AS id, 'ann' AS name").write.format("delta").save(f"{data}/in/{name}")
        source = spark.read.format("delta").load(f"{data}/in/{name}").select("id")
        source.write.format("delta").save(f"{data}/out/{name}")


def partition_values(spark: SparkSession, data: Path) -> None:
    """Write partitions whose values must be escaped in their folders' names."""
    rows(spark, f"{data}/in/values")
    named = spark.read.parquet(f"{data}/in/values").withColumn("day", f.lit("5/1 10:00 %"))
    named.write.partitionBy("day").parquet(f"{data}/out/by_value")


def columns(spark: SparkSession, data: Path) -> None:
    """Copy columns whose names need quoting."""
    spark.sql("""
        SELECT 1 AS `order.id`, 2 AS `two words`, 3 AS `größe`, 4 AS `per%cent`, 5 AS `back``tick`, 6 AS `quo"te`,
               named_struct('a.b', 7) AS `nested`
    """).write.json(f"{data}/in/columns")
    source = spark.read.json(f"{data}/in/columns")
    source.select(
        "`order.id`",
        f.col("`two words`").alias("two  words"),
        "größe",
        f.col("`per%cent`").alias("per+cent"),
        "`back``tick`",
        'quo"te',
        f.col("nested.`a.b`").alias("a.b"),
    ).write.json(f"{data}/out/columns")


def folded_case(spark: SparkSession, _: Path) -> None:
    """Name columns in another case than they were written in, as Spark allows: one table, one column."""
    spark.sql("CREATE TABLE Cased (Order_Id INT, CUSTOMER STRING, amount INT) USING parquet")
    spark.sql("INSERT INTO cased VALUES (1, 'ann', 2)")
    spark.sql("CREATE TABLE copied USING parquet AS SELECT order_id, Customer AS who FROM CASED WHERE AMOUNT > 1")
    spark.sql("CREATE TABLE inserted (ORDER_ID INT, Who STRING) USING parquet")
    spark.sql("INSERT INTO INSERTED (order_id, WHO) SELECT ORDER_ID, customer FROM cased")
    spark.sql("CREATE TABLE delta_cased (Id INT, Name STRING) USING delta")
    source = spark.table("cased").selectExpr("order_id AS ID", "customer AS NAME")
    source.write.format("delta").mode("append").saveAsTable("delta_cased")


def metadata_columns(spark: SparkSession, data: Path) -> None:
    """Write where rows came from: the columns that Spark makes itself are no columns of the source."""
    rows(spark, f"{data}/in/described")
    described = spark.read.parquet(f"{data}/in/described")
    described.select("id", "_metadata.file_path", f.col("_metadata.file_size").alias("size")).write.json(
        f"{data}/out/described"
    )
    described.select("id", f.input_file_name().alias("file"), f.monotonically_increasing_id().alias("n")).write.json(
        f"{data}/out/numbered"
    )
    spark.read.format("delta").load(f"{data}/in/delta+plus").selectExpr(
        "name", "_metadata.file_name AS file"
    ).write.json(f"{data}/out/described_delta")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = (
        SparkSession.builder.appName("names")
        .config(map=DELTA)
        .config("spark.sql.warehouse.dir", f"{data}/warehouse")
        .getOrCreate()
    )
    for step in (folders, brackets, delta_folders, partition_values, columns, folded_case, metadata_columns):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
