"""Real runs reordered, repeated and split: `make fuzz ARGS="--permute 10000"` tries more."""

import random

import pytest
from msgspec.structs import replace

from shared.openlineage.decoding import Event, decode
from tests.fuzz.corpus import corpus
from tests.fuzz.hunt import permute
from tests.fuzz.permutations import split


@pytest.mark.parametrize("seed", range(5))
def test_no_order_repetition_or_split_changes_the_entities(seed: int) -> None:
    assert permute(seed, times=100).cases == 100


def test_splitting_loses_nothing() -> None:
    """Otherwise the test above would compare less than it should."""
    events = [decode(raw) for raws in corpus().runs for raw in raws]
    parts = split(events, random.Random(1))
    assert len(parts) > 1.2 * len(events)
    assert _facts(parts) == _facts(events)


def _facts(events: list[Event]) -> set[str]:
    """Return the content of the events, independent of the event: the data sets one by one, and the rest."""
    facts = set()
    for event in events:
        assert event.body
        datasets = [*(event.body.inputs or ()), *(event.body.outputs or ())]
        facts |= {f"{event.run_id} {event.time} {dataset}" for dataset in datasets}
        facts.add(repr((replace(event, body=None), event.body.run, event.body.job)))
    return facts
