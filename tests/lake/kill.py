"""`python -m tests.lake.kill`: runs of the lake that die before or after a write, and are run again.

The tables must be the same, row for row, as where nothing died; and one more run must write nothing.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.lake.files import version_of
from tests.synth.histories import synthesize
from throughline.lake.engine.opening import opened
from throughline.lake.engine.session import Local
from throughline.lake.pipeline import Order, run
from throughline.lake.tables.declaration import Table
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import LAKE
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_3

TEMPLATES = Path(__file__).parent.parent / "golden" / "spark35-ol1.53"


class DiedError(Exception):
    """The run was killed, on purpose."""


@dataclass(slots=True)
class Clock:
    """Counts the writes, each twice: before and after it; dies at one of them. Parallel writes
    go on until they are written: so a run is also cut off where one table has it and another has not.
    """

    dies_at: int = -1
    now: int = 0
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def tick(self) -> None:
        """One moment more."""
        with self.one_at_a_time:
            self.now += 1
            dies = self.now == self.dies_at
        if dies:
            raise DiedError


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalLake(Lake):
    """A lake whose writer may die."""

    clock: Clock = field(default_factory=Clock)

    def _create(self, table: Table, fresh_rows: DataFrame) -> int:
        self.clock.tick()
        count = Lake._create(self, table, fresh_rows)
        self.clock.tick()
        return count

    def _change(self, table: Table, changes: DataFrame, scope: Sequence[Any], *, adds: bool) -> None:
        self.clock.tick()
        Lake._change(self, table, changes, scope, adds=adds)
        self.clock.tick()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Two steps of a history: the second comes when the first is done."""

    session: SparkSession
    home: Path

    def orders(self) -> tuple[Order, Order]:
        """Half of the files, and all of them."""
        half, second_half = self.home / "half", self.home / "rest"
        return Order(sources=(str(half),)), Order(sources=(str(half), str(second_half)))

    def lake(self, name: str, clock: Clock) -> MortalLake:
        """A lake of this name."""
        return MortalLake(session=self.session, root=str(self.home / name), clock=clock)


def prepared(session: SparkSession, home: Path, *, events: int, seed: int) -> Case:
    """A made-up history in two halves."""
    synthesize(home / "all", events=events, seed=seed, templates=TEMPLATES)
    for index, path in enumerate(sorted((home / "all").rglob("*.gz"))):
        target = home / ("half" if index % 2 else "rest") / path.name
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
    return Case(session=session, home=home)


def rows(lake: Lake) -> dict[str, list[str]]:
    """All that is in a lake."""
    return {table.name: sorted(repr(row) for row in lake.read(table).collect()) for table in LAKE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """The result of a run that did not die: the tables, and how many moments there were after each step."""

    tables: dict[str, list[str]]
    moments: tuple[int, int]


def undisturbed(case: Case) -> Whole:
    """Both steps, with a copy of the lake between them."""
    clock = Clock()
    lake = case.lake("undisturbed", clock)
    first, second = case.orders()
    run(lake, first)
    middle = clock.now
    shutil.copytree(case.home / "undisturbed", case.home / "between")
    run(lake, second)
    return Whole(tables=rows(lake), moments=(middle, clock.now))


def disturbed(case: Case, undisturbed_lake: Whole, dies_at: int) -> dict[str, list[str]]:
    """The tables where the run died at this moment and was run again. What lies before the step in which it dies is the
    copy's.
    """
    name, orders, clock = f"disturbed-{dies_at}", list(case.orders()), Clock(dies_at=dies_at)
    if dies_at > undisturbed_lake.moments[0]:
        shutil.copytree(case.home / "between", case.home / name)
        clock.now, orders = undisturbed_lake.moments[0], orders[1:]
    lake = case.lake(name, clock)
    for order in orders:
        try:
            run(lake, order)
        except DiedError:
            run(lake, order)
    versions = [version_of(lake, table) for table in LAKE]
    run(lake, orders[-1])
    if versions != [version_of(lake, table) for table in LAKE]:
        raise AssertionError(f"a run without news wrote something, after one that died at {dies_at}")
    return rows(lake)


def main() -> int:
    """Die at random moments, and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.lake.kill", description=__doc__)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", type=int, nargs="+", help="these moments instead of random ones")
    parser.add_argument("--engine", choices=["spark", "sail"], default="spark")
    options = parser.parse_args()
    if options.engine == "spark":
        os.environ["JAVA_HOME"] = str(find_java(JavaNeed(platform=SPARK_3, lake=True)).path)
    with tempfile.TemporaryDirectory() as folder:
        # Delta remembers every table of every lake for an hour: eight lakes filled 1 GB
        session_options = Local(cores=1, memory="2g", delta_package=SPARK_3.delta_package, scratch=folder, brief=True)
        wrong = 0
        with opened(session_options, options.engine) as session:
            case = prepared(session, Path(folder), events=options.events, seed=options.seed)
            undisturbed_lake = undisturbed(case)
            moments = undisturbed_lake.moments[1]
            drawn = random.Random(options.seed).sample(range(1, moments + 1), min(options.points, moments))
            for dies_at in sorted(options.at or drawn):
                found_rows = disturbed(case, undisturbed_lake, dies_at)
                differ = [name for name in found_rows if found_rows[name] != undisturbed_lake.tables[name]]
                wrong += bool(differ)
                sys.stdout.write(
                    f"died at {dies_at} of {moments}: {'the same' if not differ else f'differs in {differ}'}\n"
                )
                sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
