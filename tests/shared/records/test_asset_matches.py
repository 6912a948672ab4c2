"""What is remembered of assets, where two publishers are at it."""

from dataclasses import replace

import pytest
from msgspec import structs

from shared.errors import WriteConflict
from shared.records.asset_matches import AssetMatch, found_key, mark_of, remember, remembered
from shared.records.run_state import packed_cell
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import DIRTY, DIRTY_PARTITION, FOUND

KEY = ("fs_path", "/a")


def test_one_that_was_overtaken_forgets_nobody_who_tells_the_columns() -> None:
    storage = MemoryStorage()
    (placed,) = remember(storage, [AssetMatch(own=KEY, guid="g", tellers=("p",))])
    mine = remembered(storage, [KEY])[KEY]
    remember(storage, [structs.replace(placed, tellers=("p", "q"), columns=(("a", "int"),))])
    (after,) = remember(storage, [mine])
    assert remembered(storage, [KEY]) == {KEY: after}
    assert after.tellers == ("p", "q")
    assert after.columns is None, "which it has is not known"
    assert [row.key for row in storage.partition(DIRTY, DIRTY_PARTITION)] == [mark_of(found_key(KEY))], "it is asked"


X = ("x", "int")


def test_columns_are_known_where_all_who_know_of_the_placeholder_agree() -> None:
    storage = MemoryStorage()
    (placed,) = remember(storage, [AssetMatch(own=KEY, guid="g", columns=(X,))])
    remember(storage, [structs.replace(placed, tellers=("q",))])
    (same,) = remember(storage, [structs.replace(placed, tellers=("p",))])
    assert (same.columns, same.tellers) == ((X,), ("p", "q"))
    (searched,) = remember(storage, [AssetMatch(own=KEY)])
    assert searched.columns == (X,), "it knew of none"
    assert list(storage.partition(DIRTY, DIRTY_PARTITION)) == []
    (other,) = remember(storage, [structs.replace(placed, columns=())])
    assert other.columns is None


def test_what_older_ones_remembered_is_read() -> None:
    storage = MemoryStorage()
    row = AssetMatch(own=KEY, guid="g").row(storage)
    old = {"own": KEY, "guid": "g", "columns": [], "tellers": ["p"]}
    storage.insert(FOUND, replace(row, values=packed_cell(storage, "found", old)))
    found = remembered(storage, [KEY])[KEY]
    assert (found.columns, found.tellers) == ((), ("p",))


def test_one_that_found_nothing_yet_does_not_hide_what_another_has_placed() -> None:
    storage = MemoryStorage()
    (placed,) = remember(storage, [AssetMatch(own=KEY, guid="g", tellers=("p",))])
    assert remember(storage, [AssetMatch(own=KEY)]) == (structs.replace(placed, etag=_etag(storage)),)


def test_one_that_was_dropped_meanwhile_is_put_on_record_anew() -> None:
    storage = MemoryStorage()
    (placed,) = remember(storage, [AssetMatch(own=KEY, guid="g")])
    storage.delete("found", "asset", placed.row(storage).key)
    (again,) = remember(storage, [placed])
    assert remembered(storage, [KEY]) == {KEY: again}


def test_a_row_that_never_rests_is_left_for_later() -> None:
    class Restless(MemoryStorage):
        def replace(self, table: str, row: Row) -> str | None:  # noqa: ARG002 - somebody was quicker, always
            return None

    storage = Restless()
    remember(storage, [AssetMatch(own=KEY, guid="g", tellers=("p",))])
    with pytest.raises(WriteConflict, match="changed by others"):
        remember(storage, [AssetMatch(own=KEY, guid="g", tellers=("q",))])


def _etag(storage: MemoryStorage) -> str:
    return remembered(storage, [KEY])[KEY].etag
