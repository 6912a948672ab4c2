"""Splitting the items of a call: by number, by weight, and in halves until a call succeeds."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.catalog.port import batches, halved


@given(st.lists(st.integers(1, 9)), st.integers(1, 12))
def test_batches_hold_all_things_in_order_and_no_more_than_fit(things: list[int], most: int) -> None:
    batch_list = list(batches(things, most, lambda size: size))
    assert [thing for batch in batch_list for thing in batch] == things
    assert all(len(batch) == 1 or sum(batch) <= most for batch in batch_list)


def test_without_weights_a_batch_is_limited_by_the_number_of_items() -> None:
    assert [list(batch) for batch in batches("abcde", 2)] == [["a", "b"], ["c", "d"], ["e"]]


@pytest.mark.parametrize(
    ("limit", "calls"), [(8, [8]), (4, [8, 4, 4]), (1, [8, 4, 2, 1, 1, 2, 1, 1, 4, 2, 1, 1, 2, 1, 1])]
)
def test_items_are_halved_until_a_call_succeeds(limit: int, calls: list[int]) -> None:
    call_sizes: list[int] = []

    def ask(things: Sequence[int]) -> Sequence[int] | None:
        call_sizes.append(len(things))
        return things if len(things) <= limit else None

    assert [thing for answer in halved(range(8), ask) for thing in answer] == list(range(8))
    assert call_sizes == calls
