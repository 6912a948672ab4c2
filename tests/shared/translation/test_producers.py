"""Producers beside each other: their jobs meet at the tables that they share, and tests of data are no jobs."""

from itertools import pairwise
from typing import Any

import pytest

from shared.model import Process
from shared.naming.user_rules import parse_names
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import History, translate_history
from tests.support.building import Json, packed
from tests.support.events import run_id

HOST = "adb-7.3.azuredatabricks.net"
STORAGE = "abfss://unity@acct.dfs.core.windows.net"
CATALOG = parse_names(f'[databricks.metastores]\n"{HOST}" = "3f25"', "names.toml")

Said = tuple[str, str] | tuple[str, str, tuple[str, str]]
"""A data set: its namespace, its name, and a symlink."""


def _dataset(spelling: Said) -> Json:
    namespace, name, *links = spelling
    identifiers = [{"namespace": link[0], "name": link[1], "type": "TABLE"} for link in links]
    return {"namespace": namespace, "name": name, "facets": {"symlinks": {"identifiers": identifiers}} if links else {}}


def job(
    name: str,
    reads: Said,
    writes: Said | None,
    *,
    integration: str = "SPARK",
    job_type: str = "SQL_JOB",
    end: str = "COMPLETE",
    facets: Json | None = None,
) -> Event:
    """A run of a job that reads one data set and writes another."""
    body: dict[str, Any] = {
        "eventType": end,
        "eventTime": "2026-11-21T10:00:00Z",
        "producer": "https://example.com/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id(name), "facets": facets or {}},
        "job": {
            "namespace": "team",
            "name": name,
            "facets": {"jobType": {"integration": integration, "jobType": job_type, "processingType": "BATCH"}},
        },
        "inputs": [_dataset(reads)],
        "outputs": [_dataset(writes)] if writes else [],
    }
    return decode(packed(body))


def dbt(name: str, reads: Said, writes: Said) -> Event:
    return job(name, reads, writes, integration="DBT", job_type="MODEL")


def notebook(name: str, reads: Said, writes: Said) -> Event:
    """A job of a named application, whose workspace only a property names."""
    facets = {"spark_properties": {"properties": {"spark.databricks.workspaceUrl": HOST}}}
    return job(f"{name}.execute_insert_into_hadoop_fs_relation_command", reads, writes, facets=facets)


def managed(table: str, number: int) -> Said:
    """A managed table of Unity Catalog, as Databricks' listener names it."""
    folder = f"/7/__unitystorage/catalogs/{run_id('catalog')}/tables/{run_id(str(number))}"
    return (STORAGE, folder, ("unity-catalog", table))


CHAINS: dict[str, tuple[Event, ...]] = {
    # each job reads what the one before it wrote
    "Azure SQL: Spark, dbt, Airflow": (
        job("load", ("file", "/in"), ("sqlserver://srv.database.windows.net:1433", "shop.dbo.raw")),
        dbt(
            "model",
            ("mssql://srv.database.windows.net:1433", "shop.dbo.raw"),
            ("mssql://srv.database.windows.net:1433", "shop.dbo.orders"),
        ),
        job("report", ("mssql://srv.database.windows.net", "shop.dbo.orders"), ("file", "/out"), integration="AIRFLOW"),
    ),
    "Unity Catalog: notebook, dbt, notebook": (
        notebook("ingest", ("file", "/in"), managed("main.raw.orders", 1)),
        dbt("model", (f"databricks://{HOST}", "main.raw.orders"), (f"databricks://{HOST}", "main.gold.orders")),
        notebook("report", managed("main.gold.orders", 2), ("file", "/out")),
    ),
    "Databricks' Hive metastore: notebook, dbt's adapter for Spark": (
        notebook("ingest", ("file", "/in"), ("dbfs", "/user/hive/warehouse/raw.db/orders")),
        dbt("model", (f"spark://{HOST}:443", "raw.orders"), (f"spark://{HOST}:443", "gold.orders")),
    ),
    "Hive and Spark over a lake": (
        job(
            "insert",
            ("file", "/in"),
            ("hive://metastore:9083", "raw.orders", (STORAGE, "/warehouse/raw.db/orders")),
            integration="HIVE",
        ),
        job("read", (STORAGE, "warehouse/raw.db/orders", ("hive://metastore:9083", "raw.orders")), ("file", "/out")),
    ),
    "WASBS as the specification writes it": (
        job("copy", ("file", "/in"), ("abfss://raw@acct.dfs.core.windows.net", "/orders")),
        job("read", ("wasbs://raw@acct.dfs.core.windows.net", "orders"), ("file", "/out")),
    ),
}


def _in_order(history: History, jobs: tuple[Event, ...]) -> list[Process]:
    names = [event.body.job.name.partition(".")[0] for event in jobs if event.body]
    return sorted(history.processes, key=lambda process: names.index(process.name.partition(" ")[0]))


@pytest.mark.parametrize("names", [None, CATALOG], ids=["built-in names", "a file of names"])
@pytest.mark.parametrize("jobs", CHAINS.values(), ids=CHAINS)
def test_each_job_reads_what_the_one_before_it_wrote(jobs: tuple[Event, ...], names: Any) -> None:
    processes = _in_order(translate_history(jobs, **({"names": names} if names else {})), jobs)
    assert len(processes) == len(jobs)
    for process_before, process_after in pairwise(processes):
        assert [asset.key for asset in process_before.outputs] == [asset.key for asset in process_after.inputs]


def test_a_managed_table_is_named_and_shown_by_its_table() -> None:
    (process,) = translate_history([notebook("ingest", ("file", "/in"), managed("main.raw.orders", 1))]).processes
    assert process.name == "ingest → main.raw.orders"
    assert process.outputs[0].type == "databricks_table"
    assert f"/tables/{run_id('1')}" in process.qualified_name, "a process is named by the location"


def test_a_managed_table_of_an_unknown_workspace_is_at_least_shown_by_its_table() -> None:
    (process,) = translate_history([job("ingest", ("file", "/in"), managed("main.raw.orders", 1))]).processes
    assert process.outputs[0].type == "azure_datalake_gen2_path"
    assert process.name == "ingest → main.raw.orders"


OPERATIONS = {
    "CREATETABLE_AS_SELECT": "ctas",
    "QUERY": "insert",
    "LOAD": "load",
    "EXPORT": "copy",
    "UNHEARD_OF": "write",
}


@pytest.mark.parametrize(("operation_name", "operation"), OPERATIONS.items())
def test_the_operation_of_a_query_is_hives(operation_name: str, operation: str) -> None:
    facets = {"hive_query": {"queryId": "q1", "operationName": operation_name}}
    query = job("query.shop.result", ("file", "/in"), ("file", "/out"), integration="HIVE", facets=facets)
    assert [process.operations for process in translate_history([query]).processes] == [(operation,)]


@pytest.mark.parametrize(
    ("end", "state", "reason"),
    [
        ("START", "waiting", "no end event yet"),
        *(
            (end, "skipped", "tests data: its results are quality, not lineage")
            for end in ("COMPLETE", "FAIL", "ABORT")
        ),
    ],
)
def test_a_test_of_dbt_is_no_process(end: str, state: str, reason: str) -> None:
    """It writes the failing rows into a table of its own."""
    audit = ("postgres://db:5432", "shop.public_dbt_test__audit.not_null_orders_id")
    test = job(
        "test.shop.not_null_orders_id",
        ("postgres://db:5432", "shop.public.orders"),
        audit,
        integration="DBT",
        job_type="TEST",
        end=end,
    )
    history = translate_history([test])
    assert history.processes == ()
    assert [(run.state, run.reason) for run in history.runs] == [(state, reason)]
