"""The engine adapter for Spark itself, with its JVM: file systems are Hadoop's."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType
from pyspark.util import inheritable_thread_target

from throughline.lake.engine.port import SMALL_ROW_BYTES

T = TypeVar("T")

_CLASSES = (
    "functions",
    "PythonUtils",
    "SparkSession",
    "SparkSession$",
    "org.apache.hadoop.fs.Path",
    "org.apache.spark.sql.types.Metadata",
)
"""The Java classes that the lake and PySpark's columns use most."""

_PATTERN = re.compile(r"[\\{}\[\]*?,]")
"""What is more than itself in the patterns of Hadoop's FileSystem.globStatus, as which Spark reads each path."""


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Implements `Engine`."""

    session: SparkSession

    def __post_init__(self) -> None:
        java: Any = self.session.sparkContext._jvm  # noqa: SLF001 - the only way to Java's classes
        for name in _CLASSES:
            _keep(java, name)

    @property
    def cores(self) -> int:
        """See `Engine`."""
        return int(self.session.sparkContext.defaultParallelism)

    def exists(self, place: str) -> bool:
        """See `Engine`."""
        return bool(self._file_system(place).exists(self._path(place)))

    def delete(self, place: str) -> None:
        """See `Engine`."""
        self._file_system(place).delete(self._path(place), True)

    def load(self, place: str, schema: StructType) -> DataFrame:  # noqa: ARG002 - Sail's adapter needs it
        """See `Engine`."""
        return self.session.read.format("delta").load(place)

    def nullable(self, rows: DataFrame, schema: StructType) -> DataFrame:  # noqa: ARG002 - Sail's adapter needs it
        """See `Engine`. Delta makes them so."""
        return rows

    def aside(self, place: str, rows: DataFrame) -> DataFrame:
        """See `Engine`. The schema is known from `rows`, so no file is opened to find it."""
        return self.session.read.schema(rows.schema).parquet(_literally(place))

    def listed(self, folder: str) -> DataFrame:
        """See `Engine`. `binaryFile` reads no contents when `content` is not selected."""
        rows = self.session.read.format("binaryFile").option("recursiveFileLookup", "true").load(_literally(folder))
        return rows.select(f.col("path"), f.col("length"), f.col("modificationTime").alias("modified"))

    def contents(self, paths: list[str]) -> DataFrame:
        """See `Engine`."""
        return self.session.read.format("binaryFile").load([_literally(path) for path in paths])

    def in_order(self, rows: DataFrame, by: Sequence[str], then: Sequence[str], keep: Sequence[str]) -> DataFrame:
        """See `Engine`."""
        return rows.repartition(*by).sortWithinPartitions(*by, *then).select(*keep)

    def largest(self, rows: DataFrame, size: Column) -> int | None:
        """See `Engine`. Spark limits Arrow batches by rows, not by bytes. Where `size` is a stored column, Spark skips
        files without a large row by their statistics.
        """
        row = rows.where(size > SMALL_ROW_BYTES).agg(f.max(size)).head()
        return row[0] if row else None

    def in_thread(self, work: Callable[[], T]) -> Callable[[], T]:
        """See `Engine`. The thread inherits this one's local properties, so that a job group can be cancelled."""
        target: Callable[[], T] = inheritable_thread_target(work)
        return target

    def _path(self, place: str) -> Any:
        java: Any = self.session.sparkContext._jvm  # noqa: SLF001 - the only way to Hadoop's file systems
        return java.org.apache.hadoop.fs.Path(place)

    def _file_system(self, place: str) -> Any:
        java: Any = self.session.sparkContext._jsc  # noqa: SLF001 - the same
        return self._path(place).getFileSystem(java.hadoopConfiguration())


def _literally(place: str) -> str:
    """The pattern that only this path matches."""
    return _PATTERN.sub(r"\\\g<0>", place)


def _keep(java: Any, name: str) -> None:
    """Keep a class in the view of the JVM. Without that, Py4J asks the JVM for it at each use, as in each `f.col`, and
    Spark 3.5 then looks through all its jars.
    """
    for part in name.split("."):
        java_part = getattr(java, part)
        vars(java)[part] = java_part
        java = java_part
