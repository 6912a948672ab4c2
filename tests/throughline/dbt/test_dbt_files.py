"""`throughline import dbt`: what it sends of dbt's files, and every mistake in them at once, with its place.

Secrets of profiles stay where they are.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from shared.errors import Misconfigured
from shared.naming.names import Names, canonical
from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history
from tests.support import dbt_histories as wrapped
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.cli.main import app
from throughline.dbt.artifacts import read_project
from throughline.dbt.connection import namespace_of
from throughline.dbt.events import JobOfProject, jobs_of

Json = dict[str, Any]
DUCKDB = "duckdb:///lake.duckdb"
SCHEMA = "https://schemas.getdbt.com/dbt/{}/v{}.json"
SECRET = "S3cr3t-of-ann"  # noqa: S105 - of nobody


def node(unique_id: str, *reads: str, **fields: Any) -> Json:
    kind, _, name = unique_id.split(".", 2)
    base = {"unique_id": unique_id, "resource_type": kind, "name": name, "schema": "main", "database": "db"}
    return {**base, "alias": name, "depends_on": {"nodes": reads}, "config": {"materialized": "table"}, **fields}


def manifest(*nodes: Json, version: int = 12, **fields: Any) -> Json:
    nodes_by_kind = {
        kind: {
            manifest_node["unique_id"]: manifest_node
            for manifest_node in nodes
            if manifest_node["resource_type"] == kind
        }
        for kind in _APART
    }
    other_nodes = {
        manifest_node["unique_id"]: manifest_node
        for manifest_node in nodes
        if manifest_node["resource_type"] not in _APART
    }
    metadata = {
        "dbt_schema_version": SCHEMA.format("manifest", version),
        "generated_at": "2026-11-26T10:00:00Z",
        "project_name": "shop",
        "adapter_type": "duckdb",
        "dbt_version": "1.10.0",
    }
    return {
        "metadata": metadata,
        "nodes": other_nodes,
        **{f"{kind}s": named for kind, named in nodes_by_kind.items()},
        **fields,
    }


_APART = ("source", "exposure", "metric")


def results(*rows: Json, version: int = 6) -> Json:
    metadata = {
        "dbt_schema_version": SCHEMA.format("run-results", version),
        "generated_at": "2026-11-26T11:00:00Z",
        "invocation_id": "one",
    }
    return {"metadata": metadata, "results": rows, "args": {}}


def result(unique_id: str, status: str = "success", **fields: Any) -> Json:
    times = {"started_at": "2026-11-26T10:30:00Z", "completed_at": "2026-11-26T10:30:05Z"}
    return {"unique_id": unique_id, "status": status, "timing": [{"name": "execute", **times}], **fields}


def write(folder: Path, **files: Json | str) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def jobs(folder: Path) -> dict[str, JobOfProject]:
    job_of_projects = jobs_of(read_project(folder), namespace=DUCKDB, job_namespace="dbt")
    return {job.name: job for job in job_of_projects}


def lineage(project: dict[str, JobOfProject]) -> set[tuple[str, str]]:
    history = translate_history(decode(raw) for job in project.values() for raw in job.events)
    return {
        (source.name, target.name)
        for process in history.processes
        for source in process.inputs
        for target in process.outputs
    }


ORDERS = node("source.shop.raw.orders", name="orders", identifier="ORDERS_1", schema="raw")
CLEAN = node("model.shop.clean", "source.shop.raw.orders", compiled_code="select id from db.raw.ORDERS_1")
ALL = (
    ORDERS,
    CLEAN,
    node("seed.shop.rates"),
    node("model.shop.passing", "model.shop.clean", config={"materialized": "ephemeral"}),
    node("metric.shop.revenue", "model.shop.passing", config={}),
    node("snapshot.shop.then", "model.shop.passing", "seed.shop.rates"),
    node("model.shop.alone", config={"materialized": "view"}),
    node("exposure.shop.board", "metric.shop.revenue", "model.shop.then", type="dashboard", owner={"name": "Eve"}),
)


@pytest.mark.parametrize("version", [10, 11, 12])
def test_every_kind_of_node_and_what_ephemeral_ones_pass(tmp_path: Path, version: int) -> None:
    project = jobs(write(tmp_path, manifest=manifest(*ALL, version=version)))
    assert {(job.kind, job.name, job.reads, job.writes) for job in project.values()} == {
        ("MODEL", "db.main.shop.clean", ("db.raw.ORDERS_1",), "db.main.clean"),
        ("SNAPSHOT", "db.main.shop.then.snapshot", ("db.main.clean", "db.main.rates"), "db.main.then"),
        ("EXPOSURE", "exposures.shop.db.main.clean", ("db.main.clean",), "exposures/board"),
    }
    assert all(job.ran is None for job in project.values())
    assert lineage(project) == {
        ("db.raw.ORDERS_1", "db.main.clean"),
        ("db.main.clean", "db.main.then"),
        ("db.main.rates", "db.main.then"),
        ("db.main.clean", "exposures/board"),
    }


@pytest.mark.parametrize(
    ("status", "types"),
    [
        ("success", ["START", "COMPLETE"]),
        ("partial success", ["START", "COMPLETE"]),
        ("error", ["START", "FAIL"]),
        ("skipped", [None]),
        ("no-op", [None]),
    ],
)
def test_what_dbt_ran_is_a_run_and_the_rest_a_job_event(tmp_path: Path, status: str, types: list[str | None]) -> None:
    ran = results(result("model.shop.clean", status, adapter_response={"rows_affected": 7}))
    project = jobs(write(tmp_path, manifest=manifest(ORDERS, CLEAN), run_results=ran))
    events = [json.loads(raw) for raw in project["db.main.shop.clean"].events]
    assert [event.get("eventType") for event in events] == types
    event_types = (
        [json.loads(raw)["eventType"] for raw in project["dbt-run-shop"].events] if "dbt-run-shop" in project else []
    )
    assert event_types == (["START", types[-1]] if types[-1] else [])
    rows = [output.get("outputFacets", {}).get("outputStatistics") for output in events[-1]["outputs"]]
    assert [row and row["rowCount"] for row in rows] == {"COMPLETE": [7], "FAIL": [], None: [None]}[types[-1]]


def test_what_is_declared_is_in_facets(tmp_path: Path) -> None:
    described = node(
        "model.shop.clean",
        "source.shop.raw.orders",
        description="Clean orders",
        tags=["gold"],
        meta={"tier": 1},
        group="sales",
        columns={"ID": {"name": "ID", "description": "the key", "tags": ["key"]}},
    )
    groups = {"group.shop.sales": {"name": "sales", "owner": {"email": "sales@example.org"}}}
    tables = {"model.shop.clean": {"columns": {"id": {"name": "id", "type": "INTEGER", "index": 1}}}}
    metadata = {"dbt_schema_version": SCHEMA.format("catalog", 1), "generated_at": "2026-11-26T10:00:00Z"}
    folder = write(
        tmp_path,
        manifest=manifest(ORDERS, described, groups=groups),
        catalog={"metadata": metadata, "nodes": tables, "sources": {}},
    )
    history = translate_history(decode(raw) for job in jobs(folder).values() for raw in job.events)
    (schema,) = (schema for schema in history.processes[0].schemas if schema.qualified_name.endswith("clean"))
    assert schema.columns == (("id", "INTEGER"),)
    assert (schema.declared.owner, schema.declared.description) == ("sales@example.org", "Clean orders")
    assert schema.declared.tags == (("gold", "true", ""), ("key", "true", "ID"), ("tier", "1", ""))
    assert history.processes[0].origin.declared.description == "Clean orders"


def test_tests_are_results_of_their_tables(tmp_path: Path) -> None:
    unique: Json = {"test_metadata": {"name": "unique", "kwargs": {"column_name": "id"}}}
    tests = [
        node("test.shop.unique_id", "model.shop.clean", attached_node="model.shop.clean", **unique),
        node("test.shop.warned", "model.shop.clean", **unique, config={"severity": "WARN"}),
        node("test.shop.by_hand", "model.shop.clean", "source.shop.raw.orders"),
        node("test.shop.not_run", "model.shop.clean", **unique),
    ]
    ran = [("unique_id", "pass"), ("warned", "warn"), ("by_hand", "fail"), ("not_run", "skipped")]
    rows = [result(f"test.shop.{name}", status, failures=int(status != "pass")) for name, status in ran]
    project = jobs(write(tmp_path, manifest=manifest(ORDERS, CLEAN, *tests), run_results=results(*rows)))
    generic = json.loads(project["db.main.shop.clean.test"].events[0])
    assertions = generic["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [
        (assertion["name"], assertion["column"], assertion["success"], assertion["severity"])
        for assertion in assertions
    ] == [
        ("unique_id", "id", True, "error"),
        ("warned", "id", False, "warn"),
    ]
    assert generic["eventType"] == "COMPLETE"  # a warning stops nothing
    by_hand = json.loads(project["test.shop.by_hand"].events[0])
    assert [entry["name"] for entry in by_hand["inputs"]] == ["db.main.clean", "db.raw.ORDERS_1"]
    assert by_hand["run"]["facets"]["test"]["tests"][0]["status"] == "fail"
    assert by_hand["eventType"] == "FAIL"


def test_every_mistake_of_every_file_is_reported_at_once(tmp_path: Path) -> None:
    broken = node("model.shop.broken", depends_on={"nodes": "all"})
    folder = write(
        tmp_path,
        manifest=manifest(ORDERS, broken, node("model.shop.other", columns=[])),
        run_results=results({"unique_id": "model.shop.clean"}, version=6),
        catalog='{"metadata": ',
    )
    with pytest.raises(Misconfigured) as error:
        read_project(folder)
    lines = str(error.value).splitlines()[1:]
    assert [line.strip(" -").split(": ")[0] for line in lines] == [
        f"{folder}/catalog.json",
        "manifest.json",
        "manifest.json",
        "run_results.json",
    ]
    assert "nodes.model.shop.broken: Expected `array | null`, got `str` - at `$.depends_on.nodes`" in lines[1]
    assert "results[0]" in lines[3]
    assert "`status`" in lines[3]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "manifest.json does not exist: name the folder that dbt writes (`target`), or run `dbt compile`"),
        ({"manifest": manifest(version=9)}, "versions v10 to v12 are read"),
        ({"manifest": manifest(), "run_results": results(version=3)}, "versions v4 to v6 are read"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, files: dict[str, Json], sentence: str) -> None:
    result = CliRunner().invoke(app, ["import", "dbt", str(write(tmp_path, **files)), "--dry-run"], obj=Parts().worker)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


PROFILE = """
shop:
  target: "{{{{ env_var('TARGET', 'dev') }}}}"
  outputs:
    dev: {{threads: 1, user: ann, password: {secret}, {output}}}
"""


def connection(tmp_path: Path, output: str, **environment: str) -> str:
    project = tmp_path / "project"
    write(project / "target", manifest=manifest())
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (project / "profiles.yml").write_text(PROFILE.format(secret=SECRET, output=output))
    variables = {"HOST": "db.example.org", "DBT_ENV_SECRET_HOST": SECRET, **environment}
    return namespace_of(read_project(project), variables)


@pytest.mark.parametrize(
    ("output", "namespace"),
    [
        ("type: duckdb, path: /data/lake.duckdb", "duckdb:///data/lake.duckdb"),
        ("type: duckdb, path: 'md:lake?motherduck_token=S3cr3t-of-ann'", "duckdb://md:lake"),
        ("type: spark, method: thrift, host: a", "spark://a:10001"),
        ("type: spark, method: http, host: a", "spark://a:443"),
        ("type: spark, method: thrift, host: a, port: 10000", "spark://a:10000"),
        ("type: databricks, host: adb-1.azuredatabricks.net", "databricks://adb-1.azuredatabricks.net"),
        (
            "type: fabric, server: x.datawarehouse.fabric.microsoft.com",
            "fabric-warehouse://x.datawarehouse.fabric.microsoft.com",
        ),
        ("type: fabric, server: x, port: 1433", "fabric-warehouse://x:1433"),
        ("type: sqlserver, server: x", "mssql://x:1433"),
        ("type: postgres, host: \"{{ env_var('HOST') }}\"", "postgres://db.example.org:5432"),
        ("type: snowflake, account: \"{{ env_var('NONE', 'acc') }}\"", "snowflake://acc"),
        ("type: bigquery", "bigquery"),
    ],
)
def test_the_namespace_is_that_of_the_profile(tmp_path: Path, output: str, namespace: str) -> None:
    assert connection(tmp_path, output) == namespace


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("type: spark, method: session", "host is missing"),
        ("type: oracle, host: a", "no namespace is known for connections of type 'oracle'"),
        ("type: postgres, host: \"{{ env_var('UNSET') }}\"", "host needs the environment variable UNSET: set it"),
        ("type: postgres, host: \"{{ env_var('DBT_ENV_SECRET_HOST') }}\"", "host is the secret DBT_ENV_SECRET_HOST"),
        ("type: postgres, host: \"{{ var('host') }}\"", "host is Jinja other than `env_var`"),
        ("type: postgres, host: 'a", "profiles.yml:6: this is not valid YAML"),
    ],
)
def test_a_profile_that_names_no_place(tmp_path: Path, output: str, sentence: str) -> None:
    with pytest.raises(Misconfigured) as error:
        connection(tmp_path, output)
    assert sentence in str(error.value)
    assert SECRET not in str(error.value)


def test_a_target_that_the_profile_has_not(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"profiles.yml: shop.outputs has no 'prod': give --target"):
        connection(tmp_path, "type: duckdb", TARGET="prod")


@pytest.mark.parametrize(
    ("output", "table", "other"),
    [
        (
            "type: databricks, host: adb-1.azuredatabricks.net",
            "main.sales.orders",
            ("spark://adb-1.azuredatabricks.net:443", "main.sales.orders"),
        ),
        (
            "type: fabric, server: x.datawarehouse.fabric.microsoft.com",
            "wh.dbo.orders",
            ("sqlserver://x.datawarehouse.fabric.microsoft.com:1433;database=wh", "dbo.orders"),
        ),
        ("type: sqlserver, server: x", "d.dbo.orders", ("sqlserver://x:1433;databaseName=d", "dbo.orders")),
        ("type: duckdb, path: /data/lake.duckdb", "lake.main.orders", ("duckdb:/data/lake.duckdb", "orders")),
        ("type: postgres, host: h", "d.public.orders", ("postgres://h:5432", "d.public.orders")),
    ],
)
def test_a_table_is_the_asset_that_sparks_events_name(
    tmp_path: Path, output: str, table: str, other: tuple[str, str]
) -> None:
    by_dbt, by_spark = canonical(connection(tmp_path, output), table), canonical(*other)
    assert Names().name(by_dbt).best == Names().name(by_spark).best


def reported_by_wrapper(parts: Parts, raw: bytes) -> None:
    """The same event as `dbt-ol` would send it: another producer's run of the same job."""
    event = json.loads(raw)
    event["run"]["facets"]["processing_engine"]["openlineageAdapterVersion"] = "1.54.0"
    event["run"]["runId"] = "0192a3b4-5c6d-7e8f-9012-3456789abcde"
    for place in post(parts.storage, msgspec.json.encode(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


@pytest.mark.parametrize(
    ("start_time", "expected_line"),
    [
        ("2026-11-26T10:30:00Z", "0 models that dbt ran, 0 by design"),  # the run that was reported
        ("2026-11-26T12:30:00Z", "1 model that dbt ran, 0 by design, 1 tested table"),  # a later one, without dbt-ol
        (None, "0 models that dbt ran, 0 by design"),  # nothing new: dbt ran none
    ],
)
def test_what_the_wrapper_reported_is_left_out(tmp_path: Path, start_time: str | None, expected_line: str) -> None:
    unique: Json = {"test_metadata": {"name": "unique", "kwargs": {"column_name": "id"}}}
    test = node("test.shop.unique_id", "model.shop.clean", **unique)
    files = {"manifest": manifest(ORDERS, CLEAN, test)}
    first = results(result("model.shop.clean"))
    parts = Parts()
    reported_by_wrapper(parts, jobs(write(tmp_path, **files, run_results=first))["db.main.shop.clean"].events[-1])
    if start_time:
        row = result("model.shop.clean") | {
            "timing": [{"name": "execute", "started_at": start_time, "completed_at": start_time}]
        }
        write(tmp_path, **files, run_results=results(row, result("test.shop.unique_id", "pass")))
    else:
        (tmp_path / "run_results.json").unlink()
    command_result = parts.run("import", "dbt", str(tmp_path), "--namespace", DUCKDB, "--dry-run")
    assert command_result.exit_code == 0, command_result.output
    assert expected_line in command_result.output.splitlines()
    assert (
        "left out with all tests: their runs are reported already" in command_result.output
    ) is not expected_line.startswith("1")


def test_a_dry_run_and_a_file_send_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path, manifest=manifest(*ALL))
    shown_output = Parts().run("import", "dbt", str(folder), "--namespace", DUCKDB, "--dry-run", "--most", "1").output
    assert "model     db.main.shop.clean: db.raw.ORDERS_1 → db.main.clean" in shown_output
    assert "and 2 more (--most)" in shown_output
    assert "columns: 1 model without compiled SQL" in shown_output
    place = tmp_path / "events.jsonl.gz"
    saved = Parts().run("import", "dbt", str(folder), "--namespace", DUCKDB, "--save", str(place))
    assert "3 events saved" in saved.output
    translated = CliRunner().invoke(app, ["translate", str(place)])
    assert "db.main.clean → exposures" in translated.output


def exposed(reads: tuple[str, ...], package: str = "shop", name: str = "board") -> Json:
    return node(f"exposure.{package}.{name}", *reads, type="dashboard", url="https://bi.example.com/1")


def test_exposures_are_told_of_each_table_by_the_names_that_the_wrapper_gives(tmp_path: Path) -> None:
    both = (exposed(("model.shop.clean", "source.shop.raw.orders")), exposed(("model.shop.clean",), "bi", "sheet"))
    events = [
        raw for job in jobs(write(tmp_path, manifest=manifest(ORDERS, CLEAN, *both))).values() for raw in job.events
    ]
    by_wrapper = wrapped.event(
        "COMPLETE",
        "clean",
        60,
        invocation="one",
        inputs=[{**renamed("db.raw.ORDERS_1"), "facets": listed("shop.board")}],
        outputs=[{**renamed("db.main.clean"), "facets": {**listed("shop.board", "bi.sheet"), "dbt_model": {}}}],
    ).replace(b'"namespace": "default"', b'"namespace": "dbt"')
    by_import, expected = (
        {
            (process.qualified_name, process.name, process.inputs, process.outputs)
            for process in translate_history(map(decode, raws)).processes
            if process.operations == ("declared",)
        }
        for raws in (events, [by_wrapper])
    )
    assert by_import == expected
    assert {(name, *(sink.namespace for sink in sinks)) for _, name, _, sinks in by_import} == {
        ("db.main.clean → exposures", "dbt://bi", "dbt://shop"),
        ("db.raw.ORDERS_1 → exposures", "dbt://shop"),
    }


def renamed(name: str) -> Json:
    return {"namespace": DUCKDB, "name": name}


def listed(*exposures: str) -> Json:
    return {"dbt_exposures": {"exposures": [wrapped.exposure(*reversed(name.split("."))) for name in exposures]}}


@pytest.mark.parametrize("status", ["success", "skipped"])
def test_a_table_without_exposures_says_so_whether_dbt_ran_it_or_not(tmp_path: Path, status: str) -> None:
    reads = ("model.shop.clean", "source.shop.raw.orders")
    later: Json = {"generated_at": "2026-11-26T20:00:00Z", "invocation_id": "two"}
    ran = results(result("model.shop.clean", status))
    whole, without = manifest(ORDERS, CLEAN, exposed(reads)), manifest(ORDERS, CLEAN)
    for file in (without, ran):
        file["metadata"] |= later
    ran["results"][0]["timing"][0] |= {"started_at": "2026-11-26T19:00:00Z", "completed_at": "2026-11-26T19:01:00Z"}
    before = jobs(write(tmp_path / "1", manifest=whole))
    after = jobs(write(tmp_path / "2", manifest=without, run_results=ran))
    assert lineage(before) - lineage(after) == {
        ("db.main.clean", "exposures/board"),
        ("db.raw.ORDERS_1", "exposures/board"),
    }
    both = {f"{number} {name}": job for number, project in enumerate((after, before)) for name, job in project.items()}
    assert lineage(both) == lineage(after)
