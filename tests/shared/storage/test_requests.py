"""Our own requests are those of the SDKs' clients but for what is listed here, and are tried again as theirs are."""

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ServiceRequestError
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest
from azure.data.tables import TableClient, TableServiceClient, UpdateMode
from azure.storage.blob import BlobClient, BlobServiceClient

from shared.errors import StorageUnavailable
from shared.storage.azure import AzureStorage
from shared.storage.port import Operation, OperationKind, Row
from shared.storage.transport import Answer, AnyRequest, Headers, StorageTransport
from tests.support.scripted import ScriptedAnswer, scripted

ACCOUNT = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;EndpointSuffix=core.windows.net"
NAME = "a b/ü+~%"
ROW = Row(partition="o'q", key="k ä|", values={"n": 1, "b": b"x", "t": "ü"}, etag='W/"e"')
ENTITY: dict[str, Any] = {"PartitionKey": ROW.partition, "RowKey": ROW.key, **ROW.values}
UNCHANGED: dict[str, Any] = {"etag": ROW.etag, "match_condition": MatchConditions.IfNotModified}
KEYS = {"PartitionKey": ROW.partition, "RowKey": "other"}

OF_A_TRY = frozenset({"authorization", "date", "x-ms-date", "x-ms-client-request-id", "user-agent", "content-length"})
OTHERWISE = frozenset(
    {
        "accept",  # of writes and blobs, whose answers are empty or bytes; errors have one form for each service
        "content-type",  # an insert's says nometadata
        "prefer",  # without it the service sends an inserted row back
        "maxdataserviceversion",  # of a batch
        "x-ms-range",  # the SDK reads a blob in parts of 32 MiB
    }
)
"""Headers in which our requests differ from the SDKs'."""


class Recorder(HttpTransport[Any, Any]):
    """A transport that keeps the request, and has no answer."""

    def open(self) -> None:
        """Open nothing."""

    def close(self) -> None:
        """Close nothing."""

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, request: AnyRequest, **_: Any) -> Any:
        self.request = request
        raise ServiceRequestError("recorded")


def ours(call: Callable[[AzureStorage], object]) -> AnyRequest:
    recorder: Any = Recorder()
    blobs, tables = _clients(recorder)
    with pytest.raises(StorageUnavailable):
        call(AzureStorage(blobs, tables, transport=recorder, tries=0))
    request: AnyRequest = recorder.request
    return request


def of_the_sdk(call: Callable[[TableClient, BlobClient], object]) -> AnyRequest:
    recorder = Recorder()
    blobs, tables = _clients(recorder)
    with pytest.raises(AzureError):
        call(tables.get_table_client("ttt"), blobs.get_blob_client("ccc", NAME))
    return recorder.request


def _clients(
    transport: Any, connection: str = ACCOUNT, *, tries: int = 0
) -> tuple[BlobServiceClient, TableServiceClient]:
    options: dict[str, Any] = {"transport": transport, "retry_total": tries}
    return (
        BlobServiceClient.from_connection_string(connection, **options),
        TableServiceClient.from_connection_string(connection, **options),
    )


class Case(NamedTuple):
    """One call of both sides."""

    ours: Callable[[AzureStorage], object]
    sdk: Callable[[TableClient, BlobClient], object]


CASES: dict[str, Case] = {
    "insert": Case(lambda storage: storage.insert("ttt", ROW), lambda table, _: table.create_entity(ENTITY)),
    "upsert": Case(
        lambda storage: storage.upsert("ttt", ROW),
        lambda table, _: table.upsert_entity(ENTITY, mode=UpdateMode.REPLACE),
    ),
    "replace": Case(
        lambda storage: storage.replace("ttt", ROW),
        lambda table, _: table.update_entity(ENTITY, mode=UpdateMode.REPLACE, **UNCHANGED),
    ),
    "delete": Case(
        lambda storage: storage.delete("ttt", ROW.partition, ROW.key, ROW.etag),
        lambda table, _: table.delete_entity(ROW.partition, ROW.key, **UNCHANGED),
    ),
    "delete whatever is there": Case(
        lambda storage: storage.delete("ttt", ROW.partition, ROW.key),
        lambda table, _: table.delete_entity(ROW.partition, ROW.key),
    ),
    "read": Case(
        lambda storage: storage.read("ttt", ROW.partition, ROW.key),
        lambda table, _: table.get_entity(ROW.partition, ROW.key),
    ),
    "query": Case(
        lambda storage: list(storage.partition("ttt", ROW.partition, since="a", before="ä")),
        lambda table, _: list(
            table.query_entities(
                "PartitionKey eq @p and RowKey ge @s and RowKey lt @b",
                parameters={"p": ROW.partition, "s": "a", "b": "ä"},
            )
        ),
    ),
    "scan": Case(lambda storage: list(storage.scan("ttt")), lambda table, _: list(table.list_entities())),
    "put": Case(lambda storage: storage.put_new("ccc", NAME, b"xx"), lambda _, blob: blob.upload_blob(b"xx", length=2)),
    "get": Case(lambda storage: storage.get("ccc", NAME), lambda _, blob: blob.download_blob().readall()),
    "get a part": Case(
        lambda storage: storage.get_part("ccc", NAME, 3, 4),
        lambda _, blob: blob.download_blob(offset=3, length=4).readall(),
    ),
    "delete a blob": Case(
        lambda storage: storage.delete_blob("ccc", NAME), lambda _, blob: blob.delete_blob(delete_snapshots="include")
    ),
    "transact": Case(
        lambda storage: storage.transact(
            "ttt",
            [
                Operation(kind=OperationKind.REPLACE, row=ROW),
                Operation(kind=OperationKind.DELETE, row=Row(partition=ROW.partition, key="other", etag=ROW.etag)),
                Operation(kind=OperationKind.DELETE, row=Row(partition=ROW.partition, key="another")),
                Operation(kind=OperationKind.INSERT, row=Row(partition=ROW.partition, key="new", values=ROW.values)),
                Operation(kind=OperationKind.UPSERT, row=Row(partition=ROW.partition, key="any", values=ROW.values)),
            ],
        ),
        lambda table, _: table.submit_transaction(
            [
                ("update", ENTITY, {"mode": UpdateMode.REPLACE, **UNCHANGED}),
                ("delete", KEYS, UNCHANGED),
                ("delete", {**KEYS, "RowKey": "another"}),
                ("create", {**ENTITY, "RowKey": "new"}),
                ("upsert", {**ENTITY, "RowKey": "any"}, {"mode": UpdateMode.REPLACE}),
            ]
        ),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_request_is_that_of_the_sdk(case: Case) -> None:
    request, other = ours(case.ours), of_the_sdk(case.sdk)
    assert (request.method, unquote(request.url)) == (other.method, unquote(other.url))
    assert _headers(request.headers) == _headers(other.headers)
    assert _body(request) == _body(other)


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    named = {name.lower(): value for name, value in headers.items()}
    return {name: value for name, value in named.items() if name not in OF_A_TRY | OTHERWISE}


def _body(request: AnyRequest) -> Any:
    """The body: an entity, the parts of a batch, or a blob."""
    content: Any = request.content if isinstance(request, HttpRequest) else request.body
    data = content if isinstance(content, bytes) else str(content or "").encode()
    if request.url.endswith("$batch"):
        parts = re.split(rb"(?m)^--changes.*$", data)[1:-1]
        return [_operation(part.partition(b"\r\n\r\n")[2]) for part in parts]
    return _entity(data) if data.startswith(b"{") else data


def _operation(part: bytes) -> Any:
    """The request line, the headers and the body of a part."""
    head, _, body = part.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = _headers(dict(line.split(": ", 1) for line in lines if line))
    headers.pop("x-ms-version", None)  # the batch has it
    return unquote(line), headers, _entity(body.strip()) if body.strip() else None


def _entity(data: bytes) -> dict[str, Any]:
    """A row's JSON without the type that a JSON string has anyway."""
    return {name: value for name, value in json.loads(data).items() if value != "Edm.String"}


class Pages(Recorder):
    """A transport that answers with pages of a query: the places that continue it, by the name of their headers."""

    def __init__(self, *pages: dict[str, str]) -> None:
        self.pages = list(pages)
        self.urls: list[str] = []

    def send(self, request: AnyRequest, **_: Any) -> Any:
        self.urls.append(request.url)
        headers = Headers()
        for name, place in self.pages.pop(0).items():
            headers[f"x-ms-continuation-{name}".lower()] = place
        return Answer(200, "OK", headers, b'{"value": [{"PartitionKey": "p", "RowKey": "k"}]}')


@pytest.mark.parametrize("query", ["scan", "query"])
def test_a_query_goes_on_where_its_page_ends(query: str) -> None:
    """Azure leaves the row's key out where the next page begins with a partition."""
    pages: Any = Pages({"NextPartitionKey": "1!8!cA--", "NextRowKey": "1!4!a+=&"}, {"NextPartitionKey": "b"}, {})
    blobs, tables = _clients(pages)
    CASES[query].ours(AzureStorage(blobs, tables, transport=pages, tries=0))
    first, *other_urls = pages.urls
    sign = "&" if "?" in first else "?"
    assert other_urls == [
        f"{first}{sign}NextPartitionKey=1%218%21cA--&NextRowKey=1%214%21a%2B%3D%26",
        f"{first}{sign}NextPartitionKey=b",
    ]


def test_a_request_says_when_and_by_whom_it_is_sent() -> None:
    for case in (CASES["read"], CASES["get"]):
        headers = [dict(ours(case.ours).headers) for _ in range(2)]
        assert all(header["User-Agent"] == "throughline" for header in headers)
        assert all(header["Authorization"].startswith("SharedKey a:") for header in headers)
        assert all(header["x-ms-date"].endswith(" GMT") for header in headers)
        assert len({header["x-ms-client-request-id"] for header in headers}) == 2


BUSY, SOON = ScriptedAnswer(status=503), ScriptedAnswer(status=503, headers={"Retry-After": "1"})
FOUND = ScriptedAnswer(
    body='{"PartitionKey": "p", "RowKey": "k"}', headers={"Content-Range": "bytes 0-1/2", "ETag": "e"}
)
CUT = ScriptedAnswer(cut=True)

RETRIES: dict[str, tuple[str, tuple[ScriptedAnswer, ...], int]] = {
    # the call, the answers, and the number of calls
    "a read of a row, once away": ("read", (BUSY, FOUND), 2),
    "a read of a row, asked to wait": ("read", (SOON, FOUND), 2),
    "a read of a row, away for ever": ("read", (BUSY,), 4),
    "a read of a row, cut off": ("read", (CUT, FOUND), 2),
    "an insert, once away": ("insert", (BUSY, ScriptedAnswer(status=204, headers={"ETag": "e"})), 2),
    "an insert, cut off": ("insert", (CUT,), 1),
    "a transaction, cut off": ("transact", (CUT,), 1),
    "a read of a blob, once away": ("get", (BUSY, FOUND), 2),
    "a read of a blob, away for ever": ("get", (BUSY,), 4),
    "a write of a blob, cut off": ("put", (CUT, ScriptedAnswer(status=201, headers={"ETag": "e"})), 2),
}


@pytest.mark.parametrize(("call", "answers", "calls"), RETRIES.values(), ids=RETRIES)
def test_a_call_is_tried_again_as_by_the_sdk(
    monkeypatch: pytest.MonkeyPatch, call: str, answers: tuple[ScriptedAnswer, ...], calls: int
) -> None:
    waits: list[list[float]] = []
    monkeypatch.setattr(HttpTransport, "sleep", lambda _, seconds: waits[-1].append(seconds))
    for act in (_of_ours, _of_the_sdk):
        waits.append([])
        transport = StorageTransport(connection_timeout=5, read_timeout=5, proxies={}, authorities="")
        with scripted(*answers) as server, transport:
            act(
                CASES[call],
                f"AccountName=a;AccountKey=a2V5;BlobEndpoint={server.url};TableEndpoint={server.url}",
                transport,
            )
            assert server.calls == calls
    own_waits, sdk = waits
    assert own_waits == pytest.approx(sdk, abs=6), "for a blob: random within three seconds"


def _of_ours(case: Case, connection: str, transport: StorageTransport) -> None:
    blobs, tables = _clients(transport, connection, tries=4)
    with contextlib.suppress(StorageUnavailable):
        case.ours(AzureStorage(blobs, tables, transport=transport, tries=4))


def _of_the_sdk(case: Case, connection: str, transport: StorageTransport) -> None:
    blobs, tables = _clients(transport, connection, tries=4)
    with contextlib.suppress(AzureError, AttributeError):  # the latter: its download wants a stream of our answer
        case.sdk(tables.get_table_client("ttt"), blobs.get_blob_client("ccc", NAME))
