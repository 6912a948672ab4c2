"""The customer story on parquet folders: customer + address -> customer_master.

    spark-submit examples/customer_master.py --data build/demo/data

The lineage of this job is one process, from `files/customer` and `files/address`
to `files/customer_master`:

- `customer_id`, `city` and `country` are plain copies (the id from `customer`, the others from `address`);
- `full_name` is derived from two columns, `customer.first_name` and `customer.last_name`;
- `email_hash` is a hash of `customer.email`: a masked edge;
- `source_system` is a constant and has no source;
- every row depends on the join, `customer.customer_id` with `address.customer_id`, and on the
  filter `address.is_current`: indirect edges that concern all columns.

Writing the few rows of the two source folders reads nothing, so it is no part of the lineage. The
job can run repeatedly: it overwrites its output. customer_master.truth.json has the same lineage
as JSON.
"""

import argparse
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

CUSTOMERS = """
    SELECT * FROM VALUES
        (1, 'Ada', 'Berg', 'ada@example.com'),
        (2, 'Ben', 'Costa', 'ben@example.com'),
        (3, 'Cleo', 'Dahl', 'cleo@example.com')
        AS customer (customer_id, first_name, last_name, email)
"""
ADDRESSES = """
    SELECT * FROM VALUES
        (10, 1, 'Oslo', 'NO', true),
        (11, 2, 'Porto', 'PT', true),
        (12, 2, 'Lisbon', 'PT', false),
        (13, 3, 'Aarhus', 'DK', true)
        AS address (address_id, customer_id, city, country, is_current)
"""


def write_sources(spark: SparkSession, data: Path) -> None:
    """Write the rows that the job reads, as a source system would have done before."""
    spark.sql(CUSTOMERS).write.mode("overwrite").parquet(f"{data}/customer")
    spark.sql(ADDRESSES).write.mode("overwrite").parquet(f"{data}/address")


def build_master(spark: SparkSession, data: Path) -> None:
    """Join the sources and write the master: the work whose lineage is described above."""
    customer = spark.read.parquet(f"{data}/customer")
    address = spark.read.parquet(f"{data}/address").where("is_current")
    master = customer.join(address, on="customer_id").select(
        customer.customer_id,
        f.concat_ws(" ", customer.first_name, customer.last_name).alias("full_name"),
        f.sha2(f.lower(customer.email), 256).alias("email_hash"),
        address.city,
        address.country,
        f.lit("CRM").alias("source_system"),
    )
    master.write.mode("overwrite").parquet(f"{data}/customer_master")


def main() -> None:
    """Write the sources, then the master, then print it."""
    parser = argparse.ArgumentParser(description="customer + address -> customer_master, on parquet folders")
    parser.add_argument(
        "--data", type=Path, default=Path("build/demo/data"), help="folder for all data of the examples"
    )
    data = (parser.parse_args().data / "files").resolve()

    spark = SparkSession.builder.appName("customer_master").getOrCreate()
    write_sources(spark, data)
    build_master(spark, data)
    print(f"wrote {data}/customer_master: {spark.read.parquet(f'{data}/customer_master').count()} rows")
    spark.stop()


if __name__ == "__main__":
    main()
