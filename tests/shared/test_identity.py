"""The identity of processes: the same for ever while job and sink are the same, and different otherwise."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.openlineage import decode, merge
from shared.translation import VOLATILE, Skip, Wait, stable_name, translate
from tests.shared.building import body, dataset, event, merged, packed

RUN = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

STABLE = {
    "Synapse notebook session": ("Notebook_pool_1650268838", "Notebook_pool"),
    "Synapse notebook session, folded by the listener": ("notebook_pool_1650268838", "notebook_pool"),
    "Synapse notebook with blanks": ("Notebook 1_sparkpool_1650268838", "Notebook 1_sparkpool"),
    "Synapse pipeline run": (f"load_pool_{RUN}", "load_pool"),
    "Fabric notebook": (f"Sales notebook_{RUN}", "Sales notebook"),
    "Fabric session in the middle": (f"prefix_{RUN}_suffix", "prefix_suffix"),
    "uuid in capitals": (f"load-{RUN.upper()}", "load"),
    "uuid folded by the listener": (f"load_{RUN.replace('-', '_')}", "load"),
    "uuid without hyphens": (f"load.{RUN.replace('-', '')}", "load"),
    "date": ("daily-2026-11-21", "daily"),
    "date without hyphens": ("daily_20261121", "daily"),
    "date in front": ("2026-11-21 daily load", "daily load"),
    "date in the middle": ("daily_2026_11_21_sales", "daily_sales"),
    "timestamp": ("daily 2026-11-21T04:00:00Z", "daily"),
    "timestamp with a fraction": ("daily_2026-11-21T04:00:00.123456Z", "daily"),
    "timestamp with an offset": ("scheduled__2026-11-21T00:00:00+00:00", "scheduled"),
    "timestamp folded by the listener": ("daily_2026_11_21_t04_00_00_z", "daily"),
    "timestamp with a folded fraction": ("daily_2026_11_21_t04_00_00_123_z", "daily"),
    "timestamp without separators": ("daily_20261121T040000Z", "daily"),
    "timestamp of minutes": ("daily_20261121_0400", "daily"),
    "epoch seconds": ("load-1763712000", "load"),
    "epoch milliseconds": ("load.1763712000123", "load"),
    "attempt": ("load_attempt_2", "load"),
    "attempt in words": ("load (attempt 3)", "load"),
    "retry": ("load-retry1", "load"),
    "attempt of a dated run": ("load_2026-11-21_try-4", "load"),
    "YARN application": ("load application_1650268838000_0001", "load"),
    "YARN attempt": ("load appattempt_1650268838000_0001_000002", "load"),
    "YARN container": ("load container_e17_1410901177871_0001_01_000005", "load"),
    "Hadoop job": ("load job_1650268838000_0012", "load"),
    "Livy session": ("etl livy-session-7", "etl"),
    "local application": ("local-1650268838000", "local"),
    "two volatile parts": (f"load_20261121_{RUN}", "load"),
    "nothing but a uuid: Spark names what has no name so": (RUN, "unnamed"),
    "nothing but a YARN application": ("application_1650268838000_0001", "unnamed"),
    "nothing but a time": ("2026-11-21 04:00", "unnamed"),
}
UNCHANGED = (
    "report_2024",
    "q4_2026",
    "etl_v2",
    "load_customers_10",
    "customer_master",
    "sales_2024_05",
    "top-100",
    "iso_27001",
    "country_3",
    "retry",
    "attempts",
    "entry_7",
    "dim_1234567",
    "sha256_check",
    "load_1.2.3",
    "application_form_12",
    "session_2",
    "_private_",
    "Straße 7",
    "",
)


@pytest.mark.parametrize(("name", "stable"), STABLE.values(), ids=STABLE)
def test_volatile_parts_leave_an_applications_name(name: str, stable: str) -> None:
    assert stable_name(name) == stable


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_only_looks_volatile_stays(name: str) -> None:
    assert stable_name(name) == name


def test_every_volatile_part_shows_a_true_example() -> None:
    for part in VOLATILE:
        assert part.pattern.search(part.example), part.name
        assert stable_name(part.example) != part.example


WORDS = st.text(alphabet="abcdefgh", min_size=1, max_size=8)


@given(WORDS, WORDS, st.uuids(version=4), st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1)))  # noqa: DTZ001 - plain
def test_whatever_the_run_the_name_is_the_same(before: str, after: str, run: UUID, day: datetime) -> None:
    """Wherever such parts stand, and whichever they are, the words around them remain."""
    for part in (
        str(run),
        run.hex,
        f"{day:%Y-%m-%d}",
        f"{day:%Y%m%dT%H%M%S}",
        f"{day.isoformat()}Z",
        f"try-{day.second}",
    ):
        assert stable_name(f"{before}_{part}_{after}") == f"{before}_{after}"
        assert stable_name(f"{before}-{part}") == before


def test_an_endless_name_is_read_in_no_time() -> None:
    assert stable_name("_" * 200_000 + "x" + "_" * 200_000 + "_12345678") == "x"


def _name(sink: Any = "/out", **said: Any) -> str:
    word = translate(merged(inputs=["/in"], outputs=[sink], **said))
    assert not isinstance(word, Skip | Wait)
    return word.processes[0].qualified_name


def test_how_a_process_is_called() -> None:
    assert _name() == "throughline:v1://tests/app/file/out"


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
    "with symlinks": {"sink": dataset("/out", symlinks={"identifiers": [{"namespace": "hive://h", "name": "d.t"}]})},
    "with a schema": {"sink": dataset("/out", schema={"fields": [{"name": "x", "type": "int"}]})},
    "with the listener's properties": {"run_facets": {"processing_engine": {"name": "spark", "version": "3.5.9"}}},
}


@pytest.mark.parametrize("said", SAME_PROCESS.values(), ids=SAME_PROCESS)
def test_the_same_job_and_sink_are_one_process(said: dict[str, Any]) -> None:
    assert _name(**said) == _name()


def test_inputs_do_not_name_a_process() -> None:
    word = translate(merged(inputs=["/elsewhere", "/in"], outputs=["/out"]))
    assert not isinstance(word, Skip | Wait)
    assert word.processes[0].qualified_name == _name()


OTHER_PROCESS: dict[str, dict[str, Any]] = {
    "another sink": {"sink": "/out2"},
    "another case": {"sink": "/Out"},
    "another store": {"sink": dataset("/out", namespace="dbfs")},
    "another application": {"app_name": "app2"},
    "a report of another year": {"app_name": "app_2024"},
}


@pytest.mark.parametrize("said", OTHER_PROCESS.values(), ids=OTHER_PROCESS)
def test_another_job_or_sink_is_another_process(said: dict[str, Any]) -> None:
    assert _name(**said) != _name()


def test_the_namespace_of_a_job_tells_jobs_apart() -> None:
    other = body(inputs=["/in"], outputs=["/out"])
    other["job"]["namespace"] = other["run"]["facets"]["parent"]["job"]["namespace"] = "production"
    word = translate(merge([decode(packed(other))]))
    assert not isinstance(word, Skip | Wait)
    assert word.processes[0].qualified_name == "throughline:v1://production/app/file/out"


def test_names_that_would_run_together_are_kept_apart() -> None:
    assert _name(app_name="a/b") != _name(app_name="a", sink="/b/out")


def test_an_application_without_a_parent_is_the_part_before_sparks_node() -> None:
    alone = merged(application=None, app_name="app.adaptive_spark_plan.out", inputs=["/in"], outputs=["/out"])
    word = translate(alone)
    assert not isinstance(word, Skip | Wait)
    assert word.processes[0].qualified_name == _name()


def _databricks(**properties: str) -> dict[str, Any]:
    values = {f"spark.databricks.{key.replace('_', '.')}": value for key, value in properties.items()}
    return {"environment-properties": {"environment-properties": values}}


def test_a_databricks_notebook_names_the_process() -> None:
    facets = _databricks(notebook_path="/Users/ann@example.com/load", job_id="42")
    assert (
        _name(app_name="databricks_shell", run_facets=facets).split("/")[3]
        == "notebook %2FUsers%2Fann%40example.com%2Fload"
    )


def test_a_databricks_job_names_the_process_without_a_notebook() -> None:
    assert _name(app_name="databricks_shell", run_facets=_databricks(job_id="42")).split("/")[3] == "job 42"


def test_a_commit_in_a_notebooks_path_is_volatile() -> None:
    paths = [f"/Repos/.internal/{commit}_commits/{commit}9f/etl/load" for commit in ("0a1b2c3d4e", "f9e8d7c6b5")]
    names = {_name(run_facets=_databricks(notebook_path=path)) for path in paths}
    assert len(names) == 1


@pytest.mark.parametrize("value", [None, "", 7, [], {"a": 1}])
def test_properties_of_a_wrong_kind_name_nothing(value: object) -> None:
    facets = {"environment-properties": {"environment-properties": {"spark.databricks.notebook.path": value}}}
    assert _name(run_facets=facets) == _name()


def test_names_are_bounded_and_stay_apart() -> None:
    names = [_name(sink="/" + "ü" * 5000 + end) for end in "xy"]
    assert all(len(name) == 1000 for name in names)
    assert names[0] != names[1]
    long_applications = {_name(app_name="a" * 5000 + end) for end in "xy"}
    assert len(long_applications) == 2


def test_names_are_printable() -> None:
    """Control characters are refused in a job's own name, but can stand in a parent's, a path, or a property."""
    properties = _databricks(notebook_path="/a\nb\x00")
    word = translate(merge([event(inputs=["/in"], outputs=["/o\x1but\r"], run_facets=properties)]))
    assert not isinstance(word, Skip | Wait)
    assert word.processes[0].qualified_name.isprintable()
    assert word.processes[0].name.isprintable()
