"""`python -m tests.bench.costs`: how many requests to storage and catalog a million events cause.

Captured applications of ordinary jobs are received, processed, published and archived, twice: as new jobs, and as the
same jobs again, which most runs are. Requests are counted below the SDK and the catalog's client, by the classes that
Azure bills. The requests of the functions host itself (receipts, messages) depend on the delivery and come on top: see
`tests.bench.host_calls`.
"""

import argparse
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rich.console import Console
from rich.table import Table

from shared.bootstrap import Worker, assemble
from shared.ingest.receiver import Receiver
from shared.maintenance.reconciliation import reconcile_due
from shared.publishing.publisher import Publisher
from shared.publishing.shadow import leave_shadow_mode
from shared.records.control import record_settings
from shared.records.publish_queue import backlog
from shared.settings.reading import load
from shared.storage.transport import Connection
from shared.storage_layout import stored_from_blob
from shared.sweeping.sweep import sweep
from tests.bench.host_calls import DELIVERIES, calls_of, events_a_second
from tests.bench.replay import Item, Replay, families
from throughline.local.azurite import Azurite
from throughline.local.catalog.server import CatalogServer

MOST_BYTES = 1 << 26
JOBS = ("cloud", "customer_master", "customer_merge", "delta_paths", "files", "jdbc_postgres", "tables")
"""Scenarios of ordinary jobs: batches that do the same work in each run."""

_WARM_UP = "databricks_job"
CAPTURE = "spark35-ol1.53"
_LATER = timedelta(days=30)
_MILLION = 1_000_000

LIVES = ("a new job", "the same job again")
HOST_CLASSES = ("blob write", "blob read", "blob other", "queue")
CLASSES = ("blob write", "blob list", "blob read", "blob other", "blob delete", "table", "catalog")
"""A batch of rows is billed as one table transaction; deleting blobs is free; a lease is `other`."""


class Requests:
    """Counts requests for the current phase: `counts[phase][class]`. `kinds` maps each port to its service's kind."""

    def __init__(self, kinds: dict[int, str]) -> None:
        self._kinds = kinds
        self.counts: dict[str, Counter[str]] = {}
        self.phase = ""

    def count(self, port: int | None, method: str, url: str) -> None:
        """Count a request."""
        kind = self._kinds.get(port or 0)
        if kind and self.phase:
            self.counts.setdefault(self.phase, Counter())[_class(kind, method, url)] += 1


def _class(kind: str, method: str, url: str) -> str:
    """The class by which Azure bills a request: https://learn.microsoft.com/azure/storage/blobs/map-rest-apis-transaction-categories."""
    if kind != "blob":
        return kind
    component = parse_qs(urlsplit(url).query).get("comp", [""])[0]
    if component == "list" or "restype=container" in url:
        return "blob list"
    if component == "lease" or method == "HEAD":
        return "blob other"
    return {"PUT": "blob write", "GET": "blob read", "DELETE": "blob delete"}[method]


@contextlib.contextmanager
def counting(kinds: dict[int, str]) -> Iterator[Requests]:
    """Count the requests to these ports while the block runs: the catalog's client uses `http.client`, storage a
    connection of its own.
    """
    requests, putrequest, exchange = Requests(kinds), HTTPConnection.putrequest, Connection.exchange

    def counted_putrequest(self: HTTPConnection, method: str, url: str, *args: Any, **named: Any) -> None:
        requests.count(self.port, method, url)
        putrequest(self, method, url, *args, **named)

    def counted_exchange(self: Connection, method: str, target: str, *args: Any, **named: Any) -> Any:
        requests.count(urlsplit(f"//{self.host}").port, method, target)
        return exchange(self, method, target, *args, **named)

    HTTPConnection.putrequest = counted_putrequest  # type: ignore[method-assign]  # below both clients
    Connection.exchange = counted_exchange  # type: ignore[method-assign]
    try:
        yield requests
    finally:
        HTTPConnection.putrequest = putrequest  # type: ignore[method-assign]
        Connection.exchange = exchange  # type: ignore[method-assign]


def measure(jobs: Sequence[str] = JOBS) -> dict[str, dict[str, float]]:
    """Return the requests per event of these scenarios by phase and class; for the phase `idle sweep`, per tick."""
    with Azurite() as azurite, CatalogServer() as catalog:
        settings = load(
            catalog=True,
            environment={
                "AzureWebJobsStorage": azurite.connection_string,
                "THROUGHLINE_CATALOG_ENDPOINT": catalog.endpoint,
                "THROUGHLINE_CATALOG_TOKEN": catalog.token,
            },
        )
        worker = assemble(settings)
        worker = replace(worker, publishing=replace(worker.publishing, debounce=timedelta(0)))
        ports = {azurite.ports["blob"]: "blob", azurite.ports["table"]: "table"}
        ports[int(catalog.url.rpartition(":")[2])] = "catalog"
        captured = {family.name: family for family in families()}
        sample = [captured[f"{CAPTURE}/{job}"] for job in jobs]
        event_count = sum(len(family.events) for family in sample)
        warm = Replay(seed=1, among=[captured[f"{CAPTURE}/{_WARM_UP}"]]).application()  # creates the tables
        with counting(ports) as requests:
            _life(worker, requests, [warm], "")
            for turn, name in enumerate(LIVES):
                replay = Replay(seed=turn + 2, among=sample)
                _life(worker, requests, [replay.application() for _ in sample], name)
            _archive(worker, requests)
            _idle(worker, requests)
    per_event = {"archive": 2 * event_count + len(warm), "idle sweep": 1}
    return {
        phase: {kind: counts[kind] / per_event.get(phase, event_count) for kind in CLASSES if counts[kind]}
        for phase, counts in requests.counts.items()
    }


def _life(worker: Worker, requests: Requests, applications: Sequence[Sequence[Item]], name: str) -> None:
    """Receive and process each event in its order, and publish, as receiver and parser do."""
    for application in applications:
        for item in application:
            requests.phase = name and f"{name}: receiver"
            Receiver(storage=worker.storage, max_body_bytes=MOST_BYTES).receive(item.raw)
        for item in application:
            requests.phase = name and f"{name}: parser"
            if item.kept and worker.delivery.deliver(stored_from_blob(item.blob), item.packed):
                requests.phase = name and f"{name}: publisher"
                Publisher(context=worker).publish(looks=False)
    requests.phase = ""


def _archive(worker: Worker, requests: Requests) -> None:
    """Archive the processed events, as the sweeper does a month later."""
    requests.phase = "archive"
    sweep(worker.storage, replace(worker.sweeping, now=lambda: datetime.now(UTC) + _LATER))
    requests.phase = ""


def _idle(worker: Worker, requests: Requests) -> None:
    """Run one tick of the sweeper with nothing to do."""
    for phase in ("", "idle sweep"):
        requests.phase = phase
        record_settings(worker.storage, worker.to_record)
        sweep(worker.storage, worker.sweeping)
        leave_shadow_mode(worker.storage, worker.publishing)
        reconcile_due(worker)
        Publisher(context=worker).publish()
        backlog(worker.storage)
    requests.phase = ""


def _show(counts_by_phase: dict[str, dict[str, float]]) -> None:
    table = Table("", *CLASSES, box=None, title="requests for each event (idle sweep: for each tick)")
    for phase, counts in counts_by_phase.items():
        table.add_row(phase, *(f"{counts.get(kind, 0):.2f}" for kind in CLASSES))
    host = Table("", *HOST_CLASSES, "together", "events a second", box=None, title="… and the host's, with its limit")
    for delivery in DELIVERIES:
        calls = calls_of(delivery)
        slowest = min(events_a_second(_phases_of(counts_by_phase, name), delivery) for name in LIVES)
        host.add_row(delivery, *(str(calls[kind]) for kind in HOST_CLASSES), str(calls.total()), f"{slowest:,.0f}")
    console = Console(highlight=False, width=140)
    console.print(table)
    console.print(host)


def _phases_of(counts_by_phase: dict[str, dict[str, float]], name: str) -> dict[str, dict[str, float]]:
    """The phases of an event's life, from the receiver to the archive."""
    return {
        phase: counts
        for phase, counts in counts_by_phase.items()
        if phase == "archive" or phase.startswith(f"{name}: ")
    }


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.costs", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON: requests for a million events")
    options = parser.parse_args()
    counts_by_phase = measure()
    if options.json:
        document = {
            phase: {kind: round(value * _MILLION) for kind, value in counts.items()}
            for phase, counts in counts_by_phase.items()
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        _show(counts_by_phase)
    return 0


if __name__ == "__main__":
    sys.exit(main())
