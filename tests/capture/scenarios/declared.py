"""Events in which OpenLineage's Python client declares: tags, owners and descriptions of a job and its data sets, tests
and measures of one, and explicit lineage; see declared.truth.json.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    JobFacet,
    data_quality_assertions_dataset,
    data_quality_metrics_input_dataset,
    documentation_dataset,
    documentation_job,
    job_type_job,
    lineage,
    ownership_dataset,
    ownership_job,
    schema_dataset,
    tags_dataset,
    tags_job,
)
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.uuid import generate_new_uuid

SHOP = "postgres://db.example:5432"
LAKE = "abfss://lake@contoso.dfs.core.windows.net"
ORDERS, CUSTOMERS = "shop.public.orders", "shop.public.customers"
PRODUCER = "https://example.com/catalog"


class Program:
    """A program that sends one COMPLETE event for each of its jobs."""

    def __init__(self, events: Path) -> None:
        """Send to a file, one event a line."""
        config = FileConfig(log_file_path=str(events), append=True)
        self._client = OpenLineageClient(transport=FileTransport(config))

    def complete(self, name: str, inputs: list[InputDataset], outputs: list[OutputDataset], **facets: JobFacet) -> None:
        """A run that reads and writes these; `facets` are its job's."""
        kind = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="CATALOG", jobType="TASK")
        self._client.emit(
            RunEvent(
                eventType=RunState.COMPLETE,
                eventTime=datetime.now(UTC).isoformat(),
                run=Run(runId=str(generate_new_uuid())),
                job=Job(namespace="catalog", name=name, facets={"jobType": kind, **facets}),
                producer=PRODUCER,
                inputs=inputs,
                outputs=outputs,
            )
        )


def described(program: Program) -> None:
    """A job and its output with owners, a description and tags; the output's mail is tagged as a column."""
    fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type="text") for name in ("id", "mail")]
    sink = OutputDataset(
        LAKE,
        "described/customers",
        facets={
            "schema": schema_dataset.SchemaDatasetFacet(fields=fields),
            "tags": tags_dataset.TagsDatasetFacet(
                tags=[
                    tags_dataset.TagsDatasetFacetFields(key="tier", value="gold", source="USER"),
                    tags_dataset.TagsDatasetFacetFields(key="pii", value="true", source="USER", field="mail"),
                ]
            ),
            "ownership": ownership_dataset.OwnershipDatasetFacet(
                owners=[ownership_dataset.Owner(name="team:crm", type="MAINTAINER")]
            ),
            "documentation": documentation_dataset.DocumentationDatasetFacet(
                description="Customers that may be written to.", contentType="text/plain"
            ),
        },
    )
    program.complete(
        "describe.customers",
        [InputDataset(SHOP, CUSTOMERS)],
        [sink],
        tags=tags_job.TagsJobFacet(tags=[tags_job.TagsJobFacetFields(key="team", value="crm", source="USER")]),
        ownership=ownership_job.OwnershipJobFacet(owners=[ownership_job.Owner(name="user:ann")]),
        documentation=documentation_job.DocumentationJobFacet(description="Copies customers into the lake."),
    )


def tested(program: Program) -> None:
    """A job that tests and measures a table, and writes nothing."""
    tests = data_quality_assertions_dataset
    measures = data_quality_metrics_input_dataset
    column = measures.ColumnMetrics(nullCount=7, distinctCount=90, min=1, max=99.5, quantiles={"0.5": 40.0})
    orders = InputDataset(
        SHOP,
        ORDERS,
        inputFacets={
            "dataQualityAssertions": tests.DataQualityAssertionsDatasetFacet(
                assertions=[
                    tests.Assertion(
                        assertion="not_null", success=False, column="customer_id", severity="error", actual="7"
                    ),
                    tests.Assertion(assertion="row_count", success=True, expected="100", actual="100"),
                ]
            ),
            "dataQualityMetrics": measures.DataQualityMetricsInputDatasetFacet(
                rowCount=100, columnMetrics={"customer_id": column}
            ),
        },
    )
    program.complete("test.orders", [orders], [])


def _source(name: str, field: str | None = None, **transformation: Any) -> lineage.LineageDatasetInput:
    steps = [lineage.LineageTransformation(**transformation)] if transformation else []
    return lineage.LineageDatasetInput(SHOP, name, "DATASET", field=field, transformations=steps)


def explicit(program: Program) -> None:
    """One run writes two tables, each from another one, and says so; the event has no outputs of its own."""
    identity: dict[str, Any] = {"type": "DIRECT", "subtype": "IDENTITY", "masking": False}
    entries: list[lineage.LineageEntry] = [
        lineage.LineageDatasetEntry(
            LAKE,
            "explicit/orders",
            "DATASET",
            inputs=[_source(ORDERS), _source(ORDERS, "paid", type="INDIRECT", subtype="FILTER")],
            fields={"amount": lineage.LineageFieldEntry(inputs=[_source(ORDERS, "amount", **identity)])},
        ),
        lineage.LineageDatasetEntry(
            LAKE,
            "explicit/customers",
            "DATASET",
            fields={
                "mail_hash": lineage.LineageFieldEntry(
                    inputs=[_source(CUSTOMERS, "mail", type="DIRECT", subtype="TRANSFORMATION", masking=True)]
                )
            },
        ),
    ]
    program.complete(
        "explicit.export",
        [InputDataset(SHOP, ORDERS), InputDataset(SHOP, CUSTOMERS)],
        [],
        lineage=lineage.LineageJobFacet(entries=entries),
    )


def main() -> None:
    """Run all jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not used: nothing is read or written")
    parser.add_argument("--events", type=Path, required=True)
    program = Program(parser.parse_args().events)
    for job in (described, tested, explicit):
        job(program)


if __name__ == "__main__":
    main()
