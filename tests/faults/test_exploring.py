"""All interleavings of small histories end as expected; the explorer walks through all of them, and only once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.storage.port import Row
from tests.faults.explored_actors import Case, Job, deliver, publish, stall
from tests.faults.explored_world import Host, Store
from tests.faults.exploring import Bounds, explore
from tests.faults.interleavings import CASES, main
from tests.faults.world import FunctionsProcess
from tests.support.events import write

WHOLE = {
    "START and end of a run": 14,
    "a late failure": 39,
    "a late failure beside another run": 8,
    "an application below a task": 43,
    "a sender that gives up": 14,
    "a run that can be used after all": 5,
    "a part that is forgotten beside a new run": 18,
    "runs that are forgotten beside a new run": 45,
}
"""What every test run explores to the end, with the number of ends; of all other cases, the histories without a switch.
"""


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_interleaving_of_small_cases_and_a_slice_of_others_end_as_expected(case: Case) -> None:
    explored = explore(case, Bounds(switches=None if case.name in WHOLE else 0))
    assert explored.wrong == []
    assert explored.complete
    assert explored.faults["death"] > 50
    assert explored.ends == WHOLE.get(case.name, explored.ends)
    assert explored.ends > 20 or case.name in WHOLE


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
    case = Case(name="", stored=(), actors={"one": (reads(3),), "two": (reads(3),)})
    explored = explore(case, replace(QUIET, reduced=False))
    assert (explored.states, explored.steps, explored.ends) == (4 * 4, 2 * 3 * 4, 1)
    case = Case(name="", stored=(), actors={"one": (writes("a", "b"),), "two": (writes("c", "d"),)})
    exploration = explore(case, replace(QUIET, reduced=False))
    assert (exploration.states, exploration.steps, exploration.ends) == (3 * 3, 2 * 2 * 3, 1)


def test_of_calls_that_commute_one_order_is_walked() -> None:
    apart = Case(name="", stored=(), actors={"one": (writes("a", "b"),), "two": (writes("c", "d"),)})
    assert explore(apart, QUIET).states == 1 + 2 + 2
    shared = Case(name="", stored=(), actors={"one": (writes("a", "b"),), "two": (writes("c", "b"),)})
    assert explore(shared, QUIET).states == 2 + 2 * 2, "what is before the row of both; then either first"


def notes(look: Callable[[Any], object], *, at_clock: bool = False) -> Job:
    """A job that looks at storage, and writes down what it sees, or what time it is then."""

    def act(process: FunctionsProcess, _: Host) -> None:
        surroundings = process.surroundings
        seen = look(surroundings.storage)
        number = int(surroundings.seconds()) if at_clock else str(seen)
        surroundings.storage.upsert("control", Row(partition="notes", key="seen", values={"seen": number}))

    return Job(act=act)


def changes(act: Callable[[Any], object]) -> Job:
    return Job(act=lambda process, _: act(process.surroundings.storage))


@pytest.mark.parametrize(
    ("observer", "changer"),
    [
        (notes(lambda storage: storage.read("control", "rows", "a") is None), writes("a")),
        (notes(lambda storage: len(list(storage.partition("control", "rows", since="b")))), writes("c")),
        (notes(lambda storage: len(list(storage.scan("control")))), writes("a")),
        (notes(lambda storage: storage.insert("control", Row(partition="rows", key="a"))), writes("a")),
        (
            notes(lambda storage: storage.get("contents", "a")),
            changes(lambda storage: storage.put_new("contents", "a", b"")),
        ),
        (
            notes(lambda storage: len(list(storage.blobs("contents", "2026/")))),
            changes(lambda storage: storage.put_new("contents", "2026/a", b"")),
        ),
        (
            notes(lambda storage: len(list(storage.children("contents")))),
            changes(lambda storage: storage.put_new("contents", "2026/a", b"")),
        ),
        (notes(lambda storage: storage.lease("a", 60) is None), changes(lambda storage: storage.lease("a", 60))),
        (notes(lambda storage: storage.read("control", "rows", "a"), at_clock=True), stall(70.0)),
    ],
)
def test_calls_that_do_not_commute_are_walked_in_both_orders(observer: Job, changer: Job) -> None:
    case = Case(name="", stored=(), actors={"one": (observer,), "two": (changer,)})
    explored, full = (explore(case, replace(QUIET, reduced=reduced)) for reduced in (True, False))
    assert explored.different_ends == full.different_ends
    assert len(full.different_ends) == 2


def test_a_lease_that_ran_out_is_told_from_one_that_was_given_back() -> None:
    storages = tuple(Store() for _ in range(2))
    for storage in storages:
        storage.take_lease("one", "a", 60)
        storage.time = 70.0
    storages[1].release_lease("one", "a")
    assert [storage.copy().renew_lease("one", "a", 60) for storage in storages] == [True, False]
    assert storages[0].contents() != storages[1].contents()


def test_time_that_passes_commutes_with_calls_after_which_nobody_looks_at_the_clock() -> None:
    case = Case(name="", stored=(), actors={"one": (reads(3),), "two": (stall(70.0),)})
    assert explore(case, QUIET).states == 1 + 3 + 1


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("START and end of a run", ("death", "after", "race")),
        ("a sender that gives up", ("death",)),
        ("a run that can be used after all", ("death",)),
    ],
)
def test_the_reduced_exploration_has_all_ends_of_the_full_one(name: str, kinds: tuple[str, ...]) -> None:
    case = next(case for case in CASES if case.name == name)
    explored, full = (explore(case, Bounds(kinds=kinds, reduced=reduced)) for reduced in (True, False))
    assert explored.complete
    assert full.complete
    assert explored.different_ends == full.different_ends
    assert explored.states < full.states


def test_an_exploration_repeats_exactly() -> None:
    publishing = Case(name="", stored=(STORED,), before=(deliver(STORED),), actors={"publisher": (publish(),)})
    unusable = next(case for case in CASES if case.name == "a run that can be used after all")
    for case in (publishing, unusable):
        first, second = explore(case, QUIET), explore(case, QUIET)
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
