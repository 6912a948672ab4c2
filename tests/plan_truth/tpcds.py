"""`python -m tests.plan_truth.tpcds`: run TPC-DS in real Spark, and compare the plans' lineage with sqlglot's.

python -m tests.plan_truth.tpcds                    all queries of TPC-DS 1.4 and those that 2.7 changes: some minutes
python -m tests.plan_truth.tpcds v14_q9 v27_q70a    these
python -m tests.plan_truth.tpcds --spark 4.1        the same texts on Spark 4.1
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.plan_truth.comparison import EXPLAINED, Difference, differences
from tests.plan_truth.expected import Expected, expected
from tests.plan_truth.runs import Ran, run
from tests.plan_truth.tables import TABLES
from tests.plan_truth.texts import queries
from throughline.cli.ui.console import err, out
from throughline.local.toolchain.versions import PLATFORMS, SPARK_3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when every difference is explained, 1 when one is not, 2 without the queries."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.plan_truth.tpcds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("queries", nargs="*", help="names of queries; none: all")
    parser.add_argument("--spark", choices=PLATFORMS, default=SPARK_3.short)
    options = parser.parse_args(arguments)
    try:
        texts = queries()
    except RuntimeError as error:
        err.print(str(error))
        return 2
    unknown = set(options.queries) - set(texts)
    if unknown:
        parser.error(f"no query is called {', '.join(sorted(unknown))}: one of {', '.join(texts)}")
    chosen = {name: texts[name] for name in options.queries or texts}
    with tempfile.TemporaryDirectory(prefix="throughline-tpcds-") as scratch:
        ran = run(chosen, Path(scratch), platform=PLATFORMS[options.spark])
    return report(ran, {name: expected(text, TABLES) for name, text in chosen.items()})


def report(ran: Ran, truths: Mapping[str, Expected]) -> int:
    """Print the equal lineage and the differences; return 0 when every difference is explained."""
    missing = sorted(set(truths) - set(ran.lineages))
    all_differences = [
        difference
        for name in truths
        if name not in missing
        for difference in differences(name, ran.lineages[name], truths[name])
    ]
    wrong = [difference for difference in all_differences if not difference.reason]
    stale = sorted(
        {place for place in EXPLAINED if place[0] in truths}
        - {(difference.query, difference.column) for difference in all_differences}
    )
    for name in missing:
        out.print(f"{name}: no plan came. Spark: {ran.refused.get(name, 'no error')}")
    for each in all_differences:
        out.print(_line(each))
    for name, column in stale:
        out.print(f"{name} column {column} is explained, and does not differ: delete the explanation")
    columns = sum(len(truth.columns) for truth in truths.values())
    differing = {(difference.query, difference.column) for difference in all_differences if difference.column >= 0}
    rows = (
        len(truths) - len(missing) - len({difference.query for difference in all_differences if difference.column < 0})
    )
    out.print(
        f"{len(truths)} queries, {columns:,} columns: {columns - len(differing):,} columns with the same values and "
        f"conditions, {rows} queries with the same conditions of rows; "
        f"{len({(entry.query, entry.column) for entry in all_differences if entry.reason})} differences explained, "
        f"{len({(difference.query, difference.column) for difference in wrong}) + len(missing)} not"
    )
    return 1 if wrong or missing or stale else 0


def _line(difference: Difference) -> str:
    place = "rows" if difference.column < 0 else f"column {difference.column}"
    sides = f"only the plan: {_names(difference.ours)}; only sqlglot: {_names(difference.theirs)}"
    return f"{difference.query} {place}, {difference.what}: {sides}. {difference.reason or 'NOT EXPLAINED'}"


def _names(sources: frozenset[tuple[str, str]]) -> str:
    return ", ".join(f"{table}.{column}" for table, column in sorted(sources)) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
