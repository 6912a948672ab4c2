"""`python -m tests.plan_truth.tracer`: random queries and MERGEs over cells that carry their origin, in real Spark.

python -m tests.plan_truth.tracer                     the texts of seeds 0 to 39
python -m tests.plan_truth.tracer --seeds 500 520     those of seeds 500 to 519
python -m tests.plan_truth.tracer --spark 4.1         on Spark 4.1, with recursive queries

Values: each origin in a column's cells must be one of the plan's sources of its values, and each of these sources must
occur in some cell of some world. Texts in which no row can have a source are listed below with the reason.

Conditions: the cells of one column of one table are changed, and the text runs again. If a column of the output
changes, the plan must have the changed column among its sources; if more changes than the numbers of that column in it,
among its conditions or those of the rows. And each condition of the plan must change something in some world, except
for one of ten: a text may make a condition idle, as in `if(a, b, b)` or EXCEPT of tables without common cells.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from shared.plans.reader import PlanLineage
from tests.plan_truth.cells import COLUMNS, TABLES, rows, world
from tests.plan_truth.comparison import columns_of, source_of
from tests.plan_truth.grammar import TARGET, query
from tests.plan_truth.runs import delta_session, run, run_job
from throughline.cli.ui.console import err, out
from throughline.local.toolchain.versions import PLATFORMS, SPARK_3, Platform

_JOB = Path(__file__).parent / "traced_job.py"
_CHANGED_JOB = Path(__file__).parent / "changed_job.py"
_WORLDS = 16
_MOST_IDLE = 0.1
"""The share of conditions that may change nothing; 15 of 229 of seeds 0 to 39 do."""
_EXPLAINED: Mapping[str, str] = {
    "q2017 c0: met by no cell: s1.b": "rows without c go to the other column of the pivot",
    "q2093 c0: met by no cell: s0.a, s0.b": "an anti join of a table with itself gives no row",
    "q2093 c1: met by no cell: s0.b, s0.c": "an anti join of a table with itself gives no row",
    "q2093 c2: met by no cell: s0.a, s0.b, s0.c": "an anti join of a table with itself gives no row",
    "q2108 c0: met by no cell: s0.a": "rows without c join with those without b, so the anti join drops them",
    "q2152 c1: met by no cell: s0.b": "rows without a have a match among those without b, so NOT EXISTS drops them",
    "q2191 c0: met by no cell: s1.c": "rows without b take the other branch of the if",
    "q3077 c1: met by no cell: s0.a": "rows without b join with those without c, so the anti join drops them",
}
"""The differences on Spark 3.5 that a text causes with any cells: the problem, and why no row can have the value."""
_MERGED_COLUMNS = ("a", "b", "c")
_MADE = (
    f"CREATE OR REPLACE TABLE {TARGET} USING delta AS SELECT CAST(id AS int) AS k, concat('[t.a#', id, ']') AS a, "  # noqa: S608 - a table of our own
    "concat('[t.b#', id, ']') AS b, concat('[t.c#', id, ']') AS c FROM range(2, 10)"
)


class Changed(TypedDict):
    """The positions of the columns that a changed source changes: at all, and by more than the source's own numbers."""

    any: list[int]
    numbers: list[int]
    cells: list[int]


class Seen(TypedDict):
    """The observations of one text's runs: the origins in each column, and the effects of each source."""

    origins: list[list[str]]
    changed: dict[str, Changed]
    runs: int


class Given(NamedTuple):
    """A column's sources by the plan: of its values, and of its conditions with those of the rows."""

    values: frozenset[str]
    conditions: frozenset[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when all origins and sources agree, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.plan_truth.tracer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 40), metavar=("FROM", "TO"))
    parser.add_argument("--spark", choices=PLATFORMS, default=SPARK_3.short)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="throughline-traced-") as scratch:
        try:
            return trace(range(*options.seeds), Path(scratch), PLATFORMS[options.spark])
        except RuntimeError as error:
            err.print(str(error))
            return 1


def trace(seeds: range, folder: Path, platform: Platform) -> int:
    """Run the texts of some seeds in two applications, and print the differences."""
    texts = {f"q{seed}": query(seed, recursion=platform != SPARK_3) for seed in seeds}
    (folder / "merge.json").write_text(json.dumps((TARGET, _MADE)))
    tables = {name: (columns, rows(name, 0)) for name, columns in TABLES.items()}
    ran = run(texts, folder, job=_JOB, tables=tables, platform=platform, more=delta_session(platform))
    problems = [f"{name} was refused by Spark: {reason}" for name, reason in ran.refused.items()]
    given_columns: dict[str, list[Given]] = {}
    for name, text in texts.items():
        if name not in ran.refused:
            found = given_of(ran.lineages.get(name), text)
            if isinstance(found, str):
                problems.append(f"{name}: {found}")
            else:
                given_columns[name] = found
    seen_watch = _watch({name: texts[name] for name in given_columns}, given_columns, folder, platform)
    known_explained = _EXPLAINED if platform == SPARK_3 else {}
    idle, explained = [], []
    for name in sorted(set(given_columns) & set(seen_watch)):
        differing = compare(name, given_columns[name], seen_watch[name])
        explained += [problem for problem in differing if problem in known_explained]
        problems += [problem for problem in differing if problem not in known_explained]
        idle += [
            f"{name} {idle_condition}" for idle_condition in idle_conditions(given_columns[name], seen_watch[name])
        ]
    if len(idle) > _MOST_IDLE * sum(len(column.conditions) for name in given_columns for column in given_columns[name]):
        problems.append(f"{len(idle)} conditions change nothing: too many")
    for each in explained:
        out.print(f"{each}, because {known_explained[each]}", markup=False, soft_wrap=True)
    out.print(f"conditions that change nothing: {', '.join(idle) or 'none'}", markup=False, soft_wrap=True)
    problems += [
        f"{name} was refused by Spark in a second run" for name in sorted(set(given_columns) - set(seen_watch))
    ]
    for each in problems:
        out.print(each, markup=False, soft_wrap=True)
    out.print(_summary(seeds, given_columns, seen_watch, problems))
    return 1 if problems else 0


def _watch(
    texts: Mapping[str, str], given_columns: Mapping[str, list[Given]], folder: Path, platform: Platform
) -> dict[str, Seen]:
    """Run the texts repeatedly, each time with one column of a table changed."""
    watch_orders = {}
    for name, text in texts.items():
        sources = [column for column in COLUMNS if f" {column[:2]})" in f"{text})" or f" {column[:2]} " in text]
        expected = {
            source: [place for place, column in enumerate(given_columns[name]) if source in column.conditions]
            for source in sources
        }
        watch_orders[name] = (text, sources, expected, [sorted(column.values) for column in given_columns[name]])
    (folder / "queries.json").write_text(json.dumps(watch_orders))
    (folder / "worlds.json").write_text(json.dumps([world(number) for number in range(_WORLDS)]))
    run_job(_CHANGED_JOB, folder, "changed", platform, delta_session(platform))
    observations: dict[str, Seen] = json.loads((folder / "seen.json").read_text())
    return observations


def _summary(
    seeds: range, given_columns: Mapping[str, list[Given]], observations: Mapping[str, Seen], problems: Sequence[str]
) -> str:
    columns = [column for name in given_columns for column in given_columns[name]]
    origins = sum(len(origin) for observation in observations.values() for origin in observation["origins"])
    return (
        f"seeds {seeds.start} to {seeds.stop - 1}: {len(given_columns)} texts, "
        f"{len(columns):,} columns, {origins:,} origins "
        f"found, {sum(len(column.conditions) for column in columns):,} conditions, "
        f"{sum(observation['runs'] for observation in observations.values()):,} runs, {len(problems)} problems"
    )


def given_of(lineage: PlanLineage | None, text: str) -> list[Given] | str:
    """Return the sources of each column of a text by its plan, or a text with the reason why there are none."""
    if lineage is None or not lineage.exact or len(lineage.outputs) != 1:
        return f"no plan that is known whole: {lineage.unknown if lineage else 'no plan'}"
    (output,) = lineage.outputs
    of_rows = {".".join(source_of(row)) for row in output.rows}
    merged = text.startswith("MERGE ")
    names = _MERGED_COLUMNS if merged else [f"c{place}" for place in range(len(output.schema))]
    return [
        Given(
            frozenset(".".join(source_parts) for source_parts in sources.values),
            frozenset({".".join(condition) for condition in sources.conditions} | of_rows),
        )
        for sources in columns_of(output, names)
    ]


def compare(name: str, given_columns: Sequence[Given], observation: Seen) -> list[str]:
    """Yield the differences between a plan's sources and the observations."""
    problems = []
    for place, (column, origins) in enumerate(zip(given_columns, observation["origins"], strict=True)):
        of_any = {source for source, places in observation["changed"].items() if place in places["any"]}
        of_more = {source for source, places in observation["changed"].items() if place in places["numbers"]}
        differing = (
            ("not in the plan", set(origins) - column.values),
            ("met by no cell", column.values - set(origins)),
            ("changes it without being in the plan", of_any - column.values - column.conditions),
            ("decides without being in the plan", of_more - column.conditions - (of_any - column.values)),
        )
        problems += [
            f"{name} c{place}: {subject}: {', '.join(sorted(sources))}" for subject, sources in differing if sources
        ]
    return problems


def idle_conditions(given_columns: Sequence[Given], observation: Seen) -> list[str]:
    """Yield the conditions of a plan that changed nothing in any world, as `c0: s1.b`."""
    idle_sources = []
    for place, column in enumerate(given_columns):
        acting = {
            source
            for source, places in observation["changed"].items()
            if place in {*places["numbers"], *places["cells"]}
        }
        idle_sources += [f"c{place}: {source}" for source in sorted(column.conditions - acting)]
    return idle_sources


if __name__ == "__main__":
    sys.exit(main())
