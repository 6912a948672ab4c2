"""The merged event: what OpenLineage's own client knows of its facets, and what a second Throughline makes of it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import attr
import msgspec
import pytest
from openlineage.client.generated import (
    column_lineage_dataset,
    documentation_dataset,
    lineage,
    nominal_time_run,
    ownership_dataset,
    schema_dataset,
)

from shared.applications.partition import read_state
from shared.forwarding.content import OutgoingEvent, RunReader
from shared.forwarding.event import EndedRun, run_content
from shared.forwarding.rules import ForwardRules
from shared.model import DIRECT, INDIRECT, Asset, AssetSchema, Column, ColumnEdge, Declared, Process, Span
from shared.naming.stores.families import RunEnvironment
from shared.openlineage.decoding import decode
from shared.openlineage.selection import GlobFilter
from tests.support.building import Json, body, dataset, process, source, step
from tests.support.building import lineage as columns_of
from tests.support.events import run_id
from tests.support.forwarding import MARQUEZ, ForwardWorld, job

FACETS: dict[str, Any] = {
    "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet,
    "documentation": documentation_dataset.DocumentationDatasetFacet,
    "lineage": lineage.LineageDatasetFacet,
    "nominalTime": nominal_time_run.NominalTimeRunFacet,
    "ownership": ownership_dataset.OwnershipDatasetFacet,
    "schema": schema_dataset.SchemaDatasetFacet,
}
SPAN = Span(first=datetime(2026, 11, 21, 10, tzinfo=UTC), last=datetime(2026, 11, 21, 11, tzinfo=UTC))
JOB = ("tests", "app")


def event_of(*processes: Process, explicit: bool = False, **fields: Any) -> Json:
    run = EndedRun(run_id=run_id("run"), type="COMPLETE", span=SPAN, job_name="app", processes=processes, **fields)
    event: Json = msgspec.json.decode(run_content(run, run.job or JOB, explicit=explicit).body)
    return event


def described(name: str) -> Process:
    """A process of which all is known that an event can say."""
    plain = process("/a", "/b", sink=name)
    declared = Declared(owner="ann, bob", description="All orders")
    schema = AssetSchema(qualified_name=f"file://{name}", columns=(("x", "long"), ("y", "")), declared=declared)
    rows = ColumnEdge(
        input=Column(qualified_name="file:///b", column="k"),
        output=Column(qualified_name=f"file://{name}", column=""),
        kind=INDIRECT,
        how=("JOIN", "FILTER"),
    )
    masked_edge = ColumnEdge(
        input=Column(qualified_name="file:///a", column="z"),
        output=Column(qualified_name=f"file://{name}", column="y"),
        kind=DIRECT,
        masked=True,
        how=("TRANSFORMATION",),
        expressions=("sha2(z)",),
    )
    return msgspec.structs.replace(plain, columns=(*plain.columns, rows, masked_edge), schemas=(schema,))


def test_every_facet_is_one_that_the_client_of_openlineage_knows() -> None:
    event = event_of(described("/out"), explicit=True)
    datasets = (*event["inputs"], *event["outputs"])
    facets = {name: facet for entry in datasets for name, facet in entry["facets"].items()}
    facets |= event["run"]["facets"]
    assert facets.keys() == FACETS.keys()
    for name, facet in facets.items():
        kind = FACETS[name]
        values = {key: value for key, value in facet.items() if not key.startswith("_")}
        assert values.keys() <= {field.name for field in attr.fields(kind)}, name
        assert facet["_schemaURL"] == kind._get_schema(), name
        kind(**values)  # which refuses what it lacks


def test_steps_masks_and_conditions_of_rows_are_told() -> None:
    facet = event_of(described("/out"))["outputs"][0]["facets"]["columnLineage"]
    (masked,) = facet["fields"]["y"]["inputFields"]
    assert masked["transformations"] == [
        {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True, "description": "sha2(z)"}
    ]
    assert [transformation["subtype"] for transformation in facet["dataset"][0]["transformations"]] == [
        "JOIN",
        "FILTER",
    ]


def test_the_explicit_facet_keeps_apart_what_feeds_which_output() -> None:
    event = event_of(process("/a", sink="/one"), process("/b", sink="/two"), explicit=True)
    sources = {sink["name"]: sink["facets"]["lineage"]["inputs"] for sink in event["outputs"]}
    assert {name: [entry["name"] for entry in inputs] for name, inputs in sources.items()} == {
        "/one": ["/a"],
        "/two": ["/b"],
    }


def test_mounted_paths_leave_under_the_name_of_their_store() -> None:
    mounted = Asset(type="fs_path", qualified_name="x", namespace="dbfs", name="/mnt/lake/Orders")
    plain = process("/a", sink="/out")
    mounts = (("/mnt/lake", "abfss://data@acc.dfs.core.windows.net/raw"),)
    event = event_of(
        msgspec.structs.replace(plain, inputs=(mounted,)), environment=RunEnvironment(workspace="", mounts=mounts)
    )
    (source_table,) = event["inputs"]
    assert (source_table["namespace"], source_table["name"]) == (
        "abfss://data@acc.dfs.core.windows.net",
        "raw/Orders",
    )


@pytest.mark.parametrize(
    ("job_name", "expected"),
    [
        (
            "etl_20261121.execute_insert_into_hadoop_fs_relation_command.out",
            "app.execute_insert_into_hadoop_fs_relation_command.out",
        ),
        ("a job of Airflow", "app"),
    ],
)
def test_a_job_keeps_the_listeners_name_below_its_stable_identity(job_name: str, expected: str) -> None:
    run = EndedRun(run_id="r", type="COMPLETE", span=SPAN, job_name=job_name, processes=(process("/a"),))
    assert run.job == ("tests", expected)


def test_times_are_no_content_but_the_end_is() -> None:
    run = EndedRun(run_id="r", type="COMPLETE", span=SPAN, job_name="app", processes=(process("/a"),))
    delayed_run = replace(run, span=Span(first=SPAN.first, last=SPAN.last.replace(hour=12)))
    assert run_content(run, JOB).digest == run_content(delayed_run, JOB).digest
    assert run_content(run, JOB).digest != run_content(replace(run, type="FAIL"), JOB).digest


def _merge_of_two() -> list[Json]:
    """A run of a join with a mask, a condition and two sinks."""
    steps = step("DIRECT", "TRANSFORMATION", masking=True)
    fields = {
        "x": [source("/lake/a", "x", step("DIRECT", "IDENTITY"))],
        "m": [source("/lake/a", "email", steps), source("/lake/b", "name", steps)],
    }
    rows = [source("/lake/b", "k", step("INDIRECT", "JOIN"))]
    schema = {"fields": [{"name": name, "type": "string"} for name in ("x", "m", "never")]}
    sinks = [dataset(name, schema=schema, columnLineage=columns_of(fields, rows)) for name in ("/lake/o", "/lake/p")]
    start = body("START", inputs=["/lake/a"], minute=0)
    return [start, body("COMPLETE", inputs=["/lake/b"], outputs=sinks, minute=1)]


@pytest.mark.parametrize("explicit", [False, True])
def test_a_second_throughline_makes_the_same_lineage_of_what_it_is_sent(explicit: bool) -> None:
    """What the target shows equals what we hold."""
    world = ForwardWorld(rules=ForwardRules(targets=(replace(MARQUEZ, explicit=explicit),)))
    world.receive(*_merge_of_two())
    world.round(minutes=10)
    second = ForwardWorld()
    second.receive(*world.targets["marquez"].events)
    assert lineage_in(second) == lineage_in(world) != []


def lineage_in(world: ForwardWorld) -> list[Any]:
    """Inputs, outputs and columns of every content of the only application of a world, by sink."""
    applications = {row.partition for row in world.storage.scan("applications")}
    contents = []
    for application in applications:
        snapshot = read_state(world.storage, application)
        contents += [content.process for content in snapshot.state.contents.values()] if snapshot else []
    return sorted(
        [
            (
                [asset.key for asset in content.inputs],
                [asset.key for asset in content.outputs],
                content.columns,
                content.sourceless,
            )
            for content in contents
        ],
        key=str,
    )


def test_what_path_settings_exclude_does_not_leave() -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in", "/secret/a"), *job("/secret/b", "/in", run="two"))
    paths = GlobFilter(exclude=("*secret*",), ignore_case=True)
    reader = RunReader(storage=world.storage, paths=paths)
    first = reader.decided_run(run_id("application"), run_id("run"))
    second = reader.decided_run(run_id("application"), run_id("two"))
    assert first
    assert second
    (event,) = reader.merged(first, MARQUEZ, JOB)
    assert isinstance(event, OutgoingEvent)
    assert b"secret" not in event.body
    assert decode(event.body).omitted == ()
    assert second.run.job is None, "nothing of it is left"


def test_secrets_in_addresses_do_not_leave() -> None:
    world = ForwardWorld()
    address = dataset("/c/in", namespace="wasbs://c@acc.blob.core.windows.net?sig=geheim")
    user = dataset("db.t", namespace="postgres://ann:geheim@host:5432")
    world.receive(body("START", inputs=[address, user]), body("COMPLETE", minute=1, outputs=["/out"]))
    world.round(minutes=10)
    (event,) = world.targets["marquez"].taken
    assert b"geheim" not in event.body
    assert len(world.targets["marquez"].events[0]["inputs"]) == 2
