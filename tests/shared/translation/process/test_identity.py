"""The identity of processes: the same for ever while job and sink are the same, and different otherwise."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.naming.names import canonical
from shared.naming.stores.families import Identity
from shared.openlineage.decoding import decode
from shared.openlineage.merging import merge
from shared.openlineage.run import MergedRun
from shared.translation.process.identity import (
    JobIdentity,
    Strength,
    display_name,
    identify,
    identity_of,
    inherit,
    name_process,
    strongest,
)
from shared.translation.process.job_names import VOLATILE, stable_name
from tests.support.building import body, merged, packed

RUN = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
COMMIT = "0a1b2c3d4e" * 4
HOST = "adb-123.12.azuredatabricks.net"
DOCUMENT = Path(__file__).parents[4] / "docs/concepts/job-identity.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run's properties and the job identity made from them: a row of the table in docs/concepts/job-identity.md."""

    platform: str
    job: str
    parent: str | None
    name: str
    strength: Strength
    properties: dict[str, Any] = field(default_factory=dict)
    integration: str = "SPARK"


def _app(platform: str, parent: str, name: str, strength: Strength = Strength.APPLICATION) -> Case:
    return Case(platform=platform, job=f"{parent}.append_data.t", parent=parent, name=name, strength=strength)


def _weak(platform: str, parent: str, name: str) -> Case:
    return _app(platform, parent, name, Strength.GENERIC)


def _bricks(name: str, strength: Strength, **fields: str) -> Case:
    """A run on Databricks; `fields` are properties without their common prefix."""
    long = {
        "path": "notebook.path",
        "id": "job.id",
        "cluster": "clusterUsageTags.clusterName",
        "tags": "clusterUsageTags.clusterAllTags",
    }
    return Case(
        platform="Databricks",
        job=f"{HOST}.execute_merge_into_command.t",
        parent=fields.pop("parent", "databricks_shell"),
        properties={f"spark.databricks.{long[key]}": value for key, value in fields.items()},
        name=name,
        strength=strength,
    )


def _run_name(name: str) -> str:
    return json.dumps([{"key": "Vendor", "value": "Databricks"}, {"key": "RunName", "value": name}])


def _other(platform: str, job: str, name: str, parent: str | None = None, strength: Strength = Strength.JOB) -> Case:
    return Case(platform=platform, integration=platform.upper(), job=job, parent=parent, name=name, strength=strength)


CASES: tuple[Case, ...] = (
    _app("Synapse", "Notebook_pool_1650268838", "Notebook_pool"),
    _app("Synapse", "notebook_pool_1650268838", "notebook_pool"),
    _app("Synapse", "Notebook 1_sparkpool_1650268838", "Notebook 1_sparkpool"),
    _app("Synapse", f"load_pool_{RUN}", "load_pool"),
    _app("Synapse", "Sales load_pool_1650268838123", "Sales load_pool"),
    _weak("Synapse", "Synapse_Session_pool_1650268838", "Synapse_Session_pool"),
    _weak("Synapse", "Synapse_1650268838", "Synapse"),
    _app("Fabric", f"Sales notebook_{RUN}", "Sales notebook"),
    _app("Fabric", f"sales_notebook_{RUN.replace('-', '_')}", "sales_notebook"),
    _app("Fabric", f"prefix_{RUN}_suffix", "prefix_suffix"),
    _weak("Fabric", f"HC_Sales notebook_{RUN}", "HC_Sales notebook"),
    _bricks("notebook /Users/ann@example.com/load", Strength.NOTEBOOK, path="/Users/ann@example.com/load"),
    _bricks("notebook /Users/ann@example.com/load", Strength.NOTEBOOK, path="/Workspace/Users/ann@example.com/load"),
    _bricks(
        "notebook /Repos/.internal/etl/load",
        Strength.NOTEBOOK,
        path=f"/Repos/.internal/0a1b2c3d4e_commits/{COMMIT}/etl/load",
    ),
    _bricks(
        "notebook /Repos/.internal/etl/load",
        Strength.NOTEBOOK,
        path=f"/Workspace/Repos/.internal/89448e6966_commits/{COMMIT[::-1]}/etl/load",
    ),
    _bricks("notebook /Repos/team/etl/load", Strength.NOTEBOOK, path="/Repos/team/etl/load"),
    _bricks("notebook /Shared/dbx/load", Strength.NOTEBOOK, path=f"/Shared/dbx/{RUN}/load"),
    _bricks("notebook /Shared/2026-11-21", Strength.NOTEBOOK, path="/Shared/2026-11-21"),
    _bricks("notebook /Shared/load", Strength.NOTEBOOK, path="/Shared/load", id="42", tags=_run_name("nightly")),
    _bricks("job 42", Strength.JOB, id="42"),
    _bricks("job 42", Strength.JOB, id="42", parent="my_app"),
    _bricks("job 42", Strength.JOB, cluster="job-42-run-77-main"),
    _bricks("job nightly load", Strength.JOB, id="42", tags=_run_name("nightly load")),
    _bricks("job ADF_shop_orders_Load", Strength.JOB, id="901642", tags=_run_name(f"ADF_shop_orders_Load_{RUN}")),
    _bricks("job load", Strength.JOB, id="887432", tags=_run_name("load_2026-11-21T04:00:00")),
    _bricks("databricks_shell", Strength.GENERIC, id="887432", tags=_run_name("Untitled")),
    _bricks("my_app", Strength.APPLICATION, id="887432", tags=_run_name("Untitled"), parent="my_app"),
    _bricks("job 42", Strength.JOB, id="42", tags="[REDACTED]"),
    _bricks("databricks_shell", Strength.GENERIC, cluster="Ann's cluster"),
    _weak("Databricks", "Databricks Shell", "Databricks Shell"),
    Case(
        platform="Databricks",
        job=f"{HOST}.execute_merge_into_command.t",
        parent=None,
        name="databricks_shell",
        strength=Strength.GENERIC,
    ),
    Case(
        platform="Databricks",
        job="dbc-0a1b2c3d-4e5f.cloud.databricks.com.append_data.t",
        parent=None,
        name="databricks_shell",
        strength=Strength.GENERIC,
    ),
    _app("Databricks", f"{HOST}.my_app", "my_app"),
    _app("EMR", "load j-2AXXXXXXGAPLF", "load"),
    _app("EMR", "load_s_07363942r9qhr8yhkmlr", "load"),
    _app("YARN", "load application_1650268838000_0001", "load"),
    _app("YARN", "load appattempt_1650268838000_0001_000002", "load"),
    _app("YARN", "load container_e17_1410901177871_0001_01_000005", "load"),
    _app("YARN", "load job_1650268838000_0012", "load"),
    _weak("YARN", "application_1650268838000_0001", "unnamed"),
    _app("AWS Glue", f"nativespark-orders-jr_{'0a1b2c3d' * 8}", "orders"),
    _app("AWS Glue", f"nativespark_orders_jr_{'0a1b2c3d' * 8}", "orders"),
    _app("AWS Glue", "orders", "orders"),
    _app("Kubernetes", "orders-1650268838000000000", "orders"),
    _app("Kubernetes", f"orders-{COMMIT}", "orders"),
    _weak("Kubernetes", f"spark-{RUN.replace('-', '')}", "spark"),
    _weak("Livy", "livy-session-7", "unnamed"),
    _app("Livy", "etl livy-session-7", "etl"),
    _weak("Livy", "remotesparkmagics", "remotesparkmagics"),
    _weak("Shells", "pyspark-shell", "pyspark-shell"),
    _weak("Shells", "PySparkShell", "PySparkShell"),
    _weak("Shells", "spark-shell", "spark-shell"),
    _weak("Shells", "Spark shell", "Spark shell"),
    _weak("Shells", "Zeppelin", "Zeppelin"),
    _weak("Shells", "SparkSQL::10.0.0.4", "SparkSQL"),
    _weak("Servers", "Thrift JDBC/ODBC Server", "Thrift JDBC/ODBC Server"),
    _weak("Servers", "thrift_jdbc_odbc_server", "thrift_jdbc_odbc_server"),
    _weak("Servers", "Spark Connect server", "Spark Connect server"),
    _weak("Servers", f"kyuubi_USER_SPARK_SQL_ann_default_{RUN}", "kyuubi_USER_SPARK_SQL_ann_default"),
    _app("Airflow's Spark operators", "load_manual__2026-11-21T04:00:00+00:00", "load"),
    _app("Airflow's Spark operators", "load_scheduled__2026-11-21T00:00:00.123456+00:00", "load"),
    _app("Airflow's Spark operators", "load_backfill__2026_11_21_t04_00_00_00_00", "load"),
    _app("Airflow's Spark operators", "shop__orders__20261121", "shop__orders"),
    _weak("Airflow's Spark operators", "scheduled__2026-11-21T00:00:00+00:00", "unnamed"),
    _weak("Airflow's Spark operators", "arrow-spark", "arrow-spark"),
    _app("Dates", "daily-2026-11-21", "daily"),
    _app("Dates", "daily_20261121", "daily"),
    _app("Dates", "2026-11-21 daily load", "daily load"),
    _app("Dates", "daily_2026_11_21_sales", "daily_sales"),
    _app("Dates", "daily 2026-11-21T04:00:00Z", "daily"),
    _app("Dates", "daily_2026_11_21_t04_00_00_123_z", "daily"),
    _app("Dates", "daily_20261121T040000Z", "daily"),
    _app("Dates", "daily_20261121_0400", "daily"),
    _app("Dates", "load-1763712000", "load"),
    _app("Dates", "load.1763712000123", "load"),
    _weak("Dates", "2026-11-21 04:00", "unnamed"),
    _app("Attempts", "load_attempt_2", "load"),
    _app("Attempts", "load (attempt 3)", "load"),
    _app("Attempts", "load-retry1", "load"),
    _app("Attempts", "load_2026-11-21_try-4", "load"),
    _app("Ids", f"load-{RUN.upper()}", "load"),
    _app("Ids", f"load.{RUN.replace('-', '')}", "load"),
    _app("Ids", "load 01ARZ3NDEKTSV4RRFFQ69G5FAV", "load"),
    _app("Ids", f"load_20261121_{RUN}", "load"),
    _app("Ids", "local-1650268838000", "local"),
    _weak("Ids", RUN, "unnamed"),
    _app("Not volatile", "report_2024", "report_2024"),
    _app("Not volatile", "sales_2024_05", "sales_2024_05"),
    _app("Not volatile", "etl_v2", "etl_v2"),
    _app("Not volatile", "dim_1234567", "dim_1234567"),
    Case(platform="Not volatile", job="app.append_data.t", parent=None, name="app", strength=Strength.APPLICATION),
    _other("dbt", "dev.main.shop.orders", "dev.main.shop.orders", "dbt-run-shop"),
    _other("dbt", "dev.main.shop.orders.build.run", "dev.main.shop.orders", "dbt-run-shop"),
    _other("dbt", "dev.main.shop.prices.snapshot", "dev.main.shop.prices.snapshot", "dbt-run-shop"),
    _other("dbt", "dev.main.shop.prices.build.snapshot", "dev.main.shop.prices.snapshot", "dbt-run-shop"),
    _other("dbt", "dev.main.shop.orders.build.test", "dev.main.shop.orders.test", "dbt-run-shop"),
    _other("dbt", "model.shop.orders", "model.shop.orders", "dbt-run-shop"),
    _other("dbt", "dbt-run-shop", "dbt-run-shop"),
    _other("Airflow", "shop.load_orders", "shop.load_orders", "shop"),
    _other("Airflow", "shop.group.load_orders", "shop.group.load_orders", "shop"),
    _other("Airflow", "shop", "shop"),
    _other("Flink", f"orders-{RUN}", "orders"),
    _other("Debezium", "shop.0", "shop"),
    _other("Debezium", "eu.shop.12", "eu.shop"),
    _other("Debezium", "shop", "shop"),
    _other("Python", "orders.copy", "orders.copy"),
    _other("Python", RUN, "unnamed", strength=Strength.GENERIC),
)


def _identify(case: Case) -> JobIdentity:
    return identify(case.job, case.parent, case.properties, integration=case.integration)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.platform}: {case.parent or case.job}")
def test_the_names_and_properties_of_a_run_give_its_job_identity(case: Case) -> None:
    assert _identify(case) == JobIdentity(strength=case.strength, name=case.name)


def test_the_table_has_enough_cases_and_every_strength() -> None:
    assert len(CASES) >= 60
    assert {case.strength for case in CASES} == set(Strength)


def _document() -> Iterator[str]:
    for platform, cases in groupby(CASES, key=lambda case: case.platform):
        yield f"### {platform}\n\n| from the run | identity | strength |\n|---|---|---|\n"
        for case in cases:
            yield f"| {_properties_of(case)} | `{case.name}` | {case.strength.name.lower()} |\n"
        yield "\n"


def _properties_of(case: Case) -> str:
    parts = [f"`{case.job}`" if case.parent is None or case.integration != "SPARK" else f"parent `{case.parent}`"]
    if case.parent and case.integration != "SPARK":
        parts.append(f"parent `{case.parent}`")
    parts += [f"`{key.removeprefix('spark.databricks.')}` = `{value}`" for key, value in case.properties.items()]
    return "<br>".join(parts)


def test_the_document_shows_the_same_table() -> None:
    shown_table = DOCUMENT.read_text().partition("## The table\n\n")[2]
    assert shown_table.strip() == "".join(_document()).strip(), (
        "put this into docs/concepts/job-identity.md:\n" + "".join(_document())
    )


UNCHANGED = (
    "q4_2026",
    "load_customers_10",
    "customer_master",
    "top-100",
    "iso_27001",
    "country_3",
    "retry",
    "attempts",
    "entry_7",
    "sha256_check",
    "load_1.2.3",
    "application_form_12",
    "session_2",
    "_private_",
    "Straße 7",
    "nativespark-tests",
    "j-2a",
    "manual__load",
    "SparkSQL",
    "",
)


@pytest.mark.parametrize("name", UNCHANGED)
def test_a_part_that_only_looks_volatile_stays_in_the_name(name: str) -> None:
    assert stable_name(name) == name


def test_every_volatile_part_shows_a_true_example() -> None:
    for part in VOLATILE:
        assert part.pattern.search(part.example), part.name
        assert stable_name(part.example) != part.example


WORDS = st.text(alphabet="abcdefgh", min_size=1, max_size=8)


@given(WORDS, WORDS, st.uuids(version=4), st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1)))  # noqa: DTZ001 - plain
def test_the_stable_name_is_the_same_for_every_run(before: str, after: str, run: UUID, day: datetime) -> None:
    """The text around such parts remains, for every part and position."""
    for part in (
        str(run),
        run.hex,
        f"{day:%Y-%m-%d}",
        f"{day:%Y%m%dT%H%M%S}",
        f"{day.isoformat()}Z",
        f"manual__{day.isoformat()}+00:00",
        f"manual__{day:%Y_%m_%d_t%H_%M_%S}_00_00",
        f"try-{day.second}",
    ):
        assert stable_name(f"{before}_{part}_{after}") == f"{before}_{after}"
        assert stable_name(f"{before}-{part}") == before


def test_a_very_long_name_is_read() -> None:
    assert stable_name("_" * 200_000 + "x" + "_" * 200_000 + "_12345678") == "x"
    assert stable_name("nativespark-" * 20_000 + "x")
    assert stable_name("1" * 200_001) == "unnamed"
    assert stable_name("0a" * 100_000) == "0a" * 100_000


@given(st.text(max_size=30), st.none() | st.text(max_size=30), st.dictionaries(st.text(), st.text()), st.text())
def test_any_text_has_an_identity(job: str, parent: str | None, properties: dict[str, str], integration: str) -> None:
    assert isinstance(identify(job, parent, properties, integration=integration).strength, Strength)


@pytest.mark.parametrize("value", [None, "", 7, [], {"a": 1}])
@pytest.mark.parametrize("key", ["notebook.path", "job.id", "clusterUsageTags.clusterName"])
def test_properties_of_a_wrong_type_do_not_name_the_job(key: str, value: object) -> None:
    assert identify("a.append_data", "a", {f"spark.databricks.{key}": value}).name == "a"


@pytest.mark.parametrize(
    "tags",
    ["", "{", "7", "null", "[7]", "[{}]", '[{"key": "RunName"}]', '[{"key": "RunName", "value": 7}]', "[" * 99_999],
)
def test_tags_without_a_run_name_leave_the_id_of_the_job(tags: str) -> None:
    properties = {"spark.databricks.job.id": "42", "spark.databricks.clusterUsageTags.clusterAllTags": tags}
    assert identify("a.append_data", "a", properties).name == "job 42"


# inheriting

NOTEBOOKS = [JobIdentity(strength=Strength.NOTEBOOK, name=f"notebook {name}") for name in "abc"]
JOBS = [JobIdentity(strength=Strength.JOB, name=f"job {name}") for name in "12"]
SHELL = JobIdentity(strength=Strength.GENERIC, name="databricks_shell")
APP = JobIdentity(strength=Strength.APPLICATION, name="app")
IDENTITIES = st.lists(st.sampled_from([*NOTEBOOKS, *JOBS, SHELL, APP]), max_size=8)


@pytest.mark.parametrize("own_identity", [SHELL, APP])
def test_a_run_without_a_strong_identity_takes_the_only_one_of_its_application(own_identity: JobIdentity) -> None:
    assert inherit(own_identity, [own_identity, NOTEBOOKS[0], SHELL, NOTEBOOKS[0]]) == NOTEBOOKS[0]
    assert inherit(own_identity, [JOBS[0]]) == JOBS[0]


def test_only_the_highest_strength_counts() -> None:
    assert inherit(SHELL, [JOBS[0], JOBS[1], NOTEBOOKS[0]]) == NOTEBOOKS[0]


@pytest.mark.parametrize("known_identities", [[], [SHELL, APP], NOTEBOOKS, [NOTEBOOKS[1], NOTEBOOKS[2], JOBS[0]]])
def test_a_run_keeps_its_identity_unless_exactly_one_can_be_inherited(known_identities: list[JobIdentity]) -> None:
    assert inherit(SHELL, known_identities) == SHELL


@pytest.mark.parametrize("own_identity", [JOBS[0], NOTEBOOKS[0]])
def test_a_run_keeps_its_own_strong_identity(own_identity: JobIdentity) -> None:
    assert inherit(own_identity, [NOTEBOOKS[1]]) == own_identity


@given(IDENTITIES, IDENTITIES)
def test_summaries_of_identities_can_be_combined(one: list[JobIdentity], other: list[JobIdentity]) -> None:
    assert strongest(one + other) == strongest([*strongest(one), *strongest(other)])
    assert len(strongest(one)) <= 2


@given(st.sampled_from([*NOTEBOOKS, *JOBS, SHELL, APP]), IDENTITIES, st.randoms())
def test_inheriting_depends_only_on_the_set(own: JobIdentity, known: list[JobIdentity], random: Any) -> None:
    expected = inherit(own, known)
    shuffled = known * 2
    random.shuffle(shuffled)
    assert inherit(own, shuffled) == expected
    assert inherit(own, [*known, own]) == expected
    assert inherit(own, strongest(known)) == expected
    assert inherit(expected, known) == expected


# the names of processes


def _names(run: MergedRun, sink: Identity) -> tuple[str, str]:
    namespace = run.application.namespace if run.application else run.job.namespace
    return name_process(namespace, identity_of(run), sink)


def _name(sink: str = "/out", namespace: str = "file", **fields: Any) -> str:
    run = merged(inputs=["/in"], outputs=[sink], **fields)
    return _names(run, canonical(namespace, sink))[0]


@pytest.mark.parametrize(
    ("sink", "name"),
    [
        ("/lake/files/orders", "orders → files/orders"),
        ("/lake/Orders", "orders → lake/Orders"),
        ("/lake/orders_clean", "orders → orders_clean"),
        ("shop.orders", "orders → shop.orders"),
        ("orders", "orders → orders"),
        ("/orders", "orders → orders"),
        ("", "orders → file"),
    ],
)
def test_a_job_that_is_called_like_its_sink_does_not_read_as_a_loop(sink: str, name: str) -> None:
    assert display_name("orders", sink, "file") == name


def test_a_process_is_named_by_its_job_and_sink() -> None:
    assert _name() == "throughline:v1://tests/app/file/out"
    assert name_process("tests", APP, canonical("file", "/out")) == ("throughline:v1://tests/app/file/out", "app → out")


SAME_PROCESS: dict[str, dict[str, Any]] = {
    "another run": {"run": "other"},
    "another application run": {"application": "other"},
    "not shuffled": {"job": "execute_insert_into_hadoop_fs_relation_command.out"},
    "another operation": {"job": "execute_merge_into_command.out"},
    "without the target's name": {"job": "adaptive_spark_plan"},
    "another day": {"app_name": "app_20261121"},
    "another session": {"app_name": "app_1650268838"},
    "a slash at the end": {"sink": "/out/"},
    "a partition": {"sink": "/out/day=1"},
    "a part file": {"sink": "/out/part-00000-x.parquet"},
    "other inputs": {"inputs": ["/elsewhere"]},
    "with the listener's properties": {"run_facets": {"processing_engine": {"name": "spark", "version": "3.5.9"}}},
}


@pytest.mark.parametrize("changes", SAME_PROCESS.values(), ids=SAME_PROCESS)
def test_the_same_job_and_sink_are_one_process(changes: dict[str, Any]) -> None:
    fields = dict(changes)
    sink = fields.pop("sink", "/out")
    run = merged(**{"inputs": ["/in"], "outputs": [sink], **fields})
    assert _names(run, canonical("file", sink))[0] == _name()


OTHER_PROCESS: dict[str, dict[str, Any]] = {
    "another sink": {"sink": "/out2"},
    "another case": {"sink": "/Out"},
    "another store": {"namespace": "dbfs"},
    "another application": {"app_name": "app2"},
    "a report of another year": {"app_name": "app_2024"},
}


@pytest.mark.parametrize("changes", OTHER_PROCESS.values(), ids=OTHER_PROCESS)
def test_another_job_or_sink_is_another_process(changes: dict[str, Any]) -> None:
    assert _name(**changes) != _name()


def test_the_namespace_of_a_job_distinguishes_jobs() -> None:
    other = body(inputs=["/in"], outputs=["/out"])
    other["job"]["namespace"] = other["run"]["facets"]["parent"]["job"]["namespace"] = "production"
    run = merge([decode(packed(other))])
    assert _names(run, canonical("file", "/out"))[0] == "throughline:v1://production/app/file/out"


def test_a_slash_in_a_name_does_not_make_two_processes_one() -> None:
    assert _name(app_name="a/b") != _name(app_name="a", sink="/b/out")


def test_an_application_without_a_parent_is_named_by_the_part_before_sparks_node() -> None:
    assert _name(application=None, app_name="app.adaptive_spark_plan.out") == _name()


def test_a_merged_run_of_databricks_has_its_notebook() -> None:
    properties = {"spark.databricks.notebook.path": "/Users/ann@example.com/load", "spark.databricks.job.id": "42"}
    run = merged(run_facets={"environment-properties": {"environment-properties": properties}})
    assert identity_of(run) == JobIdentity(strength=Strength.NOTEBOOK, name="notebook /Users/ann@example.com/load")
    assert identity_of(run).name == "notebook /Users/ann@example.com/load"
    assert "/notebook %2FUsers%2Fann%40example.com%2Fload/" in _names(run, canonical("file", "/out"))[0]


def test_a_merged_run_of_another_engine_is_called_by_its_own_job() -> None:
    kinds = {"jobType": {"integration": "DBT", "jobType": "MODEL", "processingType": "BATCH"}}
    run = merged(app_name="dev.main.shop", job="orders.build.run", job_facets=kinds)
    assert identity_of(run) == JobIdentity(strength=Strength.JOB, name="dev.main.shop.orders")


def test_long_names_are_shortened_and_still_differ() -> None:
    names = [_name(sink="/" + "ü" * 5000 + end) for end in "xy"]
    assert all(len(name) == 1000 for name in names)
    assert names[0] != names[1]
    long_applications = {_name(app_name="a" * 5000 + end) for end in "xy"}
    assert len(long_applications) == 2


def test_names_are_printable() -> None:
    """Control characters are refused in a job's own name, but can stand in a parent's, a path, or a property."""
    identity = JobIdentity(strength=Strength.NOTEBOOK, name="notebook /a\nb\x00")
    for name in name_process("tests", identity, canonical("file", "/o\x1but\r")):
        assert name.isprintable()


@pytest.mark.parametrize("job", ["reruns.execute_insert_into_hadoop_fs_relation_command.out_a", "reruns.3"])
def test_the_jobs_own_name_replaces_an_unknown_name_of_its_parent(job: str) -> None:
    """Listener 1.53: a job that begins at once has the parent name `unknown`, but its own name is correct."""
    assert identify(job, "unknown", {}) == JobIdentity(strength=Strength.APPLICATION, name="reruns")
