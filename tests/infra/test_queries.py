"""The queries of alerts and workbook match the functions' logs: the names of facts are compared with real lines."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shared.announcing.local_channels import TelemetryChannel
from shared.canary.hops import CanaryOptions, SendAnswer, canary_due
from shared.forwarding.rounds import ForwardOptions, forward_due
from shared.forwarding.rules import ForwardRules
from shared.publishing.context import PublishOptions
from shared.query.published_document import publish_document
from shared.records.publish_queue import backlog
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from shared.sweeping.sweep import SweepOptions, sweep
from shared.telemetry.port import DOCUMENT_READ, SWEEP, Acts
from shared.watching.messages import messages
from tests.support.cli import Parts
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_blob
from tests.support.publishing import publish
from tests.support.receiving import receive
from tests.support.states import state

if TYPE_CHECKING:
    from shared.telemetry.port import Act

ROOT = Path(__file__).parents[2]
QUERIES = {path.stem: path.read_text() for path in sorted((ROOT / "infra/queries").glob("*.kql"))}
ALERTS = (ROOT / "infra/modules/alerts.bicep").read_text()
ALWAYS = {"error", "run", "reason"}
"""Facts that any line may have: the exception, the run, the reason."""


@pytest.fixture(scope="module")
def facts() -> dict[str, set[str]]:
    """The names of the facts in each kind of line, from an application, an ignored event and a sweep."""
    acts: list[Act] = []
    telemetry = Acts(acts.append)
    storage, catalog = MemoryStorage(), MemoryCatalog()
    for body in (*write("a", "app", "10:00", "/a"), event("idle", "RUNNING", "10:00:00", application="app")):
        receive(storage, body, most_bytes=10**6, telemetry=telemetry)
    for fact in storage.blobs(EVENTS):
        packed_event = storage.get(EVENTS, fact.name)
        assert packed_event
        deliver_blob(storage, fact.name, packed_event, telemetry=telemetry)
    publish(storage, catalog, PublishOptions(telemetry=telemetry))
    with telemetry.act(SWEEP) as act:
        act.note(past_due=False, **sweep(storage, SweepOptions(grace=timedelta(0), telemetry=telemetry)).facts)
        act.note(**backlog(storage))
        act.note(**publish_document(storage, PublishOptions(), timedelta(days=400)))
        act.note(**forward_due(storage, ForwardOptions(rules=ForwardRules(), targets={})))
    snapshot_before, snapshot_after = (
        state({"load": ["raw.id > orders.id"]}, {"raw": f"id:{kind}"}) for kind in ("int", "string")
    )
    for message in messages(snapshot_before, snapshot_after, comparison="one", now=datetime.now(UTC)):
        TelemetryChannel(telemetry=telemetry).send(message)
    context = Parts().worker
    publishing = replace(context.publishing, telemetry=telemetry)
    lost_canary_options = CanaryOptions(send=lambda _: SendAnswer(status=0), every=timedelta(hours=1))
    canary_due(replace(context, publishing=publishing), context.names, lost_canary_options)
    telemetry.report(DOCUMENT_READ, state="unreadable", reason="it is damaged")
    facts_by_kind: dict[str, set[str]] = defaultdict(set)
    for each in acts:
        facts_by_kind[each.kind.name] |= set(each.facts)
    return facts_by_kind


@pytest.mark.parametrize("name", QUERIES)
def test_fields_that_queries_read_are_in_the_lines(name: str, facts: dict[str, set[str]]) -> None:
    kinds = re.findall(r'where Message startswith "(\w+)"', QUERIES[name])
    parsed = re.findall(r"parse-kv Message as \(([^)]*)\) with", QUERIES[name])
    for kind, columns in zip(kinds, parsed, strict=False):
        names = {column.split(":")[0].strip() for column in columns.split(",")}
        assert names <= facts[kind] | ALWAYS, f"{kind} has {sorted(facts[kind])}"
    marks = re.findall(r'startswith "(\w+)" and Message has "(\w+)="', QUERIES[name])
    assert [mark for kind, mark in marks if mark not in facts[kind]] == []


@pytest.mark.parametrize("name", QUERIES)
def test_lines_are_read_by_their_names_and_never_by_their_order(name: str) -> None:
    parse_options = 'with (pair_delimiter=" ", kv_delimiter="=", quote="\\"", escape="\\\\")'
    assert QUERIES[name].count("parse-kv") == QUERIES[name].count(parse_options)
    assert "| parse Message" not in QUERIES[name]
    assert QUERIES[name].startswith("// ")


def test_counted_telemetry_is_not_sampled() -> None:
    """Otherwise a dead letter whose line is dropped by sampling would cause no alert."""
    sampling = json.loads((ROOT / "host.json").read_text())["logging"]["applicationInsights"]["samplingSettings"]
    tables = {"AppTraces": "Trace", "AppRequests": "Request", "AppExceptions": "Exception"}
    used_tables = {tables[table] for query in QUERIES.values() for table in re.findall(r"\bApp\w+s\b", query)}
    assert sampling["isEnabled"] is True
    assert used_tables == set(sampling["excludedTypes"].split(";"))


def test_every_alert_is_described_on_the_page_on_operations() -> None:
    table = json.loads((ROOT / "infra/alerts.json").read_text())
    rules = {row["name"] for rows in table.values() for row in rows} | {"receiver-down"}
    described = set(
        re.findall(r"^\| alert `([\w-]+)`", (ROOT / "docs/operate/operations.md").read_text(), re.MULTILINE)
    )
    assert described == rules


def test_the_workbook_has_an_operator_s_questions() -> None:
    assert {"counts", "lag", "oldest-waiting", "failing-jobs", "coverage", "dead-letters"} <= set(QUERIES)
