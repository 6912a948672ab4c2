"""Histories with failing storage and catalog end as if nothing had failed; and planted defects are detected."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from shared.storage_layout import EVENTS
from tests.faults.__main__ import main
from tests.faults.delivery import NAMES, Flaws, Name
from tests.faults.fault_injection import Rates
from tests.faults.generated_events import events_of, history_of
from tests.faults.hunt import differences, scenario_of, simulate, simulate_events
from tests.faults.scheduler import Scheduler
from tests.faults.simulation import Scenario, Simulation

SHARE = 30
"""Histories by each way of delivery that every test run simulates."""


@pytest.mark.parametrize(("first", "delivery"), [(SHARE * number, name) for number, name in enumerate(NAMES)])
def test_every_history_ends_as_if_nothing_had_failed(first: int, delivery: Name) -> None:
    fault_counts = Counter[str]()
    for seed in range(first, first + SHARE):
        outcome, wrong = simulate(seed, delivery=delivery)
        fault_counts += outcome.faults.met
        assert not wrong, f"python -m tests.faults --seed {seed} --delivery {delivery}: {wrong}"
    kinds = {name for name in Rates.__slots__ if name != "refused"} | {"away"}
    assert kinds <= set(fault_counts), "each kind of fault was met"


FOUND = {
    23: "a data set that was dropped before its placeholder was created",
    250: "a drop that failed after all",
    1151: "another, read by a worker that had timed out",
    20116: "the reporter of a placeholder's columns, forgotten by a superseded publisher",
    20119: "a process alone in a call, accepted and refused",
    23279: "a test of dbt that has started and never ends",
    20436: "a run that moved between pages while its application's reports were read",
    30320: "columns of a placeholder that no run reports any more",
    31027: "a schema that was only read, by a job whose name became known later",
    33818: "a table dropped by its name, of which one run knows only the location",
    34001: "the same in the history without faults",
    34276: "columns reported by a run that failed later",
    35899: "another",
    37206: "another, with the catalog unavailable",
    41245: "the START of an application that no trigger delivered",
    44612: "an application that continues, found by a sweep that died",
    60303: "sweeps of one run that superseded each other for a quarter of a million calls",
    42465: "an application's start, recorded only after its processes were published again",
}


@pytest.mark.parametrize("seed", FOUND, ids=FOUND.get)
def test_a_history_that_once_ended_wrong_ends_as_expected(seed: int) -> None:
    """These seeds are from a time with one way of delivery, without late notifications."""
    scenario = scenario_of(seed, "eventGrid")
    assert simulate_events(events_of(seed), replace(scenario, flaws=replace(scenario.flaws, late=0.0)))[1] == []


def test_a_history_without_events_ends_as_expected() -> None:
    assert events_of(9039) == []
    assert scenario_of(9039).duplicates
    assert simulate(9039)[1] == []


def test_all_kinds_of_histories_are_generated_and_counted() -> None:
    histories = [history_of(seed) for seed in range(100)]
    kinds = Counter[str]()
    for history in histories:
        kinds += history.kinds
    assert kinds["with tasks"] > 25
    assert len(kinds) == 8
    assert min(kinds.values()) > 3
    for kind in ("with unusable runs", "with stray blobs"):
        outcome, wrong = simulate(next(seed for seed, history in enumerate(histories) if history.kinds[kind]))
        assert wrong == []
        assert outcome.status.dead


def test_events_whose_senders_gave_up_between_two_writes_are_not_promised() -> None:
    bodies = events_of(3)
    outcome, wrong = simulate_events(bodies, Scenario(seed=3, abandons=1.0))
    assert wrong == []
    assert outcome.promised == set()


def test_a_late_write_takes_effect_in_its_time_while_all_workers_are_busy() -> None:
    scheduler, instants = Scheduler(), list[float]()

    def work() -> None:
        scheduler.schedule(5.0, lambda: instants.append(scheduler.now))
        scheduler.sleep(60.0)
        instants.append(scheduler.now)

    scheduler.run([work])
    scheduler.schedule(70.0, lambda: instants.append(scheduler.now))
    scheduler.sleep(60.0)
    assert (instants, scheduler.now) == ([5.0, 60.0, 70.0], 120.0)


def test_a_seed_gives_the_same_history_again() -> None:
    traces: list[list[str]] = [[], []]
    for trace in traces:
        simulate(7, trace.append)
    assert traces[0] == traces[1]
    assert len(traces[0]) > 100
    assert events_of(7) != events_of(8)
    assert scenario_of(7) != scenario_of(8)


def test_a_seed_gives_the_same_history_for_any_order_of_sets() -> None:
    traces = {
        subprocess.run(
            [sys.executable, "-c", "from tests.faults.hunt import simulate; simulate(20436, print, 'eventGrid')"],
            env={**os.environ, "PYTHONHASHSEED": order},
            capture_output=True,
            check=True,
        ).stdout
        for order in ("0", "1")
    }
    assert len(traces) == 1
    assert len(traces.pop()) > 100


def test_the_hunt_reports_planted_differences() -> None:
    scenario = Scenario(seed=1)
    bodies = next(
        bodies for bodies in map(events_of, range(100)) if Simulation(bodies, scenario).simulate().catalog.processes
    )
    outcome, wrong = simulate_events(bodies, scenario)
    assert wrong == []
    catalog = outcome.catalog
    name, process = next(iter(catalog.processes.items()))
    catalog.delete_process(name)
    assert differences(outcome, bodies, scenario)[0] == "the processes differ"
    catalog.write_processes([process], catalog.find([*process.inputs, *process.outputs]))
    catalog.remove(list(catalog.find(process.inputs).values()))
    assert "the data sets differ" in differences(outcome, bodies, scenario)
    status = outcome.status
    outcome.status = replace(status, published=status.published - 1, skipped=status.skipped + 1)
    assert any(text.startswith("the states differ") for text in differences(outcome, bodies, scenario))
    outcome.status = replace(status, dead=1)
    assert "1 events are dead instead of 0" in differences(outcome, bodies, scenario)
    outcome.status = status
    outcome.faults.calls *= 100
    assert any(difference.startswith("too many calls") for difference in differences(outcome, bodies, scenario))
    outcome.promised.add(b"another")
    assert "an event that was answered with a 2xx is lost" in differences(outcome, bodies, scenario)
    outcome.storage.put_new(EVENTS, "foreign_name.json.gz", b"")
    assert "an event is stored that was not sent" in differences(outcome, bodies, scenario)


def test_without_the_pipeline_s_care_histories_end_wrong() -> None:
    """A sender without retries loses only events that were not accepted; a host without retries loses none.

    The sweeper finds the host's. Without a sweeper they would stay in progress.
    """
    bodies = events_of(3)
    life = Simulation(bodies, Scenario(flaws=Flaws(missed=1.0)))
    life._sweep = lambda: None  # type: ignore[method-assign]  # the planted mistake
    outcome = life.simulate()
    assert outcome.status.in_progress > 0
    assert "something is still in progress" in differences(outcome, bodies, Scenario())


def test_the_command_prints_how_to_repeat_a_failing_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0", "3", "--delivery", "polling"]) == 0
    output = capsys.readouterr().out
    assert "3 histories (3 by polling)" in output
    assert "0 ended wrong" in output
