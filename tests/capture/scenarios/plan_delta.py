"""Delta tables changed in every way that SQL and the writers have: MERGE with all clauses, UPDATE, DELETE, CLONE,
RESTORE, change feeds, overwrites of a part, V2 writers; one target each. See plan_delta.truth.json.
"""

from pathlib import Path

from _session import DELTA, data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

TARGETS = (
    "merged_all",
    "merged_star",
    "merged_delete",
    "updated_alone",
    "deleted",
    "restored",
    "replaced_where",
)


def write_inputs(spark: SparkSession) -> None:
    """Make the sources, and the targets that the statements change, of constants."""
    rows = "SELECT * FROM VALUES (1, 'ann', 10, 'a'), (2, 'bob', 20, 'b') AS t (id, name, amount, kind)"
    for table in ("changes", "facts", *TARGETS):
        spark.sql(f"CREATE TABLE {table} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS {rows}")


def merges(spark: SparkSession) -> None:
    """Merge with every clause; by star, from a query; and only to delete."""
    spark.sql("""
        MERGE INTO merged_all t USING changes s ON t.id = s.id
        WHEN MATCHED AND s.kind = 'x' THEN DELETE
        WHEN MATCHED AND s.amount > 5 THEN UPDATE SET t.name = upper(s.name), t.amount = t.amount + s.amount
        WHEN NOT MATCHED AND s.kind <> 'x' THEN INSERT (id, name) VALUES (s.id, s.name)
        WHEN NOT MATCHED BY SOURCE AND t.amount > 100 THEN UPDATE SET t.kind = 'gone'
    """)
    spark.sql("""
        MERGE INTO merged_star t
        USING (SELECT c.id, f.name, sum(c.amount) AS amount, max(f.kind) AS kind
               FROM changes c JOIN facts f ON c.id = f.id GROUP BY c.id, f.name) s
        ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
    """)
    spark.sql("MERGE INTO merged_delete t USING changes s ON t.id = s.id AND s.kind = 'a' WHEN MATCHED THEN DELETE")


def row_changes(spark: SparkSession) -> None:
    """Update and delete by the table's own columns, which have no source but themselves."""
    spark.sql("UPDATE updated_alone SET name = concat(name, kind) WHERE amount > 5")
    spark.sql("DELETE FROM deleted WHERE amount > 5")


def versions(spark: SparkSession) -> None:
    """Copy a table, take one back, read one as it was, and read the changes of one."""
    spark.sql("CREATE TABLE cloned SHALLOW CLONE facts")
    spark.sql("INSERT INTO restored SELECT id, name, amount, kind FROM changes")
    spark.sql("RESTORE TABLE restored TO VERSION AS OF 0")
    spark.sql("CREATE TABLE as_it_was USING delta AS SELECT id, name FROM facts VERSION AS OF 0 WHERE amount > 1")
    changed = spark.read.option("readChangeFeed", "true").option("startingVersion", 0).table("updated_alone")
    changed.where("_change_type = 'insert'").select("id", f.upper("name").alias("name")).write.format(
        "delta"
    ).saveAsTable("feed_copy")


def overwrites(spark: SparkSession, data: Path) -> None:
    """Overwrite a part of a table, by a condition and by the partitions of the new rows."""
    changes = spark.table("changes")
    changes.where("kind = 'b'").write.format("delta").mode("overwrite").option(
        "replaceWhere", "kind = 'b'"
    ).saveAsTable("replaced_where")
    by_kind = changes.select("id", "kind").write.format("delta").partitionBy("kind")
    by_kind.mode("overwrite").option("partitionOverwriteMode", "dynamic").save(f"{data}/out/dynamic")
    by_kind.mode("overwrite").option("partitionOverwriteMode", "dynamic").save(f"{data}/out/dynamic")


def second_writers(spark: SparkSession) -> None:
    """Create, replace, append and overwrite by writeTo."""
    changes = spark.table("changes")
    changes.select("id", f.col("name").alias("label")).writeTo("created").using("delta").create()
    spark.table("facts").select("id", "amount").writeTo("replaced").using("delta").createOrReplace()
    for table in ("appended", "overwritten"):
        spark.sql(f"CREATE TABLE {table} (id INT, kind STRING) USING delta PARTITIONED BY (kind)")
    changes.selectExpr("id", "kind").writeTo("appended").append()
    changes.where("kind = 'a'").selectExpr("amount AS id", "kind").writeTo("overwritten").overwrite(
        f.col("kind") == "a"
    )
    spark.table("facts").selectExpr("id", "name AS kind").writeTo("overwritten").overwritePartitions()


def inserts(spark: SparkSession) -> None:
    """Insert by name, and with a subquery for a value."""
    spark.sql("CREATE TABLE by_name (label STRING, id INT) USING delta")
    spark.sql("INSERT INTO by_name BY NAME SELECT id, name AS label FROM facts")
    spark.sql("CREATE TABLE with_most (id INT, most INT) USING delta")
    spark.sql("INSERT INTO with_most SELECT id, (SELECT max(amount) FROM facts) FROM changes")
    spark.sql(
        "CREATE OR REPLACE TABLE made_again USING delta AS SELECT kind, count(id) AS n FROM changes GROUP BY kind"
    )


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_delta").config(map=DELTA)
    spark = session.config("spark.sql.warehouse.dir", f"{data}/warehouse").getOrCreate()
    write_inputs(spark)
    for step in (merges, row_changes, versions, second_writers, inserts):
        step(spark)
    overwrites(spark, data)
    finish(spark)


if __name__ == "__main__":
    main()
