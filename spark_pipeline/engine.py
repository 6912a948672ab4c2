"""What engines that speak PySpark do each in its own way: Spark with its JVM at hand, and servers of Spark Connect, of
which Sail (https://docs.lakesail.com) is one. All else of the lake is the same for both.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructField, StructType
from pyspark.sql.window import Window
from pyspark.util import inheritable_thread_target

T = TypeVar("T")

LIGHT = 64 * 1024
"""Bytes of a row that goes into an Arrow batch with any others."""

_ORDER = "_order"
_FILE = "file:"


class Engine(Protocol):
    """The differences. A place is a path or URL that the session can read."""

    @property
    def cores(self) -> int:
        """How many tasks work at once."""

    def exists(self, place: str) -> bool:
        """Whether there is such a file or folder."""

    def names(self, place: str) -> list[str]:
        """What lies in a folder, in order."""

    def delete(self, place: str) -> None:
        """Take away a folder with all that is in it, if it is there."""

    def load(self, place: str, schema: StructType) -> DataFrame:
        """The rows of a Delta table. Columns that it lacks are null."""

    def aside(self, place: str, rows: DataFrame) -> DataFrame:
        """Rows that were written there in parquet."""

    def lacks(self, place: str, names: Sequence[str]) -> list[str]:
        """Those of these columns that the Delta table there has not."""

    def listed(self, folder: str) -> DataFrame:
        """All files below a folder: `path`, `length` and `modified`. Whether a folder that is not there has none, or
        PySpark's AnalysisException is raised, is the engine's own.
        """

    def contents(self, paths: list[str]) -> DataFrame:
        """These files as Spark's `binaryFile` tells of them: `path`, `modificationTime`, `content`."""

    def in_order(self, rows: DataFrame, by: Sequence[str], then: Sequence[str], keep: Sequence[str]) -> DataFrame:
        """Rows with the same values `by` in one partition, one after the other, in the order of these and `then`. What
        comes out has the columns `keep`, and perhaps another.
        """

    def largest(self, rows: DataFrame, size: Column) -> int | None:
        """The size of the largest row, where the engine must be told how many rows go into one Arrow batch, and any is
        larger than LIGHT.
        """

    def in_thread(self, work: Callable[[], T]) -> Callable[[], T]:
        """The same work, to be done in a thread of its own."""


def engine_of(session: SparkSession) -> Engine:
    """The engine behind a session."""
    return ByConnect(session) if ".connect." in type(session).__module__ else WithJava(session)


class Columns:
    """What is known of the columns of Delta tables. They only ever gain some, so what was seen once need not be asked
    for again: each question is a call to the server, and a run of the lake asked it a thousand times.
    """

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}

    def lacking(self, session: SparkSession, place: str, names: Sequence[str]) -> list[str]:
        """Those of these columns that the table has not now."""
        if not self._seen.get(place, set()).issuperset(names):
            self._seen[place] = {name.lower() for name in session.read.format("delta").load(place).columns}
        return [name for name in names if name not in self._seen[place]]


@dataclass(frozen=True, slots=True)
class WithJava:
    """Spark itself: its file systems are Hadoop's."""

    session: SparkSession
    columns: Columns = field(default_factory=Columns)

    @property
    def cores(self) -> int:
        """How many tasks work at once."""
        return int(self.session.sparkContext.defaultParallelism)

    def exists(self, place: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._system(place).exists(self._path(place)))

    def names(self, place: str) -> list[str]:
        """What lies in a folder, in order."""
        return sorted(str(each.getPath().getName()) for each in self._system(place).listStatus(self._path(place)))

    def delete(self, place: str) -> None:
        """Take away a folder with all that is in it, if it is there."""
        self._system(place).delete(self._path(place), True)

    def load(self, place: str, schema: StructType) -> DataFrame:
        """The rows of a Delta table. Columns that it lacks are null."""
        return _whole(self.session.read.format("delta").load(place), schema, self.lacks(place, schema.names))

    def aside(self, place: str, rows: DataFrame) -> DataFrame:
        """Rows that were written there in parquet, by the schema that is known of them: so no file is looked at."""
        return self.session.read.schema(rows.schema).parquet(place)

    def lacks(self, place: str, names: Sequence[str]) -> list[str]:
        """Those of these columns that the Delta table there has not."""
        return self.columns.lacking(self.session, place, names)

    def listed(self, folder: str) -> DataFrame:
        """All files below a folder, listed by Spark itself: what is in them is not read for that."""
        found = self.session.read.format("binaryFile").option("recursiveFileLookup", "true").load(folder)
        return found.select(f.col("path"), f.col("length"), f.col("modificationTime").alias("modified"))

    def contents(self, paths: list[str]) -> DataFrame:
        """Files as Spark's `binaryFile` tells of them."""
        return self.session.read.format("binaryFile").load(paths)

    def in_order(self, rows: DataFrame, by: Sequence[str], then: Sequence[str], keep: Sequence[str]) -> DataFrame:
        """Rows with the same values `by` in one partition, one after the other, in order."""
        return rows.repartition(*by).sortWithinPartitions(*by, *then).select(*keep)

    def largest(self, rows: DataFrame, size: Column) -> int | None:
        """The size of the largest row: Spark counts the rows of a batch, and does not weigh them. Where `size` is a
        column, files without a heavy row are passed over by what is noted of their values.
        """
        found = rows.where(size > LIGHT).agg(f.max(size)).head()
        return found[0] if found else None

    def in_thread(self, work: Callable[[], T]) -> Callable[[], T]:
        """With the properties of this thread, by which whoever started the work can cancel it (Spark's job groups)."""
        found: Callable[[], T] = inheritable_thread_target(work)
        return found

    def _path(self, place: str) -> Any:
        gateway: Any = self.session.sparkContext._jvm  # noqa: SLF001 - the only way to Hadoop's file systems
        return gateway.org.apache.hadoop.fs.Path(place)

    def _system(self, place: str) -> Any:
        java: Any = self.session.sparkContext._jsc  # noqa: SLF001 - the same
        return self._path(place).getFileSystem(java.hadoopConfiguration())


@dataclass(frozen=True, slots=True)
class ByConnect:
    """A server of Spark Connect: no JVM, and files only where this process sees them as well."""

    session: SparkSession
    columns: Columns = field(default_factory=Columns)

    @property
    def cores(self) -> int:
        """How many tasks work at once, if the server is on this machine."""
        return os.cpu_count() or 1

    def exists(self, place: str) -> bool:
        """Whether there is such a file or folder."""
        return _local(place).exists()

    def names(self, place: str) -> list[str]:
        """What lies in a folder, in order."""
        return sorted(each.name for each in _local(place).iterdir())

    def delete(self, place: str) -> None:
        """Take away a folder with all that is in it, if it is there."""
        if self.exists(place):
            shutil.rmtree(_local(place))

    def load(self, place: str, schema: StructType) -> DataFrame:
        """The rows of a Delta table. Columns that it lacks are null.

        The schema is given without comments and as it is there: where Sail brings columns together of which one has a
        comment and one has none, it stops for the difference.
        """
        lacking = self.lacks(place, schema.names)
        bare = [StructField(each.name, each.dataType) for each in schema.fields]
        known = StructType([each for each in bare if each.name not in lacking])
        return _whole(self.session.read.schema(known).format("delta").load(place), schema, lacking)

    def aside(self, place: str, rows: DataFrame) -> DataFrame:
        """Rows that were written there in parquet, by the schema of the files: to ask for that of `rows` is to have the
        server plan them once more. Sail writes no file where there are no rows.
        """
        if any(name.endswith(".parquet") for name in (self.names(place) if self.exists(place) else ())):
            return self.session.read.parquet(place)
        return self.session.createDataFrame([], rows.schema)

    def lacks(self, place: str, names: Sequence[str]) -> list[str]:
        """Those of these columns that the Delta table there has not."""
        return self.columns.lacking(self.session, place, names)

    def listed(self, folder: str) -> DataFrame:
        """All files below a folder, with their names and times as Spark tells of them, for another run may be Spark's.
        Sail's own `binaryFile` reads every file for it.
        """
        found = [(f"{_FILE}{path}", status.st_size, _milliseconds(status)) for path, status in _files(_local(folder))]
        return self.session.createDataFrame(found, "path string, length bigint, modified timestamp")

    def contents(self, paths: list[str]) -> DataFrame:
        """Files as Spark's `binaryFile` tells of them, read by Python: Sail's own gives a file twice that lies where it
        cuts its work in parts.
        """
        found = [(path, _milliseconds(_local(path).stat())) for path in paths]
        given = self.session.createDataFrame(found, "path string, modificationTime timestamp")
        return given.mapInArrow(_read, "path string, modificationTime timestamp, content binary")

    def in_order(self, rows: DataFrame, by: Sequence[str], then: Sequence[str], keep: Sequence[str]) -> DataFrame:
        """Rows with the same values `by` in one partition, one after the other, in order. Sail leaves out a sort that
        nothing in the plan asks for; numbering rows asks for it. Who reads them looks whether the order holds.
        """
        number = f.row_number().over(Window.partitionBy(*by).orderBy(*then))
        return rows.withColumn(_ORDER, number).select(*keep, _ORDER)

    def largest(self, rows: DataFrame, size: Column) -> int | None:  # noqa: ARG002 - others look
        """None: Sail makes batches as it likes, whatever it is told."""
        return None

    def in_thread(self, work: Callable[[], T]) -> Callable[[], T]:
        """As it is: a session is the same in all threads."""
        return work


def _whole(found: DataFrame, schema: StructType, lacking: Sequence[str]) -> DataFrame:
    none = {name: f.lit(None).cast(schema[name].dataType).alias(name) for name in lacking}
    return found.select(*(none.get(name, f.col(name)) for name in schema.names))


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder but for what lies in hidden ones, as Hadoop sees it."""
    for place, folders, names in os.walk(folder.absolute()):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in names:
            path = os.path.join(place, name)  # noqa: PTH118 - of very many
            yield path, os.stat(path)  # noqa: PTH116 - the same


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files with what is in them, each by itself: they may be large."""
    for batch in batches:
        for number, path in enumerate(batch.column("path").to_pylist()):
            row = batch.slice(number, 1)
            content = pa.array([_local(path).read_bytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([*row.columns, content], names=[*row.schema.names, "content"])


def _milliseconds(status: os.stat_result) -> datetime:
    """When a file was written, as Hadoop tells it."""
    return datetime.fromtimestamp(status.st_mtime_ns // 1_000_000 / 1_000, UTC)


def _local(place: str) -> Path:
    """Raises ValueError for a URL of another machine."""
    if place.startswith(f"{_FILE}//"):
        return Path(unquote(urlsplit(place).path))
    if place.startswith(_FILE):  # as Spark tells of a file: a path with nothing in it quoted
        return Path(place.removeprefix(_FILE))
    if "://" in place:
        raise ValueError(f"{place} does not lie on this machine: this engine reads only what does; use Spark")
    return Path(place)
