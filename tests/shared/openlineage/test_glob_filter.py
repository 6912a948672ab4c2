"""Including and excluding: patterns, the events that the receiver drops, and the data sets that leave the lineage."""

import json
from typing import Any

import pytest

from shared.applications.processor import ApplicationProcessor
from shared.applications.recompute import recompute
from shared.bootstrap import assemble
from shared.errors import Misconfigured
from shared.model import Asset
from shared.openlineage.decoding import decode
from shared.openlineage.selection import MATCH_ALL, EventFilter, GlobFilter, Ignore, Keep, select
from shared.publishing.context import PublishOptions
from shared.reporting.status import status
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage
from shared.translation.aggregate import asset_names
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_blob, deliver_event, post
from tests.support.publishing import publish
from tests.support.receiving import receive

MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    ("choice", "names", "is_taken"),
    [
        (GlobFilter(), ["a"], True),
        (GlobFilter(exclude=("nightly*",)), ["nightly.x"], False),
        (GlobFilter(exclude=("nightly*",)), ["Nightly.x"], True),
        (GlobFilter(exclude=("nightly*",), ignore_case=True), ["Nightly.x"], False),
        (GlobFilter(include=("a",)), ["a"], True),
        (GlobFilter(include=("a",)), ["ab"], False),
        (GlobFilter(include=("a?",)), ["ab"], True),
        (GlobFilter(include=("a*",), exclude=("*b",)), ["ab"], False),
        (GlobFilter(include=("a*",)), ["x", "ab"], True),
        (GlobFilter(exclude=("[dbo].[t]",)), ["[dbo].[t]"], False),
        (GlobFilter(exclude=("[dbo]",)), ["d"], True),
        (GlobFilter(exclude=("a*b",)), ["a\nb"], False),
    ],
)
def test_patterns_match_whole_names_and_exclusion_wins(choice: GlobFilter, names: list[str], is_taken: bool) -> None:
    assert choice.accepts(names) is is_taken


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    assert GlobFilter(exclude=("*a" * 30 + "b",)).accepts(["a" * 100_000])


def decided(selection: EventFilter, body: bytes) -> str:
    decision = select(decode(body), selection)
    assert isinstance(decision, Keep | Ignore)
    return decision.reason if isinstance(decision, Ignore) else ""


END = event("r", "COMPLETE", "10:00:30", inputs=["/scratch/a"], outputs=["/scratch/b"], application="app")
APPLICATION = event("app", "COMPLETE", "10:01:00")
"""Of the application `app` in the namespace `tests`; the run's job is `app.adaptive_spark_plan.out`."""


@pytest.mark.parametrize(
    ("selection", "body", "reason"),
    [
        (EventFilter(jobs=GlobFilter(exclude=("app",))), END, "excluded by job"),
        (EventFilter(jobs=GlobFilter(exclude=("app",))), APPLICATION, "excluded by job"),
        (EventFilter(jobs=GlobFilter(exclude=("app.*",))), END, "excluded by job"),
        (EventFilter(jobs=GlobFilter(exclude=("app.*",))), APPLICATION, ""),
        (EventFilter(jobs=GlobFilter(include=("app",))), END, ""),
        (EventFilter(jobs=GlobFilter(include=("app.*",))), END, ""),
        (EventFilter(jobs=GlobFilter(include=("app.*",))), APPLICATION, ""),
        (EventFilter(jobs=GlobFilter(include=("*.out",))), APPLICATION, ""),
        (EventFilter(jobs=GlobFilter(include=("other",))), END, "job not included"),
        (EventFilter(jobs=GlobFilter(include=("other",))), APPLICATION, "job not included"),
        (EventFilter(jobs=GlobFilter(include=("app",), exclude=("*.out",))), END, "excluded by job"),
        (EventFilter(jobs=GlobFilter(exclude=("app",)), keep=("adaptive_spark_plan",)), END, "excluded by job"),
        (EventFilter(namespaces=GlobFilter(exclude=("test*",))), END, "excluded by namespace"),
        (EventFilter(namespaces=GlobFilter(include=("prod",))), APPLICATION, "namespace not included"),
        (EventFilter(namespaces=GlobFilter(include=("tests",))), END, ""),
    ],
)
def test_the_receiver_drops_events_by_job_and_namespace(selection: EventFilter, body: bytes, reason: str) -> None:
    assert decided(selection, body) == reason


def test_an_application_below_an_orchestrators_task_is_judged_by_its_own_name() -> None:
    document = json.loads(APPLICATION)
    task = {"run": {"runId": "0199a000-0000-7000-8000-000000000001"}, "job": {"namespace": "af", "name": "dag.task"}}
    document["run"]["facets"] = {"parent": task}
    document["job"]["facets"] = {
        "jobType": {"jobType": "APPLICATION", "processingType": "NONE", "integration": "SPARK"}
    }
    body = json.dumps(document).encode()
    assert decided(EventFilter(jobs=GlobFilter(exclude=("dag.task",))), body) == ""
    assert decided(EventFilter(jobs=GlobFilter(include=("app.*",))), body) == ""
    assert decided(EventFilter(jobs=GlobFilter(exclude=("app",))), body) == "excluded by job"


def test_an_excluded_event_is_stored_and_counts_as_skipped_with_its_reason() -> None:
    storage = MemoryStorage()
    receipt = receive(storage, END, most_bytes=MEGABYTE, selection=EventFilter(jobs=GlobFilter(exclude=("app",))))
    assert receipt.ignored == "excluded by job"
    current_status = status(storage)
    assert (current_status.received, current_status.skipped, current_status.skipped_because) == (
        1,
        1,
        {"excluded by job": 1},
    )


def published(paths: GlobFilter, *bodies: bytes) -> MemoryCatalog:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    for body in bodies:
        receive(storage, body, most_bytes=MEGABYTE)
    for fact in list(storage.blobs("events")):
        deliver_blob(storage, fact.name)
    publish(storage, catalog, PublishOptions(paths=paths))
    assert status(storage).reconciles
    return catalog


TWO_SOURCES: dict[str, Any] = {
    "inputs": ["/a", "/secret"],
    "outputs": ["/out"],
    "columns": {"x": [("/a", "x"), ("/secret", "y")]},
    "application": "app",
}


@pytest.mark.parametrize(
    "paths",
    [
        GlobFilter(exclude=("/SECRET",), ignore_case=True),
        GlobFilter(exclude=("file:///sec*",)),
        GlobFilter(include=("/a", "/out")),
    ],
)
def test_an_excluded_data_set_leaves_with_its_columns(paths: GlobFilter) -> None:
    catalog = published(paths, event("r", "COMPLETE", "10:00:00", **TWO_SOURCES))
    (process,) = catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///a"),)
    assert "secret" not in dict(process.attributes)["columnMapping"]
    assert set(catalog.assets) == {("fs_path", "file:///a"), ("fs_path", "file:///out")}


@pytest.mark.parametrize("excluded", ["/out", "/a*"])
def test_no_process_is_left_without_an_input_or_an_output(excluded: str) -> None:
    catalog = published(GlobFilter(exclude=(excluded,)), *write("r", "app", "10:00", "/a"))
    assert (catalog.processes, catalog.assets) == ({}, {})


def test_lineage_goes_on_through_an_excluded_table_that_a_job_drops_again() -> None:
    bodies = [
        *write("one", "app", "10:00", "/a", sink="/staging"),
        *write("two", "app", "10:01", "/staging", sink="/b"),
        event("drop", "COMPLETE", "10:02:00", outputs=["/staging"], states={"/staging": ("DROP", "")},
              application="app", job="app.execute_drop_table_command.staging"),
        event("app", "COMPLETE", "10:03:00"),
    ]  # fmt: skip
    plain = published(GlobFilter(), *bodies)
    filtered_catalog = published(GlobFilter(exclude=("/staging",)), *bodies)
    assert filtered_catalog.processes == plain.processes
    (process,) = filtered_catalog.processes.values()
    assert (process.inputs, process.outputs) == ((("fs_path", "file:///a"),), (("fs_path", "file:///b"),))


def test_a_changed_setting_applies_without_receiving_the_events_again() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    places = post(storage, event("r", "COMPLETE", "10:00:00", **TWO_SOURCES))
    for place in places:
        deliver_event(storage, place)
    publish(storage, catalog, PublishOptions())
    recompute(ApplicationProcessor(storage=storage), places[0].application)
    publish(storage, catalog, PublishOptions(paths=GlobFilter(exclude=("/secret",))))
    (process,) = catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///a"),)


def test_a_table_is_found_by_each_of_its_names() -> None:
    asset = Asset(type="t", qualified_name="Q", namespace="abfss://c@a/", name="/p", tables=("db.orders",))
    assert asset_names(asset) == ("Q", "/p", "abfss://c@a/p", "db.orders")


BASE = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}


def test_settings_are_read_as_lists_of_patterns() -> None:
    variables = {**BASE, "THROUGHLINE_EXCLUDE_JOBS": " nightly*, ,x ", "THROUGHLINE_INCLUDE_PATHS": "/lake/*"}
    assert load(catalog=False, environment=variables).jobs.exclude == ("nightly*", "x")
    catalog = {"THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:1/api"}
    assert load(catalog=True, environment={**variables, **catalog}).paths.include == ("/lake/*",)


def test_the_settings_for_paths_reach_the_publisher() -> None:
    catalog = {"THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:1/api", "THROUGHLINE_CATALOG_TOKEN": "t"}
    paths = {"THROUGHLINE_EXCLUDE_PATHS": "*/Scratch/*", "THROUGHLINE_SHADOW": "true"}
    publishing = assemble(load(catalog=True, environment={**BASE, **catalog, **paths})).publishing
    assert publishing.shadow
    assert not publishing.paths.accepts(["file/scratch/a"]), "capitals do not count"
    assert assemble(load(catalog=True, environment={**BASE, **catalog})).publishing.paths == MATCH_ALL


@pytest.mark.parametrize(
    ("text", "message"), [("*", "matches everything"), (",", "only commas"), ("a\tb", "characters")]
)
def test_settings_report_the_mistake_in_a_pattern(text: str, message: str) -> None:
    with pytest.raises(Misconfigured, match=f"THROUGHLINE_EXCLUDE_NAMESPACES is wrong: .*{message}"):
        load(catalog=False, environment={**BASE, "THROUGHLINE_EXCLUDE_NAMESPACES": text})
