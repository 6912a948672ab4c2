"""A flood: many events from several senders at once to the receiver on the local host. None may be lost, and the worker
may not grow.

The receiver alone: the parser would do its work in the same process, and its memory and time are those of
`bench end-to-end`. Bounded by a number of events and by a time.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from bench.figures import ROOT, Figure, percentile
from bench.replay import Item, Replay
from bench.sizes import Sizes, Steps
from bench.worker import RUNS, BenchError, Child, Timings, child, posted
from local.azurite import Azurite
from local.functions import FunctionsHost

NAME = "load"
_PARTS = 20
_FIRST = 5
"""After so many parts of all events (a quarter) the worker's memory is looked at first."""
_KIB = 1024
_OTHERS_OFF = {f"AzureWebJobs.{name}.Disabled": "true" for name in ("parser_function", "sweeper_function")}


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """What a request takes under load, and the worker's memory at the end against that after a quarter of the events.

    BenchError when an event was answered by anything but a 201, when one is missing or too much in storage, or when it
    takes too long.
    """
    steps.begin(f"load, {sizes.load_events:,} events from {sizes.senders} senders", _PARTS)
    items = _items(sizes.load_events)
    with (
        child() as process,
        tempfile.TemporaryDirectory() as folder,
        Azurite(location=Path(folder) / "azurite") as azurite,
        _host(azurite, Path(folder)) as host,
    ):
        timings, memory = _flood(process, host, items, sizes, steps)
        stored = _stored(azurite.connection_string)
    _none_lost(items, stored)
    calls = [call for each in timings for call in each.calls]
    seconds = sum(each.total for each in timings)
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
            details={"per_second": round(len(calls) / seconds, 1), "lost": 0, **stored},
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
) -> tuple[list[Timings], tuple[int, int]]:
    """The timings of all parts, and the worker's memory after a quarter of them and in the end."""
    deadline = time.monotonic() + sizes.load_deadline
    size = -(-len(items) // _PARTS)
    timings: list[Timings] = []
    early = 0
    for start in range(0, len(items), size):
        if time.monotonic() > deadline:
            raise BenchError(f"{start:,} of {len(items):,} events took more than {sizes.load_deadline:.0f} s")
        timings.append(process.run(posted, host.url, items[start : start + size], sizes.senders))
        if len(timings) == _FIRST:
            early = _resident(host.pid)
        steps.done()
    last = _resident(host.pid)
    return timings, (early or last, last)


def _resident(pid: int) -> int:
    """Bytes of a process that are in memory (Linux)."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * _KIB


def _stored(connection: str) -> dict[str, int]:
    """How many blobs and rows there are."""
    blobs = BlobServiceClient.from_connection_string(connection)
    tables = TableServiceClient.from_connection_string(connection)
    found = {each.name: 0 for each in blobs.list_containers() if each.name in {"events", "ignored"}}
    for name in found:
        found[name] = sum(1 for _ in blobs.get_container_client(name).list_blobs())
    rows = tables.get_table_client(RUNS).list_entities(select=["RowKey"])
    return {**found, "rows": sum(1 for row in rows if str(row["RowKey"]).startswith("event|"))}


def _none_lost(items: Sequence[Item], stored: dict[str, int]) -> None:
    kept = len({item.blob for item in items if item.kept})
    expected = {"events": kept, "rows": kept}
    told = {name: stored.get(name, 0) for name in expected}
    if told != expected:
        raise BenchError(f"of {expected} there are {told}")
    ignored = len({item.raw for item in items if not item.kept})
    if stored.get("ignored", 0) != ignored:
        raise BenchError(f"{ignored} ignored events were sent, and {stored.get('ignored', 0)} are set aside")
