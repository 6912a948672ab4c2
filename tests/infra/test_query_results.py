"""The results of the alerts' and workbook's queries on real lines of the functions, and the host's records."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.announcing.local_channels import TelemetryChannel
from shared.atlas.entities import ProcessEntity
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.openlineage.selection import CHECK_APPLICATION
from shared.publishing.context import PublishOptions
from shared.query.published_document import publish_document
from shared.records.publish_queue import backlog
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, stored_from_blob
from shared.sweeping.sweep import SweepOptions, sweep
from shared.telemetry.port import CANARY, DOCUMENT_READ, SWEEP, Act, Acts, line_of
from shared.watching.messages import messages
from tests.infra.kusto.evaluator import Row, run
from tests.support.dead_letters import replace_blob
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_blob
from tests.support.publishing import publish
from tests.support.receiving import receive
from tests.support.states import name_of, state

ROOT = Path(__file__).parents[2]
QUERIES = {path.stem: path.read_text() for path in sorted((ROOT / "infra/queries").glob("*.kql"))}
NOW = datetime.now(UTC).replace(tzinfo=None)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def lines(*texts: str, moment: datetime = NOW) -> list[Row]:
    """Rows of AppTraces."""
    return [{"TimeGenerated": moment, "Message": text, "AppRoleName": "func-worker"} for text in texts]


def call(name: str, moment: datetime, **columns: Any) -> Row:
    """Return a row of AppRequests as the host writes it: a function without HTTP has the result code 0."""
    return {"TimeGenerated": moment, "Name": name, "Success": True, "ResultCode": "0", "DurationMs": 9.0} | columns


def answer(name: str, **rows: list[Row]) -> list[dict[str, Any]]:
    """Return a query's result at NOW: queries read the clock, and the tests may run long after the import."""
    late = datetime.now(UTC).replace(tzinfo=None) - NOW
    moved = {
        table: [
            {name: value + late if isinstance(value, datetime) else value for name, value in row.items()}
            for row in table_rows
        ]
        for table, table_rows in rows.items()
    }
    return run(QUERIES[name], moved)


@pytest.fixture(scope="module")
def written() -> list[Row]:
    """The lines of two applications that write a table each, an ignored event, and a sweep; one run waits."""
    acts: list[Act] = []
    telemetry = Acts(acts.append)
    storage = MemoryStorage()
    bodies = [
        *write("a", "app", "10:00", "/a"),
        *write("b", "app2", "10:05", "/b"),
        event("c", "START", "11:00:00", application="app3"),
        event("idle", "RUNNING", "10:00:00", application="app"),
    ]
    for body in bodies:
        receive(storage, body, most_bytes=10**6, telemetry=telemetry)
    for fact in storage.blobs(EVENTS):
        packed_event = storage.get(EVENTS, fact.name)
        assert packed_event
        deliver_blob(storage, fact.name, packed_event, telemetry=telemetry)
    publish(storage, MemoryCatalog(), PublishOptions(telemetry=telemetry))
    with telemetry.act(SWEEP) as act:
        act.note(past_due=False, **sweep(storage, SweepOptions(grace=timedelta(0), telemetry=telemetry)).facts)
        act.note(**backlog(storage))
        act.note(**publish_document(storage, PublishOptions(), timedelta(days=400)))
    return lines(*(line_of(act) for act in acts if act.kind.line))


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_runs_over_no_rows_and_over_real_lines(name: str, written: list[Row]) -> None:
    calls = [call("parser_function", ago(minutes=1)), call("receiver_function", ago(minutes=1), ResultCode="201")]
    assert answer(name) == [] or name == "counts"
    assert answer(name, AppTraces=written, AppRequests=calls) is not None


def test_each_event_is_counted_by_its_result(written: list[Row]) -> None:
    counts = {row["State"]: (row["Received"], row["Processed"]) for row in answer("counts", AppTraces=written)}
    assert counts == {"contributed": (4, 4), "waiting": (1, 1), "skipped at once": (1, 1)}


def test_healthy_lines_raise_no_alert(written: list[Row]) -> None:
    """An ordinary hour triggers no alert."""
    calls = [call("receiver_function", ago(minutes=30), ResultCode="201"), call("sweeper_function", ago(minutes=20))]
    quiet = set(QUERIES) & {
        *("dead-letters", "receiver-errors", "receiver-slow", "worker-failures", "sweeper-silent", "undelivered"),
        *(
            "oldest-waiting",
            "backlog",
            "document-stale",
            "forward-stalled",
            "document-unreadable",
            "catalog-away",
            "daily-cap",
            "announcements",
            "no-events",
        ),
        "canary",
    }
    assert len(quiet) == 16
    rows_by_query = {name: answer(name, AppTraces=written, AppRequests=calls) for name in quiet}
    assert {name: rows for name, rows in rows_by_query.items() if rows} == {}


# ---- alerts


SWEPT = "sweep past_due=false timed_out=0 undelivered=0 failed=0 archived=0 deleted=0 waiting=0 oldest=0 queued=0"
SILENT: dict[str, tuple[list[Row], list[Row], bool]] = {
    "before the first deployment of code": ([], [], False),
    "minutes after it, before the first sweep": ([], [call("receiver_function", ago(minutes=4))], False),
    "functions are called, and no sweep ever ended": ([], [call("receiver_function", ago(minutes=11))], True),
    "the sweeper fails each time": ([], [call("sweeper_function", ago(minutes=15), Success=False)], True),
    "it swept just now": (lines(SWEPT, moment=ago(minutes=2)), [call("sweeper_function", ago(hours=30))], False),
    "it stopped": (lines(SWEPT, moment=ago(minutes=12)), [call("sweeper_function", ago(minutes=12))], True),
    "it stopped more than a day ago": (
        lines(SWEPT, moment=ago(hours=30)),
        [call("sweeper_function", ago(hours=30))],
        True,
    ),
    "nothing was called for two days": (
        lines(SWEPT, moment=ago(hours=49)),
        [call("sweeper_function", ago(hours=49))],
        False,
    ),
}


@pytest.mark.parametrize(("traces", "calls", "alert"), SILENT.values(), ids=SILENT)
def test_a_silent_sweeper_raises_an_alert_after_the_first_deployment(
    traces: list[Row], calls: list[Row], alert: bool
) -> None:
    assert bool(answer("sweeper-silent", AppTraces=traces, AppRequests=calls)) is alert


EVENT = "event run=8a03 state=kept bytes=672 type=START job=nightly.execute seconds=0.01"
CHECK = f"event run=9b14 state=kept bytes=500 type=START job={CHECK_APPLICATION}.execute_insert seconds=0.01"
SILENCE: dict[str, tuple[list[Row], bool]] = {
    "no event ever": ([], False),
    "events a day ago, none since": (lines(EVENT, moment=ago(hours=26)), True),
    "events just now": (lines(EVENT, moment=ago(hours=26)) + lines(EVENT, moment=ago(hours=3)), False),
    "none now, none in these hours of the day before": (lines(EVENT, moment=ago(hours=20)), False),
    "none for a weekend": (lines(EVENT, moment=ago(hours=49)), False),
    "a check of the deployment is no event": (
        lines(EVENT, moment=ago(hours=26)) + lines(CHECK, moment=ago(hours=1)),
        True,
    ),
    "nor were those of the day before": (lines(CHECK, moment=ago(hours=26)), False),
    "refused bodies are none": (lines(EVENT, moment=ago(hours=26)) + lines("event state=refused bytes=9"), True),
}


@pytest.mark.parametrize(("traces", "alert"), SILENCE.values(), ids=SILENCE)
def test_senders_that_fall_silent_raise_an_alert(traces: list[Row], alert: bool) -> None:
    assert bool(answer("no-events", AppTraces=traces)) is alert


def flown(moment: datetime, **facts: Any) -> list[Row]:
    """The line of a canary that ended so."""
    acts: list[Act] = []
    with Acts(acts.append).act(CANARY) as act:
        act.note(**facts)
    return lines(*map(line_of, acts), moment=moment)


@pytest.mark.parametrize(("last", "alert"), [("failed", True), ("arrived", False)])
def test_the_last_canary_raises_an_alert_if_it_failed(last: str, alert: bool) -> None:
    other = {"failed": "arrived", "arrived": "failed"}[last]
    failed = {"hop": "fold", "problem": "event-unfolded", "outcome": "not there after 60 s"}
    rows = flown(ago(hours=3), state=other, **failed) + flown(ago(hours=2), state=last, **failed)
    assert [(row["Hop"], row["Problem"]) for row in answer("canary", AppTraces=rows)] == (
        [("fold", "event-unfolded")] if alert else []
    )


def test_each_failed_invocation_is_one_row() -> None:
    """The host reports one failure of an invocation as several exceptions of its operation."""
    failed = [
        call("parser_function", ago(minutes=3), Success=False, OperationId="one"),
        call("parser_function", ago(minutes=2), Success=False, OperationId="two"),
        call("sweeper_function", ago(minutes=1), Success=False, OperationId="three"),
        call("sweeper_function", ago(minutes=1), OperationId="four"),
    ]
    exceptions: list[Row] = [
        {
            "TimeGenerated": ago(minutes=3, seconds=-second),
            "OperationId": operation,
            "OuterMessage": "Exception while executing function: Functions.parser_function",
            "InnermostMessage": cause,
        }
        for operation, causes in {"one": ["", "StorageUnavailable: busy"], "two": ["KeyError", "KeyError", ""]}.items()
        for second, cause in enumerate(causes)
    ]
    rows = answer("worker-failures", AppRequests=failed, AppExceptions=exceptions)
    assert [row["OperationId"] for row in rows] == ["three", "two", "one"]
    assert [row["Problem"] or "" for row in rows] == [
        "",
        "Exception while executing function: Functions.parser_function",
        "StorageUnavailable: busy",
    ]


@pytest.mark.parametrize(
    ("columns", "alert"),
    [
        ({"ResultCode": "201"}, False),
        ({"ResultCode": "400"}, False),
        ({"ResultCode": "400", "Success": False}, False),
        ({"ResultCode": "500", "Success": False}, True),
        ({"ResultCode": "503"}, True),
        ({"ResultCode": "0", "Success": False}, True),
        ({"ResultCode": "", "Success": False}, True),
        ({"ResultCode": "0"}, False),
    ],
)
def test_an_answer_that_loses_an_event_raises_an_alert(columns: dict[str, Any], alert: bool) -> None:
    calls = [call("receiver_function", NOW, **columns), call("parser_function", NOW, ResultCode="500", Success=False)]
    assert len(answer("receiver-errors", AppRequests=calls)) == alert


def test_a_dead_letter_raises_an_alert() -> None:
    storage, acts = MemoryStorage(), list[Act]()
    telemetry = Acts(acts.append)
    receive(storage, write("a", "app", "10:00", "/a")[1], most_bytes=10**6, telemetry=telemetry)
    (fact,) = storage.blobs(EVENTS)
    replace_blob(storage, stored_from_blob(fact.name), b"no gzip at all")
    deliver_blob(storage, fact.name, telemetry=telemetry)
    (row,) = answer("dead-letters", AppTraces=lines(*map(line_of, acts)))
    assert run_id("a") in row["Message"]


def test_an_announced_change_is_found_with_its_owners() -> None:
    acts = list[Act]()
    snapshot_before = state({"load": ["raw.id > orders.id"]}, {"raw": "id:int"})
    snapshot_after = state({"load": ["raw.id > orders.id"]}, {"raw": "id:string"})
    (message,) = messages(snapshot_before, snapshot_after, comparison="one", now=datetime.now(UTC))
    TelemetryChannel(telemetry=Acts(acts.append)).send(message)
    (row,) = answer("announcements", AppTraces=lines(*map(line_of, acts)))
    assert (row["Severity"], row["Topic"], row["Subject"]) == ("breaking", "schema", name_of("raw"))
    assert "column id has another type: int → string" in row["Text"]


class Failing(MemoryCatalog):
    """A catalog that refuses all processes."""

    def __init__(self, error: CatalogUnavailable | CatalogRefused) -> None:
        super().__init__()
        self._error = error

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        del processes, guids
        raise self._error


def test_an_unavailable_or_refusing_catalog_raises_an_alert(caplog: pytest.LogCaptureFixture) -> None:
    """The publisher writes these lines for each, not all of them as acts."""
    logs = []
    for error in (CatalogUnavailable("HTTP 503"), CatalogRefused(status=400, code="ATLAS-400", detail="no such type")):
        storage, acts = MemoryStorage(), list[Act]()
        for body in write("a", "app", "10:00", "/a"):
            receive(storage, body, most_bytes=10**6)
        for fact in storage.blobs(EVENTS):
            deliver_blob(storage, fact.name)
        publish(storage, Failing(error), PublishOptions(telemetry=Acts(acts.append)))
        logs.append([*map(line_of, acts), *(record.getMessage() for record in caplog.records)])
        caplog.clear()
    assert [len(answer("catalog-away", AppTraces=lines(*texts))) for texts in logs] == [1, 1]


@pytest.mark.parametrize(
    ("name", "late", "early"),
    [
        ("oldest-waiting", {"oldest": 25201.0, "waiting": 3}, {"oldest": 25199.0, "waiting": 3}),
        ("backlog", {"queued": 2, "queue_oldest": 1801.5}, {"queued": 2, "queue_oldest": 1799.0}),
        (
            "document-stale",
            {"document_waiting": 2, "document_oldest": 901.5},
            {"document_waiting": 2, "document_oldest": 899.0},
        ),
        (
            "forward-stalled",
            {"forward_waiting": 2, "forward_oldest": 3600.5, "forward_dead": 0},
            {"forward_waiting": 2, "forward_oldest": 3599.0, "forward_dead": 0},
        ),
        (
            "forward-stalled",
            {"forward_waiting": 0, "forward_oldest": 0.0, "forward_dead": 1},
            {"forward_waiting": 0, "forward_oldest": 0.0, "forward_dead": 0},
        ),
        ("undelivered", {"undelivered": 1}, {"undelivered": 0}),
        ("undelivered", {"failed": 1}, {"timed_out": 5}),
    ],
)
def test_a_sweep_over_a_limit_raises_an_alert(name: str, late: dict[str, float], early: dict[str, float]) -> None:
    def swept(**facts: float) -> list[Row]:
        acts: list[Act] = []
        with Acts(acts.append).act(SWEEP) as act:
            act.note(**{"undelivered": 0, "failed": 0} | facts)
        return lines(*map(line_of, acts))

    assert len(answer(name, AppTraces=swept(**late))) == 1
    assert answer(name, AppTraces=swept(**early)) == []


def test_the_daily_cap_raises_an_alert() -> None:
    stop_entry = {
        "TimeGenerated": NOW,
        "Category": "Ingestion",
        "Detail": "Data collection stopped due to daily limit of free data reached. Ingestion status = OverQuota",
    }
    other = stop_entry | {"Category": "Agent"}
    assert len(answer("daily-cap", _LogOperation=[stop_entry, other])) == 1


# ---- the workbook's


def test_coverage_and_failing_jobs_name_the_jobs() -> None:
    job = "app.execute_insert.out"
    messages = [
        f"run_processed run={run_id('a')} job={job} state=contributed events=2 processes=1 seconds=0.1",
        f'run_processed run={run_id("b")} job={job} state=dead reason="KeyError: no such field" events=1 seconds=0.1',
    ]
    (covered,) = answer("coverage", AppTraces=lines(*messages))
    assert (covered["Job"], covered["Runs"], covered["WithLineage"], covered["Percent"]) == (job, 2, 1, 50.0)
    assert "KeyError: no such field" in covered["Reasons"]
    (failing,) = answer("failing-jobs", AppTraces=lines(*messages))
    assert (failing["Job"], failing["Runs"], failing["Reason"]) == (job, 1, "KeyError: no such field")


def test_the_median_lag_is_at_most_the_maximum(written: list[Row]) -> None:
    (bin_,) = answer("lag", AppTraces=written)
    assert 0 <= bin_["P50"] <= bin_["Most"]


def test_a_document_that_cannot_be_read_raises_an_alert() -> None:
    acts: list[Act] = []
    Acts(acts.append).report(DOCUMENT_READ, state="unreadable", reason="it is damaged")
    (row,) = answer("document-unreadable", AppTraces=lines(*map(line_of, acts)))
    assert row["Reason"] == "it is damaged"
