"""Helpers for tests with a local world."""

import time
from pathlib import Path
from typing import Any

import requests
from typer.testing import CliRunner

from cli.main import app
from local.world import World
from shared.bootstrap import Worker, assemble
from shared.reporting.status import Status, status
from shared.settings.reading import load

GOLDEN = Path(__file__).parents[1] / "golden" / "spark35-ol1.53"

runner = CliRunner()


def parts_of(world: World) -> Worker:
    return assemble(load(catalog=True, environment=world.environment))


def wait_until_idle(world: World, seconds: float = 60) -> Status:
    """Return the status once nothing is in progress."""
    storage = parts_of(world).storage
    deadline = time.monotonic() + seconds
    while True:
        found = status(storage)
        if not (found.in_progress or found.publish_queue):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.5)


def throughline(world: World, *arguments: str) -> Any:
    return runner.invoke(app, list(arguments), env=world.environment)


def post(world: World, body: bytes, **headers: str) -> requests.Response:
    return requests.post(
        f"{world.functions.url}/api/v1/lineage",
        data=body,
        headers={"Content-Type": "application/json; charset=UTF-8", **headers},
        timeout=30,
        allow_redirects=False,
    )
