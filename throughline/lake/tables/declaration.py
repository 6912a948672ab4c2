"""The declaration of a table: its place, its keys, its columns with types and comments."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import types
from pyspark.sql.types import DataType, StructField, StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeColumn:
    """A column: its name, its Spark type, and its meaning."""

    name: str
    type: str
    comment: str


def columns(text: str) -> tuple[LakeColumn, ...]:
    """Columns from lines of name, type and comment."""
    rows = (line.split(maxsplit=2) for line in text.strip().splitlines())
    return tuple(LakeColumn(name=name, type=type_name, comment=comment.strip()) for name, type_name, comment in rows)


_ACTIVE = columns(
    "active boolean Whether the row is still valid; an invalid row stays, so that readers of changes see it"
)
_BATCH = columns("batch bigint The step of the lake in which this row was last changed")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the lake: its `place` below the root (layer and name), the keys of a row, and its columns.

    `content` are the columns that a step computes. `marks`: rows are marked inactive instead of deleted, by a column
    `active`, so that readers of changes see it. `batched`: a column `batch` has the step that last changed the row.
    `partition` is the partition column, if any.
    """

    place: str
    comment: str
    keys: tuple[str, ...]
    content: tuple[LakeColumn, ...]
    partition: str = ""
    marks: bool = False
    batched: bool = True

    @property
    def name(self) -> str:
        """Its name, without the layer."""
        return self.place.rpartition("/")[2]

    @cached_property
    def columns(self) -> tuple[LakeColumn, ...]:
        """All its columns."""
        return (*self.content, *(_ACTIVE if self.marks else ()), *(_BATCH if self.batched else ()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)

    def struct(self) -> StructType:
        """Its columns as Spark's StructType."""
        return struct(self.columns)


def struct(columns: Iterable[LakeColumn]) -> StructType:
    """Columns as a StructType, each with its comment. Needs no session."""
    return StructType(
        [StructField(column.name, _type(column.type), metadata={"comment": column.comment}) for column in columns]
    )


_SIMPLE: dict[str, DataType] = {
    each.simpleString(): each
    for each in (
        *(types.StringType(), types.LongType(), types.IntegerType(), types.BooleanType()),
        *(types.DoubleType(), types.BinaryType(), types.DateType(), types.TimestampType()),
    )
}


def _type(text: str) -> DataType:
    """A Spark type from the subset of DDL that is used here."""
    if text in _SIMPLE:
        return _SIMPLE[text]
    kind, _, inner = text.partition("<")
    inner = inner.removesuffix(">")
    if kind == "array":
        return types.ArrayType(_type(inner))
    if kind == "struct":
        fields = (field.partition(":") for field in _split(inner))
        return StructType([StructField(name, _type(type_name)) for name, _, type_name in fields])
    raise ValueError(f"No type of a column here: {text}")


def _split(inner: str) -> list[str]:
    """The fields of a struct: commas within further brackets do not count."""
    parts, depth = [""], 0
    for letter in inner:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
