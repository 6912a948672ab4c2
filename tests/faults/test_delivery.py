"""The ways in which a host finds blobs, each by its calls of the function."""

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from tests.faults.delivery import NAMES, DeliveryEnvironment, Flaws, Name, delivery
from tests.faults.fault_injection import Faults, no_trace
from tests.faults.generated_events import events_of
from tests.faults.hunt import scenario_of, simulate
from tests.faults.scheduler import Scheduler
from tests.faults.simulation import EPOCH, Simulation

CALM = Flaws()


def called(
    name: Name,
    arrivals: dict[str, float],
    *,
    outage: tuple[float, float] = (0.0, 0.0),
    seed: int = 1,
    flaws: Flaws = CALM,
) -> list[tuple[float, str]]:
    """Return the calls, by time, after these blobs arrive at these times, until the host lists no more."""
    scheduler, calls = Scheduler(), list[tuple[float, str]]()
    storage = MemoryStorage(now=lambda: EPOCH + timedelta(seconds=scheduler.now))
    chance = random.Random(seed)
    world = DeliveryEnvironment(
        scheduler=scheduler,
        faults=Faults(scheduler=scheduler, chance=chance, away={"storage": outage}),
        storage=storage,
        chance=chance,
        aside=random.Random(seed),
        call=lambda instant, blob: calls.append((instant, blob)),
        trace=no_trace,
    )
    scenario = delivery(name, world, flaws)
    for blob, at in sorted(arrivals.items(), key=lambda arrival: arrival[1]):
        scheduler.sleep(at - scheduler.now)
        assert storage.put_new(EVENTS, blob, b"")
        scenario.arrived(blob)
    scheduler.sleep(10_000.0)
    assert not scenario.pending
    return sorted(calls)


def many(number: int) -> dict[str, float]:
    """Return blobs that arrive within five minutes, in another order than that of their names."""
    draw = random.Random(number)
    return {f"{draw.random():.9f}": draw.uniform(0, 300) for _ in range(number)}


def test_event_grid_delivers_each_blob_at_least_once_in_any_order_some_late_and_some_never() -> None:
    arrivals = many(2000)
    calm = called("eventGrid", arrivals)
    assert {blob for _, blob in calm} == set(arrivals)
    assert len(calm) == len(arrivals)
    assert all(0.1 <= instant - arrivals[blob] <= 10 for instant, blob in calm)
    assert [blob for _, blob in calm] != sorted(arrivals, key=lambda blob: arrivals[blob])
    flawed = called("eventGrid", arrivals, flaws=Flaws(missed=0.2, doubled=0.1, late=0.1))
    times = Counter(blob for _, blob in flawed)
    assert set(times.values()) == {1, 2}
    assert 0.15 < 1 - len(times) / len(arrivals) < 0.25
    assert 100 < sum(instant - arrivals[blob] > 60 for instant, blob in flawed) < 300
    assert max(instant - arrivals[blob] for instant, blob in flawed) < 3600


def test_a_queue_keeps_notifications_until_storage_is_back() -> None:
    arrivals = many(2000)
    calls = called("queue", arrivals, outage=(100.0, 160.0))
    assert Counter(blob for _, blob in calls) == Counter(list(arrivals))
    assert not [instant for instant, _ in calls if 102.0 < instant < 160.0]
    waited = [instant for instant, blob in calls if 100.0 <= arrivals[blob] < 150.0 - 10.0]
    assert all(160.0 <= instant <= 162.0 for instant in waited)


def test_the_scan_of_a_real_account_finds_all_blobs_of_a_page_and_queues_them_in_turn() -> None:
    arrivals = many(2000)
    calls = called("polling", arrivals)
    assert Counter(blob for _, blob in calls) == Counter(list(arrivals))
    burst = called("polling", {f"{number:05}": 5.0 for number in range(600)})
    begin, end = burst[0][0], burst[-1][0]
    assert 600 / 17 < end - begin < 600 / 8


def test_the_scan_of_a_real_account_takes_ten_seconds_for_each_page() -> None:
    arrivals = {f"{number:03}": 0.0 for number in range(30)}
    calls = {blob: instant for instant, blob in called("polling", arrivals, flaws=Flaws(page=10))}
    assert calls["010"] - calls["000"] > 10
    assert calls["020"] - calls["010"] > 10


def test_a_blob_of_a_page_that_is_behind_may_never_be_found_on_a_real_account() -> None:
    arrivals = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0}
    called_blobs = {blob for _, blob in called("polling", arrivals, flaws=Flaws(page=2))}
    assert called_blobs == set(arrivals)
    # Between the listings of the first and the second page: "aa" is older than "z", which the cycle still lists.
    late = {**arrivals, "aa": 12.0, "z": 14.0}
    missing = [
        set(late) - {blob for _, blob in called("polling", late, flaws=Flaws(page=2), seed=seed)} for seed in range(30)
    ]
    assert {"aa"} in missing
    assert set() in missing


def test_the_emulator_s_scan_never_finds_a_blob_that_arrives_later_in_a_listed_second() -> None:
    arrivals = many(2000)
    counts = Counter(blob for _, blob in called("emulator", arrivals))
    assert set(counts.values()) == {1}
    missed_blobs = set(arrivals) - set(counts)
    assert 0.01 < len(missed_blobs) / len(arrivals) < 0.15, "one in twenty was seen on Microsoft's host"
    seconds = {int(arrivals[blob]) for blob in counts}
    assert {int(arrivals[blob]) for blob in missed_blobs} <= seconds, "each shares its second with one that was found"


def test_a_host_that_ended_with_the_storage_finds_each_missed_blob_once() -> None:
    arrivals = many(2000)
    counter = Counter(blob for _, blob in called("emulator", {**arrivals, "last": 500.0}, outage=(400.0, 600.0)))
    assert counter == Counter([*arrivals, "last"])


@pytest.mark.parametrize("name", NAMES)
def test_each_way_can_be_chosen_for_a_history(name: Name) -> None:
    scenario = scenario_of(5, name)
    assert scenario.delivery == name
    assert replace(scenario, delivery="eventGrid") == scenario_of(5, "eventGrid"), "all else is the seed's"
    assert simulate(5, delivery=name)[1] == []
    assert Simulation(events_of(5), scenario).simulate().promised


def test_all_ways_and_flaws_are_drawn() -> None:
    ways = [scenario_of(seed) for seed in range(200)]
    assert {scenario.delivery for scenario in ways} == set(NAMES) - {"queue"}, "which is only asked for"
    for flaw in ("missed", "doubled", "late", "page"):
        assert len({getattr(scenario.flaws, flaw) for scenario in ways}) > 1
