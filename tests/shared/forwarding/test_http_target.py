"""Targets over HTTP: the request_line that each kind documents, and what its answers mean."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from shared.errors import CatalogUnavailable
from shared.forwarding.content import OutgoingEvent
from shared.forwarding.http_target import HttpTarget
from shared.forwarding.rounds import ForwardOptions, forward
from shared.forwarding.rules import TargetKind
from shared.http_errors import TAKEN, Never, NotNow
from shared.versions import ORIGIN_HEADER
from tests.support.events import run_id
from tests.support.forward_targets import TargetServer, target_server
from tests.support.forwarding import ForwardWorld, job

EVENT = OutgoingEvent(
    run_id=run_id("run"), digest="d" * 32, time=datetime(2026, 11, 21, 10, tzinfo=UTC), body=b'{"eventType":"COMPLETE"}'
)


@pytest.fixture
def server() -> Iterator[TargetServer]:
    with target_server() as running:
        yield running


def bearer() -> dict[str, str]:
    return {"Authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("kind", "path", "request_line"),
    [
        (TargetKind.OPENLINEAGE, "", "POST /api/v1/lineage"),
        (TargetKind.OPENLINEAGE, "/api/v1/lineage?code=k", "POST /api/v1/lineage?code=k"),
        (TargetKind.MARQUEZ, "/", "POST /api/v1/lineage"),
        (TargetKind.DATAHUB, "", "POST /openapi/openlineage/api/v1/lineage"),
        (TargetKind.OPENMETADATA, "", "POST /api/v1/openlineage/lineage"),
        (TargetKind.EVENTHUB, "/hub", "POST /hub/messages"),
        (TargetKind.EVENTHUB, "/hub/messages", "POST /hub/messages"),
        (TargetKind.FOLDER, "/c/lineage/?sig=k", f"PUT /c/lineage/2026/11/21/{EVENT.run_id}-{'d' * 32}.json?sig=k"),
    ],
)
def test_each_kind_is_asked_as_it_documents(
    server: TargetServer, kind: TargetKind, path: str, request_line: str
) -> None:
    world = ForwardWorld()
    world.receive(*job("/out", "/in"))
    world.round(minutes=10)
    (event,) = world.targets["marquez"].taken
    event = OutgoingEvent(run_id=EVENT.run_id, digest=EVENT.digest, time=EVENT.time, body=event.body)
    target = HttpTarget(url=server.url(path), kind=kind, sign_in=bearer, origin="here")
    assert target.send(event) == TAKEN
    ((method, address, headers, raw),) = server.came
    assert f"{method} {address}" == request_line
    assert headers["authorization"] == "Bearer t"
    assert json.loads(raw)["run"]["runId"] == EVENT.run_id
    assert (headers.get(ORIGIN_HEADER.lower()) == "here") == (kind not in {TargetKind.EVENTHUB, TargetKind.FOLDER})
    if kind is TargetKind.EVENTHUB:
        assert json.loads(headers["brokerproperties"]) == {"PartitionKey": EVENT.run_id}


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (400, {}, Never(why="HTTP 400 Bad Request")),
        (422, {}, Never(why="HTTP 422 Unprocessable Entity")),
        (401, {}, NotNow(why="HTTP 401 Unauthorized")),
        (404, {}, NotNow(why="HTTP 404 Not Found")),
        (302, {"Location": "http://127.0.0.1:1/"}, NotNow(why="HTTP 302 Found")),
        (429, {"Retry-After": "90"}, NotNow(why="HTTP 429 Too Many Requests", after=90)),
        (503, {}, NotNow(why="HTTP 503 Service Unavailable")),
        (508, {}, NotNow(why="HTTP 508 Loop Detected")),
    ],
)
def test_an_answer_decides_whether_it_is_sent_again(
    server: TargetServer, status: int, headers: dict[str, str], expected: object
) -> None:
    server.trouble = (status, headers)
    assert HttpTarget(url=server.url(), kind=TargetKind.MARQUEZ).send(EVENT) == expected


def test_no_answer_is_told_without_the_address() -> None:
    target = HttpTarget(url="http://127.0.0.1:1/geheim", kind=TargetKind.MARQUEZ, connect=0.5)
    answer = target.send(EVENT)
    assert isinstance(answer, NotNow)
    assert "geheim" not in answer.why + repr(target)


def test_an_identity_without_a_token_sends_nothing(server: TargetServer) -> None:
    def refused() -> dict[str, str]:
        raise CatalogUnavailable("No token for x", after=60)

    target = HttpTarget(url=server.url(), kind=TargetKind.MARQUEZ, sign_in=refused)
    assert target.send(EVENT) == NotNow(why="No token for x")
    assert server.came == []


@pytest.mark.parametrize("kind", [TargetKind.MARQUEZ, TargetKind.DATAHUB, TargetKind.OPENMETADATA])
def test_what_a_target_shows_is_what_we_hold_also_of_a_merge(server: TargetServer, kind: TargetKind) -> None:
    """OpenMetadata takes COMPLETE only, with inputs and outputs in one event: raw, a MERGE gives no edge there."""
    world = ForwardWorld()
    start, end = job("/out", "/in")
    raw = [{**start, "outputs": []}, {**end, "inputs": []}]
    target = HttpTarget(url=server.url(), kind=kind, sign_in=bearer)
    for event in raw:
        target.send(OutgoingEvent(run_id="r", digest="d", time=EVENT.time, body=json.dumps(event).encode()))
    assert server.edges == set()
    world.receive(*raw)
    world.at = world.options.quiet
    options = ForwardOptions(rules=world.rules, targets={"marquez": target}, now=world.now)
    forwarded = forward(world.storage, options)
    assert forwarded
    assert forwarded.delivered == 1
    assert server.edges == {("/in", "/out")}
