"""Typed Datasets and functions of Java, which say of the columns that they use only their types.

One sink a step; the steps are PlanTyped.java beside this script; see plan_typed.truth.json.
"""

from _session import data_folder, finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession


def main() -> None:
    """Run all steps in one application."""
    data = data_folder(__doc__)
    spark = SparkSession.builder.appName("plan_typed").getOrCreate()
    orders = "SELECT * FROM VALUES (1, 120.0D, 'open', 'x'), (2, 80.0D, 'paid', 'y') AS t (id, amount, status, unused)"
    spark.sql(orders).write.parquet(f"{data}/in/orders")
    spark.sql("SELECT * FROM VALUES ('open') AS t (note)").write.parquet(f"{data}/in/notes")
    spark._jvm.PlanTyped.run(spark._jsparkSession, str(data))  # type: ignore[union-attr]  # a classic session has a JVM
    finish(spark)


if __name__ == "__main__":
    main()
