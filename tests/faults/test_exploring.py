"""All interleavings of small histories end as expected; the explorer walks through all of them, and only once."""

from dataclasses import replace

import pytest

from shared.storage.port import Row
from tests.faults.explored_world import Host
from tests.faults.exploring import Bounds, Case, Job, deliver, explore, publish
from tests.faults.interleavings import CASES, main
from tests.faults.world import FunctionsProcess
from tests.support.events import write

SWITCHES = {
    "a late failure": 1,
    "an application below a task": 1,
    "a sender that gives up": 1,
    "a part that is forgotten beside a new run": 1,
}
"""Of the slice that every test run explores; 0 for all other cases."""


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_interleaving_with_few_switches_ends_as_expected(case: Case) -> None:
    explored = explore(case, Bounds(switches=SWITCHES.get(case.name, 0)))
    assert explored.wrong == []
    assert explored.complete
    assert explored.faults["death"] > 50
    assert explored.ends > 20


def reads(number: int) -> Job:
    def act(process: FunctionsProcess, _: Host) -> None:
        for key in range(number):
            process.surroundings.storage.read("control", "rows", str(key))

    return Job(act=act)


def writes(*keys: str) -> Job:
    def act(process: FunctionsProcess, _: Host) -> None:
        for key in keys:
            process.surroundings.storage.upsert("control", Row(partition="rows", key=key, values={"number": 1}))

    return Job(act=act)


def counts() -> Job:
    """A job that counts in a row, without its etag."""

    def act(process: FunctionsProcess, _: Host) -> None:
        storage = process.surroundings.storage
        row = storage.read("control", "rows", "count")
        number = row.values["number"] if row else 0
        storage.upsert("control", Row(partition="rows", key="count", values={"number": number + 1}))

    return Job(act=act)


QUIET = Bounds(faults=0)
STORED = write("r", "app", "10:00", "/a")[1]


def test_a_state_that_is_reached_in_several_orders_is_walked_once() -> None:
    explored = explore(Case(name="", stored=(), actors={"one": (reads(3),), "two": (reads(3),)}), QUIET)
    assert (explored.states, explored.steps, explored.ends) == (4 * 4, 2 * 3 * 4, 1)
    exploration = explore(
        Case(name="", stored=(), actors={"one": (writes("a", "b"),), "two": (writes("c", "d"),)}), QUIET
    )
    assert (exploration.states, exploration.steps, exploration.ends) == (3 * 3, 2 * 2 * 3, 1)


def test_an_exploration_repeats_exactly() -> None:
    publishing = Case(name="", stored=(STORED,), before=(deliver(STORED),), actors={"publisher": (publish(),)})
    unusable = next(case for case in CASES if case.name == "a run that can be used after all")
    for case in (publishing, unusable):
        first, second = explore(case), explore(case)
        assert (first.states, first.different_ends) == (second.states, second.different_ends)


def test_orders_that_matter_lead_to_different_ends() -> None:
    explored = explore(Case(name="", stored=(), actors={"one": (counts(),), "two": (counts(),)}), QUIET)
    assert len(explored.different_ends) == 2, "an update is lost, or none is"


def test_an_actor_dies_before_and_after_each_of_its_calls() -> None:
    case = Case(name="", stored=(), actors={"one": (writes("a", "b"),)})
    explored = explore(case, Bounds())
    # Before its work it may be lost; after each of two calls it may be lost, or begin again and end.
    assert len(explored.different_ends) == 3, "nothing, one row, both rows"
    assert explored.faults["death"] == 3


def test_few_switches_are_a_part_of_all() -> None:
    case = Case(name="", stored=(), actors={"one": (reads(3),), "two": (writes("0", "1", "2"),)})
    sizes = [explore(case, replace(QUIET, switches=max_switches)).states for max_switches in (0, 1, 2)]
    assert sizes == sorted(sizes)
    assert len(explore(case, replace(QUIET, switches=0)).different_ends) == 1
    few, all_states = explore(case, replace(QUIET, switches=6)), explore(case, QUIET)
    assert few.different_ends == all_states.different_ends


def test_a_case_that_is_cut_off_says_so() -> None:
    assert not explore(CASES[0], Bounds(states=100)).complete


def test_the_command_prints_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--case", "a late failure", "--switches", "0", "--faults", "death", "after", "race"]) == 0
    output = capsys.readouterr().out
    assert "a late failure (one, two, publisher)" in output
    assert "by race" in output
    assert "(all)" in output
