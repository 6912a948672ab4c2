"""A slow receiver must not keep a job from ending.

The examples wait for the listener before `stop()`, which once never returned without that: the listener had started a
Delta job by then. That has not been seen again, so this runs with `--proofs` only.
"""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from throughline.cli.commands.local.demo import EXAMPLES
from throughline.local.spark.job import SMALL_SESSION, SparkJob, listener_configuration

pytestmark = [pytest.mark.e2e, pytest.mark.proof]
SLOW_SECONDS = 1.0
PATIENCE_SECONDS = 120


class SlowReceiver(BaseHTTPRequestHandler):
    """Answers every event correctly, a second late."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(SLOW_SECONDS)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
        """Keep the test's output free of requests."""


@pytest.fixture
def slow_receiver() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), SlowReceiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_delta_job_ends_although_its_listener_is_behind(slow_receiver: str, tmp_path: Path) -> None:
    with SparkJob(
        EXAMPLES / "customer_merge.py",
        configuration={**SMALL_SESSION, **listener_configuration(slow_receiver)},
        directory=tmp_path / "job",
        arguments=("--data", str(tmp_path / "data")),
    ) as job:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while job.running and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not job.running, job.log.read_text()[-2000:]
        assert job.wait().exit_code == 0
