"""Run queries in one real Spark session with throughline-plan.jar, and read the lineage of their plans."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import msgspec

from shared.openlineage.wire import RunEvent
from shared.plans.reader import PlanLineage, read_plan
from tests.plan_truth.tables import TABLES
from throughline.local.spark.job import SMALL_SESSION, SparkJob
from throughline.local.toolchain.interpreter import made_for, own
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_3, Platform
from throughline.plan_jar import LISTENER_CLASS, plan_jar

JOB = Path(__file__).parent / "job.py"
_PATIENCE_SECONDS = 3600.0
_CONFIGURATION = {
    **SMALL_SESSION,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.default.parallelism": "1",
    "spark.sql.codegen.wholeStage": "false",  # the tables are small or empty: compiled code would not pay off
    "spark.sql.crossJoin.enabled": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The reader's lineage of each query's plan, and the queries that Spark refused, with the reasons."""

    lineages: Mapping[str, PlanLineage]
    refused: Mapping[str, str]


def run(
    queries: Mapping[str, str],
    folder: Path,
    *,
    job: Path = JOB,
    tables: object = TABLES,
    platform: Platform = SPARK_3,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Ran:
    """Run the queries over tables, by default those of TPC-DS; `job` writes into the empty `folder`.

    `more`: further properties of the session. Raises RuntimeError for a job that fails.
    """
    (folder / "tables.json").write_text(json.dumps(tables))
    (folder / "queries.json").write_text(json.dumps(queries))
    events = folder / "plans.jsonl"
    listener = {
        "spark.jars": str(plan_jar()),
        "spark.extraListeners": LISTENER_CLASS,
        "spark.throughline.plan.queue": "2000",
        "spark.throughline.plan.transport.type": "file",
        "spark.throughline.plan.transport.location": str(events),
    }
    run_job(job, folder, "job", platform, {**more, **listener})
    refused = json.loads((folder / "refused.json").read_text())
    return Ran(lineages=read(events), refused=refused)


def run_job(job: Path, folder: Path, name: str, platform: Platform, properties: Mapping[str, str]) -> None:
    """Run a job with `folder` as its argument; Spark's own files go to `folder/name`.

    Raises RuntimeError for one that fails.
    """
    with SparkJob(
        job,
        configuration={**_CONFIGURATION, **properties},
        directory=folder / name,
        arguments=[str(folder)],
        java=find_java(JavaNeed(platform=platform, listener=True)),
        interpreter=own() if platform == SPARK_3 else made_for(platform),
    ) as running:
        result = running.wait(seconds=_PATIENCE_SECONDS)
    if result.problem:
        raise RuntimeError(f"{result.problem}\n{result.output[-2000:]}")


def delta_session(platform: Platform) -> dict[str, str]:
    """Return the properties of a session with Delta."""
    return {
        "spark.jars.packages": platform.delta_package,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }


def read(events: Path) -> dict[str, PlanLineage]:
    """Return the lineage of each plan in a file of events, by the name of its query."""
    decoder, plan_lineages = msgspec.json.Decoder(RunEvent), {}
    for line in events.read_text().splitlines():
        facets = decoder.decode(line).run.facets
        if facets and facets.plan and facets.plan.plan:
            lineage = read_plan(facets.plan)
            for output in lineage.outputs:
                plan_lineages[output.name.rpartition("/")[2].removeprefix("out_")] = lineage
    return plan_lineages
