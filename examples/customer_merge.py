"""The customer story on Delta tables: customer + address -> customer_staging, merged into customer_master.

    spark-submit --packages io.delta:delta-spark_2.12:3.3.3 examples/customer_merge.py --data build/demo/data

The lineage of this job is two processes:

1. `delta/customer` and `delta/address` to `delta/customer_staging`, with the same columns as in
   customer_master.py: three plain copies, `full_name` from two columns, the masked `email_hash`,
   the constant `source_system`; the join and the filter concern every row.
2. `delta/customer_staging` to `delta/customer_master`, by MERGE: each of the six columns is a plain copy of the
   column of the same name. Every row depends on the merge condition, `customer_staging.customer_id`. The
   target is not its own source, although the MERGE reads it.

Writing the few rows of the two source tables, and creating the empty target the first time, reads
nothing, so it is no part of the lineage. The job can run repeatedly: from the second run on the MERGE
updates instead of inserting, with the same lineage. customer_merge.truth.json has the lineage as JSON.
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
    """Write the rows that the job reads, and the empty target if there is none."""
    spark.sql(CUSTOMERS).write.format("delta").mode("overwrite").save(f"{data}/customer")
    spark.sql(ADDRESSES).write.format("delta").mode("overwrite").save(f"{data}/address")
    spark.sql(f"""
        CREATE TABLE IF NOT EXISTS delta.`{data}/customer_master` (
            customer_id INT, full_name STRING, email_hash STRING, city STRING, country STRING, source_system STRING
        ) USING delta
    """)


def build_staging(spark: SparkSession, data: Path) -> None:
    """Join the sources into the staging table."""
    customer = spark.read.format("delta").load(f"{data}/customer")
    address = spark.read.format("delta").load(f"{data}/address").where("is_current")
    staging = customer.join(address, on="customer_id").select(
        customer.customer_id,
        f.concat_ws(" ", customer.first_name, customer.last_name).alias("full_name"),
        f.sha2(f.lower(customer.email), 256).alias("email_hash"),
        address.city,
        address.country,
        f.lit("CRM").alias("source_system"),
    )
    staging.write.format("delta").mode("overwrite").save(f"{data}/customer_staging")


def merge_master(spark: SparkSession, data: Path) -> None:
    """Merge the staging table into the master."""
    spark.sql(f"""
        MERGE INTO delta.`{data}/customer_master` AS master
        USING delta.`{data}/customer_staging` AS staging
        ON master.customer_id = staging.customer_id
        WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT *
    """)


def wait_for_listeners(spark: SparkSession) -> None:
    """Let the listeners catch up, for five minutes at most.

    To list a Delta table's files, the OpenLineage listener makes Delta run small jobs. A job that starts while the
    session stops never ends, and stop() waits for the listener, so the listener must be idle before stop().
    """
    bus = spark.sparkContext._jsc.sc().listenerBus()  # noqa: SLF001 - PySpark has no public way to it
    bus.waitUntilEmpty(300_000)


def main() -> None:
    """Write the sources and the staging table, merge it into the master, and print the master's number of rows."""
    parser = argparse.ArgumentParser(
        description="customer + address -> staging -> MERGE into customer_master, on Delta"
    )
    parser.add_argument(
        "--data", type=Path, default=Path("build/demo/data"), help="folder for all data of the examples"
    )
    data = (parser.parse_args().data / "delta").resolve()

    spark = (
        SparkSession.builder.appName("customer_merge")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .getOrCreate()
    )
    write_sources(spark, data)
    build_staging(spark, data)
    merge_master(spark, data)
    rows = spark.read.format("delta").load(f"{data}/customer_master").count()
    print(f"merged into {data}/customer_master: {rows} rows")
    wait_for_listeners(spark)
    spark.stop()


if __name__ == "__main__":
    main()
