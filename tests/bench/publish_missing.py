"""`python -m tests.bench.publish_missing`: time and memory of `throughline publish --missing` on an empty catalog.

It records the processes on a fresh Azurite (in memory) as if their events had arrived; each reads one table of a lake
and writes another. Then it runs the command in a process of its own against the local catalog. With `--stop SECONDS` it
interrupts the command by SIGINT after that time, and resumes it, until it is complete.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import psutil

from shared.bootstrap import Worker, assemble
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import APPLICATIONS, PUBLISH_QUEUE
from tests.bench.calls import arrives, events
from tests.bench.far_storage import STORED, Manager
from tests.bench.figures import ROOT, machine
from tests.bench.worker import BenchError
from throughline.local.azurite import Azurite
from throughline.local.catalog.server import CatalogServer

_TABLES = (APPLICATIONS, PUBLISH_QUEUE)
"""The tables from which such processes are published."""
_AT_ONCE = 8
_LOOK_EVERY = 0.1
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a line for each size, write build/bench-publish-missing.json."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.publish_missing", description=__doc__)
    parser.add_argument("--processes", type=int, nargs="+", default=[1_000, 10_000], metavar="N")
    parser.add_argument(
        "--storage", choices=("azurite", "memory"), default="azurite", help="memory: of another process"
    )
    parser.add_argument("--no-search", action="store_true", help="do not search for data sets: a tenth of the calls")
    parser.add_argument("--rate", type=float, default=20.0, help="calls per second; 0: no limit (20)")
    parser.add_argument("--lost", action="store_true", help="then discard the catalog, and fill an empty one")
    parser.add_argument(
        "--stop", type=float, default=0.0, metavar="SECONDS", help="interrupt it after this time, and resume it"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench-publish-missing.json")
    options = parser.parse_args(arguments)
    measurements: list[dict[str, Any]] = []
    for processes in options.processes:
        for figures in _measure(processes, options):
            measurements.append(figures)
            sys.stdout.write(f"{json.dumps(figures)}\n")
            sys.stdout.flush()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"machine": machine(), "figures": measurements}, indent=1) + "\n")
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The catalog, the command's settings, and the command line that starts it."""

    catalog: CatalogServer
    environment: Mapping[str, str]
    command: Sequence[str] = ("-m", "throughline")


def _measure(processes: int, options: argparse.Namespace) -> Iterable[dict[str, Any]]:
    with Azurite() as azurite, CatalogServer() as catalog:
        environment = {
            "AzureWebJobsStorage": azurite.connection_string,
            "THROUGHLINE_CATALOG_ENDPOINT": catalog.endpoint,
            "THROUGHLINE_CATALOG_TOKEN": catalog.token,
            "THROUGHLINE_MAX_CATALOG_RATE": f"{options.rate:g}",
            "THROUGHLINE_FIND_BY_SEARCH": "false" if options.no_search else "true",
        }
        place = _Place(catalog=catalog, environment=environment)
        if options.storage == "azurite":
            _put_on_record(assemble(load(catalog=True, environment=environment)), processes)
            yield from _fillings(processes, place, options)
            return
        _process_all(STORED, processes)
        key = os.urandom(16)
        with Manager(address=("127.0.0.1", 0), authkey=key) as manager:
            _, port = cast("tuple[str, int]", manager.address)
            command = ("-m", "tests.bench.far_storage", str(port), key.hex())
            yield from _fillings(processes, replace(place, command=command), options)


def _fillings(processes: int, place: _Place, options: argparse.Namespace) -> Iterable[dict[str, Any]]:
    yield _filled("new", processes, place, options)
    if options.lost:
        place.catalog.reset()
        yield _filled("lost", processes, place, options)
    yield _filled("unchanged", processes, place, options)


def _process_all(storage: MemoryStorage, processes: int) -> None:
    for event in events(processes, 0):
        arrives(storage, event)


def _put_on_record(parts: Worker, processes: int) -> None:
    """Write the rows that processing would write, before the measurement; built in memory first."""
    storage = MemoryStorage()
    _process_all(storage, processes)
    rows = [(table, row) for table in _TABLES for row in storage.scan(table)]

    def put(entry: tuple[str, Row]) -> None:
        parts.storage.upsert(*entry)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(put, rows):
            pass


def _filled(name: str, processes: int, place: _Place, options: argparse.Namespace) -> dict[str, Any]:
    catalog = place.catalog
    catalog.reset_calls()
    began, peak, stops = time.monotonic(), 0, 0
    while True:
        resume = ["--resume"] if stops else []
        code, run_peak = _run(["publish", "--missing", *resume], place, 0.0 if name == "unchanged" else options.stop)
        peak = max(peak, run_peak)
        if code != _INTERRUPTED:
            break
        stops += 1
    spent = time.monotonic() - began
    counted = catalog.calls()
    if code or counted["entities"] < processes:
        raise BenchError(f"publishing ended by {code}, with {counted['entities']} entities in the catalog")
    calls = _calls(catalog)
    return {
        "what": name,
        "processes": processes,
        "storage": options.storage,
        "searched": not options.no_search,
        "rate": options.rate,
        "seconds": round(spent, 1),
        "processes_a_second": round(processes / spent, 1),
        "calls": calls,
        "calls_a_second": round(calls / spent, 1),
        "calls_a_process": round(calls / processes, 3),
        "peak_mb": round(peak / 1e6, 1),
        "stops": stops,
    }


def _calls(catalog: CatalogServer) -> int:
    return sum(catalog.calls()["by_verb"].values())


def _run(arguments: Sequence[str], place: _Place, stop_after: float) -> tuple[int, int]:
    """Run the command; return its exit code and peak memory (bytes).

    `stop_after` are the seconds from its first call to its interruption; 0 never interrupts it.
    """
    calls_before = _calls(place.catalog)
    child = subprocess.Popen(
        [sys.executable, *place.command, *arguments],
        cwd=ROOT,
        env={**os.environ, **place.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    watched = psutil.Process(child.pid)
    began, peak, stop_requested = float("inf"), 0, False
    while child.poll() is None:
        try:
            peak = max(peak, watched.memory_info().rss)
        except psutil.NoSuchProcess:
            break
        if stop_after and began == float("inf") and _calls(place.catalog) > calls_before:
            began = time.monotonic()
        if not stop_requested and time.monotonic() - began > stop_after:
            child.send_signal(signal.SIGINT)
            stop_requested = True
        time.sleep(_LOOK_EVERY)
    message = child.communicate()[1].decode(errors="replace")
    return result_of(child.returncode, message), peak


def result_of(exit_code: int, message: str) -> int:
    """The result of a command that may have been interrupted: 0 if it is complete, 130 if `--resume` continues it.

    An interrupt can come when the work is done and the interpreter shuts down: then there is nothing to resume, and
    the command does not ask for it. Raises BenchError for every other exit code.
    """
    if exit_code in {-signal.SIGINT, _INTERRUPTED}:
        return _INTERRUPTED if "--resume" in message else 0
    if exit_code:
        raise BenchError(f"exit code {exit_code}: {message[-2000:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
