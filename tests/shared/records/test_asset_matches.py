"""Asset matches that two publishers save at the same time."""

import pytest
from msgspec import structs

from shared.errors import WriteConflict
from shared.records.asset_matches import AssetMatch, match_key, queue_key, read_matches, save_matches
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import PUBLISH_QUEUE, QUEUE_PARTITION

KEY = ("fs_path", "/a")


def test_a_superseded_write_loses_no_source_of_columns() -> None:
    storage = MemoryStorage()
    (placed,) = save_matches(storage, [AssetMatch(own=KEY, guid="g", column_sources=("p",))])
    mine = read_matches(storage, [KEY])[KEY]
    save_matches(storage, [structs.replace(placed, column_sources=("p", "q"), columns=(("a", "int"),))])
    (after,) = save_matches(storage, [mine])
    assert read_matches(storage, [KEY]) == {KEY: after}
    assert after.column_sources == ("p", "q")
    assert after.columns is None, "which it has is not known"
    assert [row.key for row in storage.partition(PUBLISH_QUEUE, QUEUE_PARTITION)] == [queue_key(match_key(KEY))], (
        "it is asked"
    )


X = ("x", "int")


def test_columns_are_known_where_all_reports_of_the_placeholder_agree() -> None:
    storage = MemoryStorage()
    (placed,) = save_matches(storage, [AssetMatch(own=KEY, guid="g", columns=(X,))])
    save_matches(storage, [structs.replace(placed, column_sources=("q",))])
    (same,) = save_matches(storage, [structs.replace(placed, column_sources=("p",))])
    assert (same.columns, same.column_sources) == ((X,), ("p", "q"))
    (searched,) = save_matches(storage, [AssetMatch(own=KEY)])
    assert searched.columns == (X,), "it knew of none"
    assert list(storage.partition(PUBLISH_QUEUE, QUEUE_PARTITION)) == []
    (other,) = save_matches(storage, [structs.replace(placed, columns=())])
    assert other.columns is None


def test_a_match_without_an_asset_does_not_overwrite_a_placeholder_of_another_publisher() -> None:
    storage = MemoryStorage()
    (placed,) = save_matches(storage, [AssetMatch(own=KEY, guid="g", column_sources=("p",))])
    assert save_matches(storage, [AssetMatch(own=KEY)]) == (structs.replace(placed, etag=_etag(storage)),)


def test_a_match_that_another_publisher_deleted_is_recorded_again() -> None:
    storage = MemoryStorage()
    (placed,) = save_matches(storage, [AssetMatch(own=KEY, guid="g")])
    storage.delete("assetmatches", "asset", placed.row(storage).key)
    (again,) = save_matches(storage, [placed])
    assert read_matches(storage, [KEY]) == {KEY: again}


def test_a_match_that_others_change_all_the_time_raises_write_conflict() -> None:
    class Restless(MemoryStorage):
        def replace(self, table: str, row: Row) -> str | None:  # noqa: ARG002 - somebody was quicker, always
            return None

    storage = Restless()
    save_matches(storage, [AssetMatch(own=KEY, guid="g", column_sources=("p",))])
    with pytest.raises(WriteConflict, match="changed by others"):
        save_matches(storage, [AssetMatch(own=KEY, guid="g", column_sources=("q",))])


def _etag(storage: MemoryStorage) -> str:
    return read_matches(storage, [KEY])[KEY].etag
