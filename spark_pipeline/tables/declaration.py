"""The declaration of a table: its place, its keys, its columns with types and comments."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeColumn:
    """A column: its name, its Spark type, and its meaning."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the lake: its place, the keys of a row, and its columns.

    In a table with a column `active` rows are marked inactive instead of deleted, so that readers of changes see it.
    `partition` is the partition column, if any.
    """

    layer: str
    name: str
    comment: str
    keys: tuple[str, ...]
    columns: tuple[LakeColumn, ...]
    partition: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def marks(self) -> bool:
        """Whether rows are marked inactive instead of deleted."""
        return "active" in self.names

    @property
    def place(self) -> str:
        """Its path below the root of the lake."""
        return f"{self.layer}/{self.name}"

    def struct(self) -> Any:
        """Its columns as Spark's StructType."""
        return struct(self.columns)


def struct(columns: tuple[LakeColumn, ...]) -> Any:
    """Columns as a StructType, each with its comment. Needs no session."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - code that only names tables needs no Spark

    found = StructType()
    for column in columns:
        found = found.add(column.name, _type(column.type), nullable=True, metadata={"comment": column.comment})
    return found


def _type(text: str) -> Any:
    """A Spark type from the subset of DDL that is used here."""
    from pyspark.sql import types  # noqa: PLC0415 - the same

    simple = {
        "string": types.StringType,
        "bigint": types.LongType,
        "int": types.IntegerType,
        "boolean": types.BooleanType,
        "double": types.DoubleType,
        "binary": types.BinaryType,
        "date": types.DateType,
        "timestamp": types.TimestampType,
    }
    if text in simple:
        return simple[text]()
    kind, _, inner = text.partition("<")
    inner = inner.removesuffix(">")
    if kind == "array":
        return types.ArrayType(_type(inner))
    if kind == "struct":
        fields = (field.partition(":") for field in _split(inner))
        return types.StructType([types.StructField(name, _type(of)) for name, _, of in fields])
    raise ValueError(f"No type of a column here: {text}")


def _split(inner: str) -> list[str]:
    """The fields of a struct: commas within further brackets do not count."""
    found, depth = [""], 0
    for letter in inner:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def columns(text: str) -> tuple[LakeColumn, ...]:
    """Columns from lines of name, type and comment."""
    rows = (line.split(maxsplit=2) for line in text.strip().splitlines())
    return tuple(LakeColumn(name=name, type=of, comment=comment.strip()) for name, of, comment in rows)


def shape(text: str) -> Any:
    """A StructType from lines of name, type and comment."""
    return struct(columns(text))
