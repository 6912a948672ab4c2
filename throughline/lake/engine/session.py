"""The Spark session that the lake needs, on a machine of one's own. On a cluster there is one already."""

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What a session needs for Delta beside its jar (Delta's quick start)."""

NEEDED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
}
"""What the tables' meaning needs; set on any session that the lake is given."""

_JIT_OPTIONS = " ".join(
    f"-XX:Tier4{name}Threshold={number}"
    for name, number in {"Invocation": 50_000, "MinInvocation": 6_000, "Compile": 150_000, "BackEdge": 400_000}.items()
)
"""Ten times Java's own numbers. A run of the lake is some hundred small queries: to compile all that they call to the
last took more time than all their work on 100,000 events. For the same reason no query is compiled as a whole.
"""

_QUICK_START = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Of a session for little data. To verify the bytecode of Spark's jars would take a tenth of its CPU time. The first
compiler alone has little room for its code, which it then clears out to compile it again: 240 MB is the room of both.
"""

_PIECES = 16
"""Parts a core into which rows are cut to be grouped, at most: so that the texts of a part fit into memory."""

_PIECE = "2m"
"""Bytes of a part, packed, below which it is put together with others. Spark's 64 MB are 100,000 events, whose runs
would all be merged on one core while the others wait.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """A session on this machine: how many cores and how much memory.  `brief`: for little data, where starting costs
    more than working; `log` is the file of what the JVM prints (empty: stderr); `more` are further properties.
    """

    cores: int = 2
    memory: str = "2g"
    delta_package: str = ""
    brief: bool = False
    scratch: str = ""
    log: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    def configuration(self) -> dict[str, str]:
        """The properties of such a session."""
        properties = {
            "spark.master": f"local[{self.cores}]",
            "spark.app.name": "throughline-lake",
            "spark.ui.enabled": "false",
            "spark.sql.maxPlanStringLength": "1000",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": self.memory,
            "spark.driver.extraJavaOptions": f"-XX:+Use{'Serial' if self.cores == 1 else 'Parallel'}GC {_JIT_OPTIONS}",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.shuffle.partitions": str(_PIECES * self.cores),
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": _PIECE,
            "spark.default.parallelism": str(max(2, 2 * self.cores)),
            "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
            "spark.sql.parquet.compression.codec": "zstd",
            "spark.sql.maxConcurrentOutputFileWriters": "16",
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.databricks.delta.merge.materializeSource": "none",
            "spark.python.daemon.module": "throughline.lake.worker_daemon",
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[3]),
        }
        if self.brief:
            properties |= {
                "spark.driver.extraJavaOptions": _QUICK_START,
                "spark.sql.shuffle.partitions": str(self.cores),
                "spark.default.parallelism": str(self.cores),
                "spark.databricks.delta.snapshotPartitions": "1",
            }
        if self.scratch:
            properties |= {"spark.local.dir": self.scratch, "spark.sql.warehouse.dir": f"{self.scratch}/warehouse"}
        if self.delta_package:
            properties |= DELTA | {"spark.jars.packages": self.delta_package}
        return {name: value for name, value in properties.items() if value} | NEEDED | dict(self.more)


def local_session(local: Local) -> SparkSession:
    """A session as `local` asks for. Java must be found by JAVA_HOME or on the path."""
    builder: Any = SparkSession.builder
    for name, value in local.configuration().items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.sparkContext.pythonExec = sys.executable  # the workers' Python: this one, whatever is first on the path
    return session


def prepare(session: SparkSession) -> SparkSession:
    """The session with what the tables need. Raises ModuleNotFoundError when a worker's package is missing."""
    for package in ("pyarrow", "pandas"):
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"The lake needs {package}: install what requirements/lake.in lists")
    for name, value in NEEDED.items():
        session.conf.set(name, value)
    return session


def has_delta(session: SparkSession) -> bool:
    """Whether the session can write Delta tables."""
    return "DeltaSparkSessionExtension" in (session.conf.get("spark.sql.extensions", "") or "") or bool(
        session.conf.get("spark.databricks.clusterUsageTags.clusterId", "")
    )
