"""Iceberg tables changed by MERGE, UPDATE and DELETE with subqueries, on branches, and by the V2 writers.

One target each; see plan_iceberg.truth.json.
"""

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

MODES = {"cow": "copy-on-write", "mor": "merge-on-read"}
ROWS = "SELECT * FROM VALUES (1, 'ann', 10, 'a'), (2, 'bob', 20, 'b') AS t (id, name, amount, kind)"


def write_inputs(spark: SparkSession) -> None:
    """Make the sources of constants."""
    for table in ("changes", "facts", "branched"):
        spark.sql(f"CREATE TABLE lake.shop.{table} USING iceberg AS {ROWS}")


def row_changes(spark: SparkSession) -> None:
    """Merge, update and delete in each mode."""
    for short, mode in MODES.items():
        for table in ("merged", "updated", "deleted"):
            spark.sql(f"""
                CREATE TABLE lake.shop.{table}_{short} (id INT, name STRING, amount INT, kind STRING) USING iceberg
                TBLPROPERTIES ('format-version' = '2', 'write.merge.mode' = '{mode}', 'write.update.mode' = '{mode}',
                               'write.delete.mode' = '{mode}')
            """)
            spark.sql(f"INSERT INTO lake.shop.{table}_{short} {ROWS}")
        spark.sql(f"""
            MERGE INTO lake.shop.merged_{short} t USING lake.shop.changes s ON t.id = s.id
            WHEN MATCHED AND s.kind = 'x' THEN DELETE
            WHEN MATCHED THEN UPDATE SET t.amount = t.amount + s.amount, t.name = s.name
            WHEN NOT MATCHED THEN INSERT (id, name, amount, kind) VALUES (s.id, upper(s.name), s.amount, 'new')
        """)  # noqa: S608 - the names are this script's own
        spark.sql(f"""
            UPDATE lake.shop.updated_{short} SET kind = 'big'
            WHERE id IN (SELECT id FROM lake.shop.changes WHERE amount > 5)
        """)  # noqa: S608 - as above
        spark.sql(f"""
            DELETE FROM lake.shop.deleted_{short} t
            WHERE EXISTS (SELECT 1 FROM lake.shop.changes s WHERE s.id = t.id AND s.kind = 'a')
        """)  # noqa: S608 - as above


def branches(spark: SparkSession) -> None:
    """Write to a branch, and read from one."""
    spark.sql("ALTER TABLE lake.shop.branched CREATE BRANCH audit")
    spark.sql("INSERT INTO lake.shop.branched.branch_audit SELECT id, name, amount, kind FROM lake.shop.changes")
    spark.sql("""
        CREATE TABLE lake.shop.audited USING iceberg AS
        SELECT id, name FROM lake.shop.facts VERSION AS OF 'main' WHERE amount > 1
    """)


def writers(spark: SparkSession) -> None:
    """Create, replace, append and overwrite by writeTo and by SQL."""
    changes, facts = spark.table("lake.shop.changes"), spark.table("lake.shop.facts")
    changes.select("id", f.upper("name").alias("label")).writeTo("lake.shop.created").create()
    facts.select("id", "amount").writeTo("lake.shop.replaced").createOrReplace()
    for table in ("appended", "overwritten", "dynamic"):
        spark.sql(f"CREATE TABLE lake.shop.{table} (id INT, kind STRING) USING iceberg PARTITIONED BY (kind)")
    changes.select("id", "kind").writeTo("lake.shop.appended").append()
    changes.select("id", "kind").writeTo("lake.shop.overwritten").overwrite(f.col("kind") == "a")
    facts.select("id", "kind").writeTo("lake.shop.dynamic").overwritePartitions()


def main() -> None:
    """Run all steps in one application."""
    data_folder(__doc__)
    spark = SparkSession.builder.appName("plan_iceberg").getOrCreate()
    for step in (write_inputs, row_changes, branches, writers):
        step(spark)
    finish(spark)


if __name__ == "__main__":
    main()
