"""A seed to a life, and what is wrong with how it ended."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from shared.atlas.entities import AssetEntity, process_entity
from shared.catalog.port import AssetKey
from shared.openlineage.decoding import decode
from shared.publishing.options import PublishOptions
from shared.publishing.placeholders.columns import merged_columns
from shared.publishing.planner import Reading, current
from shared.storage_layout import EVENTS, IGNORED, LEDGER, digest_of
from shared.translation.aggregate import SupersessionPolicy
from shared.translation.reference import translate_history
from tests.faults.delivery import NAMES, Flaws, Name
from tests.faults.faulty import Rates
from tests.faults.life import END, EPOCH, NEVER, Life, Outcome, Way, faultless
from tests.faults.material import events_of

_USUAL = Rates(before=0.008, after=0.008, late=0.005, race=0.008, slow=0.008, torn=0.02, refused=0.05, death=0.004)

_MOST_CALLS = 40
"""So many times the calls of the faultless life are far too many: workers keep each other from coming to an end. Of
500 histories the longest took six times as many.
"""


def way_of(seed: int, delivery: Name | None = None) -> Way:
    """How this seed's history is lived through; `delivery` is drawn too unless it is given."""
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
    way = Way(
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
    # Drawn last: all else of a seed stays as it was before there were ways of delivery.
    drawn = draw.choice(NAMES)
    flaws = replace(way.flaws, late=draw.choice((0.0, 0.0, 0.1)), page=draw.choice((3, 10, 5000)))
    return replace(way, delivery=delivery or drawn, flaws=flaws)


def live(
    seed: int, trace: Callable[[str], None] = lambda _line: None, delivery: Name | None = None
) -> tuple[Outcome, list[str]]:
    """Live through a seed's history: how it ended, and what is wrong with that."""
    return lived(events_of(seed), way_of(seed, delivery), trace)


def lived(
    bodies: Sequence[bytes], way: Way, trace: Callable[[str], None] = lambda _line: None
) -> tuple[Outcome, list[str]]:
    """Live through these events in this way."""
    outcome = Life(bodies, way, trace).live()
    return outcome, wrong_with(outcome, bodies, way)


def wrong_with(outcome: Outcome, bodies: Sequence[bytes], way: Way) -> list[str]:
    """In what the end differs from that of the life in which the same events came in order and nothing went wrong."""
    stored = _stored(outcome)
    kept = [body for body in dict.fromkeys(bodies) if digest_of(body) in stored]
    expected = faultless(kept, way)
    told, should = outcome.status, expected.status
    wrong = {
        "an event that was answered with a 2xx is lost": outcome.promised - set(kept),
        "an event is stored that nobody sent": stored - {digest_of(body) for body in bodies},
        "the processes differ": outcome.catalog.processes != expected.catalog.processes,
        "the data sets differ": _assets(outcome) != _assets(expected),
        "a placeholder has other columns than are told of it": _wrongly_told(outcome),
        "without faults a placeholder has other columns than are told of it": _wrongly_told(expected),
        "the counts do not reconcile": not told.reconciles,
        "something is still in progress": told.in_progress or told.dirty,
        "something is dead": told.dead,
        f"the counts differ: {_counts(told)} instead of {_counts(should)}": _counts(told) != _counts(should),
        "the fault-free life is unlike the pure core": _unlike_core(expected, kept, way),
        "a mark was left lying though nothing failed": outcome.left_due and _was_calm(outcome),
        f"too many calls: {outcome.faults.calls:,} instead of {expected.faults.calls:,}": (
            outcome.faults.calls > _MOST_CALLS * expected.faults.calls
        ),
    }
    return [what for what, is_so in wrong.items() if is_so]


def _stored(outcome: Outcome) -> set[str]:
    events = {fact.name.rpartition("_")[2] for fact in outcome.storage.blobs(EVENTS)}
    ignored = {fact.name.rpartition("/")[2] for fact in outcome.storage.blobs(IGNORED)}
    return {name.removesuffix(".json.gz") for name in events | ignored}


def _assets(outcome: Outcome) -> dict[tuple[str, str], object]:
    """The data sets that processes refer to; others may have been placed for what was taken back later."""
    catalog = outcome.catalog
    wanted = {key for each in catalog.processes.values() for key in (*each.inputs, *each.outputs)}
    return {key: catalog.assets.get(key) for key in wanted}


def _wrongly_told(outcome: Outcome) -> list[AssetKey]:
    """The placeholders whose columns are not what all that is on record says of them, whoever is known to tell them."""
    now = EPOCH + timedelta(seconds=2 * END)
    how, reading = PublishOptions(patience=SupersessionPolicy(quiet=outcome.quiet), now=lambda: now), Reading()
    storage = outcome.storage
    said = [current(storage, row.partition, how, reading).process for row in storage.scan(LEDGER)]
    return [
        key
        for key, held in _assets(outcome).items()
        if isinstance(held, AssetEntity) and held.columns != merged_columns(key, filter(None, said))
    ]


def _counts(told: object) -> dict[str, object]:
    names = ("received", "published", "skipped", "waiting", "dead", "skipped_because", "waiting_for", "processes")
    return {name: getattr(told, name) for name in names}


def _unlike_core(expected: Outcome, kept: Sequence[bytes], way: Way) -> bool:
    if way.end_timeout != NEVER or way.quiet != NEVER:
        return False  # the core knows no clock
    pure = translate_history(map(decode, kept))
    return expected.catalog.processes != {each.qualified_name: process_entity(each) for each in pure.processes}


def _was_calm(outcome: Outcome) -> bool:
    return set(outcome.faults.met) <= {"well"}
