"""A job that writes a table for each query, and finds the origins in its cells: `traced_job.py FOLDER`.

`tables.json` has the columns and, for each database, the rows of the tables; `queries.json` the queries by name. Each
query is written as a table from the first database's tables, and read from the others'. `origins.json` gets the origins
by query and column, `refused.json` what Spark refuses.
"""

import json
import re
import sys
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

ORIGIN = re.compile(r"\[(s\d\.\w)#\d+\]", re.IGNORECASE)
folder = Path(sys.argv[1])
spark = SparkSession.builder.appName("Traced").getOrCreate()
databases = json.loads((folder / "tables.json").read_text())
for database, tables in databases.items():
    spark.sql(f"CREATE DATABASE {database}")
    for table, (columns, rows) in tables.items():
        schema = ", ".join(f"{each} string" for each in columns)
        spark.createDataFrame([tuple(row) for row in rows], schema).coalesce(1).write.saveAsTable(f"{database}.{table}")

origins: dict[str, list[set[str]]] = {}
refused = {}
for name, query in json.loads((folder / "queries.json").read_text()).items():
    try:
        for database in databases:
            spark.sql(f"USE {database}")
            if name in origins:
                frame = spark.sql(query)
            else:
                columns = ", ".join(f"c{place}" for place in range(len(spark.sql(query).columns)))
                spark.sql(f"CREATE TABLE out_{name} USING parquet AS SELECT * FROM ({query}) AS q({columns})")  # noqa: S608 - of our grammar
                frame = spark.table(f"out_{name}")
                origins[name] = [set() for _ in frame.columns]
            for row in frame.collect():
                for found, cell in zip(origins[name], row, strict=True):
                    found.update(each.lower() for each in ORIGIN.findall(cell or ""))
    except PySparkException as error:
        refused[name] = " ".join(str(error).split())
(folder / "origins.json").write_text(
    json.dumps({name: [sorted(each) for each in found] for name, found in origins.items()})
)
(folder / "refused.json").write_text(json.dumps(refused))
spark.stop()
