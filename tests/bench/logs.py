"""`python -m tests.bench.logs`: how many gigabytes of logs a million events are, as Log Analytics bills them.

The captured applications of tests.bench.costs run through the functions with storage and catalog in memory, and every
line that the code logs is kept. A line counts as its row of AppTraces, an invocation as its row of AppRequests: the
text of all columns but the standard ones
(https://learn.microsoft.com/azure/azure-monitor/logs/cost-logs#data-size-calculation).

Messages and numbers of rows are real. The columns that the host, Application Insights and storage add to a message
(ids, names, versions) are examples of the usual length: the host itself is not available here.
"""

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.ingest.receiver import Receiver
from shared.publishing.context import PublishContext, PublishOptions
from shared.publishing.publisher import Publisher
from shared.records.publish_queue import backlog
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, stored_from_blob
from shared.sweeping.sweep import SweepOptions, sweep
from shared.telemetry.port import SWEEP, Acts, write_line
from tests.bench.costs import CAPTURE, JOBS, MOST_BYTES
from tests.bench.log_rows import HOST_LINES, Volume, row_of
from tests.bench.replay import Item, Replay, families
from tests.support.memory_catalog import MemoryCatalog

if TYPE_CHECKING:
    from shared.storage.port import Storage

_MILLION = 1_000_000
_GIGABYTE = 10**9  # as it is billed
_LATER = timedelta(days=30)
TICKS = 60 * 24 * 30
"""Ticks of the sweeper in a month."""


class _Lines(logging.Handler):
    """Collects the logged lines by the current phase; the phase "" drops them."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.phase = ""
        self.kept: dict[str, list[str]] = {}
        self.calls: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        if self.phase:
            self.kept.setdefault(self.phase, []).append(record.getMessage())

    def call(self, phase: str) -> None:
        """Begin an invocation: its lines belong to this phase."""
        self.phase = phase
        if phase:
            self.calls[phase] += 1


@contextmanager
def _listening() -> Iterator[_Lines]:
    lines, source = _Lines(), logging.getLogger("throughline")
    previous_level, propagated = source.level, source.propagate
    source.setLevel(logging.INFO)
    source.propagate = False
    source.addHandler(lines)
    try:
        yield lines
    finally:
        source.removeHandler(lines)
        source.setLevel(previous_level)
        source.propagate = propagated


def measure(jobs: Sequence[str] = JOBS) -> dict[str, dict[str, Volume]]:
    """Return the log volume of a million events of these scenarios by phase and table.

    The phase `idle sweep` is a month of ticks without work. `filtered` are the host's own lines, which host.json
    filters out. `StorageBlobLogs` has a row for each deleted blob if `logDeletes` is on.
    """
    captured = {family.name: family for family in families()}
    sample = [captured[f"{CAPTURE}/{job}"] for job in jobs]
    event_count = sum(len(family.events) for family in sample)
    site = _Site()
    with _listening() as lines:
        for turn, name in enumerate(("a new job", "the same job again")):
            replay = Replay(seed=turn + 2, among=sample)
            site.live([replay.application() for _ in sample], lines, name)
        deleted = site.archive(lines)
        site.tick(lines)
    share = {"archive": _MILLION / (2 * event_count), "idle sweep": TICKS}
    volumes_by_phase = {
        phase: _volumes(kept_lines, lines.calls[phase], share.get(phase, _MILLION / event_count))
        for phase, kept_lines in lines.kept.items()
    }
    volumes_by_phase["archive"]["StorageBlobLogs"] = row_of("StorageBlobLogs").times(deleted * share["archive"])
    return volumes_by_phase


def _volumes(lines: Iterable[str], calls: int, factor: float) -> dict[str, Volume]:
    volumes = {"AppTraces": sum((row_of("AppTraces", line) for line in lines), Volume()).times(factor)}
    if calls:
        host = sum((row_of("AppTraces", line) for line in HOST_LINES), Volume())
        volumes["AppRequests"] = row_of("AppRequests").times(calls * factor)
        volumes["filtered"] = host.times(calls * factor)
    return volumes


class _Site:
    """The functions over storage and a catalog in memory, called as the host calls them."""

    def __init__(self) -> None:
        self._storage: Storage = MemoryStorage()
        self._catalog = MemoryCatalog()
        self._telemetry = Acts(write_line)

    def live(self, applications: Iterable[Sequence[Item]], lines: _Lines, name: str) -> None:
        """Receive and process each event in its order, and publish, as receiver and parser do."""
        options = PublishOptions(telemetry=self._telemetry, debounce=timedelta(0))
        context = PublishContext(storage=self._storage, catalog=self._catalog, publishing=options)
        for application in applications:
            for item in application:
                lines.call(f"{name}: receiver")
                Receiver(storage=self._storage, max_body_bytes=MOST_BYTES, telemetry=self._telemetry).receive(item.raw)
            for item in application:
                if item.kept:
                    lines.call(f"{name}: parser")
                    place = stored_from_blob(item.blob)
                    processor = ApplicationProcessor(storage=self._storage, telemetry=self._telemetry)
                    if Delivery(processor=processor).deliver(place, item.packed):
                        Publisher(context=context).publish(looks=False)
        lines.call("")

    def archive(self, lines: _Lines) -> int:
        """Archive the processed events, as the sweeper does a month later; return the number of deleted blobs."""
        count_before = sum(1 for _ in self._storage.blobs(EVENTS))
        lines.phase = "archive"
        sweep(self._storage, SweepOptions(now=lambda: datetime.now(UTC) + _LATER))
        lines.phase = ""
        return count_before - sum(1 for _ in self._storage.blobs(EVENTS))

    def tick(self, lines: _Lines) -> None:
        """Run one tick of the sweeper with nothing to do."""
        lines.call("idle sweep")
        with self._telemetry.act(SWEEP) as act:
            act.note(past_due=False, **sweep(self._storage, SweepOptions(telemetry=self._telemetry)).facts)
            act.note(**backlog(self._storage))
        lines.call("")


def _show(volumes_by_phase: Mapping[str, Mapping[str, Volume]]) -> None:
    table = Table(
        "", "rows (M)", "GB", "bytes a row", box=None, title="logs of a million events; idle sweep: of a month"
    )
    for phase, volumes in volumes_by_phase.items():
        for name, volume in volumes.items():
            row_size = volume.bytes / volume.rows if volume.rows else 0
            table.add_row(
                f"{phase}: {name}",
                f"{volume.rows / _MILLION:.2f}",
                f"{volume.bytes / _GIGABYTE:.2f}",
                f"{row_size:.0f}",
            )
    Console(highlight=False, width=120).print(table)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.logs", description=__doc__)
    parser.add_argument("--json", action="store_true", help="for machines: rows and bytes")
    options = parser.parse_args()
    volumes_by_phase = measure()
    if options.json:
        document = {
            phase: {
                name: {"rows": round(volume.rows), "bytes": round(volume.bytes)} for name, volume in volumes.items()
            }
            for phase, volumes in volumes_by_phase.items()
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        _show(volumes_by_phase)
    return 0


if __name__ == "__main__":
    sys.exit(main())
