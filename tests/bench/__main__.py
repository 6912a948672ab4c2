"""`python -m tests.bench`: measure, print a table, write build/bench.json."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import requests
from rich.console import Console

from shared.errors import StorageUnavailable
from tests.bench import (
    address,
    calls,
    curve,
    dbt_import,
    decode,
    end_to_end,
    govern,
    imports,
    load,
    plan,
    plan_jar,
    receiver,
    spark_plans,
    start,
    storage,
    view,
)
from tests.bench.figures import ROOT, Figure, show, write
from tests.bench.sizes import DEFAULT, QUICK, Sizes, Steps, steps
from tests.bench.worker import BenchError
from throughline.local.errors import LocalError

BENCHMARKS: Mapping[str, Callable[[Sizes, Steps], list[Figure]]] = {
    decode.NAME: decode.measure,
    plan.NAME: plan.measure,
    spark_plans.NAME: spark_plans.measure,
    plan_jar.NAME: plan_jar.measure,
    curve.NAME: curve.measure,
    calls.NAME: calls.measure,
    storage.NAME: storage.measure,
    receiver.NAME: receiver.measure,
    imports.NAME: imports.measure,
    start.NAME: start.measure,
    load.NAME: load.measure,
    view.NAME: view.measure,
    address.NAME: address.measure,
    govern.NAME: govern.measure,
    dbt_import.NAME: dbt_import.measure,
    "end-to-end": end_to_end.measure,
}
_FEWEST = 100
_PROBLEMS = (
    LocalError,
    BenchError,
    FileNotFoundError,
    StorageUnavailable,
    requests.RequestException,
)


def run(names: Sequence[str], sizes: Sizes, *, out: Path, quick: bool, console: Console) -> list[Figure]:
    """Measure, print and write the figures; return them. After an error the figures so far are printed and written."""
    figures: list[Figure] = []
    try:
        with steps(console) as progress:
            for name in names:
                figures += BENCHMARKS[name](sizes, progress)
    finally:
        if figures:
            show(figures, console)
            write(figures, out, quick=quick)
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (these arguments, else the process's own) and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works, not how fast it is")
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--load-events", type=int, metavar="N", help="how many events `load` sends (20,000)")
    parser.add_argument("--datasets", type=int, metavar="N", help="data sets of `view` and `address` (10,000)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json", help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console(highlight=False)
    sizes = QUICK if options.quick else DEFAULT
    if options.load_events:
        sizes = replace(sizes, load_events=max(options.load_events, _FEWEST))
    if options.datasets:
        sizes = replace(sizes, view_datasets=max(options.datasets, _FEWEST))
    try:
        run(
            options.only or list(BENCHMARKS),
            sizes,
            out=options.out,
            quick=options.quick,
            console=console,
        )
    except _PROBLEMS as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    console.print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
