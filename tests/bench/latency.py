"""`python -m tests.bench.latency`: from the 201 for a run's end to its process in the catalog, in the calm, by parts.

One run after the other, of new applications with new data sets, in the local world. The parts are those of the
functions' own spans: until the fold begins (the notice of the blob, the host's queue), the fold with its commit, until
publishing begins (the lease, the wait for more marks), and publishing with its calls to the catalog.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from tests.bench.worker import PATH, BenchError
from tests.support.events import event
from throughline.local.world import World

_WARM_UP = 2
_PAUSE = 2.5
"""Seconds after each end, in which a quiet machine has published it, and its spans were written."""
_BETWEEN = 0.4
"""Seconds between start and end of a run."""
_SETTINGS = {"THROUGHLINE_TELEMETRY": "console", "OTEL_BSP_SCHEDULE_DELAY": "500"}


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    console = Console(highlight=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        World(home=Path(folder), usual_ports=False, settings=_SETTINGS) as world,
    ):
        with console.status(f"{runs} runs, one after the other"):
            ends = [_end_of_run(world.functions.url, number) for number in range(_WARM_UP + runs)][_WARM_UP:]
            time.sleep(_PAUSE)
        spans = _spans(Path(folder) / "functions.log")
    measured_runs = [
        parts
        for number, end in enumerate(ends)
        if (parts := _parts(spans, end, ends[number + 1] if number + 1 < len(ends) else float("inf")))
    ]
    if not measured_runs:
        sys.stderr.write("error: no run was published before the next one began: this machine is too busy\n")
        return 2
    table = Table("seconds", "median", "least", box=None, title=f"{len(measured_runs)} of {runs} runs")
    for part in measured_runs[0]:
        values = [parts[part] for parts in measured_runs]
        table.add_row(part, f"{median(values):.3f}", f"{min(values):.3f}")
    console.print(table)
    return 0


def _end_of_run(url: str, number: int) -> float:
    """Send start and end of a run; return when (Unix time) the end was answered. Raises BenchError."""
    connection = HTTPConnection(urlsplit(url).netloc)
    fields: Any = {"application": f"app{number}", "inputs": [f"/in{number}"], "outputs": [f"/out{number}"]}
    fields |= {"job": f"app{number}.execute_insert_into_hadoop_fs_relation_command.out"}
    for kind in ("START", "COMPLETE"):
        time.sleep(_BETWEEN)
        body = event(f"run{number}", kind, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}", **fields)
        connection.request("POST", PATH, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != HTTPStatus.CREATED:
            raise BenchError(f"the receiver answered {answer.status}")
    answered = time.time()
    connection.close()
    time.sleep(_PAUSE)
    return answered


def _spans(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith('{"name"')]


def _parts(spans: Sequence[Mapping[str, Any]], end: float, next_end: float) -> dict[str, float]:
    """The parts of the time between an answer and the catalog; none where a span is missing before the next answer."""
    times: dict[str, tuple[float, float]] = {}
    for span in spans:
        began, ended = (datetime.fromisoformat(span[name]).timestamp() for name in ("start_time", "end_time"))
        if end <= began < next_end - _BETWEEN:
            times.setdefault(span["name"], (began, ended))
    if not {"process run", "publish", "publish process"} <= times.keys():
        return {}
    fold, publish, written = times["process run"], times["publish"], times["publish process"][1]
    return {
        "from the 201 until the fold begins": fold[0] - end,
        "fold and commit": fold[1] - fold[0],
        "until publishing begins": publish[0] - fold[1],
        "publishing, with the catalog": written - publish[0],
        "from the 201 to the catalog": written - end,
    }


if __name__ == "__main__":
    sys.exit(main())
