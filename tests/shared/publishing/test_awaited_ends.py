"""A run of Spark ends twice: for OpenLineage's listener and for the plan listener. What is known between the two is not
published where the catalog shows a run that had both.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from shared.openlineage.decoding import ENDS, decode
from shared.publishing.planning import LONGEST_WAIT_FOR_AN_END
from shared.storage.memory import MemoryStorage
from tests.bench.replay import Item, Replay, families
from tests.support.events import DAY, event, run_id
from tests.support.plans_alone import plan_event
from tests.support.publish_world import Clock, Killed, UnreliableCatalog, entries, fold, publish, publish_options

SCENARIOS = ("spark35-ol1.53-plan/customer_merge", "spark35-ol1.53-plan/plan_frames", "spark41-ol1.53-plan/tables")


def by_order(items: Iterable[Item], *, plan_first: bool) -> Iterator[bytes]:
    """The events of an application, with the plan of each run just before, or just after, the listener's end of it."""
    bodies = [item.raw for item in items if item.kept]
    plans = {decode(body).run_id: body for body in bodies if has_plan(body) and decode(body).type in ENDS}
    for body in (body for body in bodies if not has_plan(body)):
        read_event = decode(body)
        plan = plans.pop(read_event.run_id, None) if read_event.type in ENDS else None
        yield from filter(None, (plan, body) if plan_first else (body, plan))
    yield from plans.values()


def has_plan(body: bytes) -> bool:
    return "throughline_plan" in json.loads(body)["run"].get("facets", {})


@pytest.mark.parametrize("plan_first", [True, False], ids=["the plan first", "the plan last"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_unchanged_daily_run_writes_nothing_though_its_two_ends_come_apart(
    scenario: str, *, plan_first: bool
) -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock(datetime.now(UTC))
    replay = Replay(1, [family for family in families() if family.name == scenario])
    fold(storage, *(item.raw for item in replay.application() if item.kept))
    publish(storage, catalog, publish_options(clock))
    writes = catalog.writes
    for _ in range(2):
        for body in by_order(replay.application(), plan_first=plan_first):
            fold(storage, body)
            publish(storage, catalog, publish_options(clock))
    assert catalog.writes == writes > 0
    assert entries(storage) == ()


@dataclass
class World:
    """One job, a day after the other: `/b` is written from `/a`, by the listener all columns from `y`, by the plan `x`
    from `x`.
    """

    storage: MemoryStorage = field(default_factory=MemoryStorage)
    catalog: UnreliableCatalog = field(default_factory=UnreliableCatalog)
    clock: Clock = field(default_factory=lambda: Clock(datetime.now(UTC)))

    def listener(self, number: int, source: str = "/a", columns: str = "y") -> None:
        """The listener's end of a run."""
        sources = {"x": [(source, column) for column in columns]}
        name = "app.execute_insert_into_hadoop_fs_relation_command.b"
        time = f"10:{number:02d}:00"
        inputs, outputs, application = [source], ["/b"], f"app{number}"
        fold(
            self.storage,
            event(
                f"run{number}",
                "COMPLETE",
                time,
                inputs=inputs,
                outputs=outputs,
                columns=sources,
                application=application,
                job=name,
            ),
        )

    def plan(self, number: int, source: str = "/a", **fields: str) -> None:
        """The plan of the same run."""
        time, application = f"{DAY}T10:{number:02d}:00Z", run_id(f"app{number}")
        of_run = json.loads(
            plan_event(run_id(f"run{number}"), time, application=application, source=source, **fields)  # type: ignore[arg-type]
        )
        of_run["run"]["facets"]["throughline_plan"]["joined"] = True
        fold(self.storage, json.dumps(of_run).encode())

    def plan_alone(self, number: int, source: str = "/a") -> None:
        """The same plan, which the jar sent without the id of the run."""
        application = run_id(f"app{number}")
        fold(
            self.storage,
            plan_event(run_id(f"plan{number}"), f"{DAY}T10:{number:02d}:00Z", application=application, source=source),
        )

    def publish(self) -> tuple[int, int]:
        """How many processes were written or removed, and how many wait."""
        counts = publish(self.storage, self.catalog, publish_options(self.clock))
        return counts.written + counts.removed, counts.postponed

    def first_day(self) -> None:
        """A run of which the catalog shows both ends."""
        self.listener(1)
        self.plan(1)
        assert self.publish() == (1, 0)


@pytest.fixture
def world() -> World:
    return World()


def test_the_first_run_of_a_process_is_published_with_its_first_end(world: World) -> None:
    world.listener(1)
    assert world.publish() == (1, 0)
    world.plan(1)
    assert world.publish() == (1, 0)


def test_a_job_without_the_plan_listener_never_waits(world: World) -> None:
    for number, source in enumerate(("/a", "/c", "/d"), 1):
        world.listener(number, source)
        assert world.publish() == (1, 0)


def test_a_changed_run_is_published_once_its_second_end_has_come(world: World) -> None:
    world.first_day()
    world.listener(2, "/c")
    assert world.publish() == (0, 1)
    assert world.publish() == (0, 0), "it is not planned again meanwhile"
    world.plan(2, "/c")
    assert world.publish() == (1, 0)
    assert entries(world.storage) == ()


def test_a_plan_that_came_alone_is_the_second_end_of_the_run_that_it_is_joined_to(world: World) -> None:
    world.listener(1)
    world.plan_alone(1)
    assert world.publish() == (1, 0)
    world.listener(2, "/c")
    assert world.publish() == (0, 1)
    world.plan_alone(2, "/c")
    assert world.publish() == (1, 0)


def test_a_second_end_that_adds_nothing_ends_the_wait(world: World) -> None:
    world.first_day()
    world.listener(2, "/c")
    assert world.publish() == (0, 1)
    world.plan(2, problem="too deep")
    assert world.publish() == (1, 0)


def test_a_plan_that_failed_leaves_no_trace_of_the_listeners_end(world: World) -> None:
    world.first_day()
    world.listener(2, "/c")
    assert world.publish() == (0, 1)
    world.plan(2, "/c", failed="yes")
    assert world.publish() == (0, 0)
    assert entries(world.storage) == ()


def test_a_second_end_that_does_not_come_is_waited_for_ten_seconds_and_not_by_the_next_run(world: World) -> None:
    world.first_day()
    world.listener(2, "/c")
    assert world.publish() == (0, 1)
    world.clock.at += LONGEST_WAIT_FOR_AN_END + timedelta(seconds=1)
    assert world.publish() == (1, 0)
    world.clock.at = datetime.now(UTC)
    world.listener(3, "/d")
    assert world.publish() == (1, 0), "the listener of plans was removed"


def test_runs_that_follow_each_other_do_not_prolong_the_wait(world: World) -> None:
    world.first_day()
    began = world.clock.at
    world.listener(2, "/c")
    world.clock.at = began + timedelta(seconds=6)
    assert world.publish() == (0, 1)
    world.listener(3, "/d")
    assert world.publish() == (0, 1)
    world.clock.at = began + LONGEST_WAIT_FOR_AN_END + timedelta(seconds=2)
    assert world.publish() == (1, 0)


@pytest.mark.parametrize("has_plan", [True, False], ids=["its plan comes", "its plan is lost"])
def test_a_publisher_that_is_killed_before_the_wait_is_noted_loses_nothing(world: World, *, has_plan: bool) -> None:
    world.first_day()
    world.listener(2, "/c")

    class Dying(MemoryStorage):
        def __getattribute__(self, name: str) -> object:
            if name in {"insert", "replace"}:
                raise Killed
            return getattr(world.storage, name)

    with pytest.raises(Killed):
        publish(Dying(), world.catalog, publish_options(world.clock))
    if has_plan:
        world.plan(2, "/c")
    else:
        world.clock.at += timedelta(minutes=5)
    assert world.publish() == (1, 0)
    assert entries(world.storage) == ()
