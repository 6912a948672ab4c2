"""An event in which OpenLineage's Python client states what a run was given and touched: parameters, jobs before and
after it, the parts of data sets that it read and wrote, and where a table lies; see stated.truth.json.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    base_subset_dataset,
    execution_parameters_run,
    hierarchy_dataset,
    job_dependencies_run,
    job_type_job,
)
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.uuid import generate_new_uuid

SHOP = "postgres://db.example:5432"
LAKE = "abfss://lake@contoso.dfs.core.windows.net"


def parameters() -> execution_parameters_run.ExecutionParametersRunFacet:
    """A timeout, a day without a name for people, a password, and an address with a signature."""
    make = execution_parameters_run.ExecutionParameter
    return execution_parameters_run.ExecutionParametersRunFacet(
        parameters=[
            make(key="task.timeout", name="Task timeout", value="3600"),
            make(key="day", value="2026-11-21"),
            make(key="db.password", value="hunter2 with a blank"),
            make(key="landing", value="https://contoso.blob.core.windows.net/in?sv=2024&sig=c2VjcmV0"),
        ]
    )


def dependencies() -> job_dependencies_run.JobDependenciesRunFacet:
    """One job before and one after, which start by the schedule's rules."""
    make = job_dependencies_run.JobDependency
    identifier = job_dependencies_run.JobIdentifier
    return job_dependencies_run.JobDependenciesRunFacet(
        upstream=[
            make(
                job=identifier(namespace="shop", name="extract"),
                dependency_type="DIRECT_INVOCATION",
                sequence_trigger_rule="FINISH_TO_START",
                status_trigger_rule="EXECUTE_ON_SUCCESS",
            )
        ],
        downstream=[make(job=identifier(namespace="shop", name="report"))],
        trigger_rule="ALL_SUCCESS",
    )


def read() -> InputDataset:
    """A table by its levels, of which two partitions are read."""
    subset = base_subset_dataset
    level = hierarchy_dataset.HierarchyDatasetFacetLevel
    days = [
        subset.Partition(dimensions={"day": "2026-11-21", "country": country}, identifier=country)
        for country in ("PL", "DE")
    ]
    return InputDataset(
        SHOP,
        "shop.public.orders",
        facets={
            "hierarchy": hierarchy_dataset.HierarchyDatasetFacet(
                hierarchy=[
                    level(type="DATABASE", name="shop"),
                    level(type="SCHEMA", name="public"),
                    level(type="TABLE", name="orders"),
                ]
            )
        },
        inputFacets={
            "subset": subset.InputSubsetInputDatasetFacet(
                inputCondition=subset.PartitionSubsetCondition(partitions=days)
            )
        },
    )


def written() -> OutputDataset:
    """A folder of which the rows of one customer are written, at one of two locations."""
    subset = base_subset_dataset
    customer = subset.CompareSubsetCondition(
        left=subset.FieldBaseCompareExpression(field="customer"),
        right=subset.LiteralCompareExpression(value="Ann Example"),
        comparison="EQUAL",
    )
    places = subset.LocationSubsetCondition(locations=[f"{LAKE}/stated/a", f"{LAKE}/stated/b"])
    condition = subset.BinarySubsetCondition(left=customer, right=places, operator="AND")
    return OutputDataset(
        LAKE,
        "stated/orders",
        outputFacets={"subset": subset.OutputSubsetOutputDatasetFacet(outputCondition=condition)},
    )


def main() -> None:
    """Send one COMPLETE event."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not used: nothing is read or written")
    parser.add_argument("--events", type=Path, required=True)
    config = FileConfig(log_file_path=str(parser.parse_args().events), append=True)
    kind = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="CATALOG", jobType="TASK")
    OpenLineageClient(transport=FileTransport(config)).emit(
        RunEvent(
            eventType=RunState.COMPLETE,
            eventTime=datetime.now(UTC).isoformat(),
            run=Run(
                runId=str(generate_new_uuid()),
                facets={"executionParameters": parameters(), "jobDependencies": dependencies()},
            ),
            job=Job(namespace="shop", name="stated.load", facets={"jobType": kind}),
            producer="https://example.com/catalog",
            inputs=[read()],
            outputs=[written()],
        )
    )


if __name__ == "__main__":
    main()
