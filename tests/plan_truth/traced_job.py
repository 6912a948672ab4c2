"""A job that writes a table for each query, or changes one by each MERGE: `traced_job.py FOLDER`.

`tables.json` has the columns and rows of the tables that it makes first, `queries.json` the texts by name, `merge.json`
the table that a MERGE changes, and the statement that creates it. `refused.json` gets Spark's errors.
"""

import json
import sys
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
spark = SparkSession.builder.appName("Traced").getOrCreate()
spark.udf.register("glued", lambda first, second: (first or "") + (second or ""))
for table, (columns, rows) in json.loads((folder / "tables.json").read_text()).items():
    schema = ", ".join(f"{column} string" for column in columns)
    spark.createDataFrame([tuple(row) for row in rows], schema).coalesce(1).write.saveAsTable(table)

target, made = json.loads((folder / "merge.json").read_text())
refused = {}
for name, query in json.loads((folder / "queries.json").read_text()).items():
    try:
        if query.startswith("MERGE "):
            spark.sql(made.replace(target, f"out_{name}"))
            spark.sql(query.replace(target, f"out_{name}"))
        else:
            columns = ", ".join(f"c{place}" for place in range(len(spark.sql(query).columns)))
            spark.sql(f"CREATE TABLE out_{name} USING parquet AS SELECT * FROM ({query}) AS q({columns})")  # noqa: S608 - of our grammar
    except (PySparkException, Py4JJavaError) as error:
        refused[name] = " ".join(str(error).split())
(folder / "refused.json").write_text(json.dumps(refused))
spark.stop()
