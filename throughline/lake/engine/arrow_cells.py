"""Arrow batches -> Python rows and back, a column at a time: Arrow's own `to_pylist`, which makes an object of each
cell first, took as long as reading the events.

Days and times come as Arrow holds them: in days and microseconds since 1970, in UTC (`values.moment`). They may be
given back so, or as Python has them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import types

Row = dict[str, Any]
"""A row to write, by column names; a missing column is null."""

Record = Any
"""A row that was read, with its columns as attributes."""


def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Record]:
    """The rows of these batches."""
    for batch in batches:
        yield from map(_kind(*batch.schema.names), *map(cells, batch.columns))


@cache
def _kind(*names: str) -> Callable[..., Record]:
    """Rows with these columns: a dictionary took four times as long."""
    return msgspec.defstruct("Record", names, frozen=True, gc=False)


def batch_of(row_dicts: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """These rows as a batch. A struct may be given as a tuple, in the order of its fields."""
    columns = [pa.array(list(map(dict.get, row_dicts, repeat(field.name))), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def cells(column: pa.Array) -> list[Any]:
    """The values of a column, None for null."""
    if column.null_count == len(column):
        return [None] * len(column)
    kind = column.type
    if types.is_timestamp(kind):
        return _numbers(column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()))
    if types.is_date32(kind):
        return _numbers(column.cast(pa.int32()))
    if types.is_integer(kind):
        return _numbers(column)
    if any(fits(kind) for fits in _OBJECTS):
        return _objects(column)
    values: list[Any] = column.to_pylist()
    return values


_OBJECTS = (types.is_string, types.is_binary, types.is_boolean, types.is_large_string, types.is_large_binary)


def _objects(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return values


def _numbers(column: pa.Array) -> list[Any]:
    """NumPy would convert a column with nulls to floats."""
    if not column.null_count:
        return _objects(column)
    numbers = _objects(column.fill_null(0))
    return [number if is_valid else None for number, is_valid in zip(numbers, _objects(column.is_valid()), strict=True)]
