"""`python -m tests.spark_listener.compatibility`: the jar with each Spark, each listener and both orders of listeners.

Each combination runs a job on real Spark and compares the lineage of its plans with the job's truth. It prints the
rows of the table in docs/concepts/exact-lineage.md, and exits with 1 when one is wrong. Spark 3.3 and 3.4 are installed
into build/ at their first use.
"""

import argparse
import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shared.openlineage.decoding import Event, decode
from shared.openlineage.run import MergedRun
from shared.openlineage.wire import OutputField
from shared.translation.run.columns import merge_run
from tests.support.spark_events import file_configuration
from throughline.local.spark.job import LISTENER_CLASS, SMALL_SESSION, SparkJob
from throughline.local.toolchain.interpreter import Interpreter, made_for, pinned
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import LISTENER_VERSION, LISTENER_VERSIONS, SPARK_3, SPARK_4, Platform
from throughline.plan_jar import LISTENER_CLASS as PLAN_LISTENER
from throughline.plan_jar import plan_jar
from throughline.project import BUILD

JOB = Path(__file__).parent / "compatible_job.py"
SPARK_33 = replace(SPARK_3, spark="3.3.4", delta="2.3.0", delta_artifact="delta-core_2.12", java=(8, 11, 17))
SPARK_34 = replace(SPARK_3, spark="3.4.4", delta="2.4.0", delta_artifact="delta-core_2.12", java=(8, 11, 17))
SPARKS = {platform.short: platform for platform in (SPARK_33, SPARK_34, SPARK_3, SPARK_4)}
ORDERS = {
    "first": (LISTENER_CLASS, PLAN_LISTENER),
    "last": (PLAN_LISTENER, LISTENER_CLASS),
    "absent": (PLAN_LISTENER,),
}
"""The position of OpenLineage's listener."""
NOT_ON_SPARK_4 = frozenset({"1.12.0", "1.25.0"})
"""1.12 does not exist for Scala 2.13; 1.25 calls a method that Spark 4 no longer has, and the session stops."""

REPORT = {
    "name": {"customers.name"},
    "total": {"orders.amount"},
    "late": {"orders.amount", "orders.id"},
    "place": {"customers.name", "orders.amount"},
}
"""Each column of the report and all columns that it depends on."""
COLUMNS: Mapping[str, Mapping[str, set[str]]] = {
    "report": REPORT,
    "checkpoint": REPORT,
    "made": {"who": {"customers.name"}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a combination: plans of writes, the number under the listener's run ids, and the problems.

    A view is no write. When its command ends before the listener has handled its start, it has no run there.
    """

    spark: str
    listener: str
    order: str
    plans: int = 0
    joined: int = 0
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        state = "; ".join(self.problems) or "exact"
        return f"| {self.spark} | {self.listener} | {self.order} | {self.plans} | {self.joined} | {state} |"


def outcome(platform: Platform, listener: str, order: str) -> Outcome:
    """Run the job once."""
    folder = BUILD / "compatibility" / f"{platform.spark}_{listener}_{order}".replace(".", "_")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    events, plans = folder / "events.jsonl", folder / "plans.jsonl"
    delta = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    configuration = {
        **SMALL_SESSION,
        **file_configuration(events, platform=platform, listener=listener),
        **delta,
        "spark.jars": str(plan_jar()),
        "spark.extraListeners": ",".join(ORDERS[order]),
        "spark.throughline.plan.transport.location": str(plans),
    }
    with SparkJob(
        JOB,
        configuration=configuration,
        directory=folder / "spark",
        arguments=[str(folder / "data")],
        java=find_java(JavaNeed(platform=platform, listener=True)),
        interpreter=_interpreter(platform),
    ) as job:
        result = job.wait()
    base_outcome = Outcome(spark=platform.spark, listener="none" if order == "absent" else listener, order=order)
    if result.problem:
        return replace(base_outcome, problems=(result.problem,))
    facets = [_facet(line) for line in _lines(plans) if b"create_view_command" not in line]
    facets = [facet for facet in facets if "plan" in facet or "problem" in facet]
    return replace(
        base_outcome,
        plans=len(facets),
        joined=sum(facet["joined"] is True for facet in facets),
        problems=tuple(_problems(list(_merged(events, plans)), facets, joined=order != "absent")),
    )


def _interpreter(platform: Platform) -> Interpreter:
    of_ours = platform in (SPARK_3, SPARK_4)
    return made_for(platform) if of_ours else pinned(f"spark{platform.short.replace('.', '')}")


def _problems(runs: Sequence[MergedRun], facets: Sequence[Mapping[str, object]], *, joined: bool) -> Iterator[str]:
    unlike = [facet for facet in facets if facet["joined"] != joined]
    if unlike:
        yield f"{len(unlike)} plans with joined={not joined}"
    yield from (f"a plan is missing: {facet['problem']}" for facet in facets if "problem" in facet)
    for name, truth in COLUMNS.items():
        own_outputs = [output for run in runs for output in run.outputs if output.key[1].endswith(f"/{name}")]
        sources_by_column = {
            column: _sources(parts) for merged_dataset in own_outputs for column, parts in merged_dataset.fields
        }
        if sources_by_column != truth:
            yield f"{name} is {sources_by_column}"
    if not any(run.ended == "FAIL" for run in runs):
        yield "no failure"
    if not any(
        output.key[1].endswith("/target") and dict(output.fields).get("name") for run in runs for output in run.outputs
    ):
        yield "MERGE has no columns"


def _merged(*files: Path) -> Iterator[MergedRun]:
    """The runs with a plan."""
    events: dict[str, list[Event]] = defaultdict(list)
    planned = set()
    for path in files:
        for line in _lines(path):
            run = json.loads(line)["run"]["runId"]
            events[run].append(decode(line))
            planned |= {run} if "plan" in _facet(line) else set()
    yield from (merge_run(events[run]) for run in sorted(planned))


def _sources(parts: Iterable[OutputField]) -> set[str]:
    return {
        f"{input_field.name.rpartition('/')[2]}.{input_field.field}"
        for part in parts
        for input_field in part.input_fields or ()
    }


def _facet(line: bytes) -> dict[str, object]:
    facet: dict[str, object] = json.loads(line)["run"].get("facets", {}).get("throughline_plan", {})
    return facet


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def main() -> int:
    """Run the requested combinations."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark_listener.compatibility", description=__doc__)
    parser.add_argument("--spark", action="append", choices=SPARKS)
    parser.add_argument("--listener", action="append", choices=LISTENER_VERSIONS)
    parser.add_argument("--order", action="append", choices=ORDERS)
    options = parser.parse_args()
    bad = 0
    sys.stdout.write(
        "| Spark | listener | which is | plans | under its run ids | columns |\n|---|---|---|---|---|---|\n"
    )
    for short in options.spark or SPARKS:
        for order in options.order or ORDERS:
            versions = (LISTENER_VERSION,) if order == "absent" else tuple(options.listener or LISTENER_VERSIONS)
            left_out = NOT_ON_SPARK_4 if SPARKS[short] == SPARK_4 else frozenset()
            for listener in (version for version in versions if version not in left_out):
                case_outcome = outcome(SPARKS[short], listener, order)
                bad += bool(case_outcome.problems)
                sys.stdout.write(f"{case_outcome}\n")
                sys.stdout.flush()
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
