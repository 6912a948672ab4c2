"""Systems that scenarios need besides Spark: found by name, started or refused with a reason; scrubbed names."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from tests.capture.scrub import Machine, scrub
from tests.capture.systems import SYSTEMS, SystemsError, system
from tests.capture.systems.serving import free_port, serving

SCENARIOS = Path(__file__).parents[2] / "tests" / "capture" / "scenarios"

SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].close()
"""


def test_the_error_of_an_unknown_system_lists_the_known_ones() -> None:
    with pytest.raises(SystemsError, match=r"no system oracle: there are airflow, .*postgres"):
        system("oracle")


def test_the_systems_of_the_scenarios_are_the_known_ones() -> None:
    system_names = {json.loads(path.read_text()).get("system") for path in SCENARIOS.glob("*.job.json")}
    assert system_names - {None} == set(SYSTEMS)


def test_a_server_listens_until_the_end_of_the_block(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-c", SERVER, str(port)]
    with serving("A server", command, environment=os.environ, port=port, log=tmp_path / "log.txt"):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_server_that_ends_at_once_is_reported_with_its_last_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no room on the disk')"]
    with (
        pytest.raises(SystemsError, match=r"A server did not start on port .*: no room on the disk"),
        serving("A server", command, environment=os.environ, port=free_port(), log=tmp_path / "log.txt"),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("app.map_partitions_state_0_file_home_ann_x_1_data_in", "app.map_partitions_state_0_file_data_shop_in"),
        ("app.map_partitions_state_0_file_home_ann_x", "app.map_partitions_state_0_file_data_shop"),
        ("app.map_partitions_state_0_file_h", "app.map_partitions_state_0_file_data_shop"),
    ],
    ids=["whole", "cut off", "cut off early"],
)
def test_folders_in_the_names_of_rdd_jobs_are_replaced(name: str, clean: str) -> None:
    machine = Machine(paths={"/home/ann/x-1/data": "/data/shop"}, forbidden=("home_ann",))
    assert scrub(f'{{"name":"{name}"}}', machine) == f'{{"name":"{clean}"}}'
