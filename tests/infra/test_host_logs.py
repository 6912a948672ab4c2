"""Which lines of the functions and of their host are stored, by the levels in host.json."""

import json
import logging
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from shared.concurrency import ParallelMap
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.sweeping.sweep import SweepOptions, sweep
from shared.telemetry.port import Acts, write_line
from tests.support.events import event
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import publish
from tests.support.receiving import receive

ROOT = Path(__file__).parents[2]
FUNCTIONS = {path.parent.name for path in ROOT.glob("*/function.json")}
LOGGING = json.loads((ROOT / "host.json").read_text())["logging"]


def level(category: str) -> str:
    """Return the level from which a category is logged: that of its longest prefix, as in the host's logging."""
    levels: dict[str, str] = LOGGING["logLevel"]
    prefixes = [name for name in levels if name != "default" and (category == name or category.startswith(f"{name}."))]
    return levels[max(prefixes, key=len, default="default")]


def test_lines_of_the_functions_and_requests_are_stored() -> None:
    """Alerts and workbook read both: a function's lines are in `Function.NAME.User`, requests in `Host.Results`."""
    assert {level(f"Function.{name}.User") for name in FUNCTIONS} == {"Information"}
    assert level("Host.Results") == "Information"
    named = {name.split(".")[1] for name in LOGGING["logLevel"] if name.startswith("Function.")}
    assert named == FUNCTIONS


@pytest.mark.parametrize(
    "category",
    [
        *(f"Function.{name}" for name in sorted(FUNCTIONS)),  # Executing, Executed, Trigger Details: for each call
        "Host.Aggregator",
        "Host.Triggers.Blobs",
        "Host.Bindings",
        "Azure.Core",
        "Microsoft.Azure.WebJobs.Script.WebHost.Middleware.SystemTraceMiddleware",
        "Worker.rpcWorkerProcess",
    ],
)
def test_the_host_s_own_lines_for_each_call_are_not_stored(category: str) -> None:
    assert level(category) == "Warning"


def test_the_host_collects_no_unused_telemetry() -> None:
    insights = LOGGING["applicationInsights"]
    assert (insights["enableDependencyTracking"], insights["enablePerformanceCountersCollection"]) == (False, False)


class Threads(logging.Handler):
    """Records the threads that write lines, and the kinds of the lines."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[int] = set()
        self.kinds: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.found.add(threading.get_ident())
        self.kinds.add(record.getMessage().split()[0])


def test_every_line_is_written_by_the_calling_thread() -> None:
    """The host drops lines of other threads, which belong to no call (`GrpcWorkerChannel.Log` in its source)."""
    threads, logger = Threads(), logging.getLogger("throughline")
    level_before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(threads)
    try:
        storage, telemetry = MemoryStorage(), Acts(write_line)
        for number in range(12):  # processes of their own, so that the publisher works on several at once
            for kind, clock_time in (("START", "10:00:00"), ("COMPLETE", "10:00:10")):
                body = event(
                    f"run {number}",
                    kind,
                    clock_time,
                    inputs=["/in"],
                    outputs=[f"/out/{number}"],
                    application=f"app {number}",
                )
                receive(storage, body, most_bytes=10**6, telemetry=telemetry)
        sweep(storage, SweepOptions(grace=timedelta(0), telemetry=telemetry))
        publish(storage, MemoryCatalog(), PublishOptions(telemetry=telemetry, parallel=ParallelMap(at_once=8)))
    finally:
        logger.removeHandler(threads)
        logger.setLevel(level_before)
    assert threads.found == {threading.get_ident()}
    assert threads.kinds >= {"event", "run_processed", "process"}
