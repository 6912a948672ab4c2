"""Telemetry of the pipeline: log lines, spans in one trace for each run, metrics, and no secrets."""

import json
import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.catalog.port import Catalog
from shared.errors import CatalogRefused, CatalogUnavailable, Refused, StorageUnavailable
from shared.maintenance.reconciliation import reconcile_due
from shared.publishing.context import PublishOptions
from shared.records.publish_queue import backlog
from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, Row
from shared.storage_layout import EVENTS, stored_from_blob
from shared.sweeping.sweep import SweepOptions, sweep
from shared.telemetry.otel import ActListener, Exports, trace_of
from shared.telemetry.port import (
    EVENT,
    KINDS,
    PROCESS,
    SILENT,
    SWEEP,
    Act,
    Acts,
    Telemetry,
    line_of,
    show_marks_as_escapes,
    write_line,
)
from tests.support.dead_letters import replace_blob
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_blob
from tests.support.publishing import context_of, publish
from tests.support.receiving import receive, receive_batch
from throughline.local.catalog.server import CatalogServer

ROOT = Path(__file__).parents[3]


@dataclass(slots=True)
class RecordedTelemetry:
    """Recorded telemetry: `lines` of the log, `spans` in the order of their ends, and the metrics."""

    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    metrics: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    acts: list[Act] = field(default_factory=list)

    @property
    def telemetry(self) -> Telemetry:
        listener = ActListener(Exports(spans=(SimpleSpanProcessor(self.spans),), metrics=(self.metrics,)))
        return Acts(self.acts.append, listener)

    @property
    def lines(self) -> list[str]:
        return [line_of(act) for act in self.acts if act.kind.line]

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans.get_finished_spans() if span.name == name]

    def points(self) -> dict[tuple[str, str], Any]:
        """The points by the metric's name and its labels' values, with spaces between."""
        data = self.metrics.get_metrics_data()
        return {
            (metric.name, " ".join(str(value) for value in dict(point.attributes or {}).values())): point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        }

    def everything(self) -> str:
        """All recorded telemetry as one text."""
        spans = [span.to_json() for span in self.spans.get_finished_spans()]
        data = self.metrics.get_metrics_data()
        return "\n".join([*self.lines, *spans, data.to_json() if data else ""])


@pytest.fixture
def recorded() -> RecordedTelemetry:
    return RecordedTelemetry()


def live(storage: MemoryStorage, catalog: Catalog, telemetry: Telemetry, *bodies: bytes) -> None:
    """Each event through receiver, parser and publisher."""
    handled = {fact.name for fact in storage.blobs(EVENTS)}
    for body in bodies:
        receive(storage, body, most_bytes=10**6, telemetry=telemetry)
    for fact in storage.blobs(EVENTS):
        packed_event = storage.get(EVENTS, fact.name)
        if fact.name not in handled and packed_event:
            deliver_blob(storage, fact.name, packed_event, telemetry=telemetry)
            publish(storage, catalog, PublishOptions(telemetry=telemetry))


def trace(span: ReadableSpan) -> int:
    assert span.context
    return int(span.context.trace_id)


def test_all_work_on_a_run_is_in_one_trace(recorded: RecordedTelemetry) -> None:
    telemetry = recorded.telemetry
    live(MemoryStorage(), MemoryCatalog(), telemetry, *write("a", "app", "10:00", "/a"))
    names = [(span.name, trace(span) == trace_of(run_id("a"))) for span in recorded.spans.get_finished_spans()]
    assert names == [
        ("receive", True),
        ("receive", True),
        ("process run", True),
        ("publish process", True),
        ("publish", False),
    ]
    (batch,) = recorded.named("publish")
    assert [link.context.trace_id for link in batch.links] == [trace_of(run_id("a"))]
    (process,) = recorded.named("publish process")
    assert [link.context.trace_id for link in process.links] == [trace(batch)]
    assert process.attributes
    assert process.attributes["throughline.runs"] == (run_id("a"),)


def test_all_spans_of_a_run_have_one_trace() -> None:
    recorded_telemetry, other = RecordedTelemetry(), RecordedTelemetry()
    storage = MemoryStorage()
    start, end = write("a", "app", "10:00", "/a")
    live(storage, MemoryCatalog(), recorded_telemetry.telemetry, start)
    live(storage, MemoryCatalog(), other.telemetry, end)
    assert {trace(span) for span in (*recorded_telemetry.named("receive"), *other.named("process run"))} == {
        trace_of(run_id("a"))
    }


def test_trace_ids_are_distributed_evenly_enough_for_sampling() -> None:
    """Samplers look at the last 56 or 64 bits; those of a UUID begin with the same two."""
    ids = [trace_of(run_id(str(number))) for number in range(400)]
    assert len(set(ids)) == 400
    halves = sum((trace_id & (1 << 64) - 1) < 1 << 63 for trace_id in ids)
    assert 150 < halves < 250


def test_log_lines_give_the_outcome_of_each_event_run_and_process(recorded: RecordedTelemetry) -> None:
    storage, telemetry = MemoryStorage(), recorded.telemetry
    live(storage, MemoryCatalog(), telemetry, *write("a", "app", "10:00", "/a"))
    receive(storage, event("idle", "RUNNING", "10:00:00", application="app"), most_bytes=10**6, telemetry=telemetry)
    with pytest.raises(Refused):
        receive(storage, b"{", most_bytes=10**6, telemetry=telemetry)
    facts = [line.rpartition(" seconds=")[0] for line in recorded.lines]
    assert facts[0].startswith(f"event run={run_id('a')} state=kept bytes=")
    assert facts[0].endswith("type=START job=app.adaptive_spark_plan.out")
    job = "job=app.adaptive_spark_plan.out"
    assert facts[2] == f"run_processed run={run_id('a')} {job} state=contributed events=2 processes=1"
    assert facts[3].startswith(f"process run={run_id('a')} process=throughline:v1://tests/app/file/out state=written")
    assert facts[4].endswith('reason="names no data set and ends no run"')
    assert facts[5].startswith('event state=refused bytes=1 status=400 reason="The body is not JSON: Input data was ')
    assert len(facts) == 6


def test_metrics_count_events_runs_processes_and_lag(recorded: RecordedTelemetry) -> None:
    storage, catalog, telemetry = MemoryStorage(), MemoryCatalog(), recorded.telemetry
    live(storage, catalog, telemetry, *write("a", "app", "10:00", "/a"), *write("b", "app", "10:01", "/a"))
    receive(storage, event("idle", "RUNNING", "10:00:00", application="app"), most_bytes=10**6, telemetry=telemetry)
    points = recorded.points()
    values = {key: point.value for key, point in points.items() if hasattr(point, "value")}
    assert values[("throughline.events", "kept")] == 4
    assert values[("throughline.events", "ignored")] == 1
    assert values[("throughline.runs", "contributed")] == 2
    assert values[("throughline.publishes", "written")] == 1
    lag = points[("throughline.lag", "")]
    assert lag.count == values[("throughline.publishes", "written")]
    assert 0 <= lag.sum < 60
    assert points[("throughline.receive.duration", "kept")].count == 4


class Slow(MemoryStorage):
    """Storage whose transactions take a time."""

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        time.sleep(0.02)
        return super().transact(table, operations)


def test_the_time_of_a_run_includes_that_of_its_commit(recorded: RecordedTelemetry) -> None:
    live(Slow(), MemoryCatalog(), recorded.telemetry, *write("a", "app", "10:00", "/a"))
    assert recorded.points()[("throughline.run.duration", "contributed")].sum >= 0.02


class Away(MemoryStorage):
    """Storage that does not answer."""

    def insert(self, table: str, row: Row) -> str | None:
        raise StorageUnavailable(f"{table} {row.key[:5]} is away")


def test_an_event_that_storage_refuses_has_a_span_too(recorded: RecordedTelemetry) -> None:
    with pytest.raises(StorageUnavailable):
        receive(Away(), write("a", "app", "10:00", "/a")[0], most_bytes=10**6, telemetry=recorded.telemetry)
    assert "state=unavailable" in recorded.lines[0]
    assert recorded.points()[("throughline.events", "unavailable")].value == 1
    assert [span.status.is_ok for span in recorded.named("receive")] == [False]


def test_a_batch_is_logged_with_its_events(recorded: RecordedTelemetry) -> None:
    body = b"[%b]" % b",".join([*write("a", "app", "10:00", "/a"), b'{"x": 1}'])
    receive_batch(MemoryStorage(), body, most_bytes=10**6, telemetry=recorded.telemetry)
    assert [line.split()[0] for line in recorded.lines] == ["event", "event", "event", "batch"]
    assert "failed=1" in recorded.lines[-1]
    assert "events=3" in recorded.lines[-1]


def test_a_dead_letter_is_logged_once(recorded: RecordedTelemetry) -> None:
    storage, telemetry = MemoryStorage(), recorded.telemetry
    receive(storage, write("a", "app", "10:00", "/a")[1], most_bytes=10**6)
    (fact,) = storage.blobs(EVENTS)
    replace_blob(storage, stored_from_blob(fact.name), b"broken")
    for _ in range(2):
        deliver_blob(storage, fact.name, telemetry=telemetry)
    letters = [line for line in recorded.lines if line.startswith("dead_letter")]
    assert len(letters) == 1
    assert f"run={run_id('a')}" in letters[0]
    assert recorded.points()[("throughline.dead_letters", "")].value == 1
    assert [trace(span) for span in recorded.named("dead letter")] == [trace_of(run_id("a"))]


class Moody(MemoryCatalog):
    """A catalog that raises these errors, one for each write, and then works."""

    def __init__(self, *moods: Exception) -> None:
        super().__init__()
        self.moods = list(moods)

    def write_processes(self, *arguments: Any) -> dict[str, str]:
        if self.moods:
            raise self.moods.pop(0)
        return super().write_processes(*arguments)


def test_refused_and_removed_processes_are_logged(recorded: RecordedTelemetry) -> None:
    storage, telemetry = MemoryStorage(), recorded.telemetry
    refusal = CatalogRefused(status=400, code="ATLAS-1", detail="https://u:hunter2@host/ is no name")
    catalog = Moody(refusal)
    live(storage, catalog, telemetry, *write("a", "app", "10:00", "/a"))
    live(storage, catalog, telemetry, write("a", "app", "10:01", "/a", end="FAIL")[1])
    live(storage, catalog, telemetry, *write("b", "app", "10:02", "/b"))
    live(storage, catalog, telemetry, write("b", "app", "10:03", "/b", end="FAIL")[1])
    states = [act.facts["state"] for act in recorded.acts if act.kind is PROCESS]
    assert states == ["refused", "removed", "written", "removed"]
    assert "hunter2" not in recorded.everything()
    assert [span.status.is_ok for span in recorded.named("publish process")] == [False, True, True, True]


def test_the_span_of_a_batch_names_the_catalogs_outage(recorded: RecordedTelemetry) -> None:
    catalog = Moody(CatalogUnavailable("away", after=1))
    live(MemoryStorage(), catalog, recorded.telemetry, *write("a", "app", "10:00", "/a"))
    (batch,) = recorded.named("publish")
    assert batch.status.description == "CatalogUnavailable"


def test_catalog_calls_are_in_the_publishers_trace(recorded: RecordedTelemetry, fresh_catalog: CatalogServer) -> None:
    telemetry = recorded.telemetry
    client = SteadyAtlasClient(fresh_catalog.endpoint, StaticToken(fresh_catalog.token), telemetry=telemetry)
    live(MemoryStorage(), AtlasCatalog(client), telemetry, *write("a", "app", "10:00", "/a"))
    client.close()
    (batch,) = recorded.named("publish")
    calls = recorded.named("catalog")
    assert {trace(call) for call in calls} == {trace(batch)}
    assert batch.context
    assert {call.parent.span_id for call in calls if call.parent} == {batch.context.span_id}
    assert batch.attributes
    assert batch.attributes["throughline.calls"] == len(calls) == 4
    assert all(call.status.is_ok for call in calls)
    counts = {labels: point.value for (name, labels), point in recorded.points().items() if name.endswith("calls")}
    looked_once = {"GET /types/businessmetadatadef missing": 1}  # for the group of managed attributes
    assert counts == {"GET /entity/bulk ok": 1, "POST /entity/bulk ok": 2} | looked_once
    assert fresh_catalog.token not in recorded.everything()


def test_catalog_calls_of_a_sweep_are_in_the_sweeps_trace(
    recorded: RecordedTelemetry, fresh_catalog: CatalogServer
) -> None:
    """It looks for the scanned assets of placeholders."""
    storage, telemetry = MemoryStorage(), recorded.telemetry
    client = SteadyAtlasClient(fresh_catalog.endpoint, StaticToken(fresh_catalog.token), telemetry=telemetry)
    content = json.loads(write("a", "app", "10:00", "/a")[1])
    content["inputs"].append({"namespace": "postgres://db:5432", "name": "sales.public.t"})
    live(storage, AtlasCatalog(client), telemetry, json.dumps(content).encode())
    with telemetry.act(SWEEP):
        options = PublishOptions(telemetry=telemetry, now=lambda: datetime.now(UTC) + timedelta(days=1))
        reconcile_due(context_of(storage, AtlasCatalog(client), options))
    client.close()
    parents = {call.parent.span_id if call.parent else None for call in recorded.named("catalog")}
    for name in ("publish", "sweep"):
        (act,) = recorded.named(name)
        assert act.context
        assert act.context.span_id in parents
        parents.remove(act.context.span_id)
    assert parents == set()


def test_retried_catalog_calls_are_counted(recorded: RecordedTelemetry) -> None:
    retry_policy = RetryPolicy(tries=3, max_pause=0.01, connect=0.2)
    client = SteadyAtlasClient(
        "http://127.0.0.1:1/v2", StaticToken("t0k3n"), retry_policy=retry_policy, telemetry=recorded.telemetry
    )
    with pytest.raises(CatalogUnavailable):
        AtlasCatalog(client).find([("fs_path", "file:///a")])
    client.close()
    assert recorded.points()[("throughline.catalog.retries", "GET /entity/bulk")].value == 2
    assert recorded.points()[("throughline.catalog.calls", "GET /entity/bulk unavailable")].value == 1


def test_the_sweeper_reports_the_backlog(recorded: RecordedTelemetry) -> None:
    storage, telemetry = MemoryStorage(), recorded.telemetry
    receive(storage, write("a", "app", "10:00", "/a")[0], most_bytes=10**6)
    for body in write("b", "app", "10:00", "/b"):
        receive(storage, body, most_bytes=10**6)
    with telemetry.act(SWEEP) as act:
        act.note(**sweep(storage, SweepOptions(grace=timedelta(seconds=-1), telemetry=telemetry)).facts)
        act.note(**backlog(storage))
    assert recorded.lines[-1].startswith(
        f"sweep run={run_id('b')} folded=1 timed_out=0 undelivered=1 failed=0 archived=0 "
    )
    values = {name: point.value for (name, _), point in recorded.points().items() if hasattr(point, "value")}
    assert values["throughline.waiting.runs"] == 1
    assert values["throughline.queue.processes"] == 1
    assert 0 <= values["throughline.waiting.oldest"] < 60
    assert 0 <= values["throughline.queue.oldest"] < 60


SECRETS = {
    "hunter2": "jdbc:postgresql://db.example.com/sales?user=ada&password=hunter2",
    "s1gn4ture": "https://acct.blob.core.windows.net/c/x?sv=2024&sig=s1gn4ture",
    "k3yk3y": "s3a://AKIA:k3yk3y@bucket/x",
}


def test_no_secret_of_an_event_is_logged(recorded: RecordedTelemetry, fresh_catalog: CatalogServer) -> None:
    telemetry = recorded.telemetry
    client = SteadyAtlasClient(fresh_catalog.endpoint, StaticToken("local-t0k3n"), telemetry=telemetry)
    properties = {"spark.hadoop.fs.azure.account.key.acct": "pr0perty"}
    bodies: list[bytes] = []
    for number, (secret, address) in enumerate(SECRETS.items()):
        for body in write(f"r{number}", "app", "10:00", "/a", sink=f"/o{number}"):
            content = json.loads(body)
            content["job"]["name"] = f"app.execute_insert.password={secret}"
            content["inputs"].append({"namespace": address.rpartition("/")[0], "name": address})
            content["inputs"].append({"namespace": address, "name": "t"})
            content["run"]["facets"]["spark_properties"] = {"properties": properties}
            bodies.append(json.dumps(content).encode())
    storage = MemoryStorage()
    live(storage, AtlasCatalog(client), telemetry, *bodies)
    with pytest.raises(Refused):
        receive(storage, b'{"eventType": "password=hunter2"}', most_bytes=10**6, telemetry=telemetry)
    client.close()
    recorded_text = recorded.everything()
    assert "process run" in recorded_text
    assert [secret for secret in (*SECRETS, "pr0perty", "local-t0k3n") if secret in recorded_text] == []


LINES: dict[str, tuple[dict[str, Any], str]] = {
    "plain": ({"state": "kept", "bytes": 3}, "event run=r state=kept bytes=3 seconds=0.5"),
    "spaces": ({"reason": 'a "b"'}, 'event run=r reason="a \\"b\\"" seconds=0.5'),
    "a line's end": ({"job": "a\nfake=1"}, 'event run=r job="a\\nfake=1" seconds=0.5'),
    "a mark that turns the direction": ({"job": "a\u202eb"}, 'event run=r job="a\\u202eb" seconds=0.5'),
    "nothing": ({"job": ""}, 'event run=r job="" seconds=0.5'),
    "a yes": ({"past_due": True}, "event run=r past_due=true seconds=0.5"),
    "capitals of others": ({"job": "größe"}, "event run=r job=größe seconds=0.5"),
}


@pytest.mark.parametrize(("facts", "line"), LINES.values(), ids=LINES)
def test_any_line_can_be_parsed(facts: dict[str, Any], line: str) -> None:
    assert line_of(Act(kind=EVENT, runs=("r",), facts=facts, seconds=0.5)) == line


def test_logs_show_marks_as_escapes_and_set_further_lines_in(caplog: pytest.LogCaptureFixture) -> None:
    record_factory = logging.getLogRecordFactory()
    show_marks_as_escapes()
    try:
        for name in ("throughline.process", "azure.core"):
            logging.getLogger(name).warning("run failed error=%s", "a\x1b[31m\u202eb\nfake error=none")
    finally:
        logging.setLogRecordFactory(record_factory)
    own_line, sdk_line = caplog.messages
    assert own_line == "run failed error=a\\x1b[31m\\u202eb\n  fake error=none"
    assert "\x1b" in sdk_line


def test_log_levels_follow_the_outcome(caplog: pytest.LogCaptureFixture) -> None:
    acts = Acts(write_line)
    with caplog.at_level(logging.DEBUG):
        for state in ("kept", "refused", "unavailable"):
            acts.report(EVENT, state=state)
        with pytest.raises(KeyError), acts.act(EVENT):
            raise KeyError("x")
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "ERROR", "WARNING"]


def test_silent_telemetry_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        live(MemoryStorage(), MemoryCatalog(), SILENT, *write("a", "app", "10:00", "/a"))
    assert caplog.records == []


def test_the_page_lists_every_kind_and_metric_and_no_other() -> None:
    page = (ROOT / "docs/operate/telemetry.md").read_text().partition("## Kinds")[2].partition("\n## ")[0]
    for kind in KINDS:
        assert f"| `{kind.name}` | {kind.meaning} | " + (f"`{kind.span}`, " if kind.span else "none |") in page
        for metric in kind.metrics:
            labels = ", ".join(f"`{label}`" for label in metric.labels)
            assert f"| `{metric.name}` | {metric.instrument} | {metric.unit} | {labels} | {metric.meaning} |" in page
    assert page.count("| `throughline.") == sum(len(kind.metrics) for kind in KINDS)
    assert len(re.findall(r"^\| `[a-z_]+` \|", page, re.MULTILINE)) == len(KINDS)
