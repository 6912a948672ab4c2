"""Simulate the history of a seed, and compare its end with the expected one."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from shared.atlas.entities import AssetEntity, process_entity
from shared.catalog.port import AssetKey
from shared.openlineage.decoding import decode
from shared.publishing.placeholders.columns import merged_schema
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Reading
from shared.storage_layout import EVENTS, IGNORED, LEDGER, digest_of
from shared.translation.aggregate import SupersessionPolicy
from shared.translation.reference import translate_history
from tests.faults.delivery import NAMES, Flaws, Name
from tests.faults.fault_injection import Rates, no_trace
from tests.faults.generated_events import events_of
from tests.faults.simulation import END, EPOCH, NEVER, Outcome, Scenario, Simulation, fault_free

_USUAL = Rates(before=0.008, after=0.008, late=0.005, race=0.008, slow=0.008, torn=0.02, refused=0.05, death=0.004)

_MAX_CALLS = 40
"""A history with more than this many times the calls of the fault-free one is a failure: workers hinder each other. The
longest of 500 histories took six times as many.
"""


def scenario_of(seed: int, delivery: Name | None = None) -> Scenario:
    """Return the scenario of a seed; `delivery` is drawn too unless it is given."""
    draw = random.Random(f"way {seed}")
    strength = draw.choice((0.0, 0.3, 1.0, 1.0, 2.0, 4.0))
    only = draw.choice((None, None, *Rates.__slots__))
    rates = Rates(
        **{
            name: getattr(_USUAL, name) * strength * (4 if name == only else 1)
            for name in Rates.__slots__
            if only is None or only == name
        }
    )
    span = draw.choice((2.0, 60.0, 900.0))
    away = tuple(
        (what, begins, begins + draw.uniform(5, 400))
        for what in ("storage", "catalog")
        if draw.random() < 0.15
        for begins in (draw.uniform(0, span),)
    )
    scenario = Scenario(
        seed=seed,
        workers=draw.choice((1, 2, 3, 4, 6)),
        processes=draw.choice((1, 2)),
        rates=rates,
        span=span,
        persistent=draw.choice((1000, 1000, 2)),
        flaws=Flaws(missed=draw.choice((0.0, 0.05, 0.5)), doubled=draw.choice((0.0, 0.1))),
        duplicates=draw.choice((0, 3)),
        away=away,
        end_timeout=draw.choice((NEVER, timedelta(hours=1))),
        quiet=draw.choice((NEVER, timedelta(hours=1))),
    )
    # Drawn last, so that the rest of a seed does not depend on it.
    drawn = draw.choice(NAMES)
    flaws = replace(scenario.flaws, late=draw.choice((0.0, 0.0, 0.1)), page=draw.choice((3, 10, 5000)))
    return replace(scenario, delivery=delivery or drawn, flaws=flaws)


def simulate(
    seed: int, trace: Callable[[str], None] = no_trace, delivery: Name | None = None
) -> tuple[Outcome, list[str]]:
    """Simulate a seed's history; return its end, and the differences from the expected end."""
    return simulate_events(events_of(seed), scenario_of(seed, delivery), trace)


def simulate_events(
    bodies: Sequence[bytes], scenario: Scenario, trace: Callable[[str], None] = no_trace
) -> tuple[Outcome, list[str]]:
    """Simulate a history of these events."""
    outcome = Simulation(bodies, scenario, trace).simulate()
    return outcome, differences(outcome, bodies, scenario)


def differences(outcome: Outcome, bodies: Sequence[bytes], scenario: Scenario) -> list[str]:
    """Return the differences from the end of the fault-free history of the same events in order."""
    stored = _stored(outcome)
    kept = [body for body in dict.fromkeys(bodies) if digest_of(body) in stored]
    expected = fault_free(kept, scenario)
    status, should = outcome.status, expected.status
    wrong = {
        "an event that was answered with a 2xx is lost": outcome.promised - set(kept),
        "an event is stored that was not sent": stored - {digest_of(body) for body in bodies},
        "the processes differ": outcome.catalog.processes != expected.catalog.processes,
        "the data sets differ": _assets(outcome) != _assets(expected),
        "a placeholder has other columns than on record": _wrong_columns(outcome),
        "without faults a placeholder has other columns than on record": _wrong_columns(expected),
        "the counts do not reconcile": not status.reconciles,
        "something is still in progress": status.in_progress or status.publish_queue,
        "something is dead": status.dead,
        f"the counts differ: {_counts(status)} instead of {_counts(should)}": _counts(status) != _counts(should),
        "the fault-free history differs from the pure core": _unlike_core(expected, kept, scenario),
        "a queue entry is left although nothing failed": outcome.left_due and _had_no_faults(outcome),
        f"too many calls: {outcome.faults.calls:,} instead of {expected.faults.calls:,}": (
            outcome.faults.calls > _MAX_CALLS * expected.faults.calls
        ),
    }
    return [what for what, is_so in wrong.items() if is_so]


def _stored(outcome: Outcome) -> set[str]:
    events = {fact.name.rpartition("_")[2] for fact in outcome.storage.blobs(EVENTS)}
    ignored = {fact.name.rpartition("/")[2] for fact in outcome.storage.blobs(IGNORED)}
    return {name.removesuffix(".json.gz") for name in events | ignored}


def _assets(outcome: Outcome) -> dict[tuple[str, str], object]:
    """Return the assets that processes refer to; withdrawn contributions may leave other placeholders."""
    catalog = outcome.catalog
    wanted = {key for each in catalog.processes.values() for key in (*each.inputs, *each.outputs)}
    return {key: catalog.assets.get(key) for key in wanted}


def _wrong_columns(outcome: Outcome) -> list[AssetKey]:
    """Return the placeholders whose columns differ from those of all processes on record."""
    now, storage = EPOCH + timedelta(seconds=2 * END), outcome.storage
    options = PublishOptions(patience=SupersessionPolicy(quiet=outcome.quiet), now=lambda: now)
    reading = Reading(storage=storage, options=options)
    processes = [reading.current(row.partition).process for row in storage.scan(LEDGER)]
    return [
        key
        for key, held in _assets(outcome).items()
        if isinstance(held, AssetEntity) and held.columns != merged_schema(key, filter(None, processes)).columns
    ]


def _counts(status: object) -> dict[str, object]:
    names = ("received", "published", "skipped", "waiting", "dead", "skipped_because", "waiting_for", "processes")
    return {name: getattr(status, name) for name in names}


def _unlike_core(expected: Outcome, kept: Sequence[bytes], scenario: Scenario) -> bool:
    if scenario.end_timeout != NEVER or scenario.quiet != NEVER:
        return False  # the core has no clock
    pure = translate_history(map(decode, kept))
    return expected.catalog.processes != {each.qualified_name: process_entity(each) for each in pure.processes}


def _had_no_faults(outcome: Outcome) -> bool:
    return set(outcome.faults.met) <= {"well"}
