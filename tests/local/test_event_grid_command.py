"""`python -m local.event_grid`, as docs/get-started/local.md has it typed beside a `func start`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_says_whom_it_tells_and_ends_on_a_signal() -> None:
    """Storage and host may be away: both are tried again."""
    nowhere = (
        "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;"
        "BlobEndpoint=http://127.0.0.1:1/a;QueueEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:1/a;"
    )
    command = [sys.executable, "-m", "local.event_grid", "--url", "http://127.0.0.1:1"]
    environment = {**os.environ, "AzureWebJobsStorage": nowhere}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout
        assert started.stdout.readline() == "telling parser_function at http://127.0.0.1:1 of new blobs in events\n"
        started.send_signal(signal.SIGTERM)
        assert started.wait(timeout=30) == 0
