"""Bisection as a pure state machine: every item is accepted or blamed, in few calls."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from shared.publishing.settling import Bisection, batch_size, shrink_to_fit

SIZES = st.integers(min_value=0, max_value=200)


def run(items: Sequence[int], poison: set[int], *, partial: bool) -> tuple[list[Sequence[int]], set[int], set[int]]:
    """Send all calls to a receiver that refuses `poison`, or (unless `partial`) each call that holds some of it: the
    calls, the accepted items, and the items refused alone.
    """
    bisection = Bisection(items)
    calls, accepted, blamed = [], set[int](), set[int]()
    while call := bisection.next_call():
        calls.append(call)
        bad = [item for item in call if item in poison]
        refused = bad if partial else list(call) if bad else []
        accepted |= set(call) - set(refused)
        blamed |= set(refused) if len(call) == 1 else set()
        bisection.answered(refused)
    return calls, accepted, blamed


@given(SIZES, st.sets(st.integers(min_value=0, max_value=199), max_size=5), st.booleans())
def test_every_item_is_accepted_once_or_blamed_alone(size: int, poison: set[int], partial: bool) -> None:
    items = range(size)
    calls, accepted, blamed = run(items, poison, partial=partial)
    assert accepted == set(items) - poison
    assert blamed == set(items) & poison
    assert len(set(map(tuple, calls))) == len(calls) or partial, "no call is repeated as it was"


@given(st.integers(min_value=1, max_value=1000), st.data())
def test_one_culprit_takes_two_calls_for_each_halving(size: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(min_value=0, max_value=size - 1))
    calls, _, blamed = run(range(size), {culprit}, partial=False)
    assert blamed == {culprit}
    assert len(calls) <= 1 + 2 * (size - 1).bit_length()


@given(st.integers(min_value=2, max_value=100))
def test_both_halves_refused_as_a_whole_are_reported(size: int) -> None:
    bisection = Bisection(range(size))
    for _ in range(3):
        assert not bisection.choked
        bisection.answered(bisection.next_call())
    assert sorted(bisection.choked) == list(range(size))


@given(st.integers(min_value=2, max_value=100))
def test_nothing_is_reported_when_one_half_is_accepted(size: int) -> None:
    bisection = Bisection(range(size))
    bisection.answered(bisection.next_call())
    bisection.next_call()
    bisection.answered([])
    bisection.answered(bisection.next_call())
    assert not bisection.choked


@given(st.integers(min_value=2, max_value=100))
def test_an_item_with_a_final_answer_is_not_sent_again(size: int) -> None:
    bisection = Bisection(range(size))
    call = bisection.next_call()
    bisection.answered(call[1:], final=call[:1])
    assert bisection.next_call() == call[1:]


@given(st.integers(min_value=1, max_value=1000), st.integers(min_value=0, max_value=20))
def test_batches_shrink_with_failures_but_never_to_nothing(most: int, failures: int) -> None:
    assert batch_size(most, 0) == batch_size(most, 1) == most
    assert batch_size(most, failures + 1) <= batch_size(most, failures)
    assert batch_size(most, failures) >= 1


@given(st.lists(st.integers(), max_size=50), st.integers(min_value=0, max_value=60))
def test_shrinking_keeps_the_first_items_that_fit(items: list[int], room: int) -> None:
    kept_shrink = shrink_to_fit(items, lambda part: len(part) <= room)
    assert items[: len(kept_shrink)] == kept_shrink
    assert len(kept_shrink) <= max(1, room)
    assert kept_shrink or not items
