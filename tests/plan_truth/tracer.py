"""`python -m tests.plan_truth.tracer`: random queries over cells that carry their origin, in real Spark.

python -m tests.plan_truth.tracer                     the queries of seeds 0 to 39
python -m tests.plan_truth.tracer --seeds 500 520     those of seeds 500 to 519

Each origin that is found in a column's cells must be one of the sources that the plan gives of its values, and each of
these sources must be found in some cell.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from cli.ui.console import err, out
from shared.plans.reader import PlanLineage
from tests.plan_truth.comparison import columns_of
from tests.plan_truth.grammar import TABLES, query, rows
from tests.plan_truth.runs import run

JOB = Path(__file__).parent / "traced_job.py"
_DATABASES = 3
"""How often each query runs, each time on other random numbers: what one misses by chance, another meets."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 when all origins and sources are the same, 1 when not."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.plan_truth.tracer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 40), metavar=("FROM", "TO"))
    seeds = range(*parser.parse_args(arguments).seeds)
    with tempfile.TemporaryDirectory(prefix="throughline-traced-") as scratch:
        try:
            return trace(seeds, Path(scratch))
        except RuntimeError as error:
            err.print(str(error))
            return 1


def trace(seeds: range, folder: Path) -> int:
    """Run the queries of some seeds in one application, and print what differs."""
    queries = {f"q{seed}": query(seed) for seed in seeds}
    tables = {
        f"d{number}": {name: (columns, rows(name, number)) for name, columns in TABLES.items()}
        for number in range(_DATABASES)
    }
    ran = run(queries, folder, job=JOB, tables=tables)
    origins = json.loads((folder / "origins.json").read_text())
    problems = [f"{name} was refused by Spark: {why}" for name, why in ran.refused.items()]
    sources = 0
    for name in queries:
        if name not in ran.refused:
            sources += sum(map(len, origins[name]))
            problems += compare(name, ran.lineages, origins[name])
    for each in problems:
        out.print(each, markup=False, soft_wrap=True)
    columns = sum(map(len, origins.values()))
    out.print(
        f"seeds {seeds.start} to {seeds.stop - 1}: {len(queries)} queries, {columns:,} columns, "
        f"{sources:,} origins found, {len(problems)} problems"
    )
    return 1 if problems else 0


def compare(name: str, lineages: Mapping[str, PlanLineage], origins: Sequence[Sequence[str]]) -> list[str]:
    """What differs between the origins in a query's cells and the sources of its plan."""
    lineage = lineages.get(name)
    if lineage is None or not lineage.exact or len(lineage.outputs) != 1:
        return [f"{name}: no plan that is known whole: {lineage.unknown if lineage else 'no plan'}"]
    problems = []
    for place, (given, found) in enumerate(zip(columns_of(lineage.outputs[0], len(origins)), origins, strict=True)):
        values = {f"{table}.{column}" for table, column in given.values}
        if set(found) - values:
            problems.append(f"{name} c{place}: not in the plan: {', '.join(sorted(set(found) - values))}")
        if values - set(found):
            problems.append(f"{name} c{place}: met by no cell: {', '.join(sorted(values - set(found)))}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
