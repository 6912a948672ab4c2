"""Facts of a process's last run: written with its lineage, never alone, and without secrets."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.applications.processor import ApplicationProcessor
from shared.atlas.entities import LAST_RUN
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.maintenance.verify.findings import VerifyContext
from shared.maintenance.verify.verification import verify
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from shared.publishing.context import PublishOptions
from shared.reading.processes import recorded
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from shared.translation.aggregate import describe_run
from shared.translation.run.facts import facts_of
from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, process, source
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_blob
from tests.support.publishing import publish
from tests.support.receiving import receive

HOST = "adb-123.4.azuredatabricks.net"
PROPERTIES = {
    "user": "ann@example.com",
    "orgId": "123",
    "spark.databricks.job.id": "42",
    "spark.databricks.job.runId": "77",
    "spark.databricks.notebook.path": "/Users/ann@example.com/load it",
}
ENGINE = {"name": "spark", "version": "3.5.1", "openlineageAdapterVersion": "1.53.0"}
SQL = "INSERT INTO out SELECT x FROM people WHERE name = 'Ann'"


def event(kind: str, *, minute: float = 0, run: str = "one", rows: int | None = 1234, source_name: str = "/in") -> Json:
    columns = lineage({"x": [source(source_name, "x", IDENTITY)]})
    output = dataset("/out", columnLineage=columns)
    if rows is not None and kind == "COMPLETE":
        output["outputFacets"] = {"outputStatistics": {"rowCount": rows, "size": 5_600_000}}
    return body(
        kind,
        minute=minute,
        run=run,
        application=f"application {run}",
        app_name="nightly",
        inputs=[source_name],
        outputs=[output],
        run_facets={"processing_engine": ENGINE},
        job_facets={"sql": {"query": SQL}, "jobType": {"integration": "SPARK", "jobType": "SQL_JOB"}},
    )


def on_databricks(properties: Json, job: str = f"{HOST}.execute_insert_into_hadoop_fs_relation_command.out") -> str:
    content = event("COMPLETE")
    content["job"]["name"] = job
    content["run"]["facets"]["environment-properties"] = {"environment-properties": properties}
    decoded = decode(packed(content))
    return describe_run(facts_of(merge([decoded]), [decoded]), process("/in"))


def deliver_all(storage: MemoryStorage, *events: Json) -> None:
    for event_body in events:
        receive(storage, packed(event_body), most_bytes=1_000_000)
    for fact in storage.blobs(EVENTS):
        deliver_blob(storage, fact.name)


def how(**fields: Any) -> PublishOptions:
    return PublishOptions(**{"now": lambda: datetime.now(UTC) + timedelta(hours=1), **fields})


@pytest.fixture(params=["memory", "atlas"])
def catalog(request: pytest.FixtureRequest) -> MemoryCatalog | AtlasCatalog:
    if request.param == "memory":
        return MemoryCatalog()
    server = request.getfixturevalue("fresh_catalog")
    return AtlasCatalog(
        SteadyAtlasClient(server.endpoint, StaticToken(server.token), retry_policy=RetryPolicy(tries=1))
    )


def description(catalog: MemoryCatalog | AtlasCatalog) -> str:
    (node,) = [node for node in catalog.ours() if node.is_process]
    return str(node.attributes["description"])


def test_a_process_shows_its_last_run(catalog: MemoryCatalog | AtlasCatalog) -> None:
    storage = MemoryStorage()
    deliver_all(storage, event("START"), event("COMPLETE", minute=2))
    publish(storage, catalog, how())
    assert description(catalog).split(LAST_RUN) == [
        "Operations: insert.",
        (
            "2026-11-21 10:02 UTC, succeeded in 2 min 0 s; 1,234 rows, 5.6 MB.\n"
            "Job: nightly in tests on Spark.\n"
            "Engine: spark 3.5.1 with listener 1.53.0."
        ),
    ]


def test_facts_are_written_only_with_changed_lineage(catalog: MemoryCatalog | AtlasCatalog) -> None:
    storage = MemoryStorage()
    deliver_all(storage, event("START"), event("COMPLETE", minute=2))
    publish(storage, catalog, how())
    deliver_all(storage, event("START", minute=5, run="two"), event("COMPLETE", minute=9, run="two", rows=9))
    publish_result = publish(storage, catalog, how())
    assert (publish_result.written, publish_result.unchanged) == (0, 1)
    assert "10:02 UTC" in description(catalog)
    third: Any = {"run": "three", "source_name": "/other", "rows": 7}
    deliver_all(storage, event("START", minute=20, **third), event("COMPLETE", minute=21, **third))
    assert publish(storage, catalog, how()).written == 1
    assert "10:21 UTC, succeeded in 1 min 0 s; 7 rows" in description(catalog)


def test_facts_are_left_out_when_a_process_of_the_catalog_is_compared(catalog: MemoryCatalog | AtlasCatalog) -> None:
    storage = MemoryStorage()
    deliver_all(storage, event("START"), event("COMPLETE", minute=2))
    publish(storage, catalog, how())
    ((_, wanted_process_entity),) = recorded(storage, how())
    (held_process,) = catalog.read_processes([wanted_process_entity.qualified_name]).values()
    assert held_process.entity == wanted_process_entity
    assert held_process.entity.fingerprint == wanted_process_entity.fingerprint
    assert (held_process.entity.facts != "", wanted_process_entity.facts) == (True, "")
    world = VerifyContext(
        storage=storage, catalog=catalog, publishing=how(), processor=ApplicationProcessor(storage=storage)
    )
    assert list(verify(world)) == []


def test_the_statement_is_shown_by_setting_and_without_literals() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    deliver_all(storage, event("START"), event("COMPLETE", minute=2))
    publish(storage, catalog, how(with_statement=True))
    assert "SQL: INSERT INTO out SELECT x FROM people WHERE name = ?" in description(catalog)
    assert "Ann" not in description(catalog)


def test_on_databricks_there_is_a_link_to_the_jobs_run() -> None:
    description = on_databricks(PROPERTIES)
    assert f"https://{HOST}/#job/42/run/77" in description
    assert f"Workspace: {HOST}." in description
    assert "on Databricks by ann@example.com." in description


@pytest.mark.parametrize(
    ("missing_properties", "link"),
    [
        (("spark.databricks.job.runId",), f"https://{HOST}/#job/42"),
        (
            ("spark.databricks.job.runId", "spark.databricks.job.id"),
            f"https://{HOST}/#workspace/Users/ann%40example.com/load%20it",
        ),
    ],
)
def test_without_a_job_run_the_link_leads_to_the_job_or_the_notebook(
    missing_properties: tuple[str, ...], link: str
) -> None:
    description = on_databricks({key: value for key, value in PROPERTIES.items() if key not in missing_properties})
    assert link in description.splitlines()


def test_without_a_host_the_workspace_is_its_number_and_there_is_no_link() -> None:
    description = on_databricks(PROPERTIES, "nightly.append_data.out")
    assert "Workspace: 123." in description
    assert "https://" not in description


@pytest.mark.parametrize("user", ["pa55word", "ann@host?sig=x", "Bearer x.y.z", "", 7])
def test_a_user_that_is_no_account_name_is_not_shown(user: object) -> None:
    assert " by " not in on_databricks(PROPERTIES | {"user": user})


def test_a_run_whose_end_was_not_seen_has_no_duration() -> None:
    decoded = decode(packed(event("START", rows=None)))
    description = describe_run(facts_of(merge([decoded]), [decoded]), process("/in"))
    assert description.startswith("2026-11-21 10:00 UTC.")


@pytest.mark.parametrize(
    ("minutes", "duration"), [(0.01, "1 s"), (59 / 60, "59 s"), (61.5, "1 h 1 min"), (600, "10 h 0 min")]
)
def test_durations_are_readable(minutes: float, duration: str) -> None:
    events = [decode(packed(event("START"))), decode(packed(event("COMPLETE", minute=minutes)))]
    assert f"succeeded in {duration};" in describe_run(facts_of(merge(events), events), process("/in"))


@pytest.mark.parametrize("outputs", [8, 9])
def test_the_latest_amounts_count_however_many_data_sets_a_run_writes(outputs: int) -> None:
    def decoded(kind: str, minute: float, rows: int) -> Event:
        statistics = {"outputStatistics": {"rowCount": rows}}
        output_datasets = [{**dataset(f"/out{number}"), "outputFacets": statistics} for number in range(outputs)]
        return decode(packed(body(kind, minute=minute, outputs=output_datasets)))

    events = [decoded("RUNNING", 1, 5), decoded("COMPLETE", 2, 1234)]
    assert [dataset_facts.rows for dataset_facts in facts_of(merge(events), events).written] == [1234] * 8


def test_of_two_events_of_one_time_the_same_one_counts_in_any_order() -> None:
    events = [decode(packed(event("COMPLETE", rows=rows))) for rows in (1, 2)]
    forth, back = (facts_of(merge(event_order), event_order) for event_order in (events, events[::-1]))
    assert forth == back
