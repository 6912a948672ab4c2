"""`throughline demo` on real Spark with the real listener: killed in the middle, then run again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from shared.bootstrap import assemble
from shared.errors import StorageUnavailable
from shared.events.stored_runs import RunFilter
from shared.openlineage.decoding import ENDS, decode
from shared.reading.reader import wanted_events
from shared.records.control import Versions, note_versions
from shared.reporting.status import status
from shared.settings.reading import load
from shared.storage.port import Storage
from shared.versions import LAYOUT
from tests.bench.replay import Family, Replay
from tests.support.azurite import on_azurite
from throughline.local.azurite import Azurite
from throughline.local.running_world import RunningWorld, running_world

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
SECONDS = 240
_SECONDS_BETWEEN_ENDS = 0.7


class Command:
    """A `throughline` command as a child process, in its own process group."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.home = home
        self.output = home.parent / f"{arguments[0]}.txt"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "throughline", *arguments, "--free-ports", "--home", str(home)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "COLUMNS": "200"},
                start_new_session=True,
            )

    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def world(self) -> RunningWorld:
        """Wait for the world that it starts, and return it."""
        deadline = time.monotonic() + SECONDS
        while True:
            current_world = running_world(self.home)
            if current_world:
                return current_world
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.1)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "world"


@pytest.fixture
def commands() -> Iterator[list[Command]]:
    """Start commands that end with the test."""
    running_commands: list[Command] = []
    yield running_commands
    for command in running_commands:
        command.end()


@pytest.fixture(scope="module")
def up(home: Path) -> Iterator[Command]:
    """`throughline up` after the demo, for all later tests that need it; the last of them ends it."""
    command = Command(home, "up")
    yield command
    command.end()


def ask_catalog(world: RunningWorld) -> Any:
    """Return the local catalog's counts of calls and entities."""
    headers = {"Authorization": f"Bearer {world.catalog_token}"}
    return requests.get(f"{world.catalog_url}/admin/calls", headers=headers, timeout=30).json()


def ask(world: RunningWorld, page: str) -> Any:
    return requests.get(f"{world.receiver_url}/admin/host/{page}", timeout=30).json()


def kill_the_host(world: RunningWorld) -> None:
    """Kill the host by `kill -9`, but not while it answers an event, which the sender would lose."""
    pid = int(ask(world, "status")["processId"])
    while ask(world, "calls")["running"].get("httpTrigger"):
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)


def test_a_killed_functions_host_does_not_change_the_result_of_the_demo(home: Path, commands: list[Command]) -> None:
    demo = Command(home, "demo")
    commands.append(demo)
    world = demo.world()
    storage = assemble(load(catalog=True, environment=world.environment)).storage
    for received in (6, 22):  # in the middle of either job
        while _received(storage) < received:
            assert demo.process.poll() is None, demo.text()
            time.sleep(0.5)  # a count reads all rows: more often, it would slow the job
        kill_the_host(world)
    assert demo.process.wait(SECONDS) == 0, demo.text()
    assert "the functions host died" in demo.text()
    assert "every table and column has the lineage that examples/*.truth.json expect" in demo.text()


def _received(storage: Storage) -> int:
    """Return the number of events; 0 while a busy machine's storage does not answer."""
    try:
        return status(storage).received
    except StorageUnavailable:
        return 0


@pytest.mark.proof
def test_a_second_demo_adds_no_entity_and_writes_nothing(home: Path, commands: list[Command]) -> None:
    demo = Command(home, "demo")
    commands.append(demo)
    assert demo.process.wait(SECONDS) == 0, demo.text()
    assert re.search(r"this run: 0 catalog writes, 0 new entities \(53 in all\)", demo.text()), demo.text()


def test_new_runs_of_the_same_jobs_add_no_entity_and_write_nothing(up: Command) -> None:
    """The demo's own events are sent again as new runs at later times, one by one, and the two ends of a run (the
    listener's and that of its plan) apart: the publisher would write what is known between them.
    """
    world = up.world()
    storage = assemble(load(catalog=True, environment=world.environment)).storage
    status_before, calls = status(storage), ask_catalog(world)
    kept_events = tuple(
        event_record.raw for event_record in wanted_events(storage, RunFilter(), content=True) if event_record.raw
    )
    ended_run = ""
    for item in Replay(among=[Family(name="the demo's", events=kept_events)]).application():
        is_end = decode(item.raw).type in ENDS
        if is_end and item.run == ended_run:
            time.sleep(_SECONDS_BETWEEN_ENDS)
        ended_run = item.run if is_end else ""
        answer = requests.post(f"{world.receiver_url}/api/v1/lineage", data=item.raw, timeout=30)
        assert answer.status_code == 201, answer.text
    deadline = time.monotonic() + SECONDS
    while (current_status := status(storage)).in_progress or current_status.publish_queue:
        assert time.monotonic() < deadline, current_status
        time.sleep(0.2)
    assert current_status.published == 2 * status_before.published
    assert current_status.processes == status_before.processes
    catalog_after = ask_catalog(world)
    assert (catalog_after["writes"], catalog_after["entities"]) == (calls["writes"], 53)


def test_commands_suggested_by_pages_and_demo_work(home: Path, up: Command) -> None:
    up.world()
    texts = [
        (ROOT / name).read_text()
        for name in ("README.md", "docs/get-started/quickstart.md", "throughline/cli/commands/local/demo.py")
    ]
    commands = {
        suggestion for text in texts for suggestion in re.findall(r"throughline ((?:show|details) [a-z_/]+)", text)
    }
    assert len(commands) >= 2
    for command_line in sorted(commands):
        command = [sys.executable, "-m", "throughline", *command_line.split(), "--home", str(home)]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, (command_line, outcome.stderr)
        assert "customer_id" in outcome.stdout or "customer_staging" in outcome.stdout


def test_a_busy_port_and_a_running_world_are_refused_with_a_message(home: Path, up: Command) -> None:
    port = int(up.world().catalog_url.rpartition(":")[2])
    other = subprocess.run(
        [sys.executable, "-m", "throughline.local.catalog", "--port", str(port)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 2
    assert len(other.stderr.strip().splitlines()) == 1
    assert str(port) in other.stderr
    second_outcome = subprocess.run(
        [sys.executable, "-m", "throughline", "up", "--home", str(home)], capture_output=True, text=True, check=False
    )
    assert second_outcome.returncode == 2
    assert "a world is running already" in second_outcome.stderr


def test_up_prints_the_properties_of_config_local(home: Path, up: Command) -> None:
    world = up.world()
    while "your_job.py" not in up.text():
        assert up.process.poll() is None, up.text()
        time.sleep(0.1)
    printed = re.findall(r"--conf ([^= ]+)=(\S+)", up.text())
    command = [sys.executable, "-m", "throughline", "config", "local", "--json", "--home", str(home)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    platform_config = json.loads(outcome.stdout)
    assert dict(printed) == platform_config["properties"]
    assert platform_config["steps"][-1].endswith(f"throughline status --home {home}")
    assert dict(printed)["spark.openlineage.transport.url"] == world.receiver_url
    assert dict(printed)["spark.jars"].endswith("throughline-plan.jar")


def test_ctrl_c_ends_all_started_processes(home: Path, up: Command) -> None:
    up.world()
    family = psutil.Process(up.process.pid).children(recursive=True)
    assert len(family) >= 3
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(120) == 0, up.text()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
    assert running_world(home) is None


def test_data_of_another_layout_is_refused_with_a_message(tmp_path: Path) -> None:
    home = tmp_path / "world"
    with Azurite(location=home / "azurite") as azurite:
        note_versions(on_azurite(azurite.connection_string), Versions(layout=LAYOUT - 1))
    for command in ("up", "demo"):
        outcome = subprocess.run(
            [sys.executable, "-m", "throughline", command, "--free-ports", "--home", str(home)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == 2, outcome.stderr
        assert "was written by another version of Throughline" in outcome.stderr
        assert str(home) in outcome.stderr
        assert "Traceback" not in outcome.stderr
