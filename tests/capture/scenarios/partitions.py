"""Partitions: read by one, by several paths, by globs; written statically, dynamically; see partitions.truth.json."""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps."""
    sales = spark.sql("""
        SELECT * FROM VALUES (1, 'north', 12.5, 2023, 12), (2, 'north', 7.0, 2024, 1), (3, 'south', 9.0, 2024, 2)
            AS sales (sale_id, shop, amount, year, month)
    """)
    sales.write.partitionBy("year", "month").parquet(f"{data}/in/sales")
    for shop in ("zone-a", "zone-b", "other"):
        sales.select("sale_id", "amount").write.parquet(f"{data}/in/{shop}/till")
    for day in ("2024/05/01", "2024/05/02"):
        sales.select("sale_id", "shop").write.json(f"{data}/in/dated/{day}")


def one_partition(spark: SparkSession, data: Path) -> None:
    """Read one partition's folder: the data set is the folder above it."""
    spark.read.parquet(f"{data}/in/sales/year=2024/month=1").select("sale_id").write.parquet(f"{data}/out/january")


def with_base_path(spark: SparkSession, data: Path) -> None:
    """Read one partition's folder and keep the partition columns."""
    year = spark.read.option("basePath", f"{data}/in/sales").parquet(f"{data}/in/sales/year=2024")
    year.select("sale_id", "year", "month").write.parquet(f"{data}/out/this_year")


def pruned(spark: SparkSession, data: Path) -> None:
    """Filter by a partition column that is not written."""
    spark.read.parquet(f"{data}/in/sales").where("year = 2024").select("sale_id").write.parquet(f"{data}/out/pruned")


def several_paths(spark: SparkSession, data: Path) -> None:
    """Read two folders at once: two data sets."""
    tills = spark.read.parquet(f"{data}/in/zone-a/till", f"{data}/in/other/till")
    tills.write.parquet(f"{data}/out/two_tills")


def folder_glob(spark: SparkSession, data: Path) -> None:
    """Read the folders that a pattern names."""
    tills = spark.read.parquet(f"{data}/in/zone-*/till")
    tills.groupBy("sale_id").agg(f.max("amount").alias("most")).write.parquet(f"{data}/out/zone_tills")


def partition_glob(spark: SparkSession, data: Path) -> None:
    """Read the partitions that a pattern names."""
    spark.read.parquet(f"{data}/in/sales/year=*/month=[12]").select("shop").write.parquet(f"{data}/out/some_months")


def dated_folders(spark: SparkSession, data: Path) -> None:
    """Read folders that are dates, one and several."""
    spark.read.json(f"{data}/in/dated/2024/05/01").select("shop").write.parquet(f"{data}/out/one_day")
    spark.read.json(f"{data}/in/dated/*/*/*").select("sale_id").write.parquet(f"{data}/out/all_days")


def dated_output(spark: SparkSession, data: Path) -> None:
    """Write a folder that is a date."""
    spark.read.parquet(f"{data}/in/zone-a/till").write.parquet(f"{data}/out/exports/2024/05/03")


def append_partitions(spark: SparkSession, data: Path) -> None:
    """Append to partitions by a computed column."""
    tills = spark.read.parquet(f"{data}/in/zone-b/till").withColumn("half", f.expr("sale_id % 2"))
    tills.write.mode("append").partitionBy("half").parquet(f"{data}/out/halves")


def partitioned_table(spark: SparkSession, data: Path) -> None:
    """Write a table by a static, then by a dynamic partition; both come from one source."""
    spark.sql("CREATE TABLE by_month (sale_id INT, shop STRING, month INT) USING parquet PARTITIONED BY (month)")
    spark.read.parquet(f"{data}/in/sales").createOrReplaceTempView("sales")
    spark.sql("INSERT OVERWRITE by_month PARTITION (month = 1) SELECT sale_id, shop FROM sales WHERE year = 2024")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql("INSERT OVERWRITE by_month PARTITION (month) SELECT sale_id, shop, month FROM sales")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = (
        SparkSession.builder.appName("partitions").config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    )
    write_inputs(spark, data)
    for step in (
        one_partition,
        with_base_path,
        pruned,
        several_paths,
        folder_glob,
        partition_glob,
        dated_folders,
        dated_output,
        append_partitions,
        partitioned_table,
    ):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
