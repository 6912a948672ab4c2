"""The library on a running Throughline: the record that the functions wrote, read from Azurite."""

from pathlib import Path

import pytest

import throughline
from shared.publishing.context import PublishOptions
from shared.records.control import Versions, note_versions
from shared.versions import LAYOUT
from tests.support.azurite import on_azurite
from tests.support.building import IDENTITY, body, dataset, packed, source
from tests.support.building import lineage as columns_of
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

JOB = packed(
    body(
        run="nightly",
        application="nightly",
        app_name="nightly",
        inputs=["raw"],
        outputs=[dataset("clean", columnLineage=columns_of({"id": [source("raw", "id", IDENTITY)]}))],
    )
)


@pytest.mark.azurite
def test_the_client_reads_lineage_and_processes_from_the_record(empty_account: str) -> None:
    storage = on_azurite(empty_account)
    for place in post(storage, JOB):
        deliver_event(storage, place)
    publish(storage, MemoryCatalog(), PublishOptions())
    client = throughline.connect(
        {"AzureWebJobsStorage": empty_account, "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9"}
    )
    (process,) = client.processes("night*")
    assert [(edge.input.column, edge.output.column) for edge in process.columns] == [("id", "id")]
    assert client.processes("other*") == ()
    assert [(run.job, run.state, run.reason) for run in client.runs("nightly.*")] == [
        ("nightly.adaptive_spark_plan.out", "contributed", "")
    ]
    assert list(client.runs("other.*")) == []
    lineage = client.lineage(process.outputs[0].qualified_name, column="id", direction="upstream")
    assert [(dataset.name, column) for dataset, column in lineage.columns] == [("raw", "id")]
    impact = client.ask("impact", dataset="raw", column="id", limit=5)
    assert [affected["columns"] for affected in impact["results"]] == [["id"]]
    assert client.ask("ways", from_="raw", to="clean")["total"] == 1
    for question, parameters, error, message in (
        ("impact", {"dataset": "rwa"}, throughline.UnknownError, "The nearest are .*raw"),
        ("impact", {"table": "raw"}, ValueError, "impact has no parameter 'table': it has dataset, column"),
        ("impact", {"dataset": "raw", "limit": 0}, ValueError, "limit must be a whole number from 1 to 1,000"),
        ("why", {}, ValueError, "there is no question 'why': there are compare, coverage"),
        ("compare", {"from_": "2026-11-01"}, throughline.UnknownError, "no document is published yet"),
    ):
        with pytest.raises(error, match=message):
            client.ask(question, **parameters)
    with pytest.raises(throughline.UnknownError) as error_info:
        client.lineage("no_such_table")
    assert isinstance(error_info.value, throughline.ThroughlineError)


@pytest.mark.azurite
def test_data_of_another_layout_is_refused(empty_account: str) -> None:
    note_versions(on_azurite(empty_account), Versions(layout=LAYOUT - 1))
    with pytest.raises(throughline.Misconfigured, match="another version of Throughline"):
        throughline.connect(
            {
                "AzureWebJobsStorage": empty_account,
                "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9",
            }
        )


def test_without_any_throughline_the_error_names_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(throughline.Misconfigured, match="throughline up") as refused:
        throughline.connect(home=tmp_path)
    assert str(tmp_path) in str(refused.value)
    assert "home=" in str(refused.value)


def test_all_wrong_settings_are_reported_at_once() -> None:
    with pytest.raises(throughline.Misconfigured, match=r"THROUGHLINE_MAX_BATCH[\s\S]*AzureWebJobsStorage"):
        throughline.connect({"THROUGHLINE_MAX_BATCH": "many", "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9"})


POLICY = """
[[policy]]
name = "ids come from raw"
datasets = "clean"
sources_only = "raw"
traced = 100
"""


@pytest.mark.azurite
def test_require_passes_for_a_held_policy_and_raises_for_a_broken_one(empty_account: str, tmp_path: Path) -> None:
    storage = on_azurite(empty_account)
    for place in post(storage, JOB):
        deliver_event(storage, place)
    publish(storage, MemoryCatalog(), PublishOptions())
    client = throughline.connect(
        {"AzureWebJobsStorage": empty_account, "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9"}
    )
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    throughline.require(policy, "clean", client=client)
    policy.write_text(POLICY.replace('"raw"', '"vault"'))
    with pytest.raises(throughline.PolicyError, match="BROKEN  ids come from raw: sources_only vault"):
        throughline.require(policy, "clean", client=client)
    with pytest.raises(throughline.Misconfigured, match="is about raw: add one"):
        throughline.require(policy, "raw", client=client)
    with pytest.raises(throughline.Misconfigured, match="no data set like 'nothing'"):
        throughline.require(policy, "nothing", client=client)
    with pytest.raises(throughline.Misconfigured, match="can't be read"):
        throughline.require(tmp_path / "none.toml", client=client)
    policy.write_text(POLICY + 'no_tag = "PII"\n[[tag]]\nclassification = "PII"\nclassified_as = "MICROSOFT.*"\n')
    message_pattern = (
        r"NOT KNOWN  ids come from raw: no_tag PII\n.* not read \(The catalog's host is no known Purview host"
    )
    with pytest.raises(throughline.PolicyError, match=message_pattern):
        throughline.require(policy, "clean", client=client)
