"""Records of data sets: changes in any order, columns of any processes, and rows that are read once."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import WriteConflict
from shared.model import Asset
from shared.records.asset_record import AssetRecord, Change, ColumnReport
from shared.records.assets import AssetRows, read_assets
from shared.records.publish_queue import owner_of
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import ASSETS

KEY = ("fs_path", "file:///a")
ASSET = Asset(type=KEY[0], qualified_name=KEY[1], namespace="file", name="/a")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = "2026-11-21"


def change(state: str, minute: int, became: str = "") -> Change:
    return Change(NOON + timedelta(minutes=minute), state, became)


SENTENCES = {
    "dropped": ([change("DROP", 1)], f"Dropped on {DAY}."),
    "dropped and made again": ([change("DROP", 1), change("CREATE", 2)], ""),
    "dropped and written over": ([change("DROP", 1), change("OVERWRITE", 2)], ""),
    "made, then dropped": ([change("CREATE", 0), change("DROP", 1)], f"Dropped on {DAY}."),
    "renamed": ([change("RENAME", 1, "file:///new")], f"Renamed to file:///new on {DAY}."),
    "emptied": ([change("TRUNCATE", 1)], ""),
    "altered": ([change("ALTER", 1)], ""),
}


@pytest.mark.parametrize(("changes", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_the_state_is_the_same_for_any_order_of_applications(changes: list[Change], sentence: str) -> None:
    for order in permutations(enumerate(changes)):
        record = AssetRecord(own=KEY)
        for number, one in order:
            record = record.with_changes(f"app{number}", ASSET, (one,))
        assert record.state
        assert record.state.sentence == sentence


def test_an_application_retracts_what_it_changed() -> None:
    record = AssetRecord(own=KEY).with_changes("app", ASSET, (change("DROP", 1),)).with_changes("app", None, ())
    assert record.state is None


def test_of_many_applications_the_changes_of_the_oldest_stay_but_can_not_be_retracted() -> None:
    record = AssetRecord(own=KEY)
    for number in range(20):
        record = record.with_changes(f"app{number}", ASSET, (change("DROP", number),))
    assert len(record.changes) == 16
    for number in range(20):
        record = record.with_changes(f"app{number}", None, ())
    assert record.state
    assert record.state.times == {"DROP": change("DROP", 3).at}


REPORTS = st.lists(
    st.tuples(st.sampled_from("pqrs"), st.sampled_from(["x", "xy", "yz", ""]), st.booleans()), max_size=8
)


@given(REPORTS)
def test_only_the_last_report_of_a_process_counts(reports: list[tuple[str, str, bool]]) -> None:
    def report(process: str, names: str, *, writes: bool) -> ColumnReport:
        names_of: dict[str, Any] = {"writers": (process,)} if writes else {"readers": (process,)}
        return ColumnReport(columns=tuple((name, "int") for name in names), **names_of)

    record, last = AssetRecord(own=KEY), dict[str, ColumnReport]()
    for process, names, writes in reports:
        last[process] = report(process, names, writes=writes)
        record = record.with_report(process, last[process])
    expected = AssetRecord(own=KEY)
    for process, column_report in sorted(last.items()):
        expected = expected.with_report(process, column_report)
    assert record.reports == expected.reports
    written_columns = [
        name
        for process, column_report in sorted(last.items())
        if column_report.writers
        for name, _ in column_report.columns
    ]
    read_columns = [
        name
        for process, column_report in sorted(last.items())
        if column_report.readers
        for name, _ in column_report.columns
    ]
    assert [name for name, _ in record.schema.columns] == list(dict.fromkeys(written_columns or read_columns))
    for process in last:
        record = record.with_report(process, None)
    assert record.reports == ()


class Counted(MemoryStorage):
    """Storage that counts reads of rows, and queries by pages of a thousand."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def read(self, table: str, partition: str, key: str) -> Row | None:
        self.calls["read"] += 1
        return super().read(table, partition, key)

    def partition(self, table: str, partition: str, **bounds: Any) -> Iterator[Row]:
        self.calls["partition"] += 1
        return super().partition(table, partition, **bounds)


def key(number: int) -> tuple[str, str]:
    return ("fs_path", f"file:///{number}")


def filled(number: int) -> Counted:
    storage, rows = Counted(), AssetRows()
    rows.claim(storage)
    for place in range(number):
        rows.put(AssetRecord(own=key(place), guid=f"guid {place}"))
    rows.flush(storage)
    storage.calls.clear()
    return storage


def test_a_small_table_is_read_by_one_query_and_then_never_again() -> None:
    storage, rows = filled(50), AssetRows()
    rows.claim(storage)
    storage.calls.clear()
    assert rows.read(storage, [key(7), key(77)]).keys() == {key(7)}
    assert rows.read(storage, [key(number) for number in range(100)]).keys() == {key(number) for number in range(50)}
    assert storage.calls == {"partition": 1}


def test_a_large_table_costs_no_more_than_single_reads_and_is_read_on_bit_by_bit() -> None:
    storage, rows = filled(2500), AssetRows()
    rows.claim(storage)
    storage.calls.clear()
    for number in range(100):
        assert rows.read(storage, [key(number)])[key(number)].guid == f"guid {number}"
    assert storage.calls.total() <= 6
    assert rows.read(storage, [key(number) for number in range(2400, 2600)]).keys() == {
        key(number) for number in range(2400, 2500)
    }
    assert storage.calls.total() <= 6


def test_rows_are_written_together_and_read_back() -> None:
    storage, rows = MemoryStorage(), AssetRows()
    rows.claim(storage)
    for number in range(250):
        rows.put(AssetRecord(own=key(number)))
    assert list(storage.scan(ASSETS)) == []
    rows.flush(storage)
    assert len(read_assets(storage, [key(number) for number in range(250)])) == 250
    rows.put(AssetRecord(own=key(3), guid="g"))
    rows.flush(storage)
    rows.put(AssetRecord(own=key(3), guid="h"))
    rows.flush(storage)
    assert read_assets(storage, [key(3)])[key(3)].guid == "h"


def test_rows_are_forgotten_when_another_process_has_published() -> None:
    storage, own_rows, other_asset_rows = filled(3), AssetRows(), AssetRows()
    own_rows.claim(storage)
    assert own_rows.read(storage, [key(1)])[key(1)].guid == "guid 1"
    other_asset_rows.claim(storage)
    other_asset_rows.read(storage, [key(1)])
    other_asset_rows.put(AssetRecord(own=key(1), guid="new"))
    other_asset_rows.flush(storage)
    own_rows.claim(storage, owner_of(storage))
    assert own_rows.read(storage, [key(1)])[key(1)].guid == "new"


def test_a_row_that_another_process_wrote_is_not_overwritten() -> None:
    storage, own_rows, other_rows = filled(3), AssetRows(), AssetRows()
    own_rows.claim(storage)
    own_rows.read(storage, [key(1)])
    other_rows.claim(storage)
    other_rows.read(storage, [key(1)])
    other_rows.put(AssetRecord(own=key(1), guid="new"))
    other_rows.flush(storage)
    own_rows.put(AssetRecord(own=key(1), guid="old"))
    with pytest.raises(WriteConflict):
        own_rows.flush(storage)
    assert own_rows.read(storage, [key(1)])[key(1)].guid == "new"
