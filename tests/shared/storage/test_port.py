"""The compare-and-swap loop: changed rows, unchanged rows, and concurrent writers."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import WriteConflict
from shared.storage.memory import MemoryStorage
from shared.storage.port import MAX_ATTEMPTS, Row, RowAddress, Swapped, compare_and_swap, write_if_unchanged

PLACE = RowAddress("runs", "p", "k")
Change = Callable[[int | None], int | None]


def row(number: int) -> Row:
    return Row(partition=PLACE.partition, key=PLACE.key, values={"number": number})


def number_in(stored_row: Row) -> int:
    return int(str(stored_row.values["number"]))


def stored(storage: MemoryStorage) -> int | None:
    stored_row = storage.read(*PLACE)
    return number_in(stored_row) if stored_row else None


def swap(
    storage: MemoryStorage,
    change: Change,
    *,
    sleep: Callable[[float], object] = lambda _: None,
) -> Swapped[int]:
    return compare_and_swap(storage, PLACE, change, decode=number_in, encode=row, sleep=sleep)


def set_to(storage: MemoryStorage, value: int | None) -> None:
    if value is None:
        storage.delete(*PLACE)
    else:
        storage.upsert(PLACE.table, row(value))


@pytest.mark.parametrize(
    ("value_before", "value_after"),
    [(None, 1), (1, 2), (1, None), (1, 1), (None, None), (0, 1)],
    ids=["insert", "replace", "delete", "keep", "no row, none wanted", "a falsy value is a value"],
)
def test_the_change_is_applied_to_the_row(value_before: int | None, value_after: int | None) -> None:
    storage = MemoryStorage()
    set_to(storage, value_before)
    stored_row = storage.read(*PLACE)
    swapped = swap(storage, lambda value: value_after if value == value_before else -1)
    now = storage.read(*PLACE)
    assert (swapped.before, swapped.after, stored(storage)) == (value_before, value_after, value_after)
    assert swapped.etag == (now.etag if now else "")
    assert value_before != value_after or now == stored_row, "an equal value writes nothing"


def test_a_change_is_applied_to_the_value_that_another_writer_wrote() -> None:
    """It waits before each attempt but the first."""
    storage = MemoryStorage()
    set_to(storage, 1)
    other_values = iter([10, None, 20])
    slept: list[float] = []

    def change(value: int | None) -> int:
        for other in other_values:
            set_to(storage, other)
            break
        return (value or 0) + 1

    assert swap(storage, change, sleep=slept.append).after == 21
    assert stored(storage) == 21
    assert len(slept) == 3
    assert all(0 <= seconds < 1 for seconds in slept)


def test_a_row_changed_before_each_attempt_raises_write_conflict_and_is_not_overwritten() -> None:
    storage = MemoryStorage()
    calls: list[int | None] = []

    def change(value: int | None) -> int:
        calls.append(value)
        set_to(storage, len(calls))
        return -1

    with pytest.raises(WriteConflict, match=f"each of {MAX_ATTEMPTS} attempts"):
        swap(storage, change)
    assert calls == [None, *range(1, MAX_ATTEMPTS)]
    assert stored(storage) == MAX_ATTEMPTS


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=MAX_ATTEMPTS - 1))
def test_no_addition_is_lost_however_writers_interleave(rounds: list[list[str]]) -> None:
    """Between any two steps of one writer others write to the row: at the end the row has every addition."""
    storage = MemoryStorage()
    waiting = iter(rounds)

    def add(item: str, before_write: Callable[[], None]) -> None:
        def change(items: tuple[str, ...] | None) -> tuple[str, ...]:
            before_write()
            return (*(items or ()), item)

        compare_and_swap(
            storage,
            PLACE,
            change,
            decode=lambda stored_row: tuple(str(stored_row.values["items"]).split()),
            encode=lambda items: Row(partition="p", key="k", values={"items": " ".join(items)}),
            sleep=lambda _: None,
        )

    def others() -> None:
        for item in next(waiting, []):
            add(item, lambda: None)

    add("mine", others)
    found = storage.read(*PLACE)
    assert found
    started_rounds = rounds[: len(rounds) - len(list(waiting))]
    items = str(found.values["items"]).split()
    assert sorted(items) == sorted(["mine", *(item for round_items in started_rounds for item in round_items)])


def test_an_empty_etag_inserts_and_any_other_replaces() -> None:
    storage = MemoryStorage()
    first = write_if_unchanged(storage, PLACE.table, row(1))
    assert first
    assert write_if_unchanged(storage, PLACE.table, row(2)) is None
    second = write_if_unchanged(storage, PLACE.table, Row(partition="p", key="k", values={"number": 3}, etag=first))
    assert second
    assert second != first
    assert write_if_unchanged(storage, PLACE.table, Row(partition="p", key="k", etag=first)) is None
    assert stored(storage) == 3
