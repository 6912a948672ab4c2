"""Simulate the history of a seed, and compare its end with the expected one."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta

from shared.atlas.entities import AssetEntity, process_entity
from shared.catalog.port import AssetKey
from shared.openlineage.decoding import decode
from shared.publishing.placeholders import merged_schema
from shared.redaction import redacted
from shared.reporting.status import Status
from shared.storage_layout import EVENTS, IGNORED, digest_of
from shared.sweeping.closing import CLOSED_REASON
from shared.translation.reference import NO_PROCESS
from tests.faults.delivery import NAMES, Flaws, Name
from tests.faults.fault_injection import Rates, no_trace
from tests.faults.generated_events import history_of
from tests.faults.reference import PureEnd, pure_end
from tests.faults.simulation import END, EPOCH, NEVER, Outcome, Scenario, Simulation, fault_free
from tests.faults.world import archived, came_late, kept_too_long, processes_on_record
from tests.support.publish_world import lasting_asset

_AFTERWARDS = EPOCH + timedelta(seconds=2 * END)
"""When all deadlines are over."""

_USUAL = Rates(before=0.008, after=0.008, late=0.005, race=0.008, slow=0.008, torn=0.02, refused=0.05, death=0.004)

_CLOSING = timedelta(hours=2)
"""How long a run must be quiet until it is closed, in the histories in which that happens: no end is awaited longer, so
that what a run says of its application is known then.
"""

_SLACK = 3600.0
"""Seconds between the arrival of a blob and of what is known of it: a call may take five minutes."""

_MAX_CALLS = 40
"""A history with more than this many times the calls of the fault-free one is a failure: workers hinder each other. The
longest of 500 histories took six times as many.
"""


def scenario_of(seed: int, delivery: Name | None = None) -> Scenario:
    """Return the scenario of a seed; `delivery` is drawn too unless it is given."""
    draw = random.Random(f"way {seed}")
    strength = draw.choice((0.0, 0.3, 1.0, 1.0, 2.0, 4.0))
    only_rate = draw.choice((None, None, *Rates.__slots__))
    rates = Rates(
        **{
            name: getattr(_USUAL, name) * strength * (4 if name == only_rate else 1)
            for name in Rates.__slots__
            if only_rate is None or only_rate == name
        }
    )
    span = draw.choice((2.0, 60.0, 900.0))
    outages = tuple(
        (service, begins, begins + draw.uniform(5, 400))
        for service in ("storage", "catalog")
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
        away=outages,
        end_timeout=draw.choice((NEVER, timedelta(hours=1))),
        quiet=draw.choice((NEVER, timedelta(hours=1))),
    )
    # Drawn last, so that the rest of a seed does not depend on it. A queue is only asked for: seeds keep their way.
    drawn = draw.choice(NAMES[:3])
    flaws = replace(scenario.flaws, late=draw.choice((0.0, 0.0, 0.1)), page=draw.choice((3, 10, 5000)))
    return replace(scenario, delivery=delivery or drawn, flaws=flaws)


def simulate(
    seed: int, trace: Callable[[str], None] = no_trace, delivery: Name | None = None
) -> tuple[Outcome, list[str]]:
    """Simulate a seed's history; return its end, and the differences from the expected end."""
    history = history_of(seed)
    scenario = replace(
        scenario_of(seed, delivery),
        names=history.names,
        redact=history.redact,
        stray=history.stray,
        alternate=history.alternate,
        stragglers=history.stragglers,
        abandons=random.Random(f"abandons {seed}").choice((0.0, 0.0, 0.0, 0.0, 0.1)),
    )
    if history.is_closed:
        scenario = replace(scenario, closing=_CLOSING, end_timeout=min(scenario.end_timeout, _CLOSING / 4))
    return simulate_events(history.bodies, scenario, trace)


def simulate_events(
    bodies: Sequence[bytes], scenario: Scenario, trace: Callable[[str], None] = no_trace
) -> tuple[Outcome, list[str]]:
    """Simulate a history of these events."""
    outcome = Simulation(bodies, scenario, trace).simulate()
    return outcome, differences(outcome, bodies, scenario)


Ends = Callable[[Sequence[bytes], Scenario], tuple[Outcome, PureEnd]]
"""Gives the expected end of a history by the bodies that are stored: the fault-free one, and the pure core's."""


def expected_ends(bodies: Sequence[bytes], scenario: Scenario) -> tuple[Outcome, PureEnd]:
    """Return how a history ends of which these bodies are stored."""
    as_stored = {redacted(decode(body)) if scenario.redact else body for body in bodies}
    return fault_free(bodies, scenario), _pure_end(as_stored, scenario)


def differences(outcome: Outcome, bodies: Sequence[bytes], scenario: Scenario, ends: Ends = expected_ends) -> list[str]:
    """Return the differences from the end of the fault-free history of the same events in order, without those that
    came after their runs were closed.
    """
    stored, late = _stored(outcome), came_late(outcome.storage)
    digests = {body: digest_of(redacted(decode(body)) if scenario.redact else body) for body in bodies}
    kept_bodies = [body for body in dict.fromkeys(bodies) if digests[body] in stored]
    counting = [body for body in kept_bodies if digests[body] not in late]
    expected, pure = ends(counting, scenario)
    skipped = Counter({CLOSED_REASON: len(late)})
    pure = replace(pure, states=pure.states + Counter(skipped=len(late)), reasons=pure.reasons + skipped)
    status, should = outcome.status, expected.status
    wrong = {
        "an event that was answered with a 2xx is lost": outcome.promised - set(kept_bodies),
        "an event is stored that was not sent": stored
        - set(digests.values())
        - set(map(_digest_in, _strays(scenario))),
        "an event was skipped as closed too early": _skipped_too_early(outcome, scenario, late),
        "rows of an application that is over are left": scenario.closing and kept_too_long(outcome.storage),
        "the processes differ": outcome.catalog.processes != expected.catalog.processes,
        "the data sets differ": _assets(outcome) != _assets(expected),
        "a placeholder has other columns than on record": _wrong_columns(outcome),
        "without faults a placeholder has other columns than on record": _wrong_columns(expected),
        "the counts do not reconcile": not status.reconciles,
        "something is still in progress": status.in_progress or status.publish_queue,
        f"{status.dead} events are dead instead of {pure.states['dead']}": status.dead != pure.states["dead"],
        f"the counts differ: {_counts(status)} instead of {_counts(should)}": (
            _counts(status) != _counts(should) and scenario.closing is None
        ),
        f"the states differ from the pure core's: {_states(status)} instead of {_pure_states(pure)}": (
            _comparable(_states(status), scenario) != _comparable(_pure_states(pure), scenario)
        ),
        "the fault-free history differs from the pure core": (
            expected.catalog.processes
            != {process.qualified_name: process_entity(process) for process in pure.processes}
        ),
        "a queue entry is left although nothing failed": outcome.left_due and _had_no_faults(outcome),
        f"too many calls: {outcome.faults.calls:,} instead of {expected.faults.calls:,}": (
            outcome.faults.calls > _MAX_CALLS * expected.faults.calls
        ),
    }
    return [difference for difference, is_so in wrong.items() if is_so]


def _stored(outcome: Outcome) -> set[str]:
    blobs = {fact.name for container in (EVENTS, IGNORED) for fact in outcome.storage.blobs(container)}
    return set(map(_digest_in, blobs | archived(outcome.storage)))


def _skipped_too_early(outcome: Outcome, scenario: Scenario, late: Mapping[str, str]) -> list[str]:
    """Return the events that were skipped as closed although their runs had not been quiet, by when blobs arrived."""
    early: list[str] = []
    for digest, run in late.items() if outcome.arrivals else ():
        times = {_digest_in(blob): time for blob, time in outcome.arrivals.items() if blob.split("/")[-2] == run}
        last = max((time for other, time in times.items() if other not in late), default=0.0)
        if scenario.closing is None or times[digest] - last < scenario.closing.total_seconds() - _SLACK:
            early.append(digest)
    return early


def _digest_in(blob: str) -> str:
    return blob.rpartition("/")[2].rpartition("_")[2].removesuffix(".json.gz")


def _strays(scenario: Scenario) -> list[str]:
    return [name for name, _ in scenario.stray]


def _pure_end(bodies: AbstractSet[bytes], scenario: Scenario) -> PureEnd:
    return pure_end(
        bodies,
        now=_AFTERWARDS,
        quiet=scenario.quiet,
        times_out=scenario.end_timeout != NEVER,
        names=scenario.names,
        unreadable=len(scenario.stray),
    )


def _states(status: Status) -> tuple[dict[str, int], dict[str, int]]:
    counts = {name: getattr(status, name) for name in ("published", "skipped", "waiting", "dead")}
    return {name: count for name, count in counts.items() if count}, dict(sorted(status.skipped_because.items()))


def _pure_states(pure: PureEnd) -> tuple[dict[str, int], dict[str, int]]:
    order = ("published", "skipped", "waiting", "dead")
    return {name: pure.states[name] for name in order if pure.states[name]}, dict(sorted(pure.reasons.items()))


def _comparable(
    states: tuple[dict[str, int], dict[str, int]], scenario: Scenario
) -> tuple[dict[str, int], dict[str, int]]:
    """Return states as they can be compared: where runs are closed, an event stays counted as published or not as it
    was then, whatever becomes of its process later.
    """
    if scenario.closing is None:
        return states
    counts, reasons = Counter(states[0]), Counter(states[1])
    counts += Counter(published=reasons[NO_PROCESS])
    counts -= Counter(skipped=reasons[NO_PROCESS])
    return dict(counts), dict(reasons - Counter({NO_PROCESS: reasons[NO_PROCESS]}))


def _assets(outcome: Outcome) -> dict[tuple[str, str], object]:
    """Return the assets that processes refer to, as far as the order of events does not matter; withdrawn contributions
    may leave other placeholders.
    """
    assets, processes = outcome.catalog.assets, outcome.catalog.processes
    asset_keys = {key for process in processes.values() for key in (*process.inputs, *process.outputs)}
    return {key: lasting_asset(assets.get(key)) for key in asset_keys}


def _wrong_columns(outcome: Outcome) -> list[AssetKey]:
    """Return the placeholders whose columns differ from those of all processes on record.

    Columns are compared sorted by name: a catalog keeps no order of columns.
    """
    processes = list(processes_on_record(outcome.storage, quiet=outcome.quiet, now=_AFTERWARDS))
    return [
        key
        for key, entity in _assets(outcome).items()
        if isinstance(entity, AssetEntity) and entity.columns != tuple(sorted(merged_schema(key, processes).columns))
    ]


def _counts(status: object) -> dict[str, object]:
    names = ("received", "published", "skipped", "waiting", "dead", "skipped_because", "waiting_for", "processes")
    return {name: getattr(status, name) for name in names}


def _had_no_faults(outcome: Outcome) -> bool:
    return set(outcome.faults.met) <= {"well"}
