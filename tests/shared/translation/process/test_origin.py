"""The origin of a process's job: from each platform's properties, the same in any order, and kept by the catalog."""

import json
from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

import pytest
import requests
from msgspec.structs import replace

from shared.atlas.entities import ProcessEntity, asset_entity, process_entity
from shared.atlas.types import MANAGED, managed_attributes
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.account import AtlasTypes
from shared.catalog.connection.dialect import dialect_of
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.model import Origin, Process
from shared.openlineage.decoding import decode
from shared.redaction import redacted
from shared.translation.aggregate import describe_run
from shared.translation.reference import translate_history
from shared.translation.run.columns import merge_run
from shared.translation.run.facts import facts_of
from tests.support.publishing import process_in
from throughline.local.catalog.server import CatalogServer

HOST = "adb-123.4.azuredatabricks.net"
GROUP, ITEM = "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "0a1b2c3d-4f89-41d3-9a0c-0305e82c3302"
FABRIC = {
    "trident.artifact.workspace.id": GROUP,
    "trident.artifact.id": ITEM,
    "trident.artifact.name": "Load orders",
    "trident.artifact.type": "SynapseNotebook",
}


def events(
    captured: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    *,
    application: str = "my_app",
    integration: str = "SPARK",
    number: int = 1,
) -> list[bytes]:
    """An application of one write, as listeners send it: START and COMPLETE."""
    facets: dict[str, Any] = {
        "parent": {
            "run": {"runId": f"00000000-0000-4000-8000-{number:012}"},
            "job": {"namespace": "w", "name": application},
        }
    }
    if captured is not None:
        facets["spark_properties"] = {"properties": {"spark.master": "yarn", **captured}}
    if environment is not None:
        facets["environment-properties"] = {"environment-properties": environment}
    sets = {
        "inputs": [{"namespace": "file", "name": "/in"}],
        "outputs": [{"namespace": "file", "name": "/out"}],
    }
    return [
        json.dumps(
            {
                "eventTime": f"2026-11-21T04:0{minute}:00Z",
                "eventType": kind,
                "run": {"runId": f"11111111-0000-4000-8000-{number:012}", "facets": facets},
                "job": {
                    "namespace": "w",
                    "name": f"{application}.append_data.out",
                    "facets": {"jobType": {"integration": integration, "jobType": "SQL_JOB"}},
                },
                **sets,
            }
        ).encode()
        for minute, kind in enumerate(("START", "COMPLETE"))
    ]


def process_of(lines: Iterable[bytes]) -> Process:
    (process,) = translate_history([decode(line) for line in lines]).processes
    return process


NOTEBOOK = {"spark.databricks.notebook.path": "/Shared/load", "spark.databricks.job.id": "42", "orgId": "77"}
COMMITTED = {"spark.databricks.notebook.path": "/Repos/.internal/0a1b2c3d4e_commits/0a1b2c3d4e5f/load"}
SUBMITTED = {
    "spark.databricks.job.id": "901642",
    "spark.databricks.clusterUsageTags.clusterAllTags": json.dumps([{"key": "RunName", "value": "nightly load"}]),
}
CASES: dict[str, tuple[list[bytes], Origin]] = {
    "databricks, a notebook": (
        events({"spark.databricks.workspaceUrl": HOST}, NOTEBOOK, application="databricks_shell"),
        Origin(
            platform="Databricks",
            workspace=HOST,
            job="notebook /Shared/load",
            link=f"https://{HOST}/#workspace/Shared/load",
        ),
    ),
    "databricks, a notebook under /Workspace": (
        events(
            {"spark.databricks.workspaceUrl": HOST},
            {"spark.databricks.notebook.path": "/Workspace/Users/ann@x.com/a b"},
        ),
        Origin(
            platform="Databricks",
            workspace=HOST,
            job="notebook /Users/ann@x.com/a b",
            link=f"https://{HOST}/#workspace/Users/ann%40x.com/a%20b",
        ),
    ),
    "databricks, a commit's path leads nowhere after the next": (
        events({"spark.databricks.workspaceUrl": HOST}, COMMITTED),
        Origin(platform="Databricks", workspace=HOST, job="notebook /Repos/.internal/load", link=f"https://{HOST}/"),
    ),
    "databricks, a job by its id": (
        events({"spark.databricks.workspaceUrl": HOST}, {"spark.databricks.job.id": "42"}),
        Origin(platform="Databricks", workspace=HOST, job="job 42", link=f"https://{HOST}/#job/42"),
    ),
    "databricks, a submitted run's id never comes again": (
        events({"spark.databricks.workspaceUrl": HOST}, SUBMITTED),
        Origin(platform="Databricks", workspace=HOST, job="job nightly load", link=f"https://{HOST}/"),
    ),
    "databricks, the host in the job's name": (
        events(None, NOTEBOOK, application=HOST),
        Origin(
            platform="Databricks",
            workspace=HOST,
            job="notebook /Shared/load",
            link=f"https://{HOST}/#workspace/Shared/load",
        ),
    ),
    "databricks, without a host": (
        events(None, NOTEBOOK),
        Origin(platform="Databricks", workspace="77", job="notebook /Shared/load"),
    ),
    "databricks in US Government": (
        events({"spark.databricks.workspaceUrl": "adb-9.1.databricks.azure.us"}, {"spark.databricks.job.id": "7"}),
        Origin(
            platform="Databricks",
            workspace="adb-9.1.databricks.azure.us",
            job="job 7",
            link="https://adb-9.1.databricks.azure.us/#job/7",
        ),
    ),
    "fabric, a notebook": (
        events(FABRIC, application=f"Load_orders_{GROUP}"),
        Origin(
            platform="Fabric",
            workspace=GROUP,
            job="notebook Load orders",
            link=f"https://app.fabric.microsoft.com/groups/{GROUP}/synapsenotebooks/{ITEM}",
        ),
    ),
    "fabric, a job definition": (
        events({**FABRIC, "trident.artifact.type": "SparkJobDefinition"}),
        Origin(
            platform="Fabric",
            workspace=GROUP,
            job="job definition Load orders",
            link=f"https://app.fabric.microsoft.com/groups/{GROUP}/sparkjobdefinitions/{ITEM}",
        ),
    ),
    "fabric, an item of another kind, and a name by Synapse's property": (
        events({"trident.artifact.workspace.id": GROUP, "spark.synapse.context.notebookname": "Load"}),
        Origin(
            platform="Fabric",
            workspace=GROUP,
            job="notebook Load",
            link=f"https://app.fabric.microsoft.com/groups/{GROUP}/list",
        ),
    ),
    "fabric, ids that are none make no address": (
        events({**FABRIC, "trident.artifact.workspace.id": "../../evil?x="}),
        Origin(platform="Fabric", workspace="../../evil?x=", job="notebook Load orders"),
    ),
    "synapse": (
        events(
            {"spark.synapse.workspace.name": "sales", "spark.synapse.context.notebookname": "Load"},
            application="Load_pool_1650268838",
        ),
        Origin(platform="Synapse", workspace="sales", job="notebook Load"),
    ),
    "synapse, a job without a notebook": (
        events({"spark.synapse.workspace.name": "sales"}, application="nightly"),
        Origin(platform="Synapse", workspace="sales", job="nightly"),
    ),
    "spark anywhere": (events({}, application="nightly"), Origin(platform="Spark", job="nightly")),
    "a name that many jobs share is none": (events({}, application="spark-shell"), Origin(platform="Spark")),
    "another engine": (events(None, integration="DBT"), Origin(platform="dbt", job="my_app.append_data.out")),
    "values of a wrong kind": (
        events({"spark.synapse.workspace.name": 7}, application="nightly"),
        Origin(platform="Spark", job="nightly"),
    ),
}


@pytest.mark.parametrize(("lines", "origin"), CASES.values(), ids=CASES)
def test_each_platform_names_the_origin_of_a_job(lines: list[bytes], origin: Origin) -> None:
    assert process_of(lines).origin == origin


@pytest.mark.parametrize("case", CASES)
def test_names_do_not_depend_on_captured_properties(case: str) -> None:
    """The properties that the listener captures change neither the qualified name nor the description."""
    lines = CASES[case][0]
    bare_events = [json.loads(line) for line in lines]
    for bare_event in bare_events:
        bare_event["run"]["facets"].pop("spark_properties", None)
    plain = process_entity(process_of(json.dumps(each).encode() for each in bare_events))
    entity = process_entity(process_of(lines))
    assert entity.qualified_name == plain.qualified_name
    assert entity.attributes == plain.attributes
    assert (entity.fingerprint == plain.fingerprint) == (entity.origin == plain.origin)


def test_an_origin_does_not_change_from_run_to_run_nor_with_the_order() -> None:
    """Runs of one job, some with fewer properties: Databricks sends its properties only where a Spark job starts."""
    captured = {"spark.databricks.workspaceUrl": HOST}
    runs = [
        events(captured, {**NOTEBOOK, "spark.databricks.job.runId": str(number)}, application=HOST, number=number)
        for number in (1, 2)
    ]
    first_entity, other = (process_entity(process_of(run)) for run in runs)
    assert first_entity.fingerprint == other.fingerprint
    quiet = [line.replace(b"append_data", b"overwrite_by_expression") for line in events(None, application=HOST)]
    quiet = [line.replace(b"11111111-0000", b"22222222-0000") for line in quiet]
    lines = [*runs[0], *quiet]
    process_entities = {process_entity(process_of(order)) for order in permutations(lines)}
    assert len({lineage_entity.fingerprint for lineage_entity in process_entities}) == 1
    assert process_entities.pop().origin == first_entity.origin


URL = "https://ann:geheim@git.example.org/jobs/blob/{}/load.py"
CODE = {"type": "git", "url": URL.format("1a2b3c4"), "version": "1a2b3c4"}


def with_code(lines: list[bytes], **code: str) -> list[bytes]:
    """The same events, with the location of the job's code."""
    bodies = [json.loads(line) for line in lines]
    for event in bodies:
        event["job"]["facets"]["sourceCodeLocation"] = {**CODE, **code}
    return [json.dumps(event).encode() for event in bodies]


@pytest.mark.parametrize(
    ("code", "link"),
    [
        ({}, "https://git.example.org/jobs/blob/HEAD/load.py"),
        ({"branch": "main"}, "https://git.example.org/jobs/blob/main/load.py"),
        ({"url": URL.format("main"), "version": ""}, "https://git.example.org/jobs/blob/main/load.py"),
        ({"url": "file:///home/ann/load.py"}, ""),
    ],
)
def test_a_job_without_a_platform_s_page_links_to_its_code(code: dict[str, str], link: str) -> None:
    """The link has no commit: a process is not written again with each one."""
    process = process_of(with_code(events(None, integration="PYTHON"), **code))
    assert process.origin.link == link
    at_home = CASES["databricks, a notebook"][0]
    assert process_of(with_code(at_home)).origin == process_of(at_home).origin


def test_the_commit_is_a_fact_of_the_run() -> None:
    lines = with_code(events(None, integration="PYTHON"))
    decoded = [decode(redacted(decode(line))) for line in lines]
    facts = facts_of(merge_run(decoded), decoded)
    assert (facts.code, facts.commit) == ("https://git.example.org/jobs/blob/1a2b3c4/load.py", "1a2b3c4")
    text = describe_run(facts, process_of(lines))
    assert "Code: https://git.example.org/jobs/blob/1a2b3c4/load.py at commit 1a2b3c4." in text.splitlines()
    assert b"geheim" not in redacted(decode(lines[0]))


def test_an_origin_is_known_without_spark_s_properties() -> None:
    """With THROUGHLINE_REDACT; other captured properties are not stored."""
    lines = events({**FABRIC, "spark.hadoop.fs.azure.account.key": "geheim"})
    stored = [redacted(decode(line)) for line in lines]
    assert all(b"geheim" not in line for line in stored)
    assert process_of(stored).origin == process_of(lines).origin


def entity(**origin: Any) -> ProcessEntity:
    return process_entity(replace(process_of(events({})), origin=Origin(**origin)))


def catalog_at(endpoint: str, token: str) -> tuple[AtlasCatalog, SteadyAtlasClient]:
    client = SteadyAtlasClient(endpoint, StaticToken(token), parameters=dialect_of(endpoint).parameters)
    return AtlasCatalog(client), client


def held(server: CatalogServer, endpoint: str, written_entity: ProcessEntity) -> dict[str, Any]:
    answer = requests.get(
        f"{endpoint}/entity/uniqueAttribute/type/{written_entity.type}",
        params={"attr:qualifiedName": written_entity.qualified_name},
        headers={"Authorization": f"Bearer {server.token}"},
        timeout=60,
    )
    return dict(answer.json()["entity"])


def test_purview_gets_managed_attributes_where_it_has_the_group(fresh_catalog: CatalogServer) -> None:
    """Without the group no call names it: the whole call would be refused. Attributes of others in it stay."""
    server = fresh_catalog
    process = process_of(events({}))
    first, last = entity(platform="Spark", job="a"), entity(platform="Fabric", workspace="w", job="a", link="https://x")
    catalog, client = catalog_at(server.endpoint, server.token)
    guids = catalog.create_assets([asset_entity(asset) for asset in (*process.inputs, *process.outputs)])
    assert catalog.write_processes([first], guids)
    assert "businessAttributes" not in held(server, server.endpoint, first)
    assert process_in(catalog, first.qualified_name) == first
    definition = managed_attributes()
    definition["attributeDefs"].append({**definition["attributeDefs"][0], "name": "owner"})
    AtlasTypes(client).create([definition])
    catalog, _ = catalog_at(server.endpoint, server.token)
    assert catalog.calls_to_write([last]) == catalog_at(f"{server.url}/api/atlas/v2", "")[0].calls_to_write([last]) + 1
    assert catalog.write_processes([last], guids)
    assert held(server, server.endpoint, last)["businessAttributes"] == {MANAGED: dict(last.origin)}
    assert process_in(catalog, last.qualified_name) == last
    assert catalog.write_processes([first], guids)
    assert held(server, server.endpoint, first)["businessAttributes"][MANAGED]["link"] == "https://x"


def test_a_plain_atlas_gets_custom_attributes_and_no_managed_attributes(fresh_catalog: CatalogServer) -> None:
    server = fresh_catalog
    process = process_of(events({}))
    catalog, client = catalog_at(f"{server.url}/api/atlas/v2", server.token)
    AtlasTypes(client).create([managed_attributes()])
    guids = catalog.create_assets([asset_entity(asset) for asset in (*process.inputs, *process.outputs)])
    written_entity = entity(platform="Synapse", workspace="sales")
    assert catalog.write_processes([written_entity], guids)
    held_entity = held(server, f"{server.url}/api/atlas/v2", written_entity)
    assert held_entity["customAttributes"] == {"platform": "Synapse", "workspace": "sales"}
    assert "businessAttributes" not in held_entity
