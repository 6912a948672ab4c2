"""A Spark job that writes with no listener, with OpenLineage's, and with it and the plan listener, in turns.

Its argument (JSON): `folder`, `blocks`, `writes` of a block, `wide` writes of each kind, `columns` of these. It prints
a line of JSON for each block: its kind, listeners, seconds with all events delivered, and milliseconds of each write.
"""

import json
import shutil
import sys
import time

from pyspark.sql import DataFrame, SparkSession

options = json.loads(sys.argv[1])
folder = options["folder"]
spark = SparkSession.builder.appName("bench").getOrCreate()
context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - there is no other way to the listeners
bus = context.listenerBus()
NAMES = ("OpenLineageSparkListener", "PlanListener")
listeners = [each for each in bus.listeners() if each.getClass().getSimpleName() in NAMES]


def block(kind: str, frame: DataFrame, count: int, writes: int) -> None:
    """So many writes with the first `count` of the listeners."""
    for each in listeners[:count]:
        context.addSparkListener(each)
    took = []
    began = time.monotonic()
    for number in range(writes):
        start = time.monotonic()
        frame.write.mode("overwrite").parquet(f"{folder}/{kind}_{number}")
        took.append(round((time.monotonic() - start) * 1e3, 2))
    bus.waitUntilEmpty()
    seconds = time.monotonic() - began
    time.sleep(0.1)
    for each in listeners[:count]:
        context.removeSparkListener(each)
    print(json.dumps({"kind": kind, "listeners": count, "seconds": seconds, "writes": took}), flush=True)


bus.waitUntilEmpty()  # a queue that loses its last listener while one works can lock the bus
for each in listeners:
    context.removeSparkListener(each)
shutil.rmtree(folder, ignore_errors=True)
spark.range(100).selectExpr("id", "id % 7 AS g", "concat('n', id) AS name").write.parquet(f"{folder}/in")
rows = spark.read.parquet(f"{folder}/in")
small = rows.where("id > 3").groupBy("g").agg({"id": "sum", "name": "max"}).toDF("g", "total", "last")
wide = rows.selectExpr(
    *(f"concat(name, id + {each}, CASE WHEN g > 2 THEN name END) AS c{each}" for each in range(options["columns"]))
)
for _ in range(2):
    block("warm", small, 2, options["writes"])
block("warm", wide, 2, 2)
for round_ in range(options["blocks"]):
    for turn in range(3):
        block("small", small, (turn + round_) % 3, options["writes"])
for round_ in range(options["wide"]):
    for turn in range(3):
        block("wide", wide, (turn + round_) % 3, 1)
spark.stop()
