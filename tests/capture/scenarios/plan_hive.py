"""Tables of Hive's catalog: files loaded into them, scripts, several inserts in one statement, partitions.

One target each; see plan_hive.truth.json.
"""

from pathlib import Path

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession


def write_inputs(spark: SparkSession, data: Path) -> None:
    """Make the sources, of constants."""
    rows = "SELECT * FROM VALUES (1, 'ann', 10, 'a'), (2, 'bob', 20, 'b') AS t (id, name, amount, kind)"
    spark.sql(f"CREATE TABLE people STORED AS PARQUET AS {rows}")
    (data / "in").mkdir()
    (data / "in" / "export.csv").write_text("7,gil\n8,hal\n")


def loads(spark: SparkSession, data: Path) -> None:
    """Copy a file into a table, and move one into a partition."""
    spark.sql("CREATE TABLE loaded (id INT, name STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ','")
    spark.sql(f"LOAD DATA LOCAL INPATH '{data}/in/export.csv' INTO TABLE loaded")
    spark.sql("CREATE TABLE loaded_copy STORED AS ORC AS SELECT id, upper(name) AS name FROM loaded WHERE id > 7")


def created(spark: SparkSession, data: Path) -> None:
    """Create tables of queries, in two formats and at a place of their own."""
    spark.sql("CREATE TABLE named STORED AS PARQUET AS SELECT id, concat(name, kind) AS label FROM people")
    spark.sql(f"""
        CREATE TABLE placed STORED AS TEXTFILE LOCATION '{data}/out/placed' AS
        SELECT kind, count(id) AS n FROM people GROUP BY kind
    """)  # noqa: S608 - a folder of this capture


def inserted(spark: SparkSession) -> None:
    """Insert: whole, by partition, and into two tables at once."""
    spark.sql("CREATE TABLE whole (number INT, word STRING) STORED AS TEXTFILE")
    spark.sql("INSERT INTO whole SELECT amount, name FROM people WHERE kind = 'a'")
    spark.sql("CREATE TABLE by_kind (id INT, name STRING) PARTITIONED BY (kind STRING) STORED AS PARQUET")
    spark.sql("INSERT INTO by_kind PARTITION (kind = 'fixed') SELECT id, name FROM people WHERE amount > 5")
    spark.sql("INSERT OVERWRITE TABLE by_kind PARTITION (kind) SELECT id, upper(name), kind FROM people")
    spark.sql("CREATE TABLE small (id INT) STORED AS TEXTFILE")
    spark.sql("CREATE TABLE large (id INT, name STRING) STORED AS TEXTFILE")
    spark.sql("""
        FROM people
        INSERT OVERWRITE TABLE small SELECT id WHERE amount <= 10
        INSERT INTO TABLE large SELECT id, name WHERE amount > 10
    """)


def transformed(spark: SparkSession, data: Path) -> None:
    """Give rows to a script, to functions of Hive, and to a folder."""
    spark.sql("""
        CREATE TABLE scripted STORED AS TEXTFILE AS
        SELECT TRANSFORM (id, name) USING 'cat' AS (number STRING, word STRING) FROM people WHERE kind = 'a'
    """)
    spark.sql("CREATE TEMPORARY FUNCTION hive_upper AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper'")
    spark.sql("CREATE TEMPORARY FUNCTION hive_sum AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDAFSum'")
    spark.sql("CREATE TEMPORARY FUNCTION hive_explode AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDTFExplode'")
    spark.sql("CREATE TABLE by_functions STORED AS TEXTFILE AS SELECT id, hive_upper(name) AS loud FROM people")
    spark.sql("""
        CREATE TABLE by_aggregate STORED AS TEXTFILE AS SELECT kind, hive_sum(amount) AS total FROM people GROUP BY kind
    """)
    spark.sql("""
        CREATE TABLE by_generator STORED AS TEXTFILE AS
        SELECT id, word FROM people LATERAL VIEW hive_explode(split(name, kind)) s AS word
    """)
    spark.sql(f"INSERT OVERWRITE DIRECTORY '{data}/out/folder' STORED AS PARQUET SELECT id, name FROM people")  # noqa: S608 - a folder of this capture


def views(spark: SparkSession) -> None:
    """Read a view of the catalog, and a table that another one is like."""
    spark.sql("CREATE VIEW rich AS SELECT id, name AS who FROM people WHERE amount > 15")
    spark.sql("CREATE TABLE through_view STORED AS ORC AS SELECT who FROM rich")
    spark.sql("CREATE TABLE alike LIKE people")
    spark.sql("INSERT INTO alike SELECT id, kind, amount, name FROM people")


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    session = SparkSession.builder.appName("plan_hive").config("spark.sql.warehouse.dir", f"{data}/warehouse")
    spark = session.enableHiveSupport().getOrCreate()
    write_inputs(spark, data)
    loads(spark, data)
    created(spark, data)
    inserted(spark)
    transformed(spark, data)
    views(spark)
    finish(spark)


if __name__ == "__main__":
    main()
