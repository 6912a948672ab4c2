"""Queries run in one real Spark session with throughline-plan.jar, and what the reader makes of their plans."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from local.spark.job import SMALL_SESSION, SparkJob
from local.spark.plan_jar import LISTENER_CLASS, plan_jar
from shared.openlineage.wire import RunEvent
from shared.plans.reader import PlanLineage, read_plan
from tests.plan_truth.tables import TABLES

JOB = Path(__file__).parent / "job.py"
_PATIENCE_SECONDS = 3600.0
_CONFIGURATION = {
    **SMALL_SESSION,
    "spark.extraListeners": LISTENER_CLASS,
    "spark.throughline.plan.queue": "2000",
    "spark.throughline.plan.transport.type": "file",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",  # the tables are empty: code would be compiled for no row
    "spark.sql.crossJoin.enabled": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the reader says of each query's plan, and the queries that Spark refused, each with the reason."""

    lineages: Mapping[str, PlanLineage]
    refused: Mapping[str, str]


def run(queries: Mapping[str, str], folder: Path, *, job: Path = JOB, tables: object = TABLES) -> Ran:
    """Run the queries over tables, those of TPC-DS unless given; the empty `folder` takes what `job` leaves.

    Raises RuntimeError for a job that fails.
    """
    (folder / "tables.json").write_text(json.dumps(tables))
    (folder / "queries.json").write_text(json.dumps(queries))
    events = folder / "plans.jsonl"
    configuration = {
        **_CONFIGURATION,
        "spark.jars": str(plan_jar()),
        "spark.throughline.plan.transport.location": str(events),
    }
    with SparkJob(job, configuration=configuration, directory=folder / "job", arguments=[str(folder)]) as running:
        result = running.wait(seconds=_PATIENCE_SECONDS)
    if result.problem:
        raise RuntimeError(f"{result.problem}\n{result.output[-2000:]}")
    refused = json.loads((folder / "refused.json").read_text())
    return Ran(lineages=read(events), refused=refused)


def read(events: Path) -> dict[str, PlanLineage]:
    """The lineage of each plan in a file of events, by the name of its query."""
    decoder, found = msgspec.json.Decoder(RunEvent), {}
    for line in events.read_text().splitlines():
        facets = decoder.decode(line).run.facets
        if facets and facets.plan and facets.plan.plan:
            lineage = read_plan(facets.plan)
            for output in lineage.outputs:
                found[output.name.rpartition("/")[2].removeprefix("out_")] = lineage
    return found
