"""Formats: ORC, text, JSON, CSV with an inferred schema, RDDs, and rows that left SQL; see formats.truth.json."""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the steps: some without Spark, as other systems do."""
    spark.sql("""
        SELECT * FROM VALUES (1, 'ann', 12.5), (2, 'bob', 7.0) AS orders (order_id, customer, amount)
    """).write.parquet(f"{data}/in/orders")
    for folder, name, text in (
        ("people", "people.csv", "id;name;age\n1;ann;31\n2;bob;42\n"),
        (
            "visits",
            "visits.json",
            '[{"page": "home", "visitor": {"id": 1}},\n {"page": "shop", "visitor": {"id": 2}}]\n',
        ),
        ("log", "log.txt", "GET /home\nGET /shop\n"),
        ("old_log", "log.txt", "GET /about\n"),
    ):
        (data / "in" / folder).mkdir()
        (data / "in" / folder / name).write_text(text)


def orc_both_ways(spark: SparkSession, data: Path) -> None:
    """Write ORC from parquet, then parquet from that ORC."""
    spark.read.parquet(f"{data}/in/orders").select("order_id", "customer").write.orc(f"{data}/out/orc")
    spark.read.orc(f"{data}/out/orc").withColumnRenamed("customer", "buyer").write.parquet(f"{data}/out/from_orc")


def text_both_ways(spark: SparkSession, data: Path) -> None:
    """Take lines apart, and write one column as lines."""
    lines = spark.read.text(f"{data}/in/log")
    parts = lines.select(f.split("value", " ")[0].alias("method"), f.split("value", " ")[1].alias("path"))
    parts.write.parquet(f"{data}/out/requests")
    spark.read.parquet(f"{data}/in/orders").select("customer").write.text(f"{data}/out/customers_text")


def inferred_csv(spark: SparkSession, data: Path) -> None:
    """Read a folder of CSV files whose schema is inferred from all its rows; append JSON."""
    people = spark.read.csv(f"{data}/in/people", header=True, inferSchema=True, sep=";").where("age > 35")
    people.select("id", "name").write.mode("append").json(f"{data}/out/people")


def nested_json(spark: SparkSession, data: Path) -> None:
    """Read JSON texts over several lines, take a field of a structure."""
    visits = spark.read.json(f"{data}/in/visits", multiLine=True)
    visits.select("page", f.col("visitor.id").alias("visitor_id")).write.orc(f"{data}/out/visits")


def csv_overwritten(spark: SparkSession, data: Path) -> None:
    """Overwrite compressed CSV files."""
    orders = spark.read.format("parquet").load(f"{data}/in/orders")
    for _ in range(2):
        orders.write.format("csv").mode("overwrite").option("compression", "gzip").save(f"{data}/out/csv")


def rdd_union(spark: SparkSession, data: Path) -> None:
    """Write two RDDs as one."""
    context = spark.sparkContext
    log_lines = context.textFile(f"{data}/in/log").union(context.textFile(f"{data}/in/old_log"))
    log_lines.map(str.lower).saveAsTextFile(f"{data}/out/all_logs")


def rdd_pickled(spark: SparkSession, data: Path) -> None:
    """Write a sequence file of Python objects."""
    spark.sparkContext.textFile(f"{data}/in/log").map(str.split).saveAsPickleFile(f"{data}/out/pickled")


def rdd_to_frame(spark: SparkSession, data: Path) -> None:
    """Make a data frame of an RDD."""
    lines = spark.sparkContext.textFile(f"{data}/in/old_log").map(lambda line: Row(line=line, size=len(line)))
    spark.createDataFrame(lines, "line STRING, size INT").write.parquet(f"{data}/out/sizes")


def frame_to_rdd_and_back(spark: SparkSession, data: Path) -> None:
    """Change rows in Python between reading and writing."""
    orders = spark.read.parquet(f"{data}/in/orders").rdd
    doubled = orders.map(lambda row: Row(order_id=row.order_id, twice=float(row.amount) * 2))
    spark.createDataFrame(doubled, "order_id INT, twice DOUBLE").write.parquet(f"{data}/out/doubled")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("formats").getOrCreate()
    write_inputs(spark, data)
    for step in (
        orc_both_ways,
        text_both_ways,
        inferred_csv,
        nested_json,
        csv_overwritten,
        rdd_union,
        rdd_pickled,
        rdd_to_frame,
        frame_to_rdd_and_back,
    ):
        step(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
