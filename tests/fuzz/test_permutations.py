"""Real runs in other orders, repeated and split: `make fuzz ARGS="--permute 10000"` does more of the same."""

import random

import pytest
from msgspec.structs import replace

from shared.openlineage.decoding import Event, decode
from tests.fuzz.corpus import corpus
from tests.fuzz.hunt import permute
from tests.fuzz.permutations import split


@pytest.mark.parametrize("seed", range(10))
def test_no_order_repetition_or_split_changes_the_entities(seed: int) -> None:
    assert permute(seed, times=100).cases == 100


def test_splitting_loses_nothing() -> None:
    """Else the test above would compare less than it seems to."""
    events = [decode(raw) for raws in corpus().runs for raw in raws]
    parts = split(events, random.Random(1))
    assert len(parts) > 1.2 * len(events)
    assert _said(parts) == _said(events)


def _said(events: list[Event]) -> set[str]:
    """Everything that the events say, apart from which says it: the data sets one by one, and all else."""
    found = set()
    for event in events:
        assert event.body
        datasets = [*(event.body.inputs or ()), *(event.body.outputs or ())]
        found |= {f"{event.run_id} {event.time} {dataset}" for dataset in datasets}
        found.add(repr((replace(event, body=None), event.body.run, event.body.job)))
    return found
