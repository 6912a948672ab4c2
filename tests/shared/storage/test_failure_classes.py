"""Answers of storage and catalog: the failure class of each, the number of tries, and the response to the sender."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from shared.bootstrap_receiver import receiver_storage
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import CredentialToken, RetryPolicy, StaticToken, SteadyAtlasClient
from shared.catalog.port import AssetKey, HeldAsset
from shared.errors import (
    CatalogRefused,
    CatalogUnavailable,
    Refused,
    Retry,
    StorageBusy,
    StorageForbidden,
    StorageUnavailable,
    TooLarge,
    Unreadable,
    WriteConflict,
    retry_after,
)
from shared.events.dead_letters import dead_letters
from shared.ingest.receiver import Receipt, kept, refused, retry_later
from shared.publishing.context import PublishOptions
from shared.records.publish_queue import read_queue
from shared.reporting.status import status
from shared.settings.reading import load
from shared.settings.values import Settings
from shared.storage.azure import AzureStorage
from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, OperationKind, Row, Storage
from shared.storage.transport import StorageTransport
from tests.support.events import event, write
from tests.support.publishing import Clock, UnreliableCatalog, post_and_deliver, publish
from tests.support.receiving import receive
from tests.support.scripted import ScriptedAnswer, scripted

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
QUICK = RetryPolicy(connect=30, read=30, tries=3, max_pause=1.2)
IMPATIENT = RetryPolicy(connect=30, read=2, tries=3, max_pause=1.2)
"""For answers that come too late; others would be too late as well on a busy machine."""
TOO_LATE = ScriptedAnswer(late=3)

RETRY_AFTER: dict[str, tuple[str, float]] = {
    "seconds": ("120", 120),
    "with blanks": (" 7 ", 7),
    "a date": (format_datetime(NOW + timedelta(minutes=2), usegmt=True), 120),
    "a date with an offset": ("Sat, 21 Nov 2026 12:01:00 +0200", 60),
    "a date without one": ("Sat, 21 Nov 2026 10:01:00 -0000", 60),
    "a date that has passed": (format_datetime(NOW - timedelta(days=1), usegmt=True), 0),
    "a date far away": ("Fri, 31 Dec 2099 23:59:59 GMT", 3600),
    "an hour at most": ("86400", 3600),
    "more digits than a number has": ("9" * 5000, 3600),
    "nothing": ("", 0),
    "a fraction": ("1.5", 0),
    "below nothing": ("-5", 0),
    "other digits": ("\N{SUPERSCRIPT TWO}", 0),
    "words": ("soon", 0),
    "a date that is none": ("Sat, 99 Nov 2026 10:01:00 GMT", 0),
    "a year of many digits": (f"Sat, 21 Nov {'9' * 20} 10:01:00 GMT", 0),
    "an offset of many digits": (f"Sat, 21 Nov 2026 10:01:00 -{'9' * 17}", 0),
}


@pytest.mark.parametrize(("header", "seconds"), RETRY_AFTER.values(), ids=RETRY_AFTER)
def test_retry_after_gives_the_seconds_to_wait(header: str, seconds: float) -> None:
    assert retry_after(header, NOW) == seconds


ENTITY = json.dumps({"entities": [{"guid": "g", "attributes": {"qualifiedName": "q"}}]})
ATLAS = json.dumps({"errorCode": "ATLAS-400-00-01", "errorMessage": "no"})
SOON = {"Retry-After": "60"}

CATALOG: dict[str, tuple[tuple[ScriptedAnswer, ...], type[Exception] | None, float | None, int]] = {
    # answers; the class, the seconds that it asks for, and how many calls were made
    "an answer": ((ScriptedAnswer(body=ENTITY),), None, None, 1),
    "away once": ((ScriptedAnswer(status=503), ScriptedAnswer(body=ENTITY)), None, None, 2),
    "cut off once": ((ScriptedAnswer(cut=True), ScriptedAnswer(body=ENTITY)), None, None, 2),
    "too slow once": ((TOO_LATE, ScriptedAnswer(body=ENTITY)), None, None, 2),
    "asks for a second": (
        (ScriptedAnswer(status=429, headers={"Retry-After": "1"}), ScriptedAnswer(body=ENTITY)),
        None,
        None,
        2,
    ),
    "asks for a minute": ((ScriptedAnswer(status=429, headers=SOON),), CatalogUnavailable, 60, 1),
    "away for a minute": ((ScriptedAnswer(status=503, headers=SOON),), CatalogUnavailable, 60, 1),
    **{
        f"{status} for ever": ((ScriptedAnswer(status=status),), CatalogUnavailable, 0, 3)
        for status in (408, 429, 500, 502, 503, 504)
    },
    "too slow for ever": ((TOO_LATE,), CatalogUnavailable, 0, 3),
    "cut off for ever": ((ScriptedAnswer(cut=True),), CatalogUnavailable, 0, 3),
    "a page of a proxy": ((ScriptedAnswer(body="<html>"),), CatalogUnavailable, 60, 1),
    **{
        f"{status}": ((ScriptedAnswer(status=status, body=ATLAS),), CatalogRefused, None, 1)
        for status in (400, 401, 403, 409)
    },
    **{
        f"{status} without words": ((ScriptedAnswer(status=status, body=""),), CatalogRefused, None, 1)
        for status in (413, 422)
    },
    "leads elsewhere": ((ScriptedAnswer(status=302, headers={"Location": "/x"}),), CatalogRefused, None, 1),
}


@pytest.mark.parametrize(("answers", "kind", "expected_delay", "calls"), CATALOG.values(), ids=CATALOG)
def test_each_answer_of_a_catalog_has_its_failure_class_and_number_of_tries(
    answers: tuple[ScriptedAnswer, ...], kind: type[Exception] | None, expected_delay: float | None, calls: int
) -> None:
    policy = IMPATIENT if TOO_LATE in answers else QUICK
    with scripted(*answers) as server:
        catalog = AtlasCatalog(SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=policy))
        if kind is None:
            assert catalog.find([("t", "q")]) == {("t", "q"): "g"}
        else:
            with pytest.raises(kind) as error_info:
                catalog.find([("t", "q")])
            assert getattr(error_info.value, "after", None) == expected_delay
        assert server.calls == calls


def test_entities_are_requested_one_by_one_after_a_404_for_all_of_them() -> None:
    with scripted(ScriptedAnswer(status=404), ScriptedAnswer(status=404), ScriptedAnswer(body=ENTITY)) as server:
        catalog = AtlasCatalog(SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=QUICK))
        assert catalog.find([("t", "p"), ("t", "q")]) == {("t", "q"): "g"}
        assert server.calls == 3


def test_a_retry_waits_as_long_as_retry_after_says() -> None:
    with scripted(ScriptedAnswer(status=429, headers={"Retry-After": "1"}), ScriptedAnswer(body=ENTITY)) as server:
        catalog = AtlasCatalog(SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=QUICK))
        began = time.monotonic()
        catalog.find([("t", "q")])
        assert 1 <= time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("host", "error"), [("catalog.invalid", "ConnectionError"), ("catalog..invalid", "LocationParseError")]
)
def test_an_unknown_host_name_raises_catalog_unavailable(host: str, error: str) -> None:
    client = SteadyAtlasClient(f"http://{host}", StaticToken("t"), retry_policy=QUICK)
    with pytest.raises(CatalogUnavailable, match=error) as error_info:
        AtlasCatalog(client).find([("t", "q")])
    assert error_info.value.over, "nothing was sent"


class NoToken:
    """An identity that gets no token."""

    def get_token(self, *_: str, **__: object) -> AccessToken:
        raise ClientAuthenticationError("secret=x")


def test_without_a_token_storage_is_not_called() -> None:
    nowhere, nobody = "https://127.0.0.1:1", NoToken()
    storage = AzureStorage(
        BlobServiceClient(nowhere, credential=nobody, retry_total=0),
        TableServiceClient(nowhere, credential=nobody, retry_total=0),
        transport=StorageTransport(connection_timeout=1, read_timeout=1, proxies={}, authorities=""),
        tries=0,
    )
    for call in (lambda: storage.read("runs", "a", "b"), lambda: storage.get("events", "a")):
        with pytest.raises(StorageUnavailable, match=r"^No token for storage: sign in \(`az login`\)") as error_info:
            call()
        assert error_info.value.after == 60


def test_a_catalog_call_without_a_token_is_retried_after_a_minute() -> None:
    with scripted(ScriptedAnswer(body=ENTITY)) as server:
        client = SteadyAtlasClient(
            server.url, CredentialToken(NoToken(), scope="https://catalog.example.com/.default"), retry_policy=QUICK
        )
        message = r"No token for \S+ \(ClientAuthenticationError\): sign in"
        with pytest.raises(CatalogUnavailable, match=message) as error_info:
            AtlasCatalog(client).find([("t", "q")])
        assert (error_info.value.after, server.calls) == (60, 0)


def _error(status: int, code: str = "x", **headers: str) -> ScriptedAnswer:
    body = json.dumps({"odata.error": {"code": code, "message": {"value": "no"}}})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ScriptedAnswer(
        status=status, body=body, headers={"x-ms-error-code": code, "Content-Type": "application/json", **named}
    )


AWAY, BUSY, FORBIDDEN = StorageUnavailable, StorageBusy, StorageForbidden
STORAGE: dict[str, tuple[ScriptedAnswer, type[StorageUnavailable], float, int]] = {
    # the answer; the class, the seconds, and the status that the sender of an event gets
    "above its rates": (_error(503, "ServerBusy"), BUSY, 5, 429),
    "above its rates, with a wait": (_error(503, "ServerBusy", Retry_After="7"), BUSY, 7, 429),
    "too many requests": (_error(429, "TooManyRequests", Retry_After="30"), BUSY, 30, 429),
    "timed out inside": (_error(500, "OperationTimedOut"), AWAY, 5, 503),
    "an error inside": (_error(500, "InternalError"), AWAY, 5, 503),
    "a bad gateway": (_error(502), AWAY, 5, 503),
    "a gateway that waited": (_error(504), AWAY, 5, 503),
    "a request that took too long": (_error(408), AWAY, 5, 503),
    "a wrong key": (_error(403, "AuthenticationFailed"), FORBIDDEN, 60, 503),
    "a role that is missing": (_error(403, "AuthorizationPermissionMismatch"), FORBIDDEN, 60, 503),
    "a network that is kept out": (_error(403, "AuthorizationFailure"), FORBIDDEN, 60, 503),
    "no identity": (_error(401, "NoAuthenticationInformation"), FORBIDDEN, 60, 503),
    "too slow": (ScriptedAnswer(late=2.5), AWAY, 5, 503),
}

UPSERT = Operation(kind=OperationKind.UPSERT, row=Row(partition="p", key="k"))
CALLS: dict[str, Callable[[Storage], object]] = {
    "put": lambda storage: storage.put_new("c", "b", b"x"),
    "insert": lambda storage: storage.insert("t", Row(partition="p", key="k")),
    "transact": lambda storage: storage.transact("t", [UPSERT]),
    "replace": lambda storage: storage.replace("t", Row(partition="p", key="k", etag="e")),
    "delete": lambda storage: storage.delete("t", "p", "k"),
    "get": lambda storage: storage.get("c", "b"),
    "part": lambda storage: storage.get_part("c", "b", 1, 2),
    "delete blob": lambda storage: storage.delete_blob("c", "b"),
    "read": lambda storage: storage.read("t", "p", "k"),
    "query": lambda storage: list(storage.partition("t", "p")),
    "list": lambda storage: list(storage.blobs("c")),
}


@pytest.mark.parametrize("name", STORAGE)
def test_each_answer_of_storage_has_its_failure_class_and_response_to_the_sender(name: str) -> None:
    scripted_answer, kind, expected_delay, answered = STORAGE[name]
    with scripted(scripted_answer) as server:
        storage = receiver_storage(_settings(server.url))
        for call_name, call in (
            CALLS.items() if not scripted_answer.late else [("put", CALLS["put"]), ("insert", CALLS["insert"])]
        ):
            calls_before = server.calls
            with pytest.raises(Retry) as error_info:
                call(storage)
            assert type(error_info.value) is kind, call_name
            assert error_info.value.after == expected_delay
            assert server.calls == calls_before + 1, "the sender waits, and comes again by itself"
        with pytest.raises(StorageUnavailable) as unavailable:
            receive(storage, event("a", "START", "10:00:00", inputs=["/a"]), most_bytes=10**6)
    answer = retry_later(unavailable.value)
    assert answer.status == answered
    assert answer.kind == "application/problem+json"
    assert 1 <= int(answer.headers["Retry-After"]) <= 2, "a listener waits no longer than five seconds"


@pytest.mark.parametrize("code", ["AuthorizationFailure", "AuthorizationPermissionMismatch", ""])
def test_storage_forbidden_has_the_code_of_the_refusal(code: str) -> None:
    with scripted(_error(403, code or "AuthenticationFailed")) as server:
        storage = receiver_storage(_settings(server.url))
        for call_name, call in CALLS.items():
            with pytest.raises(StorageForbidden) as error_info:
                call(storage)
            assert error_info.value.code == code, call_name


def _settings(url: str) -> Settings:
    account = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;"
    return load(
        catalog=False, environment={"AzureWebJobsStorage": f"{account}BlobEndpoint={url}/a;TableEndpoint={url}/a;"}
    )


@pytest.mark.parametrize("host", ["storage.invalid", "storage..invalid"])
def test_an_unknown_storage_account_raises_storage_unavailable(host: str) -> None:
    storage = receiver_storage(_settings(f"http://{host}"))
    for call_name in ("put", "insert"):
        with pytest.raises(StorageUnavailable) as error_info:
            CALLS[call_name](storage)
        assert type(error_info.value) is StorageUnavailable


@pytest.mark.parametrize("name", ["read", "query", "transact"])
@pytest.mark.parametrize("body", ["<html>", "{}", '{"value": [{}]}', ""], ids=["page", "object", "row", "nothing"])
def test_an_answer_that_is_not_of_storage_raises_storage_unavailable(name: str, body: str) -> None:
    answer = ScriptedAnswer(status=202 if name == "transact" else 200, body=body)
    with scripted(answer) as server, pytest.raises(StorageUnavailable, match="can't be read"):
        CALLS[name](receiver_storage(_settings(server.url)))


PARTS: dict[str, tuple[int, str, type[Exception]]] = {
    "above its rates": (503, "ServerBusy", StorageBusy),
    "a table that is being deleted": (409, "TableBeingDeleted", StorageUnavailable),
    "a role that is missing": (403, "AuthorizationPermissionMismatch", StorageForbidden),
    "a row that it does not take": (400, "PropertyValueTooLarge", HttpResponseError),
}


@pytest.mark.parametrize(("status", "code", "error"), PARTS.values(), ids=PARTS)
def test_an_operation_that_fails_is_no_refused_condition(status: int, code: str, error: type[Exception]) -> None:
    """A transaction whose condition does not hold is answered in the same way: a 202 with an error inside."""
    body = json.dumps({"odata.error": {"code": code, "message": {"lang": "en-US", "value": "0:no"}}})
    part = f"HTTP/1.1 {status} No\r\nContent-Type: application/json\r\n\r\n{body}\r\n--changesetresponse_1--\r\n"
    with scripted(ScriptedAnswer(status=202, body=f"--changesetresponse_1\r\n\r\n{part}")) as server:
        with pytest.raises(error) as error_info:
            receiver_storage(_settings(server.url)).transact("t", [UPSERT])
        assert type(error_info.value) is error


def test_a_truncated_download_raises_storage_unavailable() -> None:
    partial = ScriptedAnswer(body="abc", cut=True, headers={"Content-Range": "bytes 0-102/103", "ETag": "e"})
    with scripted(partial) as server, pytest.raises(StorageUnavailable):
        receiver_storage(_settings(server.url)).get("c", "b")


REFUSALS: dict[str, tuple[Refused, int]] = {
    "unreadable": (Unreadable("no", field="run"), 400),
    "too large": (TooLarge("no"), 413),
    "of another kind": (Refused("no", status=415), 415),
}


@pytest.mark.parametrize(("refusal", "expected"), REFUSALS.values(), ids=REFUSALS)
def test_an_error_of_the_sender_is_a_4xx_without_retry_after(refusal: Refused, expected: int) -> None:
    answer = refused(refusal)
    problem = json.loads(answer.body)
    assert (answer.status, problem["status"], problem["detail"]) == (expected, expected, "no")
    assert problem.get("field") == refusal.field
    assert "Retry-After" not in answer.headers


def test_a_kept_event_is_answered_with_201() -> None:
    receipt = Receipt(run_id="r", digest="d", omitted=("inputs[0]",))
    answer = kept(receipt)
    assert (answer.status, answer.kind, answer.headers) == (201, "application/json", {})
    assert json.loads(answer.body) == {"status": "kept", "run": "r", "event": "d", "omitted": ["inputs[0]"]}


def test_only_storage_that_pushes_back_gives_a_429() -> None:
    for error, expected in (
        (StorageBusy("x"), 429),
        (StorageUnavailable("x"), 503),
        (StorageUnavailable("x", 60), 503),
    ):
        assert retry_later(error).status == expected
    assert not issubclass(WriteConflict, StorageUnavailable)


def test_refused_processes_wait_longer_each_time_and_for_different_times() -> None:
    storage, clock = MemoryStorage(), Clock()
    sinks = [f"/bad{number}" for number in range(6)]
    post_and_deliver(storage, *(raw for sink in sinks for raw in write(f"r{sink}", "app1", "10:00", "/a", sink=sink)))
    waits: list[list[float]] = []
    for _ in range(12):
        waits.append(sorted(_refused_all(storage, clock)))
        clock.at += timedelta(hours=7)
    assert all(len(set(wait)) == len(sinks) for wait in waits), "no two at the same time"
    assert waits[0][-1] <= 60
    assert all(later_wait[0] > 1.2 * sooner[0] for sooner, later_wait in pairwise(waits[:7]))
    assert waits[-1][-1] <= 6 * 3600, "six hours at most"
    assert waits[-1][0] >= 4 * 3600


def _refused_all(storage: MemoryStorage, clock: Clock) -> list[float]:
    """Have every process refused once; return the seconds that each then waits."""

    class Never(UnreliableCatalog):
        def write_processes(self, *_: object) -> dict[str, str]:
            raise CatalogRefused(status=400, code="x", detail="no")

    publish(storage, Never(), PublishOptions(now=clock))
    queue_entries = read_queue(storage).entries
    return [(queue_entry.due - clock.at).total_seconds() for queue_entry in queue_entries]


def test_a_catalog_that_requests_an_hour_is_not_called_for_an_hour() -> None:
    class RequestsAnHour(UnreliableCatalog):
        def look_up(self, *_: object) -> dict[AssetKey, HeldAsset]:
            self.calls += 1
            raise CatalogUnavailable("429", after=3600)

    storage, catalog, clock = MemoryStorage(), RequestsAnHour(), Clock()
    post_and_deliver(storage, *write("a", "app1", "10:00", "/a"))
    for minutes, calls in ((0, 1), (30, 1), (59, 1), (61, 2)):
        start = clock.at
        clock.at += timedelta(minutes=minutes)
        publish(storage, catalog, PublishOptions(now=clock))
        assert catalog.calls == calls, minutes
        clock.at = start
    assert list(dead_letters(storage)) == []
    assert status(storage).waiting == 2
