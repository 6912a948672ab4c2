"""Random histories through the pipeline: the result equals that of the pure `translate_history`.

Failures found by longer searches are listed below by name. Search on with
`python -m tests.shared.end_to_end.test_random_histories 1000 2000`.
"""

import logging
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, permutations
from typing import Any

import pytest

from shared.atlas.entities import process_entity
from shared.openlineage.decoding import decode
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.translation.reference import translate_history
from tests.faults.expected_states import expected_states
from tests.plugins.sample import Sample
from tests.support.chaos import simulate_history
from tests.support.events import event
from tests.support.histories import HOST, MOUNTS, NOTEBOOK, history
from tests.support.memory_catalog import MemoryCatalog
from tests.support.runtime import Runtime

DEATH = 0.004
"""At a call: some of these runs have all others folded of their application, in a few hundred calls."""


def disagreements(storage: MemoryStorage, catalog: MemoryCatalog, bodies: Sequence[bytes]) -> list[str]:
    """Differences between the end and the pure core: in the catalog, or in the states of single events."""
    pure = translate_history(map(decode, bodies))
    current_status = status(storage)
    states, reasons = expected_states(pure, bodies)
    counts = Counter(
        {"published": current_status.published, "skipped": current_status.skipped, "waiting": current_status.waiting}
    )
    wrong = {
        "catalog": catalog.processes != {process.qualified_name: process_entity(process) for process in pure.processes},
        "sum": not current_status.reconciles or current_status.received != len(set(bodies)),
        "in progress": current_status.in_progress > 0,
        "states": +counts != states,
        "reasons": current_status.skipped_because != reasons,
    }
    return [disagreement for disagreement, is_so in wrong.items() if is_so]


def disagreements_of_simulation(bodies: Sequence[bytes], seed: int, **options: Any) -> list[str]:
    """The disagreements after a simulation with this seed."""
    outcome = simulate_history(bodies, seed=seed, **options)
    leftovers = ["left lying"] if outcome.left_due and not outcome.deaths else []
    return leftovers + disagreements(outcome.storage, outcome.catalog, bodies)


def one_by_one(bodies: Sequence[bytes]) -> list[str]:
    """The disagreements after each event was received, folded and published before the next, and a sweep at the end,
    which folds what came after its run had ended.
    """
    runtime = Runtime()
    for body in bodies:
        runtime.run(body)
    runtime.sweep()
    runtime.publish()
    return disagreements(runtime.storage, runtime.catalog, bodies)


SIMULATIONS: dict[str, dict[str, Any]] = {
    "calm": {"workers": 1},
    "crowded": {"workers": 4, "duplicates": 3},
    "deadly": {"workers": 4, "duplicates": 3, "death": DEATH},
}


SEEDS = {"calm": range(80), "crowded": range(100, 180), "deadly": range(200, 260)}
FOUND_SEEDS = {"crowded": (30017,)}
"""30017: four workers fold the runs of one application for its sake, and must not hold up one another for ever."""


def failures_of(seeds: Iterable[int], life: str, longest: int) -> Iterator[str]:
    """The seeds whose histories end wrong, with their disagreements."""
    for seed in seeds:
        bodies = history(seed, longest=longest)
        pure = translate_history(map(decode, bodies))
        shuffled = random.Random(seed).sample(bodies, len(bodies))
        if translate_history(map(decode, [*shuffled, *bodies])) != pure:
            yield f"seed {seed}: the pure core depends on the order"
        if wrong := disagreements_of_simulation(bodies, seed, **SIMULATIONS[life]):
            yield f"seed {seed}, {life}: {', '.join(wrong)}"


@pytest.mark.parametrize("life", SIMULATIONS)
def test_random_histories_give_the_result_of_the_pure_core(life: str, sample: Sample) -> None:
    assert not list(failures_of([*sample(SEEDS[life]), *FOUND_SEEDS.get(life, ())], life, longest=12))


def test_small_histories_end_the_same_in_every_order(sample: Sample) -> None:
    for seed in sample(range(40)):
        bodies = history(seed, applications=1, longest=3)
        orders = permutations(bodies) if len(bodies) < 5 else some_orders(bodies, seed)
        for order in orders:
            assert not one_by_one(order), f"seed {seed}: {[bodies.index(body) for body in order]}"


def some_orders(bodies: Sequence[bytes], seed: int) -> Iterator[Sequence[bytes]]:
    draw = random.Random(seed)
    return islice(iter(lambda: draw.sample(bodies, len(bodies)), None), 12)


def did(
    run: str, clock_time: str, sources: str, sinks: str, *, kind: str = "COMPLETE", app: str = "app", **options: Any
) -> bytes:
    return event(
        run,
        kind,
        f"10:{clock_time}",
        inputs=sources.split(),
        outputs=sinks.split(),
        application=app,
        **options,
    )


def dropped(run: str, clock_time: str, path: str, **options: Any) -> bytes:
    return did(run, clock_time, "", path, states={path: ("DROP", "")}, **options)


def statement(run: str, clock_time: str, sql: str) -> bytes:
    return did(run, clock_time, "", "", job="app.drop_table", sql=sql)


TABLES = {f"/{name}": f"default.{name}" for name in ("a", "b", "s", "t", "out", "rates")}
MOUNTED: Any = {"mountPoints": MOUNTS}
SUBQUERY = "INSERT INTO s SELECT b.x, (SELECT max(r.y) FROM rates r) AS top FROM b"

FOUND: dict[str, list[bytes]] = {
    "two tables dropped by their names alone": [
        did("a", "01:00", "/a", "/s", tables=TABLES),
        did("b", "02:00", "/s", "/t", tables=TABLES),
        did("c", "03:00", "/t", "/out", tables=TABLES),
        statement("d", "04:00", "DROP TABLE s"),
        statement("e", "05:00", "DROP TABLE t"),
    ],
    "a table dropped by its name, of which one write has only the path": [
        did("a", "01:00", "/s /b", "/s"),
        did("b", "02:00", "/s", "/b", tables=TABLES),
        statement("d", "03:00", "DROP TABLE s"),
    ],
    "a mount that is reported after a batch read from it": [
        event("b", "START", "10:01:00", inputs=["/mnt/raw/x"], application="app", streaming=True),
        did("m", "01:01", "/out", "/out"),
        event("b", "COMPLETE", "10:01:02", inputs=["/mnt/raw/x"], application="app", streaming=True),
        did("t", "02:00", "", "", properties=MOUNTED),
    ],
    "a mount that is reported after something on it was dropped": [
        did("a", "01:00", "/a", "/mnt/raw/x"),
        did("b", "02:00", "/mnt/raw/x", "/out"),
        dropped("d", "03:00", "/mnt/raw/x"),
        did("t", "04:00", "", "", properties=MOUNTED),
    ],
    "a mount that is reported after something was renamed onto it": [
        did("a", "01:00", "/b", "/a"),
        did("r", "02:00", "", "/mnt/raw/x", states={"/mnt/raw/x": ("RENAME", "/a")}),
        did("t", "04:00", "", "", properties=MOUNTED),
    ],
    "a drop that failed after all": [
        did("a", "01:00", "/a", "/s"),
        did("b", "02:00", "/s", "/out"),
        dropped("d", "03:00", "/s"),
        dropped("d", "03:01", "/s", kind="FAIL"),
    ],
    "an earlier drop that counts again, as the later one failed": [
        did("a", "01:00", "/a", "/s"),
        did("b", "02:00", "/s", "/out"),
        dropped("d", "03:00", "/s"),
        did("c", "04:00", "/b", "/s"),
        dropped("e", "05:00", "/s"),
        dropped("e", "05:01", "/s", kind="FAIL"),
    ],
    "a batch that wrote something itself after all": [
        event("b", "START", "10:01:00", inputs=["/a"], application="app", streaming=True),
        did("m", "01:01", "/out", "/out"),
        event("b", "COMPLETE", "10:01:02", inputs=["/a"], application="app", streaming=True),
        event("b", "RUNNING", "10:01:01", inputs=["/a"], outputs=["/t"], application="app", streaming=True),
    ],
    "a batch that ends later, and later again": [
        event("b", "START", "10:01:00", inputs=["/a"], application="app", streaming=True),
        did("m", "01:01", "/out", "/out"),
        event("b", "COMPLETE", "10:01:02", inputs=["/a"], application="app", streaming=True),
        event("b", "COMPLETE", "10:01:04", inputs=["/a"], application="app", streaming=True),
        event("b", "FAIL", "10:01:06", inputs=["/a"], application="app", streaming=True),
        event("c", "START", "10:01:00", inputs=["/b"], application="app", streaming=True),
        event("c", "COMPLETE", "10:01:05", inputs=["/b"], application="app", streaming=True),
    ],
    "a table that a staging table waits for": [
        did("b", "01:00", "/b", "/s", tables=TABLES, sql=SUBQUERY),
        did("c", "02:00", "/s", "/out", tables=TABLES),
        dropped("d", "03:00", "/s"),
        did("a", "04:00", "/a", "/rates", tables=TABLES),
    ],
    "a table that a run named which failed after all": [
        did("b", "01:00", "/b", "/s", tables=TABLES, sql=SUBQUERY),
        did("a", "02:00", "/a", "/rates", tables=TABLES),
        did("a", "02:01", "/a", "/rates", tables=TABLES, kind="FAIL"),
    ],
    "a notebook named by a write that a batch folds": [
        did("w", "00:10", "/a", "/t"),
        event("b", "START", "10:01:00", inputs=["/a"], application="app", streaming=True),
        did("m", "01:01", "/out", "/out"),
        did("m", "01:01.5", "/out", "/out", kind="RUNNING", properties={NOTEBOOK: "/Users/ada"}),
        event("b", "COMPLETE", "10:01:02", inputs=["/a"], application="app", streaming=True),
        did("h", "02:00", "/b", "/u", job=f"{HOST}.adaptive_spark_plan.out"),
    ],
    "a notebook named by a write, and a schema that was only looked at": [
        content.replace(b'"name": "app"', b'"name": "databricks_shell"')
        for content in (
            did("i", "01:00", "/in", "/in", job="databricks_shell.map_partitions_parallel_collection"),
            did("w", "02:00", "/a", "/t", properties={NOTEBOOK: "/Users/ada"}),
        )
    ],
    "staging tables that are made of one another, in a circle": [
        did("a", "01:00", "/a", "/s", columns={"x": [("/a", "x")]}),
        did("b", "02:00", "/s", "/t", columns={"y": [("/s", "x")]}),
        did("c", "03:00", "/t", "/s", columns={"z": [("/t", "y")]}),
        did("d", "04:00", "/s", "/out", columns={"z": [("/s", "z")]}),
        dropped("e", "05:00", "/s"),
        dropped("f", "06:00", "/t"),
    ],
    "more drops of one table than are remembered": [
        did("a", "00:30", "/a", "/s"),
        did("b", "00:40", "/s", "/out"),
        *(dropped(f"d{minute}", f"{minute}:00", "/s") for minute in range(10, 28)),
    ],
    "a table with an enormous name": [
        did("a", "01:00", "/a", "/s"),
        did("r", "02:00", "", "/" + "x" * 40_000, states={"/" + "x" * 40_000: ("RENAME", "/s")}),
    ],
    "a write to a renamed table is published, a write to a dropped one skipped": [
        did("a", "01:00", "/a", "/s"),
        did("r", "02:00", "", "/out", states={"/out": ("RENAME", "/s")}),
        did("b", "03:00", "/b", "/t"),
        dropped("d", "04:00", "/t"),
        did("c", "05:00", "/b", "/t", app="other"),
    ],
}


@pytest.mark.parametrize("name", FOUND)
def test_histories_that_once_failed_give_the_result_of_the_pure_core(name: str) -> None:
    bodies = FOUND[name]
    for order in (bodies, bodies[::-1], *some_orders(bodies, 0)):
        assert not one_by_one(order), [bodies.index(body) for body in order]
    for seed in range(8):
        assert not disagreements_of_simulation(bodies, seed, **SIMULATIONS["crowded"]), f"seed {seed}"
        assert not disagreements_of_simulation(bodies, seed, **SIMULATIONS["deadly"]), f"seed {seed}"


if __name__ == "__main__":
    logging.disable()
    first, last, *more = sys.argv[1:]
    for life in more or SIMULATIONS:
        for wrong in failures_of(range(int(first), int(last)), life, longest=12):
            sys.stdout.write(f"{wrong}\n")
