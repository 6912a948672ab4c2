"""The events of real runs reordered, repeated and split: their lineage must not change."""

import random
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shared.atlas.entities import ProcessEntity, process_entity
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import History, translate_history
from tests.bench.replay import families

if TYPE_CHECKING:
    from shared.openlineage.wire import Dataset

_HALF = 0.5


@cache
def _applications() -> tuple[tuple[Event, ...], ...]:
    return tuple(tuple(decode(raw) for raw in family.events) for family in families())


@cache
def _whole(number: int) -> tuple[History, list[ProcessEntity]]:
    history = translate_history(_applications()[number])
    return history, _entities(history)


def _entities(history: History) -> list[ProcessEntity]:
    return [process_entity(process, with_indirect=True) for process in history.processes]


def same_lineage(chance: random.Random) -> int:
    """Check a random application with randomly changed events; return their number. Raises AssertionError."""
    number = chance.randrange(len(_applications()))
    events = list(_applications()[number])
    events += chance.choices(events, k=chance.randrange(len(events)))
    parts = split(events, chance) if chance.random() < _HALF else events
    chance.shuffle(parts)
    full_history, entities = _whole(number)
    history = translate_history(parts)
    assert history.runs == full_history.runs
    assert history.processes == full_history.processes
    assert _entities(history) == entities
    return len(parts)


def split(events: Sequence[Event], chance: random.Random) -> list[Event]:
    """Split some events into two, each with a part of the data sets."""
    split_events: list[Event] = []
    for event in events:
        if event.body is None or chance.random() < _HALF:
            split_events.append(event)
            continue
        sides: list[dict[str, list[Dataset]]] = [{"inputs": [], "outputs": []}, {"inputs": [], "outputs": []}]
        for place, datasets in (("inputs", event.body.inputs), ("outputs", event.body.outputs)):
            for dataset in datasets or ():
                chance.choice(sides)[place].append(dataset)
        split_events += [
            replace(event, body=replace(event.body, **{key: tuple(own_datasets) for key, own_datasets in side.items()}))
            for side in sides
        ]
    return split_events
