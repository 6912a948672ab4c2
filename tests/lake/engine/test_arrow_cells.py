"""Rows equal the content of Arrow's batches; days and times are read as numbers and written back unchanged."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from throughline.lake.engine.arrow import OutOfOrderError, grouped, through
from throughline.lake.engine.arrow_cells import Row, batch_of, cells, rows
from throughline.lake.tables.encoding import micros, moment

TIMES = pa.timestamp("us", tz="UTC")
NOON = datetime(2026, 3, 1, 12, 0, 0, 250, tzinfo=UTC)
PAIRS = pa.struct([("name", pa.string()), ("type", pa.string())])


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [
        (pa.string(), st.text()),
        (pa.large_string(), st.text()),
        (pa.binary(), st.binary()),
        (pa.bool_(), st.booleans()),
        (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
        (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
        (pa.float64(), st.floats(allow_nan=False)),
        (pa.list_(pa.binary()), st.lists(st.binary() | st.none())),
        (PAIRS, st.fixed_dictionaries({"name": st.text(), "type": st.text()})),
    ],
    ids=str,
)
def test_cells_equal_those_of_arrow(kind: pa.DataType, strategy: st.SearchStrategy[Any]) -> None:
    """Parts of columns too, as Spark cuts them, and columns in which some cells, or all, are empty."""

    @given(values=st.lists(strategy | st.none()), start=st.integers(0, 3))
    def holds(values: list[Any], start: int) -> None:
        column = pa.array(values, kind)[start:]
        assert cells(column) == column.to_pylist() == values[start:]
        assert [type(cell) for cell in cells(column)] == [type(value) for value in values[start:]]

    holds()


@given(st.lists(st.datetimes(timezones=st.just(UTC)) | st.none()))
def test_times_are_converted_to_numbers_and_back(times: list[datetime | None]) -> None:
    column = pa.array(times, TIMES)
    numbers = cells(column)
    assert [None if number is None else moment(number) for number in numbers] == times
    assert numbers == [None if time is None else micros(time) for time in times]
    assert pa.array(numbers, TIMES) == column


def test_times_are_utc_in_any_time_zone_of_the_session() -> None:
    berlin_times = pa.array([NOON], pa.timestamp("us", tz="Europe/Berlin"))
    assert [moment(number) for number in cells(berlin_times)] == [NOON]
    assert cells(pa.array([NOON], pa.timestamp("ms", tz="UTC"))) == [micros(NOON.replace(microsecond=0))]


def test_days_are_converted_to_numbers_and_back() -> None:
    days = pa.array([date(2026, 3, 1), None, date(1969, 12, 31)], pa.date32())
    assert cells(days) == [20513, None, -1]
    assert pa.array(cells(days), pa.date32()) == days


SCHEMA = pa.schema([("run_id", pa.string()), ("at", TIMES), ("merged", pa.binary()), ("fields", pa.list_(PAIRS))])


def test_missing_cells_of_a_row_are_null_and_structs_may_be_tuples() -> None:
    batch = batch_of([{"run_id": "a", "at": NOON, "fields": (("x", "int"),)}, {"run_id": "b", "merged": b"1"}], SCHEMA)
    assert batch.to_pylist() == [
        {"run_id": "a", "at": NOON, "merged": None, "fields": [{"name": "x", "type": "int"}]},
        {"run_id": "b", "at": None, "merged": b"1", "fields": None},
    ]
    assert [row.run_id for row in rows([batch, batch])] == ["a", "b"] * 2


@given(st.lists(st.text() | st.none()))
def test_texts_are_read_back_unchanged(texts: list[str | None]) -> None:
    assert [row.run_id for row in rows([batch_of([{"run_id": text} for text in texts], SCHEMA)])] == texts


def test_batches_are_limited_by_number_of_rows_and_by_weight() -> None:
    """Rows without the weighed cell weigh nothing; a run that cannot be merged is such a row."""
    light: list[Row] = [{"run_id": str(number)} for number in range(2_500)]
    heavy: list[Row] = [{"run_id": "x", "merged": bytes(9 * 1024 * 1024)} for _ in range(3)]
    batches = list(through([], lambda _: [*light, *heavy], SCHEMA, weigh="merged"))
    assert [batch.num_rows for batch in batches] == [1_000, 1_000, 502, 1]


def test_a_group_that_appears_twice_raises_out_of_order_error() -> None:
    key_rows = list(rows([pa.RecordBatch.from_pydict({"key": ["a", "a", "b", "a"]})]))
    with pytest.raises(OutOfOrderError, match="a came after b"):
        [list(group_rows) for _, group_rows in grouped(key_rows, "key")]
    assert [key for key, _ in grouped(key_rows[:3], "key")] == ["a", "b"]
