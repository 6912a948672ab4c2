"""The work that is measured in a child process, with as many threads as there are clients or host threads.

All functions here run in the child of `child`, which ends with the block, and with this process in any case.
"""

import http.client
import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from azure.core.exceptions import ResourceExistsError
from azure.data.tables import TableServiceClient, UpdateMode
from azure.storage.blob import BlobServiceClient

from shared.bootstrap_receiver import receiver
from shared.ingest.receiver import Receiver
from shared.storage_layout import EVENTS
from tests.bench.replay import Item
from throughline.local.host.storage import HostStorage

APPLICATIONS = "applications"
OTHERS = ("contributions", "publishqueue")
"""The tables of the fixed chain's two upserts for each run."""

FILL = "fill"
QUEUE = "bench"
_HELD_SECONDS = 60
PATH = "/api/v1/lineage"
_TIMEOUT = 60.0


class BenchError(Exception):
    """The measured program failed; the message describes how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """The seconds of each call, and of all calls together."""

    calls: tuple[float, ...]
    total: float


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A process that keeps its clients from one function to the next."""

    pool: Executor

    def run(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Run `work` in the process; return its result or raise its exception."""
        return self.pool.submit(work, *args, **named).result()


@contextmanager
def child() -> Iterator[Child]:
    """Yield a child process, which starts its imports at once."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_bound_to_parent) as pool:
        pool.submit(os.getpid)
        yield Child(pool=pool)


def _bound_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C, and ends the child
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# --- the two sides of a receiver request


def bare(connection: str, items: Sequence[Item], threads: int) -> Timings:
    """Make only the storage calls of a receiver request: insert a row, put a blob."""
    storage = _bare(connection)
    return _timed(storage.keep, items, threads)


def in_process(connection: str, items: Sequence[Item], threads: int) -> Timings:
    """Call our own `receive` over our own storage adapter, without HTTP and host."""
    parts = _receiver(connection)
    plain = Receiver(storage=parts.storage, max_body_bytes=parts.max_body_bytes)
    return _timed(lambda item: plain.receive(item.raw), items, threads)


def posted(url: str, items: Sequence[Item], clients: int) -> Timings:
    """Post requests to a receiver, each client on its own connection."""
    thread_data = threading.local()

    def post(item: Item) -> None:
        connection = getattr(thread_data, "connection", None)
        if connection is None:
            connection = thread_data.connection = http.client.HTTPConnection(
                str(urlsplit(url).netloc), timeout=_TIMEOUT
            )
        _post(connection, item)

    return _timed(post, items, clients)


def posted_in_order(url: str, applications: Sequence[Sequence[Item]], senders: int) -> float:
    """Post whole applications, each one's events in order, as a listener does; return the start (Unix time)."""
    address = str(urlsplit(url).netloc)

    def send(application: Sequence[Item]) -> None:
        connection = http.client.HTTPConnection(address, timeout=_TIMEOUT)
        for item in application:
            _post(connection, item)
        connection.close()

    start = time.time()
    with ThreadPoolExecutor(senders) as pool:
        list(pool.map(send, applications))
    return start


def _post(connection: http.client.HTTPConnection, item: Item) -> None:
    connection.request("POST", PATH, item.raw, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 201:
        raise BenchError(f"the receiver answered {answer.status}: {body[:300]!r}")


# --- the fixed chain


def chain(connection: str, applications: Sequence[Sequence[Item]], threads: int) -> float:
    """Run the fixed chain on these events; return its seconds.

    For each event: put, insert, get, point read; for each run a partition query and two upserts.
    """
    storage = _bare(connection)
    runs: dict[str, list[Item]] = {}
    for application in applications:
        for item in application:
            runs.setdefault(item.run, []).append(item)
    return _timed(storage.chain, list(runs.values()), threads).total


class _Bare:
    """Microsoft's clients, used as directly as possible."""

    def __init__(self, connection: str) -> None:
        self._blobs = BlobServiceClient.from_connection_string(connection)
        tables = TableServiceClient.from_connection_string(connection)
        self._runs = tables.create_table_if_not_exists(APPLICATIONS)
        self._others = [tables.create_table_if_not_exists(name) for name in OTHERS]
        for name in (EVENTS, FILL):
            try:
                self._blobs.create_container(name)
            except ResourceExistsError:
                continue

    def keep(self, item: Item) -> None:
        """Store an event as the receiver must."""
        values = {"PartitionKey": item.run, "RowKey": item.row_key, "job": item.job, "bytes": len(item.raw)}
        self._runs.create_entity(values)
        self._put(EVENTS, item.blob, item.packed)

    def chain(self, items: Sequence[Item]) -> None:
        """Run the fixed chain for one run's events."""
        for item in items:
            self.keep(item)
            self._blobs.get_blob_client(EVENTS, item.blob).download_blob().readall()
            self._runs.get_entity(item.run, item.row_key)
        run = items[0].run
        list(self._runs.query_entities("PartitionKey eq @run", parameters={"run": run}))
        for table in self._others:
            table.upsert_entity({"PartitionKey": run, "RowKey": "state", "text": run}, mode=UpdateMode.REPLACE)

    def fill_blob(self, number: int) -> None:
        """Write a blob that only takes space."""
        self._put(FILL, f"{number:07}", b"")

    def fill_row(self, number: int) -> None:
        """Write a row that only takes space."""
        self._others[0].create_entity({"PartitionKey": FILL, "RowKey": f"{number:07}"})

    def _put(self, container: str, name: str, data: bytes) -> None:
        self._blobs.get_blob_client(container, name).upload_blob(data, length=len(data))


def host_calls(
    connection: str, applications: Sequence[Sequence[Item]], threads: int, *, takes: int, looks: int
) -> float:
    """Make the host's own storage calls to deliver these events' blobs, by its own client; return the seconds.

    For each event a message is put and deleted, and the blob read. `takes` calls take the messages, and the blobs are
    listed `looks` times. Delivery is by Event Grid, the default of the local world: it keeps no receipts.
    """
    storage = HostStorage(connection, Counter())
    storage.create_queue(QUEUE)

    def deliver(part: tuple[Sequence[Item], int]) -> None:
        items, looks = part
        for _ in range(looks):
            list(storage.list_blobs(EVENTS, ""))
        for item in items:
            storage.put_message(QUEUE, {"BlobName": item.blob})
        # Each thread puts n messages before it takes n, so n are always there, its own or others'.
        for message in storage.get_messages(QUEUE, max(len(items), 1), _HELD_SECONDS):
            storage.get_blob(EVENTS, json.loads(message.content())["BlobName"])
            storage.delete_message(QUEUE, message)

    items = [item for application in applications for item in application]
    return _timed(deliver, list(zip(_parts(items, takes), _shares(looks, takes), strict=True)), threads).total


def _parts(items: Sequence[Item], number: int) -> list[Sequence[Item]]:
    """Split the items into `number` parts of nearly the same size."""
    return [items[len(items) * index // number : len(items) * (index + 1) // number] for index in range(number)]


def _shares(total: int, number: int) -> list[int]:
    """Spread a total evenly over `number` shares."""
    return [total * (index + 1) // number - total * index // number for index in range(number)]


def fill(connection: str, blobs: int, rows: int, threads: int) -> None:
    """Add blobs and rows to an Azurite."""
    storage = _bare(connection)
    _timed(storage.fill_blob, range(blobs), threads)
    _timed(storage.fill_row, range(rows), threads)


_bare = cache(_Bare)


@cache
def _receiver(connection: str) -> Any:
    os.environ["AzureWebJobsStorage"] = connection  # noqa: SIM112 - Azure's own spelling
    receiver.cache_clear()
    return receiver()


def _timed(do: Callable[[Any], object], items: Sequence[Any], threads: int) -> Timings:
    def timed(item: Any) -> float:
        call_start = time.perf_counter()
        do(item)
        return time.perf_counter() - call_start

    start = time.perf_counter()
    if threads == 1:
        calls = [timed(item) for item in items]
    else:
        with ThreadPoolExecutor(threads) as pool:
            calls = list(pool.map(timed, items))
    return Timings(calls=tuple(calls), total=time.perf_counter() - start)
