"""Values as cells of rows: a field in a cell of its own, and values of any length as packed JSON."""

import gzip
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from shared.errors import ContentLost
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CONTENTS, digest_of

T = TypeVar("T")

_INLINE = 48 * 1024
"""Bytes of packed JSON that stand in the row itself; a cell holds 64 KiB. Longer ones are blobs."""


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


def cells_of(record: _Dataclass, *, omitted: Collection[str] = ()) -> dict[str, Value]:
    """The fields of a record by name, a cell each, but `etag` and those `omitted` one. Times and states become texts;
    None has no cell.
    """
    names = (field.name for field in fields(record) if field.name != "etag" and field.name not in omitted)
    cells = ((name, msgspec.to_builtins(getattr(record, name))) for name in names)
    return {name: cell for name, cell in cells if cell is not None}


def record_of(kind: type[T], row: Row, /, **further_fields: object) -> T:
    """The record of a row that was made by `cells_of`; `further_fields` are the fields without a cell.

    Raises msgspec.ValidationError where a cell is missing or has another type.
    """
    return msgspec.convert({**row.values, **further_fields, "etag": row.etag}, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedCell(Generic[T]):
    """A cell for a value of any length: packed JSON, or the name of its blob in `container` where that is too long for
    a cell.
    """

    name: str
    decoder: msgspec.json.Decoder[T]
    container: str = CONTENTS

    @property
    def _blob(self) -> str:
        return f"{self.name}_blob"

    def pack(self, storage: Storage, value: T) -> dict[str, Value]:
        """The cell of a value; a blob that it needs is written first."""
        packed_value = pack(value)
        if len(packed_value) <= _INLINE:
            return {self.name: packed_value}
        blob = f"{digest_of(packed_value)}.json.gz"
        storage.put_new(self.container, blob, packed_value)
        return {self._blob: blob}

    def unpack(self, storage: Storage, row: Row) -> T:
        """The value of a row. Raises ContentLost where its blob is missing."""
        blob = self.blob(row)
        if not blob:
            return self.decoder.decode(unpack(row.values[self.name]))
        packed_value = storage.get(self.container, blob)
        if packed_value is None:
            problem = f"Blob {blob} of a row is missing, so its content can't be read: run `throughline verify --fix`"
            raise ContentLost(problem, after=60)
        return self.decoder.decode(unpack(packed_value))

    def blob(self, row: Row) -> str:
        """The name of the value's blob; empty where the row itself holds the value."""
        return str(row.values.get(self._blob, ""))


def pack(value: Any) -> bytes:
    """Packed JSON: the same bytes for equal values."""
    return gzip.compress(msgspec.json.encode(value, order="deterministic"), mtime=0)


def unpack(cell: Value) -> bytes:
    """The JSON of a packed value."""
    if not isinstance(cell, bytes):
        raise TypeError(f"a cell should hold bytes, it holds {type(cell).__name__}")
    return gzip.decompress(cell)
