"""What throughline-plan.jar costs a Spark job: 200 small writes and writes of 450 columns.

They run without a listener, with OpenLineage's, and with both, in turns, in one warm JVM; events go to a receiver by
HTTP.

The wall time of single writes varies by half, which hides a share of 2 %. So the benchmark also measures the CPU time
of the plan listener's own threads. They run beside Spark's, so it is the most that the listener can add to a write.
"""

import json
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.figures import Figure, Rounds
from tests.bench.sizes import Sizes, Steps
from tests.bench.worker import BenchError
from throughline.local.spark.job import SMALL_SESSION, SparkJob, listener_configuration
from throughline.plan_jar import plan_configuration

NAME = "plan-jar"
_JOB = Path(__file__).parent / "plan_jar_job.py"
_COLUMNS = 450
_WITHOUT, _LISTENER, _BOTH = range(3)


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure wall time per write and bytes: both listeners against OpenLineage's alone and against none."""
    steps.begin("the plan listener's cost", 1)
    with tempfile.TemporaryDirectory() as folder, _receiver() as (url, received_bytes):
        blocks = _run(Path(folder), url, sizes)
    steps.done()
    return [
        *(figure for kind in ("small", "wide") for figure in _times(kind, blocks, sizes)),
        Figure(
            benchmark=NAME,
            name="bytes of events",
            value=(received_bytes["listener"] + received_bytes["plan"]) / 1e3,
            other=received_bytes["listener"] / 1e3,
            ratio=(received_bytes["listener"] + received_bytes["plan"]) / received_bytes["listener"],
            unit="kB",
            compared_with="OpenLineage's listener alone",
        ),
    ]


def _times(kind: str, blocks: Sequence[Mapping[str, Any]], sizes: Sizes) -> Iterator[Figure]:
    def seconds(listeners: int) -> list[float]:
        return [block["seconds"] / len(block["writes"]) for block in blocks if _is(block, kind, listeners)]

    def write(listeners: int) -> float:
        return float(median(took for block in blocks if _is(block, kind, listeners) for took in block["writes"]))

    added = write(_BOTH) - write(_LISTENER)
    combined_blocks = [block for block in blocks if _is(block, kind, _BOTH)]
    yield Rounds(
        ours=[block["jar"] / len(block["writes"]) for block in combined_blocks],
        others=[block["seconds"] * 1e3 / len(block["writes"]) for block in combined_blocks],
    ).figure(
        benchmark=NAME,
        name=f"{kind} writes, CPU of the jar",
        unit="ms a write",
        compared_with="the write, with both",
        goal="<= 0.02",
    )
    for listeners, against, goal in (
        (_BOTH, (_LISTENER, "OpenLineage's listener alone"), "<= 1.02"),
        (_BOTH, (_WITHOUT, "no listener"), ""),
        (_LISTENER, (_WITHOUT, "no listener"), ""),
    ):
        yield Rounds(ours=seconds(listeners), others=seconds(against[0])).figure(
            scale=1e3,
            benchmark=NAME,
            name=f"{kind} writes, {'both' if listeners == _BOTH else 'listener'}",
            unit="ms a write",
            compared_with=against[1],
            goal=goal,
            sizes={"writes": sizes.plan_jar_blocks * sizes.plan_jar_writes if kind == "small" else sizes.plan_jar_wide},
            details={"added_by_the_jar_at_the_median_ms": round(added, 2)} if goal else {},
        )


def _is(block: Mapping[str, Any], kind: str, listeners: int) -> bool:
    return bool(block["kind"] == kind and block["listeners"] == listeners)


def _run(folder: Path, url: str, sizes: Sizes) -> list[dict[str, Any]]:
    """The job's blocks."""
    options = {
        "folder": str(folder / "data"),
        "blocks": sizes.plan_jar_blocks,
        "writes": sizes.plan_jar_writes,
        "wide": sizes.plan_jar_wide,
        "columns": _COLUMNS,
    }
    configuration = {
        **SMALL_SESSION,
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",  # both compilers, as on a cluster
        **listener_configuration(f"{url}/listener"),
        **plan_configuration(),
        "spark.openlineage.transport.url": url,
        "spark.openlineage.transport.endpoint": "/listener",
        "spark.throughline.plan.transport.endpoint": "/plan",
    }
    with SparkJob(
        _JOB, configuration=configuration, directory=folder / "spark", arguments=[json.dumps(options)]
    ) as job:
        result = job.wait(seconds=1_800)
    if result.problem:
        raise BenchError(result.problem)
    return [json.loads(line) for line in result.output.splitlines() if line.startswith('{"kind"')]


@contextmanager
def _receiver() -> Iterator[tuple[str, Counter[str]]]:
    """Serve a receiver that accepts everything, and counts bytes by the first part of the path."""
    received_bytes: Counter[str] = Counter()

    class Receiver(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            received_bytes[self.path.strip("/")] += len(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received_bytes
        finally:
            server.shutdown()
            thread.join()
