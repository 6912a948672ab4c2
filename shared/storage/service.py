"""Requests to one service of a storage account, through azure-core's pipeline, with our own errors.

Credentials are applied, and calls are retried, by the policies of azure-core and of the SDKs. What the SDKs do beside
that for a call (models, parsers, thread pools) takes most of their time, and is not done here.

Rows of Table Storage are JSON, transactions multipart bodies. The forms are those of Microsoft's pages "Payload format
for Table service operations", "Querying tables and entities" and "Performing entity group transactions".
"""

import re
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import quote, urlsplit

import msgspec
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.core.pipeline import Pipeline, PipelineRequest
from azure.core.pipeline.policies import HTTPPolicy, RetryPolicy, SansIOHTTPPolicy
from azure.core.pipeline.transport import HttpRequest
from azure.data.tables import TableServiceClient
from azure.data.tables._authentication import _configure_credential
from azure.storage.blob import BlobServiceClient, ExponentialRetry
from urllib3.exceptions import LocationParseError

from shared.errors import StorageBusy, StorageForbidden, StorageUnavailable, retry_after
from shared.http_errors import name_of
from shared.storage.port import Operation, OperationKind, Row, Value
from shared.storage.transport import StorageTransport

JSON = "application/json"
ACCEPTED = f"{JSON};odata=minimalmetadata"
"""JSON with etags, and with the types that JSON does not have."""
ODATA_VERSION = "3.0"

_TYPE = "@odata.type"
_INT32 = range(-(2**31), 2**31)
_BESIDE_CELLS = frozenset({"PartitionKey", "RowKey", "Timestamp"})
_VALUE_OF: Mapping[Any, Callable[[str], Value]] = {
    "Edm.Binary": lambda text: msgspec.convert(text, bytes),
    "Edm.DateTime": datetime.fromisoformat,
    "Edm.Int64": int,
}
_LINE_SEPARATOR, _PARAGRAPH_SEPARATOR = (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029")
"""JavaScript's line ends beside those of HTTP, in UTF-8 and escaped: Azurite ends a line of a transaction there."""
_STATUS_LINE = re.compile(rb"^HTTP/1\.1 (\d{3}) ?(.*?)\r?$", re.MULTILINE)
_BOUNDARY = b"\r\n--"
_ETAG = re.compile(rb"^etag: *(.+?)\r?$", re.MULTILINE | re.IGNORECASE)


class _Page(msgspec.Struct):
    value: tuple[dict[str, Any], ...]


_encode = msgspec.json.Encoder().encode
_decode_entity = msgspec.json.Decoder(dict[str, Any]).decode
_decode_page = msgspec.json.Decoder(_Page).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAnswer:
    """The answer to one operation of a transaction: HTTP's status, the new etag, and the body where it failed."""

    status: int
    reason: str
    etag: str
    content: bytes


def row_path(table: str, partition: str, key: str) -> str:
    """The path of a row, below the account's."""
    return f"/{table}(PartitionKey='{_quoted(partition)}',RowKey='{_quoted(key)}')"


def partition_query(partition: str, since: str, end_key: str) -> str:
    """The query for the rows of a partition whose keys are at least `since` and below `end_key`, where given."""
    bounds = (("PartitionKey eq ", partition), ("RowKey ge ", since), ("RowKey lt ", end_key))
    conditions = (f"{quote(bound)}'{_quoted(text)}'" for bound, text in bounds if text)
    return "$filter=" + quote(" and ").join(conditions)


def encoded_row(row: Row) -> bytes:
    """A row in JSON. Raises ValueError for text that UTF-8 cannot hold."""
    entity: dict[str, Any] = {"PartitionKey": row.partition, "RowKey": row.key}
    for name, value in row.values.items():
        entity[name] = value
        if isinstance(value, bytes):
            entity[name + _TYPE] = "Edm.Binary"
        elif isinstance(value, datetime):
            entity[name] = value.astimezone(UTC)
            entity[name + _TYPE] = "Edm.DateTime"
        elif isinstance(value, int) and value not in _INT32:
            entity[name] = str(value)
            entity[name + _TYPE] = "Edm.Int64"
    return _encode(entity).replace(*_LINE_SEPARATOR).replace(*_PARAGRAPH_SEPARATOR)


def decoded_row(content: bytes) -> Row:
    """The row of an answer. Raises ValueError or KeyError for what is none."""
    return _row(_decode_entity(content))


def decoded_page(content: bytes) -> tuple[Row, ...]:
    """The rows in an answer to a query. Raises ValueError or KeyError for what is none."""
    return tuple(_row(entity) for entity in _decode_page(content).value)


def encoded_transaction(table: str, operations: Sequence[Operation], *, address: str, boundary: str) -> bytes:
    """The body of a transaction: a batch of one change set. `address` is the account's; `boundary` is the batch's, and
    occurs nowhere in the rows.
    """
    change_set = f"changes_{boundary}"
    parts = [f"--{boundary}\r\nContent-Type: multipart/mixed; boundary={change_set}\r\n\r\n".encode()]
    for number, operation in enumerate(operations):
        parts += (
            f"--{change_set}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
            f"Content-ID: {number}\r\n\r\n".encode(),
            _encoded_operation(table, operation, address),
            b"\r\n",
        )
    parts.append(f"--{change_set}--\r\n--{boundary}--\r\n".encode())
    return b"".join(parts)


def decoded_transaction(content: bytes) -> tuple[OperationAnswer, ...]:
    """The answers to the operations of a transaction in their order, or the one answer that refused it."""
    starts = list(_STATUS_LINE.finditer(content))
    ends = (*(start.start() for start in starts[1:]), len(content))
    return tuple(_operation_answer(start, content[start.end() : end]) for start, end in zip(starts, ends, strict=False))


def request_of(table: str, operation: Operation) -> tuple[str, str, dict[str, str], bytes]:
    """The request that executes an operation: its method, path, headers and body."""
    row, kind = operation.row, operation.kind
    path = f"/{table}" if kind is OperationKind.INSERT else row_path(table, row.partition, row.key)
    headers = {} if kind is OperationKind.UPSERT else {"If-Match": row.etag or "*"}
    if kind is OperationKind.DELETE:
        return "DELETE", path, headers, b""
    if kind is OperationKind.INSERT:
        return "POST", path, {"Prefer": "return-no-content", "Content-Type": JSON}, encoded_row(row)
    return "PUT", path, {**headers, "Content-Type": JSON}, encoded_row(row)


def _encoded_operation(table: str, operation: Operation, address: str) -> bytes:
    method, path, headers, body = request_of(table, operation)
    head = f"{method} {address}{path} HTTP/1.1\r\nAccept: {ACCEPTED}\r\nDataServiceVersion: {ODATA_VERSION}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body if body else f"{head}\r\n".encode()


def _operation_answer(start: re.Match[bytes], message: bytes) -> OperationAnswer:
    head, _, body = message.partition(b"\r\n\r\n")
    etag = _ETAG.search(head)
    return OperationAnswer(
        status=int(start[1]),
        reason=start[2].decode(),
        etag=etag[1].decode() if etag else "",
        content=body.partition(_BOUNDARY)[0],
    )


def _row(entity: Mapping[str, Any]) -> Row:
    values = {}
    for name, value in entity.items():
        if "odata." in name or name in _BESIDE_CELLS:
            continue
        value_of = _VALUE_OF.get(entity.get(name + _TYPE))
        values[name] = value_of(value) if value_of else value
    return Row(partition=entity["PartitionKey"], key=entity["RowKey"], values=values, etag=entity.get("odata.etag", ""))


def _quoted(text: str) -> str:
    return quote(text.replace("'", "''"), safe="")


_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_NO_ACCESS = frozenset({401, 403})
"""The tables' SDK raises a plain HttpResponseError for these."""
_THROTTLED = frozenset({429, 503})
"""What Azure Storage answers above its rates: 503 ServerBusy; its front ends also 429."""
_MEANINGS = {
    "AuthorizationPermissionMismatch": "the identity lacks a role: grant it Storage Blob Data Owner and Storage Table"
    " Data Contributor",
    "AuthorizationFailure": "the network rules of the account block this address",
    "": "grant it Storage Blob Data Owner and Storage Table Data Contributor, and check the network rules of the"
    " account",
}
"""By Azure Storage's codes (Common REST API error codes): the first is of roles, the second of networks."""
_CODE = re.compile(rb'<Code>(\w+)</Code>|"code"\s*:\s*"(\w+)"')


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the SDK's errors as those of `shared/errors.py`; errors that a mistake of ours causes pass through.

    The SDK's text is dropped (`from None`): it may hold the whole address of the call, with its signature.
    """
    try:
        yield
    except (ServiceRequestError, ServiceResponseError, LocationParseError) as error:  # the last: of no host name
        cause = getattr(error, "inner_exception", None) or error
        raise StorageUnavailable(f"Storage did not answer: {name_of(cause)}") from None
    except HttpResponseError as error:
        if isinstance(error, ClientAuthenticationError) and error.response is None:  # of azure-identity
            raise StorageForbidden("No token for storage: sign in (`az login`), or give an identity") from None
        if isinstance(error, ClientAuthenticationError) or error.status_code in _NO_ACCESS:
            raise _forbidden(str(error)) from None
        if error.status_code is None or error.status_code < 400:  # noqa: PLR2004 - HTTP's own number
            raise StorageUnavailable(f"Storage's answer can't be read: {type(error).__name__}") from None
        if error.status_code not in _TRANSIENT and "BeingDeleted" not in str(error):
            raise
        delay = getattr(error.response, "headers", {}).get("Retry-After", "")
        kind = StorageBusy if error.status_code in _THROTTLED else StorageUnavailable
        raise kind(f"Storage answered {error.status_code}", after=retry_after(delay) or 5.0) from None


def error_code(content: bytes) -> str:
    """The code in the body of an answer that refuses a request, of blobs (XML) or tables (JSON); empty without one."""
    code = _CODE.search(content)
    return (code[1] or code[2]).decode() if code else ""


def expect_conflict(answer: Any, *codes: str) -> None:
    """Raise StorageUnavailable for a 409 with another code, such as of a container that is being deleted."""
    if error_code(answer.read()) not in codes:
        raise StorageUnavailable("Storage answered 409: the blob or row can't be written now")


def _forbidden(text: str) -> StorageForbidden:
    """The error for a refusal, by the code in its text: the tables' SDK sets no `error_code`."""
    code = next((meaning for meaning in _MEANINGS if meaning and meaning in text), "")
    return StorageForbidden(f"Storage refused our identity or access: {_MEANINGS[code]}", code=code)


_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

Credential = AzureNamedKeyCredential | AzureSasCredential | TokenCredential | SansIOHTTPPolicy[Any, Any] | None
"""Of an SDK's client. That of blobs has its policy for a key, or none where the address holds a signature."""


class Service:
    """The blobs or the tables of an account, at an address. Every request has these `headers`."""

    def __init__(
        self,
        address: str,
        *,
        credential: Credential,
        retry_policy: HTTPPolicy[Any, Any],
        transport: StorageTransport,
        headers: Mapping[str, str],
    ) -> None:
        parts = urlsplit(address)
        self.address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        """Without the signature that may follow it."""
        self._signature = parts.query
        self._headers = {"User-Agent": "throughline", **headers}
        policies: list[Any] = [retry_policy, _TryHeaders(), _credential_policy(credential)]
        self._pipeline = Pipeline(transport, policies)

    def send(
        self,
        method: str,
        path: str,
        *,
        expected: Collection[int],
        query: str = "",
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None,
    ) -> Any:
        """Send a request, and return its answer: status_code, headers, read(), text().

        Raises the errors of `shared/errors.py`, and azure-core's HttpResponseError for another answer with a status
        that is not expected.
        """
        queries = "&".join(part for part in (query, self._signature) if part)
        request = HttpRequest(
            method,
            f"{self.address}{path}?{queries}" if queries else f"{self.address}{path}",
            headers={**self._headers, **headers},
        )
        if body is not None:
            request.set_bytes_body(body)
        with translated_errors():
            answer = self._pipeline.run(request).http_response
            if answer.status_code not in expected:
                raise HttpResponseError(response=answer)
            return answer


def blob_service(client: BlobServiceClient, transport: StorageTransport, tries: int) -> Service:
    """The blobs of the account of this client, with its credential."""
    return Service(
        client.primary_endpoint,
        credential=client.credential,
        retry_policy=ExponentialRetry(retry_total=tries),
        transport=transport,
        headers={"x-ms-version": client.api_version},
    )


def table_service(client: TableServiceClient, transport: StorageTransport, tries: int) -> Service:
    """The tables of the account of this client, with its credential."""
    return Service(
        client.url,
        credential=client.credential,
        retry_policy=RetryPolicy(retry_total=tries),
        transport=transport,
        headers={"x-ms-version": client.api_version, "Accept": ACCEPTED, "DataServiceVersion": ODATA_VERSION},
    )


class _TryHeaders(SansIOHTTPPolicy[HttpRequest, Any]):
    """The headers of each try: its time, which is signed, and an id by which the service's log names it."""

    def on_request(self, request: PipelineRequest[HttpRequest]) -> None:
        headers = request.http_request.headers
        headers["x-ms-date"] = formatdate(usegmt=True)
        headers["x-ms-client-request-id"] = str(uuid.uuid4())


def _credential_policy(credential: Credential) -> SansIOHTTPPolicy[Any, Any] | HTTPPolicy[Any, Any] | None:
    """The SDK's policy that applies a credential: that of tables knows tokens and signatures of either service."""
    if credential is None or isinstance(credential, SansIOHTTPPolicy):
        return credential
    policy = _configure_credential(credential)  # no public name makes it; tests/shared/storage/test_sdk_names.py
    return cast("SansIOHTTPPolicy[Any, Any]", policy)
