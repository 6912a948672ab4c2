"""Test that a world under `func start` publishes every event soon: Event Grid reports what func's polling may miss."""

import random
import time
from dataclasses import dataclass
from pathlib import Path

import requests

from shared.bootstrap import assemble
from shared.reporting.status import status
from shared.settings.reading import load
from tests.support.events import write
from throughline.local.world import World
from throughline.project import ROOT

SOON = 30.0
"""Seconds after the last event within which all must be published."""

_BUSY = 503  # storage did not answer in time: senders try again

_STAND_IN = f"""\
#!/bin/sh
test "$1 $2" = "start --port" || {{ echo "no such command: $*"; exit 9; }}
test -f host.json -a -f receiver_function/function.json || {{ echo "no app in $PWD"; exit 8; }}
test "$FUNCTIONS_WORKER_RUNTIME" = python || {{ echo "which language?"; exit 7; }}
PYTHONPATH={ROOT} exec python -m throughline.local.host --port "$3"
"""


def stand_in(folder: Path) -> Path:
    """Write a stand-in for `func`, as strict about its arguments, that polls nothing; return its path."""
    program = folder / "func"
    program.write_text(_STAND_IN)
    program.chmod(0o755)
    return program


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryResult:
    """The result: `events` sent, and `published` in time.

    `seconds` are those from the last event until nothing was in progress, or until the time limit.
    """

    events: int
    published: int
    seconds: float


def send_slowly(world: World, events: int, *, rate: float, seed: int) -> DeliveryResult:
    """Send events, at most `rate` per second, and wait up to SOON until all are published."""
    storage = assemble(load(catalog=True, environment=world.environment)).storage
    draw = random.Random(seed)
    bodies = [
        body
        for number in range(events // 2)
        for body in write(f"run {number}", f"application {number}", "10:00", f"/in/{number}", sink=f"/out/{number}")
    ]
    with requests.Session() as session:
        send_time = time.monotonic()
        for body in bodies:
            send_time += draw.uniform(1.0, 1.2) / rate
            time.sleep(max(0.0, send_time - time.monotonic()))
            while (
                answer := session.post(f"{world.functions.url}/api/v1/lineage", data=body, timeout=30)
            ).status_code == _BUSY:
                time.sleep(int(answer.headers["Retry-After"]))
            answer.raise_for_status()
    last = time.monotonic()
    while True:
        counts = status(storage)
        seconds = time.monotonic() - last
        if (counts.published == len(bodies) and not counts.publish_queue) or seconds > SOON:
            break
        time.sleep(0.5)
    return DeliveryResult(
        events=len(bodies),
        published=counts.published if not counts.publish_queue else 0,
        seconds=seconds,
    )
