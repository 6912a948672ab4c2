"""Delta tables by path: append, overwrite, MERGE (SQL and API), UPDATE, DELETE, CTAS; see delta_tables.truth.json."""

import argparse
from pathlib import Path

from delta.tables import DeltaTable  # type: ignore[import-not-found]  # comes inside Delta's jar, by spark-submit
from pyspark.sql import SparkSession


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Write the sources, and the targets that the statements change."""
    updates = "SELECT * FROM VALUES (1, 'ann', 10), (2, 'bob', 20) AS t (id, name, amount)"
    for table in ("in/updates", "out/merge_sql", "out/merge_api", "out/corrected"):
        spark.sql(updates).write.format("delta").save(f"{data}/{table}")


def append_and_overwrite(spark: SparkSession, data: Path) -> None:
    """Write two sinks in the two modes."""
    updates = spark.read.format("delta").load(f"{data}/in/updates")
    updates.select("id", "name").write.format("delta").mode("append").save(f"{data}/out/appended")
    updates.select("id", "amount").write.format("delta").mode("overwrite").save(f"{data}/out/overwritten")


def merge_by_sql(spark: SparkSession, data: Path) -> None:
    """Update one column by an expression of source and target, insert two."""
    spark.sql(f"""
        MERGE INTO delta.`{data}/out/merge_sql` t USING delta.`{data}/in/updates` s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET t.amount = t.amount + s.amount
        WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)
    """)  # noqa: S608 - a folder of this capture


def merge_by_api(spark: SparkSession, data: Path) -> None:
    """Merge filtered rows through Delta's class."""
    updates = spark.read.format("delta").load(f"{data}/in/updates").where("amount > 0").alias("s")
    merge = DeltaTable.forPath(spark, f"{data}/out/merge_api").alias("t").merge(updates, "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def correct(spark: SparkSession, data: Path) -> None:
    """Change a table by constants: it has no source but itself, so there is no lineage."""
    spark.sql(f"UPDATE delta.`{data}/out/corrected` SET amount = amount + 1 WHERE id = 1")  # noqa: S608 - as above
    spark.sql(f"DELETE FROM delta.`{data}/out/corrected` WHERE id = 2")  # noqa: S608 - as above


def create_as_select(spark: SparkSession, data: Path) -> None:
    """CTAS by path."""
    spark.sql(f"""
        CREATE TABLE delta.`{data}/out/created` USING delta AS
        SELECT id, upper(name) AS name FROM delta.`{data}/in/updates`
    """)  # noqa: S608 - as above


def main() -> None:
    """Run all steps in one application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    spark = (
        SparkSession.builder.appName("delta_tables")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .getOrCreate()
    )
    for step in (write_inputs, append_and_overwrite, merge_by_sql, merge_by_api, correct, create_as_select):
        step(spark, data)
    spark.stop()


if __name__ == "__main__":
    main()
