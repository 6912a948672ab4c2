"""Decoding and translating, against `orjson.loads` of the same bytes: no I/O at all."""

import gc
import time
from collections.abc import Callable
from statistics import median

import orjson

from bench.figures import Figure, Rounds
from bench.replay import Family, families
from bench.sizes import Sizes, Steps
from shared.atlas import process_entity
from shared.model import Lineage
from shared.openlineage import Event, decode, merge
from shared.translation import translate, translate_history

NAME = "decode"
_BESIDE = "orjson.loads of the same bytes"
_GOAL = "<= 12"


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """A figure for each captured scenario, for all, and for what a single run costs up to its entities."""
    found = families()
    steps.begin("decode and translate", sizes.decode_rounds * len(found))
    whole: dict[str, Rounds] = {}
    runs: dict[str, Rounds] = {}
    for family in found:
        times = max(1, sizes.decode_bytes // family.size)
        ours, entities, plain = [], [], []
        for _ in range(sizes.decode_rounds):
            plain.append(_seconds(_loads, family, times))
            ours.append(_seconds(_history, family, times))
            entities.append(_seconds(_entities, family, times))
            steps.done()
        whole[family.name] = Rounds(ours=ours, others=plain)
        runs[family.name] = Rounds(ours=entities, others=plain)
    figures = [_per_event(f"{family.name}", whole[family.name], len(family.events), family.size) for family in found]
    events, size = sum(len(family.events) for family in found), sum(family.size for family in found)
    in_all = _per_event("all events", _sum(whole), events, size)
    up_to_entities = _per_event("all events, up to entities", _sum(runs), events, size)
    return [*figures, in_all, up_to_entities]


def _per_event(name: str, rounds: Rounds, events: int, size: int) -> Figure:
    return rounds.figure(
        benchmark=NAME,
        name=name,
        scale=1e6 / events,
        unit="us/event",
        compared_with=_BESIDE,
        goal=_GOAL,
        sizes={"events": events, "bytes": size, "rounds": len(rounds.ours)},
        details={"events_per_second": round(events / median(rounds.ours))},
    )


def _sum(rounds: dict[str, Rounds]) -> Rounds:
    """All families together, round by round."""
    return Rounds(
        ours=[sum(each) for each in zip(*(one.ours for one in rounds.values()), strict=True)],
        others=[sum(each) for each in zip(*(one.others for one in rounds.values()), strict=True)],
    )


def _seconds(work: Callable[[Family], object], family: Family, times: int) -> float:
    """CPU seconds of doing it once: the mean of so many times."""
    gc.collect()
    begun = time.process_time()
    for _ in range(times):
        work(family)
    return (time.process_time() - begun) / times


def _loads(family: Family) -> object:
    return [orjson.loads(raw) for raw in family.events]


def _history(family: Family) -> object:
    return translate_history([decode(raw) for raw in family.events])


def _entities(family: Family) -> object:
    """Each run by itself, as the parser meets it, up to what is sent to the catalog."""
    runs: dict[str, list[Event]] = {}
    for raw in family.events:
        event = decode(raw)
        if event.body:
            runs.setdefault(event.run_id, []).append(event)
    said = (translate(merge(events)) for events in runs.values())
    return [process_entity(each) for word in said if isinstance(word, Lineage) for each in word.processes]
