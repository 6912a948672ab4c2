"""One job run three times, with a changed schema and a failure; parallel threads; see reruns.truth.json."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the inputs of the runs."""
    for letter in ("a", "b", "c"):
        spark.sql("SELECT id, id * 2 AS age, 'ann' AS name FROM range(3)").write.parquet(f"{data}/in/{letter}")


def first_run(spark: SparkSession, data: Path) -> None:
    """Write people with a name; write another sink, which no later run writes."""
    spark.read.parquet(f"{data}/in/a").select("id", "name").write.parquet(f"{data}/out/people")
    spark.read.parquet(f"{data}/in/a").select("age").write.parquet(f"{data}/out/only_first")
    spark.read.parquet(f"{data}/in/a").select("id").write.parquet(f"{data}/out/steady")


def second_run(spark: SparkSession, data: Path) -> None:
    """Write people with other columns, of another source."""
    people = spark.read.parquet(f"{data}/in/b").select("id", f.col("name").alias("full_name"), "age")
    people.write.mode("overwrite").parquet(f"{data}/out/people")
    spark.read.parquet(f"{data}/in/a").select("id").write.mode("overwrite").parquet(f"{data}/out/steady")


def third_run(spark: SparkSession, data: Path) -> None:
    """Fail to write people; fail after a success, and succeed after a failure, in one sink each."""
    broken = f.expr("cast(raise_error('made to fail') AS string)").alias("wrong")
    failing = spark.read.parquet(f"{data}/in/c").select("id", broken)
    _must_fail(lambda: failing.write.mode("append").parquet(f"{data}/out/people"))
    spark.read.parquet(f"{data}/in/a").select("id").write.parquet(f"{data}/out/after_success")
    _must_fail(lambda: failing.write.mode("append").parquet(f"{data}/out/after_success"))
    _must_fail(lambda: failing.write.parquet(f"{data}/out/before_success"))
    spark.read.parquet(f"{data}/in/b").select("id").write.mode("overwrite").parquet(f"{data}/out/before_success")


def fail_in_python(spark: SparkSession, data: Path) -> None:
    """Fail in a Python function, by SQL and by RDD."""
    divide = f.udf(lambda number: 1 / (number - number), "double")
    _must_fail(lambda: spark.read.parquet(f"{data}/in/c").select(divide("id")).write.csv(f"{data}/out/divided"))
    lines = spark.sparkContext.parallelize([1]).map(lambda number: 1 / (number - number))
    _must_fail(lambda: lines.saveAsTextFile(f"{data}/out/divided_text"))


def in_threads(spark: SparkSession, data: Path) -> None:
    """Write four sinks at once, then one sink from two sources at once."""

    def write(letter: str, sink: str) -> None:
        spark.read.parquet(f"{data}/in/{letter}").select("id").write.mode("append").parquet(f"{data}/out/{sink}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abca", ("thread_1", "thread_2", "thread_3", "thread_4")))
    # Where two writers share a folder, the first to finish deletes the other's temporary files: so one after the
    # other here, from threads of their own.
    for letter in "ab":
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write, letter, "by_two_threads").result()


def _must_fail(write: Callable[[], None]) -> None:
    try:
        write()
    except (Py4JJavaError, PySparkException):
        return
    raise AssertionError("this write was made to fail")


def main() -> None:
    """Run four applications of one name, one after the other."""
    data = data_folder(__doc__)
    for steps in ((write_inputs, first_run), (second_run,), (third_run, fail_in_python), (in_threads,)):
        spark = SparkSession.builder.appName("reruns").getOrCreate()
        for step in steps:
            step(spark, data)
        finish(spark)


if __name__ == "__main__":
    main()
