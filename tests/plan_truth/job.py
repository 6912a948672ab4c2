"""A job that writes a table for each query: `job.py FOLDER`.

`tables.json` in the folder has the columns and types of the tables that it makes first; `queries.json` has the queries
by name. A query's table has columns `c0`, `c1` … by position, because queries may give two columns one name. Spark's
errors are written into `refused.json`, by query.
"""

import json
import sys
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
spark = SparkSession.builder.appName("Plan truth").getOrCreate()
for table, columns in json.loads((folder / "tables.json").read_text()).items():
    spark.sql(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())}) USING parquet")

refused = {}
for name, query in json.loads((folder / "queries.json").read_text()).items():
    try:
        columns = ", ".join(f"c{place}" for place in range(len(spark.sql(query).columns)))
        text = f"({query}\n) AS q({columns})"  # a query may end in a comment
        spark.sql(f"CREATE TABLE out_{name} USING parquet AS SELECT * FROM {text}")  # noqa: S608 - TPC-DS's queries
    except PySparkException as error:
        refused[name] = " ".join(str(error).split())
(folder / "refused.json").write_text(json.dumps(refused))
spark.stop()
