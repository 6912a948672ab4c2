"""Cells: a record's fields and values of any length are stored in a row, and read back unchanged."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from random import Random

import msgspec
import pytest

from shared.errors import ContentLost
from shared.records.cells import PackedCell, cells_of, pack, record_of
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import CONTENTS

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEXTS = PackedCell(name="texts", decoder=msgspec.json.Decoder(frozenset[str]))


class Color(StrEnum):
    """A state."""

    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One field of each kind that records have; `key` and `long` have no cell of their own."""

    key: str
    long: frozenset[str] = frozenset()
    number: int = 0
    flag: bool = False
    color: Color = Color.RED
    at: datetime | None = None
    etag: str = ""


@pytest.mark.parametrize(
    "record",
    [Record(key="k"), Record(key="k", number=2**31 - 1, flag=True, at=NOON, long=frozenset({"a"}), etag="e")],
    ids=["empty", "full"],
)
def test_a_record_is_read_back_unchanged(record: Record) -> None:
    row = Row(partition="p", key=record.key, values=cells_of(record, omitted=("key", "long")), etag=record.etag)
    assert row.values.keys() <= {"number", "flag", "color", "at"}
    assert {type(cell) for cell in row.values.values()} <= {int, bool, str}, "a table holds no time zone and no enum"
    assert record_of(Record, row, key=row.key, long=record.long) == record


def test_a_cell_of_another_type_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="number"):
        record_of(Record, Row(partition="p", key="k", values={"number": "many"}), key="k")


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_a_value_of_any_length_is_read_back_unchanged(size: int) -> None:
    storage, value = MemoryStorage(), frozenset({Random(7).randbytes(size).hex()})
    row = Row(partition="p", key="k", values=TEXTS.pack(storage, value))
    assert bool(TEXTS.blob(row)) == bool(list(storage.blobs(CONTENTS))) == (size == 100_000)
    assert TEXTS.unpack(storage, row) == value


def test_a_lost_blob_names_the_command_that_restores_it() -> None:
    storage = MemoryStorage()
    row = Row(partition="p", key="k", values=TEXTS.pack(storage, frozenset({Random(7).randbytes(100_000).hex()})))
    storage.delete_blob(CONTENTS, TEXTS.blob(row))
    with pytest.raises(ContentLost, match="verify --fix"):
        TEXTS.unpack(storage, row)


def test_equal_values_have_equal_bytes() -> None:
    names = [str(number) for number in range(100)]
    assert pack({name: frozenset(names) for name in names}) == pack(
        {name: frozenset(reversed(names)) for name in reversed(names)}
    )
