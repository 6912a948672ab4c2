"""Helpers for tests with a local world."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
from typer.testing import CliRunner

from shared.bootstrap import Worker, assemble
from shared.reporting.status import Status, status
from shared.settings.reading import load
from throughline.cli.main import app
from throughline.local.world import World

GOLDEN = Path(__file__).parents[1] / "golden" / "spark35-ol1.53"

runner = CliRunner()


def parts_of(world: World) -> Worker:
    return assemble(load(catalog=True, environment=world.environment))


def wait_until_idle(world: World, seconds: float = 60) -> Status:
    """Return the status once nothing is in progress."""
    return wait_for_status(
        world, lambda current_status: not (current_status.in_progress or current_status.publish_queue), seconds
    )


def wait_for_status(world: World, holds: Callable[[Status], bool], seconds: float) -> Status:
    """Return the first status for which this holds. The waits between two get longer, since a status reads all rows."""
    storage = parts_of(world).storage
    began = time.monotonic()
    while not holds(current_status := status(storage)):
        waited = time.monotonic() - began
        assert waited < seconds, current_status
        time.sleep(min(0.2 + waited / 4, 3.0))
    return current_status


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
