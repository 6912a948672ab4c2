"""The core from bytes to entities, without I/O, against `orjson.loads` of the same bytes."""

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median

import orjson

from shared.atlas.entities import process_entity
from shared.gc_tuning import tune_gc
from shared.model import RunLineage
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import translate_history
from shared.translation.run.columns import merge_run
from shared.translation.run.translate import translate
from tests.bench.figures import Figure, Rounds
from tests.bench.replay import Family, families
from tests.bench.sizes import Sizes, Steps

NAME = "decode"
_BESIDE = "orjson.loads of the same bytes"
PLANS = "-plan/"
"""Stands in the names of the captures that have Spark's plans too."""
_GOAL = "<= 12"
_GOALS = {"without plans": "<= 2", "with plans": "<= 4"}
"""Run by run, of the captures without and with Spark's plans."""
_WANTED = 20_000
"""Events per second on one core."""


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure each captured scenario, all of these, each run alone (with and without Spark's plans), and events per
    second; and all events of a scenario at once against its runs one by one.
    """
    sample = families()[: sizes.decode_scenarios]
    tune_gc()  # as the functions do when they start
    steps.begin("decode and translate", sizes.decode_rounds * len(sample))
    whole_rounds: dict[str, Rounds] = {}
    run_rounds: dict[str, Rounds] = {}
    for family in sample:
        times = max(1, sizes.decode_bytes // family.size)
        our_times, by_run, plain = [], [], []
        for _ in range(sizes.decode_rounds):
            plain.append(_seconds(_loads, family, times))
            our_times.append(_seconds(chain, family, times))
            by_run.append(_seconds(_run_by_run, family, times))
            steps.done()
        whole_rounds[family.name] = Rounds(ours=our_times, others=plain)
        run_rounds[family.name] = Rounds(ours=by_run, others=plain)
    figures = [
        _per_event(f"{family.name}", whole_rounds[family.name], len(family.events), family.size) for family in sample
    ]
    groups: dict[str, list[Family]] = {}
    for family in sample:
        groups.setdefault("with plans" if PLANS in family.name else "without plans", []).append(family)
    events, size = _amounts(sample)
    return [
        *figures,
        _per_event("all events", _sum(whole_rounds, sample), events, size),
        _per_event("all events, run by run", _sum(run_rounds, sample), events, size),
        *(
            _per_event(f"{name}, run by run", _sum(run_rounds, group), *_amounts(group), goal=_GOALS[name])
            for name, group in sorted(groups.items())
        ),
        _at_once(_sum(whole_rounds, sample), _sum(run_rounds, sample), events, size),
        _per_second("all events", _sum(whole_rounds, sample), events, size),
        _per_second("all events, run by run", _sum(run_rounds, sample), events, size),
    ]


def _amounts(captures: Sequence[Family]) -> tuple[int, int]:
    """Events and bytes."""
    return sum(len(family.events) for family in captures), sum(family.size for family in captures)


def _at_once(whole_rounds: Rounds, run_rounds: Rounds, events: int, size: int) -> Figure:
    """All events of a scenario together, which aggregates its processes too, against its runs one by one."""
    return Rounds(ours=whole_rounds.ours, others=run_rounds.ours).figure(
        benchmark=NAME,
        name="all events at once",
        scale=1e6 / events,
        unit="us/event",
        compared_with="the same events run by run",
        goal="<= 1.1",
        sizes={"events": events, "bytes": size, "rounds": len(whole_rounds.ours)},
    )


def _per_event(name: str, rounds: Rounds, events: int, size: int, goal: str = _GOAL) -> Figure:
    return rounds.figure(
        benchmark=NAME,
        name=name,
        scale=1e6 / events,
        unit="us/event",
        compared_with=_BESIDE,
        goal=goal,
        sizes={"events": events, "bytes": size, "rounds": len(rounds.ours)},
        details={"events_per_second": round(events / median(rounds.ours))},
    )


def _per_second(name: str, rounds: Rounds, events: int, size: int) -> Figure:
    speeds = Rounds(ours=[events / duration for duration in rounds.ours], others=[_WANTED for _ in rounds.ours])
    return speeds.figure(
        benchmark=NAME,
        name=name,
        unit="events/s",
        compared_with=f"{_WANTED:,} events a second on one core",
        goal=">= 1",
        sizes={"events": events, "bytes": size, "rounds": len(rounds.ours)},
    )


def _sum(rounds: dict[str, Rounds], captures: Iterable[Family]) -> Rounds:
    """Add up these families, round by round."""
    added = [rounds[family.name] for family in captures]
    return Rounds(
        ours=[sum(values) for values in zip(*(rounds.ours for rounds in added), strict=True)],
        others=[sum(values) for values in zip(*(rounds.others for rounds in added), strict=True)],
    )


def _seconds(work: Callable[[Family], object], family: Family, times: int) -> float:
    """CPU seconds of one repetition: the mean over `times`."""
    gc.collect()
    start = time.process_time()
    for _ in range(times):
        work(family)
    return (time.process_time() - start) / times


def _loads(family: Family) -> object:
    return [orjson.loads(raw) for raw in family.events]


def chain(family: Family) -> object:
    """Translate the whole scenario into its aggregated processes, as entities."""
    history = translate_history([decode(raw) for raw in family.events])
    return [process_entity(process) for process in history.processes]


def runs_of(events: Iterable[Event]) -> list[list[Event]]:
    """The events by run."""
    runs: dict[str, list[Event]] = {}
    for event in events:
        if event.body:
            runs.setdefault(event.run_id, []).append(event)
    return list(runs.values())


def _run_by_run(family: Family) -> object:
    """Translate each run alone, as the parser does, up to the entities for the catalog."""
    lineages = (translate(merge_run(events)) for events in runs_of(map(decode, family.events)))
    return [
        process_entity(process)
        for lineage in lineages
        if isinstance(lineage, RunLineage)
        for process in lineage.processes
    ]
