"""A flood of events from several senders to the receiver on the local host: no event is lost, the worker does not grow.

Only the receiver runs: the parser would work in the same process, and `bench end-to-end` measures its memory and time.
The flood is bounded by a number of events and by a time.
"""

import http.client
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from tests.bench.figures import ROOT, Figure, percentile
from tests.bench.replay import Item, Replay
from tests.bench.sizes import Sizes, Steps
from tests.bench.worker import APPLICATIONS, PATH, BenchError, Child, Timings, child
from throughline.local.azurite import Azurite
from throughline.local.functions import FunctionsHost

NAME = "load"
_PARTS = 20
_FIRST = 5
"""The first measurement of the worker's memory comes after one of this many parts of all events."""
_KIB = 1024
_TIMEOUT = 60.0
_ONCE_MORE = frozenset({429, 503})
_OTHERS_OFF = {f"AzureWebJobs.{name}.Disabled": "true" for name in ("parser_function", "sweeper_function")}


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure the time of a request under load, and the worker's memory at the end against that after a quarter.

    Raises BenchError when the final answer to an event is no 201, when storage holds too few or too many events, or
    when the flood takes too long.
    """
    steps.begin(f"load, {sizes.load_events:,} events from {sizes.senders} senders", _PARTS)
    items = _items(sizes.load_events)
    with (
        child() as process,
        tempfile.TemporaryDirectory() as folder,
        Azurite(location=Path(folder) / "azurite") as azurite,
        _host(azurite, Path(folder)) as host,
    ):
        floods, memory = _flood(process, host, items, sizes, steps)
        stored = _stored(azurite.connection_string)
    _none_lost(items, stored)
    calls = [call for flood_result in floods for call in flood_result.timings.calls]
    seconds = sum(flood_result.timings.total for flood_result in floods)
    facts = {"events": len(items), "senders": sizes.senders, "seconds": round(seconds, 1)}
    return [
        Figure(
            benchmark=NAME,
            name=f"{len(items):,} events, {sizes.senders} senders",
            value=percentile(calls, 99) * 1000,
            unit="ms p99",
            compared_with="the median request",
            other=median(calls) * 1000,
            ratio=percentile(calls, 99) / median(calls),
            sizes=facts,
            details={
                "per_second": round(len(calls) / seconds, 1),
                "sent_again": sum(flood_result.again for flood_result in floods),
                "lost": 0,
                **stored,
            },
        ),
        Figure(
            benchmark=NAME,
            name="memory of the worker",
            value=memory[1] / 1e6,
            unit="MB",
            compared_with="after a quarter of the events",
            other=memory[0] / 1e6,
            ratio=memory[1] / memory[0],
            goal="<= 1.1",
            sizes=facts,
        ),
    ]


def _items(events: int) -> tuple[Item, ...]:
    applications = Replay().applications(events)
    return tuple(item for application in applications for item in application)[:events]


@contextmanager
def _host(azurite: Azurite, folder: Path) -> Iterator[FunctionsHost]:
    environment = {**os.environ, **_OTHERS_OFF, "AzureWebJobsStorage": azurite.connection_string}
    with FunctionsHost(app=ROOT, environment=environment, log=folder / "host.log") as host:
        yield host


def _flood(
    process: Child, host: FunctionsHost, items: Sequence[Item], sizes: Sizes, steps: Steps
) -> tuple[list["Flood"], tuple[int, int]]:
    """Send all parts; return the senders' results and the worker's memory (bytes) after a quarter and at the end."""
    deadline = time.monotonic() + sizes.load_deadline
    size = -(-len(items) // _PARTS)
    floods: list[Flood] = []
    early = 0
    for start in range(0, len(items), size):
        if time.monotonic() > deadline:
            raise BenchError(f"{start:,} of {len(items):,} events took more than {sizes.load_deadline:.0f} s")
        floods.append(process.run(flood, host.url, items[start : start + size], sizes.senders))
        if len(floods) == _FIRST:
            early = _resident(host.worker_pid)
        steps.done()
    last = _resident(host.worker_pid)
    return floods, (early or last, last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """The seconds of each request that was answered by a 201, and the number of events that were sent again."""

    timings: Timings
    again: int


def flood(url: str, items: Sequence[Item], senders: int) -> Flood:
    """Post events from several senders, each of which retries as Java's listener does.

    After a 429 or 503 it waits for the time of Retry-After and tries once more. Raises BenchError if that fails.
    """
    thread_data = threading.local()
    repeated_blobs: list[str] = []

    def send(item: Item) -> float:
        connection = getattr(thread_data, "connection", None)
        if connection is None:
            connection = thread_data.connection = http.client.HTTPConnection(
                str(urlsplit(url).netloc), timeout=_TIMEOUT
            )
        call_start = time.perf_counter()
        status, wait = _posted(connection, item)
        if status in _ONCE_MORE:
            repeated_blobs.append(item.blob)
            time.sleep(wait)
            call_start = time.perf_counter()
            status, _ = _posted(connection, item)
        if status != http.client.CREATED:
            raise BenchError(f"an event is lost: the receiver answered {status}")
        return time.perf_counter() - call_start

    start = time.perf_counter()
    with ThreadPoolExecutor(senders) as pool:
        calls = tuple(pool.map(send, items))
    return Flood(timings=Timings(calls=calls, total=time.perf_counter() - start), again=len(repeated_blobs))


def _posted(connection: http.client.HTTPConnection, item: Item) -> tuple[int, float]:
    """Post an event; return the status and the seconds of Retry-After."""
    connection.request("POST", PATH, item.raw, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status, float(answer.headers.get("Retry-After", "0"))


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes (Linux)."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * _KIB


def _stored(connection: str) -> dict[str, int]:
    """Count blobs and rows."""
    blobs = BlobServiceClient.from_connection_string(connection)
    tables = TableServiceClient.from_connection_string(connection)
    blob_counts = {
        container.name: 0 for container in blobs.list_containers() if container.name in {"events", "ignored"}
    }
    for name in blob_counts:
        blob_counts[name] = sum(1 for _ in blobs.get_container_client(name).list_blobs())
    rows = tables.get_table_client(APPLICATIONS).list_entities(select=["RowKey"])
    return {**blob_counts, "rows": sum(1 for row in rows if str(row["RowKey"]).startswith("event|"))}


def _none_lost(items: Sequence[Item], stored: dict[str, int]) -> None:
    kept_count = len({item.blob for item in items if item.kept})
    expected = {"events": kept_count, "rows": kept_count}
    found_there = {name: stored.get(name, 0) for name in expected}
    if found_there != expected:
        raise BenchError(f"of {expected} there are {found_there}")
    ignored = len({item.raw for item in items if not item.kept})
    if stored.get("ignored", 0) != ignored:
        raise BenchError(f"{ignored} ignored events were sent, and {stored.get('ignored', 0)} are recorded")
