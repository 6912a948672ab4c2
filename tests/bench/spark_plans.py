"""Reading Spark's plans: the captured ones, and one of 450 columns, against decoding the same documents alone."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from shared.openlineage.run_facets import PlanFacet
from shared.plans.nodes.document import document_in, unpack
from shared.plans.reader import read_document
from tests.bench.figures import ROOT, Figure, Rounds
from tests.bench.sizes import Sizes, Steps
from tests.support.plans import PlanBuilder, alias, call, column, facet

NAME = "spark-plans"
_COLUMNS = 450
_GOLDEN = ROOT / "tests" / "golden"


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure plans per second of the captured ones, and milliseconds of the wide one."""
    figures = []
    for name, plans in (("captured plans", _captured(_GOLDEN)), (f"{_COLUMNS} columns", [_wide()])):
        steps.begin(f"Spark's plans: {name}", sizes.decode_rounds)
        rounds = []
        for _ in range(sizes.decode_rounds):
            rounds.append((_seconds(read_document, plans), _seconds(document_in, plans)))
            steps.done()
        our_times, other_times = zip(*rounds, strict=True)
        plan_rounds = Rounds(ours=our_times, others=other_times)
        a_second = round(len(plans) / min(our_times))
        figures.append(
            plan_rounds.figure(
                scale=1_000 / len(plans),
                benchmark=NAME,
                name=name,
                unit="ms a plan",
                compared_with="decoding alone",
                sizes={"plans": len(plans)},
                details={"plans_a_second": a_second},
            )
        )
    return figures


def _captured(golden: Path) -> list[PlanFacet]:
    """Return the plan facets of all captures."""
    lines = (line for path in sorted(golden.glob("*-plan/*/events.jsonl")) for line in path.read_bytes().splitlines())
    facets = (json.loads(line)["run"].get("facets", {}).get("throughline_plan", {}) for line in lines)
    return [msgspec.convert(raw_facet, PlanFacet) for raw_facet in facets if "plan" in raw_facet]


def _wide() -> PlanFacet:
    plans = PlanBuilder()
    columns = [column(number, f"c{number}") for number in range(_COLUMNS)]
    outputs = [
        alias(_COLUMNS + number, f"o{number}", call("Concat", each, columns[number - 1]))
        for number, each in enumerate(columns)
    ]
    return facet(plans.writing(plans.project(plans.table("file:/in", *columns), *outputs)))


def _seconds(work: Callable[[bytes], object], plans: Sequence[PlanFacet]) -> float:
    """CPU seconds, with unpacking. Nothing is cached: each plan is read."""
    began = time.process_time()
    for plan in plans:
        work(unpack(plan))
    return time.process_time() - began
