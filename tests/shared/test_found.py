"""What is remembered of assets, where two publishers are at it."""

import pytest
from msgspec import structs

from shared.errors import Contended
from shared.pipeline.found import FoundAsset, found_key, mark_of, remember, remembered
from shared.places import DIRTY, DIRTY_PARTITION
from shared.storage import MemoryStorage, Row

KEY = ("fs_path", "/a")


def test_one_that_was_overtaken_forgets_nobody_who_tells_the_columns() -> None:
    storage = MemoryStorage()
    (placed,) = remember(storage, [FoundAsset(own=KEY, guid="g", tellers=("p",))])
    mine = remembered(storage, [KEY])[KEY]
    remember(storage, [structs.replace(placed, tellers=("p", "q"), columns=(("a", "int"),))])
    (after,) = remember(storage, [mine])
    assert remembered(storage, [KEY]) == {KEY: after}
    assert after.tellers == ("p", "q")
    assert after.columns is None, "which it has is not known"
    assert [row.key for row in storage.partition(DIRTY, DIRTY_PARTITION)] == [mark_of(found_key(KEY))], "it is asked"


def test_one_that_found_nothing_yet_does_not_hide_what_another_has_placed() -> None:
    storage = MemoryStorage()
    (placed,) = remember(storage, [FoundAsset(own=KEY, guid="g", tellers=("p",))])
    assert remember(storage, [FoundAsset(own=KEY)]) == (structs.replace(placed, etag=_etag(storage)),)


def test_one_that_was_dropped_meanwhile_is_put_on_record_anew() -> None:
    storage = MemoryStorage()
    (placed,) = remember(storage, [FoundAsset(own=KEY, guid="g")])
    storage.delete("found", "asset", placed.row(storage).key)
    (again,) = remember(storage, [placed])
    assert remembered(storage, [KEY]) == {KEY: again}


def test_a_row_that_never_rests_is_left_for_later() -> None:
    class Restless(MemoryStorage):
        def insert(self, table: str, row: Row) -> str | None:
            super().insert(table, row)
            return None

        def replace(self, table: str, row: Row) -> str | None:  # noqa: ARG002 - somebody was quicker, always
            return None

    with pytest.raises(Contended, match="kept changing"):
        remember(Restless(), [FoundAsset(own=KEY)])


def _etag(storage: MemoryStorage) -> str:
    return remembered(storage, [KEY])[KEY].etag
