"""Reports of other programs in `impact`, `check`, `watch`, `show`, `search` and the answers of API and assistants."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.foreign import POSITION
from shared.lineage.questions import LineageIndex
from shared.query.foreign_round import read_foreign_due
from shared.query.published_document import publish_document
from shared.query.recorded_document import document_of_record
from shared.serving import answers, marquez
from shared.serving.view import LineageView
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.foreign import TYPES
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.local.catalog.errors import CatalogError

REPORT = "https://app.powerbi.com/groups/1/reports/2"
POLICY = """\
[[tag]]
classification = "PII"
datasets = "/raw/orders"
columns = "email"

[[policy]]
name = "no personal data in reports"
datasets = "https://app.powerbi.com/*"
no_tag = "PII"
"""
WATCH = """\
[channels.file]
kind = "file"
path = "messages.jsonl"

[[rules]]
to = ["file"]
"""


def run(parts: Parts, job: str, *columns: str, minute: int = 0) -> None:
    edges = {name: [source("/raw/orders", name, IDENTITY)] for name in columns}
    schema = {"fields": [{"name": name, "type": "string"} for name in columns]}
    output = dataset(f"/silver/{job}", "file", schema=schema, columnLineage=lineage(edges))
    name = f"{job}-{minute}"
    event = body(run=name, application=name, app_name=job, minute=minute, inputs=["/raw/orders"], outputs=[output])
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


def report(parts: Parts, name: str = "Sales by month", place: str = REPORT, column: str = "email") -> None:
    """Write a report of Power BI that reads what the job `orders` writes."""
    (key,) = [key for key in parts.catalog.assets if key[1].endswith("/silver/orders")]
    with suppress(CatalogError):  # they are defined
        parts.catalog.define(TYPES)
    asset_entity = AssetEntity(type="powerbi_report", qualified_name=place, attributes=(("name", name),))
    parts.catalog.create_assets([asset_entity])
    pair = {"Source": column, "Sink": "Contact"}
    mapping = [{"DatasetMapping": {"Source": key[1], "Sink": place}, "ColumnMapping": [pair]}]
    process = ProcessEntity(
        type="powerbi_report_process",
        qualified_name=f"{place}#process",
        attributes=(("name", f"Refresh {name}"), ("columnMapping", json.dumps(mapping))),
        inputs=(key,),
        outputs=(asset_entity.key,),
    )
    parts.catalog.write_processes([process], parts.catalog.find([key, asset_entity.key]))


def sweep(parts: Parts, minutes: int = 0) -> None:
    """What the sweeper does: read, and publish the document."""
    publishing = replace(parts.worker.publishing, now=lambda: datetime.now(UTC) + timedelta(minutes=minutes))
    for _ in range(2):
        read_foreign_due(replace(parts.worker, publishing=publishing))
        publish_document(parts.storage, publishing, timedelta(days=9), seconds=lambda: 0.0)


@pytest.fixture
def parts() -> Parts:
    loaded_parts = Parts()
    loaded_parts.worker = replace(
        loaded_parts.worker, publishing=replace(loaded_parts.worker.publishing, documents=True, foreign_depth=2)
    )
    run(loaded_parts, "orders", "id", "email")
    report(loaded_parts)
    sweep(loaded_parts)
    return loaded_parts


def test_impact_names_the_report_by_name_type_and_way(parts: Parts) -> None:
    result = parts.run("impact", "/raw/orders.email")
    assert result.exit_code == 3
    assert result.output.splitlines() == [
        "BROKEN  orders.email: drop",
        "  break: orders.email",
        "    orders.email → orders.email by orders → silver/orders (identity)",
        "  break: Sales by month.Contact (type powerbi_report)",
        "    orders.email → orders.email by orders → silver/orders (identity)",
        "    orders.email → Sales by month.Contact by Refresh Sales by month (catalog)",
        "1 broken",
    ]
    assert "`Sales by month (powerbi_report)`" in parts.run("impact", "/raw/orders", "--markdown").output
    (breakage,) = json.loads(parts.run("impact", "/raw/orders", "--json").output)
    assert [entry["dataset"] for entry in breakage["affected"] if entry["is_foreign"]] == [REPORT]
    retyped = parts.run("impact", "/silver/orders.email", "--retype")
    assert (retyped.exit_code, "may break: Sales by month.Contact" in retyped.output) == (4, True)


def test_check_counts_reports_unless_the_rules_say_no(parts: Parts, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    result = parts.run("check", str(policy))
    assert result.exit_code == 3
    assert "Sales by month.Contact" in result.output
    policy.write_text(f"foreign_lineage = false\n{POLICY}")
    assert parts.run("check", str(policy)).exit_code == 0
    assert "Sales by month" not in parts.run("impact", "/raw/orders.email", "--rules", str(policy)).output
    policy.write_text(f'foreign_lineage = "no"\n{POLICY}')
    refused = parts.run("check", str(policy))
    assert (refused.exit_code, "foreign_lineage must be true or false" in refused.output) == (2, True)


@pytest.mark.parametrize(("rule", "hit"), [("", {"Sales by month"}), ("foreign_lineage = false\n", set())])
def test_watch_names_the_reports_that_a_change_hits_unless_the_rules_say_no(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, hit: set[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rules = tmp_path / "watch.toml"
    rules.write_text(f"{rule}{WATCH}")
    parts.run("watch", "--once", "--rules", str(rules))
    run(parts, "orders", "id", minute=30)
    messages = json.loads(parts.run("watch", "--plan", "--json", "--rules", str(rules)).output)["messages"]
    assert {message["subject"]["name"] for message in messages} == {"orders"}
    assert {dataset["name"] for message in messages for dataset in message["hit"]["datasets"]} == hit


@pytest.mark.parametrize("rules", [("", "foreign_lineage = false\n"), ("foreign_lineage = false\n", "")])
def test_turning_foreign_lineage_on_or_off_is_no_change(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "watch.toml"
    place.write_text(f"{rules[0]}{WATCH}")
    parts.run("watch", "--once", "--rules", str(place))
    place.write_text(f"{rules[1]}{WATCH}")
    assert json.loads(parts.run("watch", "--plan", "--json", "--rules", str(place)).output)["messages"] == []


def test_search_finds_reports_and_explain_says_from_where(parts: Parts) -> None:
    assert "Sales by month" in parts.run("search", "sales by month").output
    explained = parts.run("show", "Sales by month.Contact")
    assert "catalog by Refresh Sales by month" in " ".join(explained.output.split())


def test_status_says_that_the_catalog_did_not_answer(parts: Parts) -> None:
    assert "did not answer" not in parts.run("status").output
    position = POSITION.load(parts.storage)
    assert position is not None
    POSITION.save(parts.storage, msgspec.structs.replace(position, failed=True))
    assert "foreign lineage" in parts.run("status").output
    assert json.loads(parts.run("status", "--json").output)["foreign_lineage"]["failed"] is True


def test_api_and_assistants_get_reports(parts: Parts) -> None:
    document = document_of_record(parts.storage, parts.worker.publishing, expressions=True)
    view = LineageView(document, "name")
    impact = answers.impact(view, "/raw/orders", "email", 10, 0, conditions=False)
    assert [(entry.dataset, entry.type) for entry in impact.results][1] == (REPORT, "powerbi_report")
    node = f"dataset:catalog:{REPORT}"
    graph = marquez.lineage(view, node, 9)
    assert {f"job:catalog:{REPORT}#process", node} <= {graph_node.id for graph_node in graph.graph}
    (search_result,) = marquez.search(view, "sales", 9, kind=None, namespace=None).results
    assert search_result.node_id == node
    assert "catalog" in view.namespaces
    assert LineageIndex(document).nearest("salesbymonth") == (REPORT,)
