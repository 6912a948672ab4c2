"""The plan listener in real Spark 3.5: its events, values that never leave the driver, and failing receivers."""

import base64
import gzip
import json
import re
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]  # ships no types

from shared.ingest.receiver import Redact
from shared.openlineage.decoding import decode
from shared.openlineage.wire import RunEvent
from shared.plans.reader import read_plan
from shared.redaction import redacted
from shared.storage.memory import MemoryStorage
from tests.support.planted import stored_texts
from tests.support.processing import deliver_blob
from tests.support.receiving import receive
from tests.support.spark_events import file_configuration
from throughline.local.spark.job import LISTENER_CLASS, QUICK_SESSION, SparkJob
from throughline.plan_jar import LISTENER_CLASS as PLAN_LISTENER
from throughline.plan_jar import SOURCES, plan_jar

JOB = Path(__file__).parent / "job.py"
SCHEMA = SOURCES.parent / "ThroughlinePlanRunFacet.json"
MAX_STOP_SECONDS = 4.0
"""The time that Spark itself needs to stop on a busy machine."""
MAX_FLUSH_SECONDS = 10.0
"""The longest wait for a receiver that answers nothing."""


# How this job failed once in about a hundred runs, inside PySpark or Py4J (the job compares no prefix): it runs again.
PYTHON_LOST_ITS_JAVA = "'NoneType' object has no attribute 'startswith'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The good receiver's requests, those with planted values, those to a receiver that refused the first one, the
    listener's own events, and Spark's log.

    Also the seconds that each application took to stop.
    """

    requests: list[tuple[str, dict[str, str], bytes]]
    planted: list[bytes]
    losing: list[bytes]
    listener: list[Any]
    stops: dict[str, float]
    log: str

    @property
    def events(self) -> list[Any]:
        return [json.loads(body) for _, _, body in self.requests]

    @property
    def facets(self) -> list[dict[str, Any]]:
        return [event["run"]["facets"]["throughline_plan"] for event in self.events]


def leaked(*texts: str) -> list[str]:
    """Return the planted values in some texts, each with the preceding text."""
    return sorted(
        {leak for text in texts for leak in re.findall(".{0,60}(?:planted-[a-z-]+|98765432[12]|987_654_321)", text)}
    )


def document(facet: dict[str, Any]) -> str:
    return gzip.decompress(base64.b64decode(facet["plan"])).decode()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One JVM with an application for each receiver: a good one, one that refuses, two that are silent, and none."""
    folder = tmp_path_factory.mktemp("plans")
    requests: list[tuple[str, dict[str, str], bytes]] = []
    planted: list[bytes] = []
    losing: list[bytes] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.startswith("/refusing"):
                self.send_response(403)
            elif self.path.startswith("/planted"):
                planted.append(body)
                self.send_response(201)
            elif self.path.startswith("/losing"):
                losing.append(body)
                self.send_response(201 if len(losing) > 1 else 403)
            else:
                requests.append((self.path, dict(self.headers), body))
                self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server,
        socket.create_server(("127.0.0.1", 0)) as silent,
        socket.socket() as closed,
    ):
        closed.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        good = f"http://127.0.0.1:{server.server_port}"
        receivers = {
            "good": good,
            "refusing": f"{good}/refusing",
            "losing": f"{good}/losing",
            "outlived": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "silent": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "dead": f"http://127.0.0.1:{closed.getsockname()[1]}",
            "planted": f"{good}/planted",
            "malformed": "http://127.0.0.1:planted-secret",
        }
        events = folder / "events.jsonl"
        transport = {
            "type": "http",
            "endpoint": "/api/v1/lineage",
            "headers.x-functions-key": "a-key",
            "urlParams.code": "a code",
            "auth.apiKey": "an-api-key",
            "timeoutInMillis": "30000",
        }
        configuration = {
            **QUICK_SESSION,
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",  # which checks our bytecode
            **file_configuration(events),
            "spark.jars": str(plan_jar()),
            "spark.extraListeners": f"{LISTENER_CLASS},{PLAN_LISTENER}",
            "spark.throughline.plan.maxBytes": "200000",
            **{f"spark.throughline.plan.transport.{key}": value for key, value in transport.items()},
        }
        arguments = [json.dumps(receivers), str(folder / "data")]
        for attempt in ("first", "second"):
            requests.clear()
            planted.clear()
            losing.clear()
            events.unlink(missing_ok=True)
            with SparkJob(JOB, configuration=configuration, directory=folder / attempt, arguments=arguments) as job:
                result = job.wait()
            if PYTHON_LOST_ITS_JAVA not in (result.problem or ""):
                break
        server.shutdown()
        thread.join()
    assert result.problem is None, result.output
    assert "True" in result.output.split(), "the write was to fail with the planted message"
    stops = [json.loads(line) for line in result.output.splitlines() if line.startswith('{"name"')]
    return Ran(
        requests=requests,
        planted=planted,
        losing=losing,
        listener=[json.loads(line) for line in events.read_text().splitlines()],
        stops={stop["name"]: stop["stop"] for stop in stops},
        log=result.log.read_text(),
    )


def test_each_write_is_sent_under_the_listeners_own_run_id(ran: Ran) -> None:
    writes = [event for event in ran.events if "insert_into_hadoop_fs_relation" in event["job"]["name"]]
    assert len(writes) == 10
    assert {write["run"]["runId"] for write in writes} <= {event["run"]["runId"] for event in ran.listener}
    assert {event["run"]["facets"]["throughline_plan"]["joined"] for event in ran.events} == {True}


def test_a_request_has_the_configured_address_headers_and_key(ran: Ran) -> None:
    path, headers, _ = ran.requests[0]
    assert path == "/api/v1/lineage?code=a+code"
    assert headers["x-functions-key"] == "a-key"
    assert headers["Authorization"] == "Bearer an-api-key"


def test_no_planted_value_leaves_the_driver(ran: Ran) -> None:
    sent_texts = [body.decode() for body in (*(body for _, _, body in ran.requests), *ran.planted)]
    plans = [_plan(json.loads(text)) for text in sent_texts]
    assert any('"CaseWhen"' in plan for plan in plans)
    assert any("sys.systables WHERE tablename <> ?" in plan for plan in plans)
    assert leaked(*sent_texts, *plans) == []


def test_planted_statements_are_read(ran: Ran) -> None:
    """The plans of the planted statements are there, and their sources are known."""
    runs = (decode(body).body for body in ran.planted)
    facets = [run.run.facets.plan for run in runs if isinstance(run, RunEvent) and run.run.facets]
    lineages = [read_plan(facet) for facet in facets if facet and facet.plan]
    written_names = {
        output.name.rpartition("/")[2] for lineage in lineages if lineage.exact for output in lineage.outputs
    }
    assert written_names >= {"secrets", "signed", "delta", "secret_delta", "secret_parts", "secret_copy", "out"}
    read_names = {merged_dataset.name.rpartition("/")[2] for lineage in lineages for merged_dataset in lineage.inputs}
    assert read_names >= {"secrets", "signed", "delta", "in"}
    plans = "".join(_plan(json.loads(body)) for body in ran.planted)
    for host in ("thin:@//host:1521/sales", "mysql://host:3306/shop", "postgresql://host/shop", "sqlserver://host;"):
        assert f"jdbc:oracle:{host}" in plans or f"jdbc:{host}" in plans


@pytest.mark.parametrize("redact", [None, redacted], ids=["as sent", "redacted"])
def test_no_planted_value_is_stored(ran: Ran, redact: Redact | None) -> None:
    """No value of the listener's events is stored either, except in the container of original events.

    When a job writes by JDBC to a query, the listener uses the query as a name: see docs/operate/security.md.
    """
    storage = MemoryStorage()
    listener = [json.dumps(event).encode() for event in ran.listener if "(SELECT" not in event["job"]["name"]]
    for event in (*listener, *(body for _, _, body in ran.requests), *ran.planted):
        receive(storage, event, most_bytes=10**8, redact=redact)
    for fact in storage.blobs("events"):
        deliver_blob(storage, fact.name)
    stored_pairs = list(stored_texts(storage, raw=redact is not None))
    assert any("secret_delta" in text for _, text in stored_pairs)
    assert leaked(*(text for _, text in stored_pairs)) == []


def test_a_failed_write_is_a_fail_with_only_the_exceptions_class(ran: Ran) -> None:
    (failed,) = (event for event in ran.events if "/failed" in _plan(event) and event["eventType"] == "FAIL")
    assert failed["run"]["facets"]["throughline_plan"]["failed"].startswith("org.apache.spark.")


def test_a_plan_beyond_the_bound_is_named_and_not_sent(ran: Ran) -> None:
    assert [facet.get("plan") for facet in ran.facets if facet.get("problem") == "too large"] == [None]


def test_a_deep_expression_is_whole(ran: Ran) -> None:
    (deep,) = (document(facet) for facet in ran.facets if "plan" in facet and "/deep" in document(facet))
    assert deep.count('"k":"Add"') == 150


@pytest.mark.parametrize(("folder", "frames"), [("clear", 1), ("unclear", 0)])
def test_a_checkpoint_has_its_plan_unless_another_has_the_same_columns(ran: Ran, folder: str, frames: int) -> None:
    """A filter creates no columns, so the second one can't be distinguished from the first."""
    (plan_document,) = (json.loads(plan) for plan in map(_plan, ran.events) if f'/{folder}"' in plan)
    assert len(plan_document["frames"]) == frames


def test_facets_match_their_schema(ran: Ran) -> None:
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    assert len(ran.facets) > 5
    for facet in ran.facets:
        assert facet["_schemaURL"] == schema["$id"]
        Draft202012Validator(schema).validate(facet)
    with pytest.raises(ValidationError):
        Draft202012Validator(schema).validate({**ran.facets[0], "query": "SELECT 1"})


@pytest.mark.parametrize("receiver", ["good", "refusing", "dead", "malformed"])
def test_no_receiver_that_answers_or_is_away_delays_the_end_of_the_application(ran: Ran, receiver: str) -> None:
    assert ran.stops[receiver] < MAX_STOP_SECONDS


def test_a_silent_receiver_delays_the_end_of_the_application_for_a_limited_time(ran: Ran) -> None:
    assert ran.stops["silent"] < MAX_STOP_SECONDS + MAX_FLUSH_SECONDS


def test_a_listener_that_outlives_its_application_starts_no_other(ran: Ran) -> None:
    """It still has plans after the context's end: a new context would break the job's next one."""
    assert ran.log.count("SparkContext: Running Spark version") == len(ran.stops)


def test_a_refusing_receiver_causes_two_lines_of_the_log(ran: Ran) -> None:
    """One for the first plan, one at the end; so does the receiver that refuses only the first plan."""
    messages = [line.partition("PlanListener: ")[2] for line in ran.log.splitlines()]  # a time may contain 403, too
    lines = [message for message in messages if "was not sent to Throughline" in message]
    assert len([line for line in lines if "403" in line]) == 2
    assert len([line for line in lines if "ConnectException" in line]) == 1
    assert len([line for line in lines if "MalformedURLException" in line]) == 1
    assert len(lines) <= 6
    ends = [message for message in messages if "plans did not reach Throughline" in message]
    assert len([line for line in ends if "403" in line]) == 2
    assert len(ends) >= len(lines)
    assert not [line for line in lines if "a-key" in line or "a code" in line or "planted" in line]


def test_lost_plans_are_counted_in_what_is_sent_later(ran: Ran) -> None:
    refused, *later_bodies, last = (decode(body).body for body in ran.losing)
    facets = [body.run.facets.plan for body in later_bodies if isinstance(body, RunEvent) and body.run.facets]
    assert {facet.lost for facet in facets if facet and facet.plan} == {1}
    assert isinstance(refused, RunEvent)
    assert isinstance(last, RunEvent)
    assert last.event_type == "OTHER"
    assert refused.parent
    assert last.run.run_id == refused.parent.run.run_id
    assert last.run.facets
    assert last.run.facets.plan
    assert last.run.facets.plan.lost == 1


def _plan(event: dict[str, Any]) -> str:
    facet = event["run"]["facets"]["throughline_plan"]
    return document(facet) if "plan" in facet else ""
