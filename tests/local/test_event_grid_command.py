"""`python -m throughline.local.event_grid`, which docs/get-started/local.md runs beside a `func start`."""

import os
import signal
import sys
from pathlib import Path

from tests.support.started import started

ROOT = Path(__file__).parents[2]


def test_the_command_prints_its_notified_functions_and_ends_on_a_signal() -> None:
    """Storage and host may be unavailable: both are tried again."""
    nowhere = (
        "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;"
        "BlobEndpoint=http://127.0.0.1:1/a;QueueEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:1/a;"
    )
    command = [sys.executable, "-m", "throughline.local.event_grid", "--url", "http://127.0.0.1:1"]
    environment = {**os.environ, "AzureWebJobsStorage": nowhere}
    with started(command, cwd=ROOT, env=environment) as running:
        assert running.stdout
        assert running.stdout.readline() == "notifying parser_function at http://127.0.0.1:1 of new blobs in events\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=30) == 0
