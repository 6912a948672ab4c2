"""A Spark job that writes without a listener, with OpenLineage's, and with that and the plan listener, in turns.

Its argument (JSON): `folder`, `blocks`, `writes` of a block, `wide` writes of each kind, `columns` of these. It prints
a line of JSON for each block: its kind, listeners, seconds until all events were delivered, milliseconds of each write,
and `jar`: milliseconds of CPU of the plan listener, on its own thread of Spark's bus and on the sending thread.
"""

import json
import shutil
import sys
import time

from pyspark.sql import DataFrame, SparkSession

options = json.loads(sys.argv[1])
folder = options["folder"]
spark = SparkSession.builder.appName("bench").getOrCreate()
context = spark.sparkContext._jsc.sc()
bus = context.listenerBus()
NAMES = ("OpenLineageSparkListener", "PlanListener")
listeners = [listener for listener in bus.listeners() if listener.getClass().getSimpleName() in NAMES]
java = spark._jvm.java  # type: ignore[union-attr]
threads = java.lang.management.ManagementFactory.getThreadMXBean()
QUEUE = "plan"
OF_THE_JAR = ("throughline-plan", f"spark-listener-group-{QUEUE}")


def jar() -> float:
    """Milliseconds of CPU of the plan listener's threads."""
    jar_threads = [thread for thread in threads.dumpAllThreads(False, False) if thread.getThreadName() in OF_THE_JAR]
    return sum(float(threads.getThreadCpuTime(thread.getThreadId())) for thread in jar_threads) / 1e6


def add(listener: object) -> None:
    """Add a listener: OpenLineage's to Spark's usual queue, the plan listener to a queue of its own."""
    if listener is listeners[0]:
        context.addSparkListener(listener)
    else:
        bus.addToQueue(listener, QUEUE)


def block(kind: str, frame: DataFrame, count: int, writes: int) -> None:
    """Run the writes with the first `count` listeners."""
    for listener in listeners[:count]:
        add(listener)
    jar_before = jar()
    took = []
    began = time.monotonic()
    for number in range(writes):
        start = time.monotonic()
        frame.write.mode("overwrite").parquet(f"{folder}/{kind}_{number}")
        took.append(round((time.monotonic() - start) * 1e3, 2))
    bus.waitUntilEmpty()
    seconds = time.monotonic() - began
    time.sleep(0.1)
    spent = jar() - jar_before
    for listener in listeners[:count]:
        context.removeSparkListener(listener)
    print(json.dumps({"kind": kind, "listeners": count, "seconds": seconds, "writes": took, "jar": spent}), flush=True)


bus.waitUntilEmpty()  # removing a queue's last listener while it works can lock the bus
for each in listeners:
    context.removeSparkListener(each)
shutil.rmtree(folder, ignore_errors=True)
spark.range(100).selectExpr("id", "id % 7 AS g", "concat('n', id) AS name").write.parquet(f"{folder}/in")
rows = spark.read.parquet(f"{folder}/in")
small = rows.where("id > 3").groupBy("g").agg({"id": "sum", "name": "max"}).toDF("g", "total", "last")
wide = rows.selectExpr(
    *(
        f"concat(name, id + {number}, CASE WHEN g > 2 THEN name END) AS c{number}"
        for number in range(options["columns"])
    )
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
