"""Events as a Python program sends them with OpenLineage's client: an export and a report with column lineage, a job
that fails, one that is run twice; see python_client.truth.json.
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset as lineage
from openlineage.client.facet_v2 import error_message_run, job_type_job, schema_dataset, sql_job
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.uuid import generate_new_uuid

SHOP = "postgres://db.example:5432"
LAKE = "abfss://lake@contoso.dfs.core.windows.net"
PRODUCER = "https://example.com/exports"

Source = tuple[str, str, str, lineage.Transformation]


def copied(*, masked: bool = False) -> lineage.Transformation:
    """A value that is taken over."""
    return lineage.Transformation(type="DIRECT", subtype="TRANSFORMATION" if masked else "IDENTITY", masking=masked)


def added_up() -> lineage.Transformation:
    """A value that goes into an aggregate."""
    return lineage.Transformation(type="DIRECT", subtype="AGGREGATION")


def decides(subtype: str) -> lineage.Transformation:
    """A column that decides about rows."""
    return lineage.Transformation(type="INDIRECT", subtype=subtype)


def columns(sources: dict[str, Sequence[Source]], rows: Sequence[Source] = ()) -> lineage.ColumnLineageDatasetFacet:
    """The facet, of every column's sources and those that concern all rows."""

    def field(source: Source) -> lineage.InputField:
        namespace, name, column, step = source
        return lineage.InputField(namespace=namespace, name=name, field=column, transformations=[step])

    return lineage.ColumnLineageDatasetFacet(
        fields={
            column: lineage.Fields(inputFields=[*map(field, source_columns)])
            for column, source_columns in sources.items()
        },
        dataset=[*map(field, rows)],
    )


class Program:
    """A program that reports the lineage of its jobs."""

    def __init__(self, events: Path) -> None:
        """Send to a file, one event a line."""
        config = FileConfig(log_file_path=str(events), append=True)
        self._client = OpenLineageClient(transport=FileTransport(config))

    def run(
        self,
        name: str,
        inputs: Sequence[InputDataset],
        outputs: Sequence[OutputDataset],
        *,
        statement: str = "",
        error: str = "",
    ) -> None:
        """One run: inputs when it starts, outputs when it ends."""
        kind = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="EXPORTS", jobType="TASK")
        query = {"sql": sql_job.SQLJobFacet(query=statement)} if statement else {}
        job = Job(namespace="exports", name=name, facets={"jobType": kind, **query})
        run = str(generate_new_uuid())
        self._emit(RunState.START, Run(runId=run), job, inputs=[*inputs])
        if error:
            failed = Run(runId=run, facets={"errorMessage": error_message_run.ErrorMessageRunFacet(error, "PYTHON")})
            self._emit(RunState.FAIL, failed, job, outputs=[*outputs])
        else:
            self._emit(RunState.COMPLETE, Run(runId=run), job, outputs=[*outputs])

    def _emit(
        self,
        state: RunState,
        run: Run,
        job: Job,
        inputs: list[InputDataset] | None = None,
        outputs: list[OutputDataset] | None = None,
    ) -> None:
        self._client.emit(
            RunEvent(
                eventType=state,
                eventTime=datetime.now(UTC).isoformat(),
                run=run,
                job=job,
                producer=PRODUCER,
                inputs=inputs or [],
                outputs=outputs or [],
            )
        )


def export_customers(program: Program) -> None:
    """A table into a file, with one column hashed."""
    table = "shop.public.customers"
    fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type="text") for name in ("id", "name", "mail")]
    source = InputDataset(SHOP, table, facets={"schema": schema_dataset.SchemaDatasetFacet(fields=fields)})
    facet = columns(
        {
            "id": [(SHOP, table, "id", copied())],
            "name": [(SHOP, table, "name", copied())],
            "mail_hash": [(SHOP, table, "mail", copied(masked=True))],
        }
    )
    sink = OutputDataset(LAKE, "exports/customers.csv", facets={"columnLineage": facet})
    program.run("export.customers", [source], [sink])


def report(program: Program) -> None:
    """Two tables into one by a statement; the source of a column is named by its column lineage alone."""
    orders, customers = "shop.public.orders", "shop.public.customers"
    facet = columns(
        {
            "customer": [(SHOP, customers, "name", copied())],
            "total": [(SHOP, orders, "amount", added_up())],
        },
        rows=[
            (SHOP, orders, "customer_id", decides("JOIN")),
            (SHOP, customers, "id", decides("JOIN")),
            (SHOP, customers, "name", decides("GROUP_BY")),
        ],
    )
    statement = """
        INSERT INTO reports.totals SELECT c.name AS customer, sum(o.amount) AS total
        FROM orders o JOIN customers c ON o.customer_id = c.id GROUP BY c.name
    """
    sink = OutputDataset(SHOP, "shop.reports.totals", facets={"columnLineage": facet})
    program.run("report.totals", [InputDataset(SHOP, orders)], [sink], statement=statement)


def copy(program: Program) -> None:
    """Tables only, no facets."""
    program.run("copy", [InputDataset(LAKE, "raw/orders")], [OutputDataset("s3://archive", "raw/orders")])


def fail(program: Program) -> None:
    """A job that fails: its intended output is no lineage."""
    source, sink = InputDataset(LAKE, "raw/orders"), OutputDataset(LAKE, "failed/orders")
    program.run("fail", [source], [sink], error="the disk is full")


def main() -> None:
    """Run all jobs, the first one twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not used: nothing is read or written")
    parser.add_argument("--events", type=Path, required=True)
    program = Program(parser.parse_args().events)
    for job in (export_customers, report, copy, fail, export_customers):
        job(program)


if __name__ == "__main__":
    main()
