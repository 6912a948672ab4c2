"""`throughline.plan.watch` on real Spark 3.5 without any jar in its configuration."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from shared.openlineage.decoding import decode
from shared.openlineage.run import MergedRun
from shared.translation.run.columns import merge_run
from throughline.local.spark.job import QUICK_SESSION, SparkJob
from throughline.project import ROOT

JOB = Path(__file__).parent / "watch_job.py"


class Ran:
    """The bodies and keys that the receiver got, and the output of the job."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.keys: set[str | None] = set()
        self.output: dict[str, Any] = {}

    @property
    def runs(self) -> dict[str, MergedRun]:
        """By the name of the folder that is written."""
        merged = (merge_run([decode(body)]) for body in self.bodies if json.loads(body)["eventType"] == "COMPLETE")
        return {merged_run.outputs[0].key[1].rpartition("/")[2]: merged_run for merged_run in merged}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder, run_record = tmp_path_factory.mktemp("watch"), Ran()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            run_record.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            run_record.keys.add(self.headers["x-functions-key"])
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        arguments = [f"http://127.0.0.1:{server.server_port}", str(folder / "data")]
        environment = {"PYTHONPATH": str(ROOT), "PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin"}
        with SparkJob(
            JOB, configuration=QUICK_SESSION, directory=folder / "spark", arguments=arguments, environment=environment
        ) as job:
            result = job.wait()
        server.shutdown()
        thread.join()
    assert result.problem is None, result.problem
    for line in result.output.splitlines():
        if line.startswith("{"):
            run_record.output |= json.loads(line)
    return run_record


def test_writes_during_the_watch_are_sent_and_exact(ran: Ran) -> None:
    assert set(ran.runs) == {"watched", "other_session", "never_stopped"}
    assert all(run.exact_by_plan for run in ran.runs.values())
    (fields,) = (dict(output.fields) for output in ran.runs["watched"].outputs)
    (source,) = fields["loud"][0].input_fields or ()
    assert (source.name.rpartition("/")[2], source.field) == ("before", "name")


def test_the_key_goes_in_the_header_and_the_namespace_into_the_job(ran: Ran) -> None:
    assert "a-key" in ran.keys
    assert json.loads(ran.bodies[0])["job"]["namespace"] == "notebooks"


def test_a_second_watch_adds_nothing(ran: Ran) -> None:
    assert ran.output["added"] == [True, False]
    executions = [json.loads(body)["run"]["runId"] for body in ran.bodies if b"COMPLETE" in body]
    assert len(executions) == len(set(executions)) == 3


def test_without_a_receiver_the_error_names_the_argument(ran: Ran) -> None:
    assert "pass url=" in ran.output["refused"]
