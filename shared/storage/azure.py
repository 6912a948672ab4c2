"""The storage port on Azure Blob and Table Storage (or Azurite), through Microsoft's SDKs.

Containers and tables are made when the service says that they are missing: nothing is asked for on the way.
Two makers race for the same one and one of them gets a 409, which is as good as having made it.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.data.tables import TableClient, TableServiceClient, TableTransactionError, UpdateMode
from azure.storage.blob import BlobClient, BlobLeaseClient, BlobServiceClient

from shared.errors import StorageBusy, StorageForbidden, StorageUnavailable, retry_after
from shared.storage.port import BlobFact, Row
from shared.storage.refusals import forbidden

_COME_BACK_LATER = frozenset({408, 429, 500, 502, 503, 504})
_NO_ACCESS = frozenset({401, 403})
"""The tables' SDK raises a plain HttpResponseError for these."""
_PUSHES_BACK = frozenset({429, 503})
"""What Azure Storage answers above its rates: 503 ServerBusy; its front ends also 429."""
_LEASES = "control"
_LONGEST_TRANSACTION = 100
"""Rows, as the service has it (Azure Table Storage, entity group transactions)."""
_FEW = 3
"""Rows that are written one by one: the SDK begins two pools of threads for each transaction, and takes as much CPU for
one of three rows as for five calls.
"""

T = TypeVar("T")


for noisy, least in (("azure", logging.WARNING), ("urllib3", logging.ERROR)):
    # At INFO the SDK tells every request, and urllib3's warnings hold whole addresses, signatures included.
    logging.getLogger(noisy).setLevel(least)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """The SDK's errors as those of our own tree; what is a mistake of ours passes through as it is.

    Their own text goes no further (`from None`): it may hold the whole address that was asked, a signature in it.
    """
    try:
        yield
    except (ServiceRequestError, ServiceResponseError) as error:
        raise StorageUnavailable(f"Storage did not answer: {type(error).__name__}") from None
    except HttpResponseError as error:
        if isinstance(error, ClientAuthenticationError) and error.response is None:  # of azure-identity
            raise StorageForbidden("No token for storage: sign in (`az login`), or give an identity") from None
        if isinstance(error, ClientAuthenticationError) or error.status_code in _NO_ACCESS:
            raise forbidden(str(error)) from None
        if error.status_code is None or error.status_code < 400:  # noqa: PLR2004 - HTTP's own number
            raise StorageUnavailable(f"Storage's answer can't be read: {type(error).__name__}") from None
        if error.status_code not in _COME_BACK_LATER and "BeingDeleted" not in str(error):
            raise
        asked = getattr(error.response, "headers", {}).get("Retry-After", "")
        kind = StorageBusy if error.status_code in _PUSHES_BACK else StorageUnavailable
        raise kind(f"Storage answered {error.status_code}", after=retry_after(asked) or 5.0) from None


def _expect(error: ResourceExistsError, code: str) -> None:
    """A 409 for any other reason (the container is just being deleted) is no proof that something is there.

    The code stands in the text alone: the tables' SDK sets no `error_code` when it creates.
    """
    if code not in str(error):
        raise StorageUnavailable("Storage answered 409: what was to be written can't be written now") from None


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
            _expect(error, "BlobAlreadyExists")
            return False
        return True

    def get(self, container: str, name: str) -> bytes | None:
        """As the port says."""
        try:
            with _translated_errors():
                return self._blob(container, name).download_blob().readall()
        except ResourceNotFoundError:
            return None

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        """As the port says."""
        try:
            with _translated_errors():
                return self._blob(container, name).download_blob(offset=offset, length=length).readall()
        except ResourceNotFoundError:
            return None
        except HttpResponseError as error:
            if error.status_code == 416:  # noqa: PLR2004 - HTTP's own number: it ends before the offset
                return b""
            raise

    def delete_blob(self, container: str, name: str) -> None:
        """As the port says."""
        with suppress(ResourceNotFoundError), _translated_errors():
            self._blob(container, name).delete_blob(delete_snapshots="include")

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """As the port says."""
        try:
            with _translated_errors():
                for found in self._blobs.get_container_client(container).list_blobs(name_starts_with=prefix or None):
                    yield BlobFact(name=found.name, size=found.size, arrived=found.last_modified)
        except ResourceNotFoundError:
            return

    def insert(self, table: str, row: Row) -> str | None:
        """As the port says."""
        try:
            return _etag(self._with_table(table, lambda client: client.create_entity(_entity(row))))
        except ResourceExistsError as error:
            _expect(error, "EntityAlreadyExists")
            return None

    def upsert(self, table: str, row: Row) -> str:
        """As the port says."""
        return _etag(
            self._with_table(table, lambda client: client.upsert_entity(_entity(row), mode=UpdateMode.REPLACE))
        )

    def upsert_all(self, table: str, rows: Sequence[Row]) -> None:
        """As the port says, in entity group transactions where that is less work."""
        if len(rows) <= _FEW:
            for row in rows:
                self.upsert(table, row)
            return
        for start in range(0, len(rows), _LONGEST_TRANSACTION):
            part = rows[start : start + _LONGEST_TRANSACTION]
            steps: list[Any] = [("upsert", _entity(row), {"mode": UpdateMode.REPLACE}) for row in part]
            self._with_table(table, methodcaller("submit_transaction", steps))

    def replace(self, table: str, row: Row) -> str | None:
        """As the port says."""
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

    def read(self, table: str, partition: str, key: str) -> Row | None:
        """As the port says."""
        try:
            with _translated_errors():
                return _row(self._table(table).get_entity(partition, key))
        except ResourceNotFoundError:
            return None

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
                with _translated_errors():
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
        with _translated_errors():
            try:
                return act()
            except ResourceNotFoundError:
                with suppress(ResourceExistsError):  # somebody else may make it just now
                    self._blobs.create_container(container)
                return act()

    def _with_table(self, table: str, act: Callable[[TableClient], T]) -> T:
        with _translated_errors():
            try:
                return act(self._table(table))
            except (ResourceNotFoundError, TableTransactionError) as error:
                if "TableNotFound" not in str(error):  # create_entity sets no error_code
                    raise
                self._tables.create_table_if_not_exists(table)
                return act(self._table(table))

    def _query(self, table: str, ask: Callable[[TableClient], Any]) -> Iterator[Row]:
        try:
            with _translated_errors():
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
            with _translated_errors():
                self.client.renew()
        except HttpResponseError:
            return False
        return True

    def release(self) -> None:
        """As the port says."""
        if not self.client.id:
            return
        try:
            with _translated_errors():
                self.client.release()
        except HttpResponseError:
            return  # lost in the meantime: there is nothing to let go


def _entity(row: Row) -> dict[str, Any]:
    return {"PartitionKey": row.partition, "RowKey": row.key, **row.values}


def _row(entity: Any) -> Row:
    values = {key: value for key, value in entity.items() if key not in {"PartitionKey", "RowKey"}}
    return Row(
        partition=entity["PartitionKey"], key=entity["RowKey"], values=values, etag=entity.metadata.get("etag") or ""
    )


def _etag(answer: Mapping[str, Any]) -> str:
    return str(answer["etag"])
