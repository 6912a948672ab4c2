"""A run with very many events is the same run when repetitions are left out."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from throughline.lake.silver import run_merging as thinning
from throughline.lake.silver.run_merging import TooManyEventsError, thinned

LINES = (Path(__file__).parents[2] / "golden/spark35-ol1.53/reruns/events.jsonl").read_bytes().splitlines()
BODIES = [event for event in map(decode, LINES) if event.body]


def _one_run(count: int, draw: random.Random) -> list[Event]:
    """Events of several runs as if they were one's, many times over, by time."""
    bodies = draw.sample(BODIES, 6)
    times = sorted(event.time for event in BODIES)
    drawn = [replace(draw.choice(bodies), run_id=BODIES[0].run_id, time=draw.choice(times)) for _ in range(count)]
    return sorted(drawn, key=lambda event: (event.time, event.type, repr(event.body)))


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_the_run_is_the_same_without_repeated_events(seed: int) -> None:
    events = _one_run(thinning.FEW + 100, random.Random(seed))
    few = thinned(iter(events))
    assert merge(few) == merge(events)
    assert len(few) <= len(events)


def test_repetitions_take_no_memory() -> None:
    events = [BODIES[3]] * (thinning.FEW * 10 + 5)
    assert len(thinned(iter(events))) < thinning.FEW


def test_a_run_with_too_many_different_events_is_refused() -> None:

    body = next(event.body for event in BODIES if event.body and event.body.outputs)
    output = body.outputs[0] if body.outputs else None
    assert output is not None
    events = (
        replace(BODIES[0], body=replace(body, outputs=(replace(output, name=f"table{number}"),)))
        for number in range(2 * thinning.MOST)
    )
    with pytest.raises(TooManyEventsError):
        thinned(events)
