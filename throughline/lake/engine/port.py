"""The port between the lake and the engine that runs its PySpark code, and what every engine does alike."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Protocol, TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

T = TypeVar("T")

SMALL_ROW_BYTES = 64 * 1024
"""Rows of at most this size share an Arrow batch with any others."""

LISTING_TASKS_PER_CORE = 4
"""Tasks per core that list files; Spark would start one for each file."""


class Engine(Protocol):
    """What engines do differently. A place is a path or URL that the session can read."""

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""

    def exists(self, place: str) -> bool:
        """Whether the file or folder exists."""

    def delete(self, place: str) -> None:
        """Delete a folder and its contents, if it exists."""

    def load(self, place: str, schema: StructType) -> DataFrame:
        """The rows of a Delta table, whose stored columns are these."""

    def nullable(self, rows: DataFrame, schema: StructType) -> DataFrame:
        """The rows of this schema, for a new table whose columns may all hold null."""

    def aside(self, place: str, rows: DataFrame) -> DataFrame:
        """The rows that were written to `place` as Parquet; `rows` is what was written."""

    def listed(self, folder: str) -> DataFrame:
        """All files below a folder, as `path`, `length` (bytes) and `modified`. A missing folder gives no rows or
        raises PySpark's AnalysisException, depending on the engine.
        """

    def contents(self, paths: list[str]) -> DataFrame:
        """These files with the columns of Spark's `binaryFile` source: `path`, `modificationTime`, `content`."""

    def in_order(self, rows: DataFrame, by: Sequence[str], then: Sequence[str], keep: Sequence[str]) -> DataFrame:
        """Rows with equal values `by` in one partition, next to each other, sorted by `by` and `then`. The result has
        the columns `keep`, and may have one more.
        """

    def largest(self, rows: DataFrame, size: Column) -> int | None:
        """The size in bytes of the largest row, or None when no row is larger than SMALL_ROW_BYTES or the engine
        ignores the number of rows per Arrow batch.
        """

    def in_thread(self, work: Callable[[], T]) -> Callable[[], T]:
        """The same work, prepared to run in a thread of its own."""


def union_of(*parts: DataFrame) -> DataFrame:
    """All rows of the parts, with all their columns: null where a part lacks one. PySpark's own union with missing
    columns fails on Sail, where such nulls have no type.
    """
    types = {name: type_name for part in parts for name, type_name in part.dtypes}

    def whole(part: DataFrame) -> DataFrame:
        known_columns = set(part.columns)
        null = {
            name: f.lit(None).cast(type_name).alias(name)
            for name, type_name in types.items()
            if name not in known_columns
        }
        return part.select(*(null.get(name, f.col(name)) for name in types))

    return reduce(lambda upper_rows, lower_rows: upper_rows.unionByName(lower_rows), map(whole, parts))


def together(engine: Engine, *works: Callable[[], T]) -> tuple[T, ...]:
    """The result of each, in their order. Raises the first error in that order, or the exception that stopped the
    waiting (Ctrl-C), but only after all have ended: none continues to write afterwards.

    At most one of them may use `arrow.stream`: the rows per batch are a setting of the whole session.
    """
    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(engine.in_thread(work)) for work in works]
        return tuple(future.result() for future in futures)
