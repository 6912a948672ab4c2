"""Rows between Spark and the core, in Arrow batches: a worker holds a bounded number at a time."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from shared.gc_tuning import calm
from throughline.lake.engine.arrow_cells import Record, Row, batch_of
from throughline.lake.engine.arrow_cells import rows as rows_of
from throughline.lake.engine.port import SMALL_ROW_BYTES

_ROWS = 1_000
_BYTES = 16 * 1024 * 1024
BATCH_BYTES = _ROWS * SMALL_ROW_BYTES
_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


class OutOfOrderError(Exception):
    """Rows came in the wrong order: the result would be wrong."""


def records_for(largest: int | None) -> int:
    """How many rows of this size an Arrow batch may hold: Spark limits batches by rows, not by bytes."""
    return max(1, min(_ROWS, BATCH_BYTES // max(1, largest or 1)))


def stream(
    rows: DataFrame,
    work: Callable[[Iterator[Record]], Iterable[Row]],
    schema: StructType,
    *,
    largest: int | None = None,
    weigh: str = "",
) -> DataFrame:
    """The result of `work` on the rows of each partition, in their order; it never holds more than a batch.

    `largest`: the bytes of the largest row; `weigh`: the largest column of the result.
    """
    rows.sparkSession.conf.set(_RECORDS, str(records_for(largest)))
    arrow_schema = schema_of(schema)

    def batches(arrow_batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return through(arrow_batches, work, arrow_schema, weigh=weigh)

    return rows.mapInArrow(batches, schema)


def schema_of(schema: StructType) -> pa.Schema:
    """The same in Arrow."""
    arrow_schema: pa.Schema = to_arrow_schema(schema)
    return arrow_schema


def through(
    batches: Iterable[pa.RecordBatch],
    work: Callable[[Iterator[Record]], Iterable[Row]],
    schema: pa.Schema,
    *,
    weigh: str = "",
) -> Iterator[pa.RecordBatch]:
    """The result of `work` on the rows of these batches, in batches of this schema; `weigh` as for `stream`."""
    with calm():
        waiting: list[Row] = []
        weight = 0
        for row in work(rows_of(batches)):
            waiting.append(row)
            if weigh and (heavy := row.get(weigh)):
                weight += len(heavy)
            if len(waiting) >= _ROWS or weight >= _BYTES:
                yield batch_of(waiting, schema)
                waiting, weight = [], 0
        if waiting:
            yield batch_of(waiting, schema)


def grouped(rows: Iterable[Record], *keys: str) -> Iterator[tuple[Any, Iterator[Record]]]:
    """Rows that follow one another with the same key or tuple of keys, group by group; the unread rest of a group is
    skipped. Raises OutOfOrderError.
    """
    last: Any = None
    for key, key_rows in groupby(rows, key=attrgetter(*keys)):
        last = following(key, last)
        yield key, key_rows


def following(key: Any, last: Any) -> Any:
    """The key, checked to come after `last` (None: it is the first). Raises OutOfOrderError otherwise: one group would
    be taken for two.
    """
    if last is not None and key <= last:
        raise OutOfOrderError(
            f"{key} came after {last}: the engine did not keep the order of the rows that was asked for"
        )
    return key
