"""A job whose Spark properties name its owners, its tags and its run's tags; see tagged.truth.json."""

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession


def main() -> None:
    """Read orders, write the large ones."""
    data = data_folder(__doc__)
    source = data / "in"
    source.mkdir(parents=True)
    (source / "orders.csv").write_text("order_id,amount\n10,12.5\n11,700.0\n")
    spark = SparkSession.builder.appName("tagged").getOrCreate()
    orders = spark.read.csv(f"{source}/orders.csv", header=True, schema="order_id INT, amount DOUBLE")
    orders.where("amount > 100").write.mode("overwrite").parquet(f"{data}/out/large")
    finish(spark)


if __name__ == "__main__":
    main()
