"""dbt on DuckDB, dbt on Spark's Thrift server and a notebook between them, all real: their lineage is one graph.

dbt's packages are in an environment of their own (build/dbt_python, made at the first use). The Thrift server runs in
the notebook's session, as on a cluster: the listener reports dbt's statements too.
"""

import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.naming.names import Names
from shared.naming.stores.families import NO_ENVIRONMENT
from shared.naming.user_rules import parse_names
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import translate_history
from shared.translation.run.datasets import Place, quality_results
from tests.capture.scenarios._dbt import dbt, write_project
from tests.capture.systems import pythons
from tests.capture.systems.serving import free_port
from tests.support.spark_events import file_configuration
from throughline.local.spark.job import QUICK_SESSION, SparkJob

pytestmark = [pytest.mark.e2e, pytest.mark.proof]
JOB = Path(__file__).with_name("serving_notebook.py")
DUCKDB_DRIVER = "org.duckdb:duckdb_jdbc:2.0.0.1"
PATIENCE_SECONDS = 300
PROJECT = """
name: {name}
version: "1.0"
profile: {name}
flags: {{send_anonymous_usage_stats: false}}
models: {{{name}: {{+materialized: table}}}}
"""
PROFILE = "{name}: {{target: local, outputs: {{local: {{threads: 1, {target}}}}}}}\n"
SHOP = {
    "seeds/raw_orders.csv": "order_id,customer_id,amount,status\n10,1,12.5,open\n11,2,7.5,paid\n",
    "models/open_orders.sql": "select customer_id, amount from {{ ref('raw_orders') }} where status = 'open'",
    "models/schema.yml": """
models:
  - name: open_orders
    columns: [{name: customer_id, data_tests: [unique]}]
""",
}
SALES = {
    "models/totals.sql": """
{{ config(file_format="parquet") }}
select customer_id, sum(amount) as total from {{ source("notebook", "orders") }} group by customer_id
""",
    "models/schema.yml": """
sources: [{name: notebook, schema: sales, tables: [{name: orders}]}]
models:
  - name: totals
    columns: [{name: total, data_tests: [not_null]}]
""",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The folder of all data, the events by producer, and names of the Thrift server's tables."""

    data: Path
    events: dict[str, list[Event]]
    names: Names


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, jar: Path) -> Work:
    """Build both projects, the second one while the notebook serves its tables."""
    data = tmp_path_factory.mktemp("work")
    files = {name: data / f"{name}.jsonl" for name in ("duckdb", "spark", "notebook")}
    port = free_port()
    with pythons.dbt() as system:
        assert system.python
        programs = system.python.parent
    write_project(data / "shop", _project("shop", f'type: duckdb, path: "{data}/shop.duckdb"', SHOP))
    thrift = f"type: spark, method: thrift, host: 127.0.0.1, port: {port}, schema: sales"
    write_project(data / "sales", _project("sales", thrift, SALES))

    dbt(("build",), data / "shop", programs=programs, events=files["duckdb"])
    with SparkJob(
        JOB, configuration=_session(data, files["notebook"], jar, port), directory=data / "job", arguments=[str(data)]
    ) as notebook:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while notebook.running and not (data / "serving").exists():
            assert time.monotonic() < deadline, notebook.log.read_text()
            time.sleep(0.1)
        if notebook.running:
            dbt(("build",), data / "sales", programs=programs, events=files["spark"])
        (data / "served").touch()
        result = notebook.wait(seconds=PATIENCE_SECONDS)
    assert result.problem is None, result.problem
    return Work(
        data=data,
        events={name: [decode(line) for line in path.read_bytes().splitlines()] for name, path in files.items()},
        names=parse_names(
            f"""
            [[rules]]
            rule = "thrift"
            type = "fs_path"
            namespace = "spark://127.0.0.1:{port}"
            name = "(?P<database>[^.]+)[.](?P<table>[^.]+)"
            qualified_name = "file://{data}/warehouse/{{database}}.db/{{table}}"
            """,
            "names.toml",
        ),
    )


def _project(name: str, target: str, files: dict[str, str]) -> dict[str, str]:
    profile = PROFILE.format(name=name, target=target)
    return {"dbt_project.yml": PROJECT.format(name=name), "profiles.yml": profile, **files}


def _session(data: Path, events: Path, jar: Path, port: int) -> dict[str, str]:
    """Properties of a session with a metastore, a Thrift server on loopback, and the listener on its class path.

    From `spark.jars.packages` the listener would lose its classes: the end of a Thrift session closes their loader.
    """
    return {
        **QUICK_SESSION,
        **file_configuration(events),
        "spark.jars.packages": DUCKDB_DRIVER,
        "spark.driver.extraClassPath": str(jar),
        "spark.driver.extraJavaOptions": (
            f"{QUICK_SESSION['spark.driver.extraJavaOptions']} -Dderby.stream.error.file={data}/derby.log"
        ),
        "spark.sql.warehouse.dir": str(data / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={data}/metastore;create=true",
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
        "spark.hadoop.hive.server2.thrift.port": str(port),
    }


def test_three_producers_make_one_graph(work: Work) -> None:
    """Each table is one asset, whoever names it; a test is no process."""
    history = translate_history((event for part in work.events.values() for event in part), names=work.names)
    edges = {
        (re.split("[. ]", process.name)[0], source.qualified_name, target.qualified_name)
        for process in history.processes
        for source in process.inputs
        for target in process.outputs
    }
    assert edges == {
        (job, _place(work, source), _place(work, target))
        for job, source, target in (
            ("shop", "raw_orders", "open_orders"),
            ("orders", "open_orders", "sales.db/orders"),
            ("orders", "sales.db/orders", "sales.db/totals"),
            ("sales", "sales.db/orders", "sales.db/totals"),
            ("orders", "sales.db/totals", "large"),
        )
    }


def test_tests_of_dbt_are_results_of_the_same_assets(work: Work) -> None:
    place = Place(names=work.names, environment=NO_ENVIRONMENT)
    results = {
        (result.qualified_name, result.column, result.name.partition("/")[0], result.success)
        for name in ("duckdb", "spark")
        for event in work.events[name]
        if event.body
        for result in quality_results(event.body, place)
        if result.kind == "test"
    }
    assert results == {
        (_place(work, "open_orders"), "customer_id", "unique", True),
        (_place(work, "sales.db/totals"), "total", "not_null", True),
    }


def _place(work: Work, table: str) -> str:
    """The asset's name: a table of DuckDB, of the warehouse (`sales.db/…`), or a folder beside it."""
    if table.endswith("_orders"):
        return f"duckdb://{work.data}/shop.duckdb/shop.main.{table}"
    return f"file://{work.data}/{'warehouse/' if table.startswith('sales.db') else ''}{table}"
