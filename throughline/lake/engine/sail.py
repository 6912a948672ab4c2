"""The engine adapter for Sail (https://docs.lakesail.com), a server of Spark Connect without a JVM, in this process.

Only this module knows Sail: opening a session on it, and what it does differently from Spark
(docs/contribute/decisions/0005).
"""

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructField, StructType
from pyspark.sql.window import Window

from throughline.lake.engine.session import DELTA, Local
from throughline.lake.engine_choice import files_below

T = TypeVar("T")

_INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended, by the convention of shells."""

_SETTINGS = {
    "SAIL_PARQUET__PUSHDOWN_FILTERS": "true",  # wide columns are read for matching rows only
    "SAIL_SPARK__SESSION_TIMEOUT_SECS": "86400",  # publishing may take hours, in which nothing is asked
}
_ORDER = "_order"
_FILE = "file:"


@contextmanager
def sail_session(local: Local) -> Iterator[SparkSession]:
    """A session on a server in this process; of `local` it uses `cores` and `scratch`. Delta is built in.

    Settings are environment variables (https://docs.lakesail.com/sail/latest/reference/configuration), read when the
    server is created. Afterwards PySpark 3.5 can reach no other engine in this process. Raises ModuleNotFoundError
    where pysail is missing.
    """
    os.environ |= _SETTINGS | {"SAIL_EXECUTION__DEFAULT_PARALLELISM": str(local.cores)}
    if local.scratch:
        Path(local.scratch).mkdir(parents=True, exist_ok=True)  # Sail makes the last folder alone
        os.environ["SAIL_RUNTIME__TEMPORARY_FILES__PATHS"] = f'["{local.scratch}"]'
    os.environ.setdefault("RUST_LOG", "error")
    from pysail.spark import (  # type: ignore[import-untyped]  # noqa: PLC0415 - no types; needed for this engine alone
        SparkConnectServer,
    )

    logging.getLogger("pyspark.sql.connect").setLevel(logging.CRITICAL)  # it logs what it raises
    server = SparkConnectServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
        for name, value in DELTA.items():
            session.conf.set(name, value)
        # PySpark 3.5 renders every plan as text for its log, even when the log is off: a tenth of a small run's time
        vars(session.client)["_proto_to_string"] = lambda _: ""
        _disable_retries(session)
        try:
            yield session
        except KeyboardInterrupt:
            # Sail stops by itself, but Python threads of a running query abort the process, with a core dump, when they
            # find it closing. The next run deletes what was put aside.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_INTERRUPTED)
        finally:
            session.stop()
            # PySpark 3.5 closes a session again when it is freed, in whatever thread that happens. In a thread of its
            # own pool that waits for ever while another session closes, since that one waits for the pool.
            vars(session.client)["close"] = lambda: None
    finally:
        server.stop()


def _disable_retries(session: SparkSession) -> None:
    """A server in this process that does not answer was stopped by Ctrl-C: retrying for minutes would hang."""
    client = session.client
    if hasattr(client, "set_retry_policies"):  # PySpark 4
        client.set_retry_policies([])
    else:
        vars(client)["_retry_policy"] |= {"max_retries": 0}


@dataclass(frozen=True, slots=True)
class SailEngine:
    """Implements `Engine`. It reads and writes files of this machine only."""

    session: SparkSession

    @property
    def cores(self) -> int:
        """See `Engine`."""
        return os.cpu_count() or 1

    def exists(self, place: str) -> bool:
        """See `Engine`."""
        return _local(place).exists()

    def delete(self, place: str) -> None:
        """See `Engine`."""
        if self.exists(place):
            shutil.rmtree(_local(place))

    def load(self, place: str, schema: StructType) -> DataFrame:
        """See `Engine`. The schema is given without comments: Sail fails to combine columns when only one of them has a
        comment.
        """
        return self.session.read.schema(_bare(schema)).format("delta").load(place)

    def nullable(self, rows: DataFrame, schema: StructType) -> DataFrame:
        """See `Engine`. Sail stores that an expression is never null, and each such column doubles the time in which it
        plans a merge: half a minute for twenty.
        """
        return rows.unionByName(self.session.createDataFrame([], _bare(schema)))

    def aside(self, place: str, rows: DataFrame) -> DataFrame:
        """See `Engine`. The schema comes from the files: asking `rows` for it would plan them again. Sail writes no
        file when there are no rows.
        """
        if any(_local(place).glob("*.parquet")):
            return self.session.read.parquet(place)
        return self.session.createDataFrame([], rows.schema)

    def listed(self, folder: str) -> DataFrame:
        """See `Engine`. Listed by Python, with names and times as Hadoop reports them; Sail reads each file whole for
        it and names it differently.
        """
        file_rows = [
            (f"{_FILE}{path}", status.st_size, _modified(status))
            for path, status in files_below(_local(folder).absolute())
        ]
        return self.session.createDataFrame(file_rows, "path string, length bigint, modified timestamp")

    def contents(self, paths: list[str]) -> DataFrame:
        """See `Engine`. Read by Python: Sail reads a file twice that lies where it splits the work."""
        file_rows = [(path, _modified(_local(path).stat())) for path in paths]
        file_table = self.session.createDataFrame(file_rows, "path string, modificationTime timestamp")
        return file_table.mapInArrow(_read, "path string, modificationTime timestamp, content binary")

    def in_order(self, rows: DataFrame, by: Sequence[str], then: Sequence[str], keep: Sequence[str]) -> DataFrame:
        """See `Engine`. Sail drops a sort that nothing in the plan needs; numbering the rows needs it. `grouped` checks
        the order where the rows are read.
        """
        number = f.row_number().over(Window.partitionBy(*by).orderBy(*then))
        return rows.withColumn(_ORDER, number).select(*keep, _ORDER)

    def largest(self, rows: DataFrame, size: Column) -> int | None:  # noqa: ARG002 - Spark's adapter needs them
        """See `Engine`. Sail ignores the number of rows per batch."""
        return None

    def in_thread(self, work: Callable[[], T]) -> Callable[[], T]:
        """See `Engine`. A session is the same in all threads."""
        return work


def _bare(schema: StructType) -> StructType:
    return StructType([StructField(field.name, field.dataType) for field in schema.fields])


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files with their contents, one per batch: they may be large."""
    for batch in batches:
        for number, path in enumerate(batch.column("path").to_pylist()):
            row = batch.slice(number, 1)
            content = pa.array([_local(path).read_bytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([*row.columns, content], names=[*row.schema.names, "content"])


def _modified(status: os.stat_result) -> datetime:
    """When a file was written, in whole milliseconds as Hadoop reports it."""
    return datetime.fromtimestamp(status.st_mtime_ns // 1_000_000 / 1_000, UTC)


def _local(place: str) -> Path:
    """The path on this machine. Raises ValueError for the URL of another machine."""
    if place.startswith(f"{_FILE}//"):
        return Path(unquote(urlsplit(place).path))
    if place.startswith(_FILE):  # Spark's form of a file name: a path without percent-encoding
        return Path(place.removeprefix(_FILE))
    if "://" in place:
        raise ValueError(f"{place} is not on this machine, and this engine reads local files only: use --engine spark")
    return Path(place)
