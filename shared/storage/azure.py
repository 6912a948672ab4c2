"""The storage port on Azure Blob and Table Storage (or Azurite), through Microsoft's SDKs.

Containers and tables are created when a call finds them missing, without a check beforehand. Where two workers create
the same one, one of them gets a 409 and goes on.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import TableClient, TableServiceClient, TableTransactionError, UpdateMode
from azure.storage.blob import BlobClient, BlobLeaseClient, BlobServiceClient

from shared.storage.azure_errors import expect_conflict, translated_errors
from shared.storage.port import BlobFact, Operation, OperationKind, Row, chunks, refuse_misfit

_LEASES = "control"
_WRITTEN_SINGLY = 3
"""Up to so many rows are written one by one: the SDK starts two thread pools for each transaction, and takes as much
CPU for one of three rows as for five calls.
"""

_REFUSALS = ("EntityAlreadyExists", "ResourceNotFound", "EntityNotFound", "UpdateConditionNotSatisfied")
"""The codes of operations whose condition does not hold (Table Storage error codes)."""

T = TypeVar("T")


for noisy, least in (("azure", logging.WARNING), ("urllib3", logging.ERROR)):
    # At INFO the SDK logs every request, and urllib3's warnings hold whole addresses with their signatures.
    logging.getLogger(noisy).setLevel(least)


class AzureStorage:
    """The storage port over a BlobServiceClient and a TableServiceClient. Thread-safe, as these are."""

    def __init__(self, blobs: BlobServiceClient, tables: TableServiceClient) -> None:
        self._blobs = blobs
        self._tables = tables
        self._by_name: dict[str, TableClient] = {}

    def put_new(self, container: str, name: str, data: bytes) -> bool:
        """As the port says."""
        blob = self._blob(container, name)
        try:
            self._with_container(container, lambda: blob.upload_blob(data, length=len(data)))
        except ResourceExistsError as error:
            expect_conflict(error, "BlobAlreadyExists")
            return False
        return True

    def get(self, container: str, name: str) -> bytes | None:
        """As the port says."""
        return _if_found(lambda: self._blob(container, name).download_blob().readall())

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        """As the port says."""
        try:
            return _if_found(lambda: self._blob(container, name).download_blob(offset=offset, length=length).readall())
        except HttpResponseError as error:
            if error.status_code == 416:  # noqa: PLR2004 - HTTP's own number: it ends before the offset
                return b""
            raise

    def delete_blob(self, container: str, name: str) -> None:
        """As the port says."""
        _if_found(lambda: self._blob(container, name).delete_blob(delete_snapshots="include"))

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """As the port says."""
        try:
            with translated_errors():
                for found in self._blobs.get_container_client(container).list_blobs(name_starts_with=prefix or None):
                    yield BlobFact(name=found.name, size=found.size, arrived=found.last_modified)
        except ResourceNotFoundError:
            return

    def insert(self, table: str, row: Row) -> str | None:
        """As the port says."""
        try:
            return _etag(self._with_table(table, lambda client: client.create_entity(_entity(row))))
        except ResourceExistsError as error:
            expect_conflict(error, "EntityAlreadyExists")
            return None

    def upsert(self, table: str, row: Row) -> str:
        """As the port says."""
        return _etag(
            self._with_table(table, lambda client: client.upsert_entity(_entity(row), mode=UpdateMode.REPLACE))
        )

    def upsert_all(self, table: str, rows: Sequence[Row]) -> None:
        """As the port says, in entity group transactions where that is less work."""
        if len(rows) <= _WRITTEN_SINGLY:
            for row in rows:
                self.upsert(table, row)
            return
        for part in chunks([Operation(kind=OperationKind.UPSERT, row=row) for row in rows]):
            self.transact(table, part)

    def replace(self, table: str, row: Row) -> str | None:
        """As the port says."""
        if not row.etag:  # the SDK refuses it
            return None
        try:
            return _etag(
                self._with_table(
                    table,
                    lambda client: client.update_entity(
                        _entity(row),
                        mode=UpdateMode.REPLACE,
                        etag=row.etag,
                        match_condition=MatchConditions.IfNotModified,
                    ),
                )
            )
        except (ResourceModifiedError, ResourceNotFoundError):
            return None

    def delete(self, table: str, partition: str, key: str, etag: str | None = None) -> bool:
        """As the port says."""
        if etag == "":  # to the SDK it means no condition
            return self.read(table, partition, key) is None
        condition = MatchConditions.IfNotModified if etag else None
        try:
            self._with_table(
                table, lambda client: client.delete_entity(partition, key, etag=etag, match_condition=condition)
            )
        except ResourceModifiedError:
            return False
        except ResourceNotFoundError:
            pass  # already gone: what was asked for
        return True

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        """As the port says."""
        refuse_misfit(operations)
        if not operations:
            return ()
        if any(operation.kind is OperationKind.REPLACE and not operation.row.etag for operation in operations):
            return None  # the SDK refuses it
        steps = [_step(operation) for operation in operations]
        try:
            answers = self._with_table(table, methodcaller("submit_transaction", steps))
        except TableTransactionError as error:
            if not any(code in str(error) for code in _REFUSALS):
                raise
            return None
        return tuple(str(answer.get("etag") or "") for answer in answers)

    def read(self, table: str, partition: str, key: str) -> Row | None:
        """As the port says."""
        return _if_found(lambda: _row(self._table(table).get_entity(partition, key)))

    def partition(self, table: str, partition: str, *, since: str = "", before: str = "") -> Iterator[Row]:
        """As the port says."""
        wanted = {"partition": partition, "since": since, "before": before}
        conditions = {
            "partition": "PartitionKey eq @partition",
            "since": "RowKey ge @since",
            "before": "RowKey lt @before",
        }
        given = {name: value for name, value in wanted.items() if value}
        return self._query(
            table,
            lambda client: client.query_entities(" and ".join(conditions[name] for name in given), parameters=given),
        )

    def scan(self, table: str) -> Iterator[Row]:
        """As the port says."""
        return self._query(table, lambda client: client.list_entities())

    def lease(self, name: str, seconds: int) -> "AzureLease | None":
        """As the port says."""
        blob = self._blob(_LEASES, name)
        lease = BlobLeaseClient(blob)
        for _ in range(2):
            try:
                with translated_errors():
                    lease.acquire(lease_duration=seconds)
                    return AzureLease(client=lease)
            except ResourceNotFoundError:
                self.put_new(_LEASES, name, b"")
            except HttpResponseError as error:
                if error.status_code != 409:  # noqa: PLR2004 - HTTP's own number
                    raise
                return None
        return None

    def _blob(self, container: str, name: str) -> BlobClient:
        return self._blobs.get_blob_client(container, name)

    def _table(self, table: str) -> TableClient:
        found = self._by_name.get(table)
        if found is None:
            found = self._by_name[table] = self._tables.get_table_client(table)
        return found

    def _with_container(self, container: str, act: Callable[[], T]) -> T:
        with translated_errors():
            try:
                return act()
            except ResourceNotFoundError:
                with suppress(ResourceExistsError):  # another worker may create it now
                    self._blobs.create_container(container)
                return act()

    def _with_table(self, table: str, act: Callable[[TableClient], T]) -> T:
        with translated_errors():
            try:
                return act(self._table(table))
            except (ResourceNotFoundError, TableTransactionError) as error:
                if "TableNotFound" not in str(error):  # create_entity sets no error_code
                    raise
                self._tables.create_table_if_not_exists(table)
                return act(self._table(table))

    def _query(self, table: str, ask: Callable[[TableClient], Any]) -> Iterator[Row]:
        try:
            with translated_errors():
                for found in ask(self._table(table)):
                    yield _row(found)
        except ResourceNotFoundError:
            return


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


def _if_found(act: Callable[[], T]) -> T | None:
    """The result of a call; None where its blob, row, container or table is missing."""
    try:
        with translated_errors():
            return act()
    except ResourceNotFoundError:
        return None


def _entity(row: Row) -> dict[str, Any]:
    return {"PartitionKey": row.partition, "RowKey": row.key, **row.values}


def _step(operation: Operation) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """An operation as the SDK's `submit_transaction` takes it."""
    row = operation.row
    match operation.kind:
        case OperationKind.INSERT:
            return "create", _entity(row), {}
        case OperationKind.UPSERT:
            return "upsert", _entity(row), {"mode": UpdateMode.REPLACE}
        case OperationKind.REPLACE:
            return "update", _entity(row), {"mode": UpdateMode.REPLACE, **_if_unchanged(row.etag)}
        case OperationKind.DELETE:
            keys = {"PartitionKey": row.partition, "RowKey": row.key}
            return "delete", keys, _if_unchanged(row.etag) if row.etag else {}


def _if_unchanged(etag: str) -> dict[str, Any]:
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def _row(entity: Any) -> Row:
    values = {key: value for key, value in entity.items() if key not in {"PartitionKey", "RowKey"}}
    return Row(
        partition=entity["PartitionKey"], key=entity["RowKey"], values=values, etag=entity.metadata.get("etag") or ""
    )


def _etag(answer: Mapping[str, Any]) -> str:
    return str(answer["etag"])
