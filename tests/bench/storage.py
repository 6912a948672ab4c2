"""CPU of calls to storage: our own requests beside Microsoft's clients, in one process, on the same Azurite.

Both sides write and read what an event does, one call after the other. CPU is that of the whole process: a transaction
of the SDK runs in threads.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from uuid import uuid4

from azure.data.tables import TableServiceClient, TransactionOperation, UpdateMode
from azure.storage.blob import BlobServiceClient

from shared.adapters import StorageRetryPolicy, storage_at, storage_transport
from shared.settings.reading import load
from shared.settings.values import StorageSettings
from shared.storage.port import Operation, OperationKind, Row, Value
from tests.bench.figures import Figure, Rounds
from tests.bench.sizes import Sizes, Steps
from throughline.local.azurite import Azurite

NAME = "storage"
_BESIDE = "the SDK's clients"
_CALL_GOAL = "<= 0.3"
_PLACE = "bench"
"""The table, and the container."""
_PAYLOAD = os.urandom(1000)
"""As many bytes as a small event has when it is packed."""
_PATIENT = StorageRetryPolicy(tries=4, connect=5, read=30)
_READ, _BY_TRANSPORT = "read a row", "read a row, SDK on our transport"
_FIVE, _FIFTY = "transaction of five rows", "transaction of fifty rows"
_GOALS = {_FIVE: "<= 0.2", _FIFTY: "<= 0.2", _BY_TRANSPORT: ""}

_Call = Callable[[], object]


class _Side(Protocol):
    def put(self, name: str) -> object: ...
    def get(self, name: str) -> object: ...
    def insert(self, row: Row) -> object: ...
    def upsert(self, row: Row) -> object: ...
    def read(self, row: Row) -> object: ...
    def query(self, partition: str) -> object: ...
    def transact(self, rows: Sequence[Row]) -> object: ...


class _Ours:
    """The adapter of the functions."""

    def __init__(self, connection: str) -> None:
        self._storage = storage_at(_settings(connection), _PATIENT)

    def put(self, name: str) -> object:
        return self._storage.put_new(_PLACE, name, _PAYLOAD)

    def get(self, name: str) -> object:
        return self._storage.get(_PLACE, name)

    def insert(self, row: Row) -> object:
        return self._storage.insert(_PLACE, row)

    def upsert(self, row: Row) -> object:
        return self._storage.upsert(_PLACE, row)

    def read(self, row: Row) -> object:
        return self._storage.read(_PLACE, row.partition, row.key)

    def query(self, partition: str) -> object:
        return list(self._storage.partition(_PLACE, partition))

    def transact(self, rows: Sequence[Row]) -> object:
        return self._storage.transact(_PLACE, [Operation(kind=OperationKind.INSERT, row=row) for row in rows])


class _Sdk:
    """Microsoft's clients, used as directly as possible."""

    def __init__(self, connection: str, **parts: Any) -> None:
        self._blobs = BlobServiceClient.from_connection_string(connection, **parts).get_container_client(_PLACE)
        self._rows = TableServiceClient.from_connection_string(connection, **parts).get_table_client(_PLACE)

    def put(self, name: str) -> object:
        return self._blobs.get_blob_client(name).upload_blob(_PAYLOAD, length=len(_PAYLOAD))

    def get(self, name: str) -> object:
        return self._blobs.get_blob_client(name).download_blob().readall()

    def insert(self, row: Row) -> object:
        return self._rows.create_entity(_entity(row))

    def upsert(self, row: Row) -> object:
        return self._rows.upsert_entity(_entity(row), mode=UpdateMode.REPLACE)

    def read(self, row: Row) -> object:
        return self._rows.get_entity(row.partition, row.key)

    def query(self, partition: str) -> object:
        return list(self._rows.query_entities("PartitionKey eq @partition", parameters={"partition": partition}))

    def transact(self, rows: Sequence[Row]) -> object:
        return self._rows.submit_transaction([(TransactionOperation.CREATE, _entity(row)) for row in rows])


def _settings(connection: str) -> StorageSettings:
    return load(catalog=False, environment={"AzureWebJobsStorage": connection}).storage


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure the CPU of each kind of call on both sides, which take turns; and what the transport alone saves."""
    with Azurite() as azurite:
        connection = azurite.connection_string
        our_calls, other_calls = _calls(_Ours(connection)), _calls(_Sdk(connection))
        transport = storage_transport(_settings(connection).network, _PATIENT)
        over_our_transport = _calls(_Sdk(connection, transport=transport))[_READ]
        steps.begin("calls to storage", (len(our_calls) + 1) * sizes.storage_rounds)
        figures = [_figure(name, our_calls[name], other_calls[name], sizes, steps) for name in our_calls]
        return [*figures, _figure(_BY_TRANSPORT, over_our_transport, other_calls[_READ], sizes, steps)]


def _figure(name: str, our_call: _Call, other_call: _Call, sizes: Sizes, steps: Steps) -> Figure:
    our_times, other_times = list[float](), list[float]()
    sides = ((our_times, our_call), (other_times, other_call))
    for _, call in sides:
        _cpu(call, sizes.storage_calls)  # warms up
    for turn in range(sizes.storage_rounds):
        for times, call in sides if turn % 2 else reversed(sides):
            times.append(_cpu(call, sizes.storage_calls))
        steps.done()
    return Rounds(ours=our_times, others=other_times).figure(
        benchmark=NAME,
        name=name,
        scale=1000,
        unit="ms CPU",
        compared_with=_BESIDE,
        goal=_GOALS.get(name, _CALL_GOAL),
        sizes={"rounds": sizes.storage_rounds, "calls_each": sizes.storage_calls, "bytes": len(_PAYLOAD)},
    )


def _cpu(call: _Call, times: int) -> float:
    """Return the CPU seconds of one call."""
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def _calls(side: _Side) -> dict[str, _Call]:
    """Return the calls of one side, on rows and blobs of its own."""
    prefix = uuid4().hex
    new, names = _rows(f"{prefix}-new"), (f"{prefix}/{number}" for number in itertools.count())
    stored = list(itertools.islice(_rows(prefix), 10))
    side.put(prefix)
    for row in stored:
        side.upsert(row)
    return {
        "insert a row": lambda: side.insert(next(new)),
        "upsert a row": lambda: side.upsert(stored[0]),
        _READ: lambda: side.read(stored[0]),
        "read ten rows": lambda: side.query(prefix),
        _FIVE: lambda: side.transact(list(itertools.islice(new, 5))),
        _FIFTY: lambda: side.transact(list(itertools.islice(new, 50))),
        "put a blob": lambda: side.put(next(names)),
        "get a blob": lambda: side.get(prefix),
    }


def _rows(partition: str) -> Iterator[Row]:
    values: dict[str, Value] = {"job": "bench.execute_insert", "received": "2026-11-26T10:00:00Z", "packed": _PAYLOAD}
    return (Row(partition=partition, key=f"{number:06}", values=values) for number in itertools.count())


def _entity(row: Row) -> dict[str, Value]:
    return {"PartitionKey": row.partition, "RowKey": row.key, **row.values}
