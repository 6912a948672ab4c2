"""Cases of the accelerator's open issues, as events, through the receiver, the fold and the publisher."""

from itertools import permutations
from typing import Any

import pytest

from shared.openlineage.decoding import decode
from shared.settings.reading import load
from shared.storage_layout import digest_of, stored
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.support.receiving import receive
from throughline.accelerator.coverage import edges_of

LOCAL = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
SHELL: dict[str, Any] = {
    "run": "0192e356-abdd-7713-af1e-1a41cc84e552",
    "application": "0192e355-1c37-7e5a-aa75-1bdf5a97eb5a",
}


def event(kind: str, minute: float, **facets: Any) -> bytes:
    """An event of a table that is made of another one, as a notebook's `saveAsTable` reports it."""
    ends: dict[str, Any] = {"inputs": ["/warehouse/temp"], "outputs": [dataset("/warehouse/final_table", **facets)]}
    return packed(body(kind, app_name="Databricks Shell", minute=minute, **SHELL, **ends))


COLUMNS = lineage({name: [source("/warehouse/temp", name, IDENTITY)] for name in "ab"})
EVENTS = {
    "START": event("START", 0),
    "RUNNING": event("RUNNING", 1),
    "COMPLETE": event("COMPLETE", 2, columnLineage=COLUMNS),
}


@pytest.mark.parametrize(
    "kinds", [*permutations(EVENTS), ("COMPLETE",), ("COMPLETE", "START"), ("RUNNING", "COMPLETE")], ids=" ".join
)
def test_issue_241_a_write_has_lineage_whenever_its_start_comes_or_if_it_never_does(kinds: tuple[str, ...]) -> None:
    parts = Parts()
    for kind in kinds:
        for place in post(parts.storage, EVENTS[kind]):
            deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    (process,) = parts.catalog.processes.values()
    edges = edges_of(process.inputs, process.outputs, process.shown["columnMapping"])
    assert len(edges.links) == 1
    assert {(source_key[1], target_key[1]) for source_key, target_key in edges.columns} == {("a", "a"), ("b", "b")}


def test_issue_154_what_was_deleted_from_the_catalog_comes_back() -> None:
    parts = Parts()
    for place in post(parts.storage, *EVENTS.values()):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    keys = [*parts.catalog.assets, *(process.key for process in parts.catalog.processes.values())]
    parts.catalog.remove(list(parts.catalog.find(keys).values()))
    assert parts.catalog.find(keys) == {}
    result = parts.run("publish", "--missing")
    assert result.exit_code == 0, result.output
    assert (len(parts.catalog.processes), len(parts.catalog.assets)) == (1, 2)


def test_issue_233_an_event_with_a_plan_of_twenty_megabytes_gives_its_lineage() -> None:
    parts = Parts()
    long = body("COMPLETE", inputs=["/a"], outputs=["/b"], minute=0, **SHELL)
    long["run"]["facets"]["spark.logicalPlan"] = {"plan": [{"class": "Project", "text": "x" * 20_000_000}]}
    raw = packed(long)
    receive(parts.storage, raw, most_bytes=load(catalog=False, environment=LOCAL).max_body_bytes)
    deliver_event(parts.storage, stored(decode(raw), digest_of(raw)))
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    assert len(parts.catalog.processes) == 1
