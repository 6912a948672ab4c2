"""The storage port on Azure Blob and Table Storage (or Azurite).

Rows, and blobs one by one, go by our own requests (`service.py`); listings, leases and the creation of containers and
tables go by Microsoft's SDKs.

Containers and tables are created when a call finds them missing, without a check beforehand. Where two workers create
the same one, one of them gets a 409 and goes on.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobLeaseClient, BlobServiceClient

from shared.errors import StorageUnavailable
from shared.storage.port import BlobFact, Operation, OperationKind, Row, refuse_misfit
from shared.storage.service import (
    OperationAnswer,
    blob_service,
    decoded_page,
    decoded_row,
    decoded_transaction,
    encoded_transaction,
    error_code,
    expect_conflict,
    partition_query,
    request_of,
    row_path,
    table_service,
    translated_errors,
)
from shared.storage.transport import Answer, Headers, StorageTransport

_LEASES = "control"
_MISSING_TABLE = "TableNotFound"
_REFUSALS = frozenset(
    {
        (404, "ResourceNotFound"),
        (409, "EntityAlreadyExists"),
        (412, "UpdateConditionNotSatisfied"),
        (412, "ConditionNotMet"),
    }
)
"""Status and code of an operation whose condition does not hold (Table Storage error codes)."""
_IMMUTABLE = ("BlobImmutableDueToPolicy", "BlobImmutableDueToLegalHold")
"""Codes of a 409 where a blob must be neither deleted nor overwritten (Azure Blob Storage, "Immutable storage")."""
_NEW_BLOB = {"x-ms-blob-type": "BlockBlob", "If-None-Match": "*", "Content-Type": "application/octet-stream"}
_CONTINUATION = ("NextPartitionKey", "NextRowKey")

T = TypeVar("T")


for noisy, least in (("azure", logging.WARNING), ("urllib3", logging.ERROR)):
    # At INFO the SDK logs every request, and urllib3's warnings hold whole addresses with their signatures.
    logging.getLogger(noisy).setLevel(least)


class AzureStorage:
    """The storage port over the clients of an account, whose addresses and credentials it takes, and their transport.
    A call is tried again `tries` times. Thread-safe.
    """

    def __init__(
        self, blobs: BlobServiceClient, tables: TableServiceClient, *, transport: StorageTransport, tries: int
    ) -> None:
        self._blob_client = blobs
        self._table_client = tables
        self._blobs = blob_service(blobs, transport, tries)
        self._tables = table_service(tables, transport, tries)

    def put_new(self, container: str, name: str, data: bytes) -> bool:
        """As the port says. A blob of up to 5,000 MiB (Azure Blob Storage, "Put Blob")."""
        path = _blob_path(container, name)
        answer = self._blobs.send("PUT", path, headers=_NEW_BLOB, body=data, expected={201, 404, 409})
        if answer.status_code == HTTPStatus.NOT_FOUND:
            with translated_errors(), suppress(ResourceExistsError):  # another worker may create it now
                self._blob_client.create_container(container)
            answer = self._blobs.send("PUT", path, headers=_NEW_BLOB, body=data, expected={201, 409})
        if answer.status_code == HTTPStatus.CONFLICT:
            expect_conflict(answer, "BlobAlreadyExists", *_IMMUTABLE)
            if error_code(answer.read()) in _IMMUTABLE and self.get_part(container, name, 0, 1) is None:
                raise StorageUnavailable(f"An immutability policy of the container {container} refuses new blobs")
            return False
        return True

    def get(self, container: str, name: str) -> bytes | None:
        """As the port says."""
        return _content(self._blobs.send("GET", _blob_path(container, name), expected={200, 404}))

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        """As the port says."""
        answer = self._blobs.send(
            "GET",
            _blob_path(container, name),
            headers={"x-ms-range": f"bytes={offset}-{offset + length - 1}"},
            expected={200, 206, 404, 416},
        )
        if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:  # it ends before the offset
            return b""
        return _content(answer)

    def delete_blob(self, container: str, name: str) -> bool:
        """As the port says."""
        path, headers = _blob_path(container, name), {"x-ms-delete-snapshots": "include"}
        answer = self._blobs.send("DELETE", path, headers=headers, expected={202, 404, 409})
        if answer.status_code == HTTPStatus.CONFLICT:
            expect_conflict(answer, *_IMMUTABLE)
            return False
        return True

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """As the port says."""
        try:
            with translated_errors():
                listing = self._blob_client.get_container_client(container)
                for blob in listing.list_blobs(name_starts_with=prefix or None):
                    yield BlobFact(name=blob.name, size=blob.size, arrived=blob.last_modified)
        except ResourceNotFoundError:
            return

    def children(self, container: str, prefix: str = "") -> Iterator[str]:
        """As the port says."""
        try:
            with translated_errors():
                listing = self._blob_client.get_container_client(container)
                for item in listing.walk_blobs(name_starts_with=prefix or None, delimiter="/"):
                    yield str(item.name)
        except ResourceNotFoundError:
            return

    def insert(self, table: str, row: Row) -> str | None:
        """As the port says."""
        answer = self._write(table, Operation(kind=OperationKind.INSERT, row=row), expected={204, 409})
        if answer.status_code == HTTPStatus.CONFLICT:
            expect_conflict(answer, "EntityAlreadyExists")
            return None
        return _etag(answer)

    def upsert(self, table: str, row: Row) -> str:
        """As the port says."""
        return _etag(self._write(table, Operation(kind=OperationKind.UPSERT, row=row), expected={204}))

    def replace(self, table: str, row: Row) -> str | None:
        """As the port says."""
        if not row.etag:  # to the service it means no condition
            return None
        answer = self._write(table, Operation(kind=OperationKind.REPLACE, row=row), expected={204, 404, 412})
        return _etag(answer) if answer.status_code == HTTPStatus.NO_CONTENT else None

    def delete(self, table: str, partition: str, key: str, etag: str | None = None) -> bool:
        """As the port says."""
        if etag == "":  # to the service it means no condition
            return self.read(table, partition, key) is None
        answer = self._tables.send(
            "DELETE", row_path(table, partition, key), headers={"If-Match": etag or "*"}, expected={204, 404, 412}
        )
        return bool(answer.status_code != HTTPStatus.PRECONDITION_FAILED)

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        """As the port says."""
        refuse_misfit(operations)
        if not operations:
            return ()
        if any(operation.kind is OperationKind.REPLACE and not operation.row.etag for operation in operations):
            return None
        answers = self._transaction(table, operations)
        if answers and error_code(answers[0].content) == _MISSING_TABLE:  # a 404, as where a row is missing
            self._create(table)
            answers = self._transaction(table, operations)
        refusal = next((answer for answer in answers if answer.status >= HTTPStatus.BAD_REQUEST), None)
        if refusal:
            _expect_refusal(refusal)
            return None
        if len(answers) != len(operations):
            raise _unreadable()
        return tuple(answer.etag for answer in answers)

    def read(self, table: str, partition: str, key: str) -> Row | None:
        """As the port says."""
        answer = self._tables.send("GET", row_path(table, partition, key), expected={200, 404})
        return _decoded(decoded_row, answer) if answer.status_code == HTTPStatus.OK else None

    def partition(self, table: str, partition: str, *, since: str = "", before: str = "") -> Iterator[Row]:
        """As the port says."""
        return self._query(table, partition_query(partition, since, before))

    def scan(self, table: str) -> Iterator[Row]:
        """As the port says."""
        return self._query(table, "")

    def lease(self, name: str, seconds: int) -> "AzureLease | None":
        """As the port says."""
        lease = BlobLeaseClient(self._blob_client.get_blob_client(_LEASES, name))
        for _ in range(2):
            try:
                with translated_errors():
                    lease.acquire(lease_duration=seconds)
                    return AzureLease(client=lease)
            except ResourceNotFoundError:
                self.put_new(_LEASES, name, b"")
            except HttpResponseError as error:
                if error.status_code != HTTPStatus.CONFLICT:
                    raise
                return None
        return None

    def _write(self, table: str, operation: Operation, *, expected: set[int]) -> Any:
        """Send a row; where its table is missing, create it and send the row again."""
        method, path, headers, body = request_of(table, operation)
        answer = self._tables.send(method, path, headers=headers, body=body, expected={*expected, HTTPStatus.NOT_FOUND})
        if answer.status_code != HTTPStatus.NOT_FOUND:
            return answer
        if error_code(answer.read()) == _MISSING_TABLE:
            self._create(table)
        return self._tables.send(method, path, headers=headers, body=body, expected=expected)

    def _transaction(self, table: str, operations: Sequence[Operation]) -> tuple[OperationAnswer, ...]:
        boundary = f"batch_{uuid.uuid4()}"
        answer = self._tables.send(
            "POST",
            "/$batch",
            headers={"Content-Type": f"multipart/mixed; boundary={boundary}"},
            body=encoded_transaction(table, operations, address=self._tables.address, boundary=boundary),
            expected={HTTPStatus.ACCEPTED},
        )
        return decoded_transaction(answer.read())

    def _create(self, table: str) -> None:
        with translated_errors():
            self._table_client.create_table_if_not_exists(table)

    def _query(self, table: str, query: str) -> Iterator[Row]:
        """The rows of all pages: each answer's headers name the next one."""
        page = query
        while True:
            answer = self._tables.send("GET", f"/{table}()", query=page, expected={200, 404})
            if answer.status_code == HTTPStatus.NOT_FOUND:
                return
            yield from _decoded(decoded_page, answer)
            places = {name: answer.headers.get(f"x-ms-continuation-{name}") for name in _CONTINUATION}
            following = [f"{name}={quote(place, safe='')}" for name, place in places.items() if place]
            if not following:
                return
            page = "&".join([query, *following] if query else following)


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureLease:
    """A lease on a blob."""

    client: BlobLeaseClient

    def renew(self) -> bool:
        """As the port says. The SDK forgets the id of a lease that it has released."""
        if not self.client.id:
            return False
        try:
            with translated_errors():
                self.client.renew()
        except HttpResponseError:
            return False
        return True

    def release(self) -> None:
        """As the port says."""
        if not self.client.id:
            return
        try:
            with translated_errors():
                self.client.release()
        except HttpResponseError:
            return  # lost meanwhile: nothing to release


def _blob_path(container: str, name: str) -> str:
    return f"/{container}/{quote(name)}"


def _content(answer: Any) -> bytes | None:
    """The blob in an answer; None where the blob or its container is missing."""
    return None if answer.status_code == HTTPStatus.NOT_FOUND else bytes(answer.read())


def _etag(answer: Any) -> str:
    etag = answer.headers.get("ETag")
    if not etag:
        raise _unreadable()
    return str(etag)


def _decoded(decode: Callable[[bytes], T], answer: Any) -> T:
    try:
        return decode(answer.read())
    except (KeyError, ValueError):
        raise _unreadable() from None


def _unreadable() -> StorageUnavailable:
    return StorageUnavailable("Storage's answer can't be read")


def _expect_refusal(answer: OperationAnswer) -> None:
    """Raise the error of an operation that failed for another reason than its condition."""
    if (answer.status, error_code(answer.content)) in _REFUSALS:
        return
    response: Any = Answer(answer.status, answer.reason, Headers(), answer.content)
    with translated_errors():
        raise HttpResponseError(response=response)
