"""The Azurite launcher: three services, clear errors, nothing left behind."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from tests.local.hosting import PROJECT, wait_for
from tests.support.started import started
from throughline.local.azurite import Azurite, install
from throughline.local.errors import LocalError
from throughline.local.toolchain.node import NodeTools, find_node
from throughline.local.toolchain.stamp import install_once

pytestmark = pytest.mark.azurite


def test_the_blob_and_table_services_answer(azurite: Azurite, unique: str) -> None:
    """Under one connection string."""
    with BlobServiceClient.from_connection_string(azurite.connection_string) as blobs:
        blobs.create_container(unique).upload_blob("a", b"content")
        assert blobs.get_blob_client(unique, "a").download_blob().readall() == b"content"
    with TableServiceClient.from_connection_string(azurite.connection_string) as tables:
        tables.create_table(unique).create_entity({"PartitionKey": "p", "RowKey": "r"})
        assert [row["RowKey"] for row in tables.get_table_client(unique).list_entities()] == ["r"]


def test_each_account_has_data_of_its_own(azurite: Azurite, empty_accounts: Iterator[str]) -> None:
    for account in (next(empty_accounts), next(empty_accounts)):
        with BlobServiceClient.from_connection_string(account) as blobs:
            assert list(blobs.list_containers()) == []
            blobs.create_container("of-one-account")
        with TableServiceClient.from_connection_string(account) as tables:
            assert list(tables.list_tables()) == []
            tables.create_table("ofOneAccount")
    with open_blobs(azurite) as blobs:
        assert "of-one-account" not in [container.name for container in blobs.list_containers()]


def test_a_location_keeps_data_across_a_restart(tmp_path: Path) -> None:
    """The data survives a restart; nothing listens after the stop."""
    with Azurite(location=tmp_path / "store") as first, open_blobs(first) as blobs:
        port = first.ports["blob"]
        blobs.create_container("kept").upload_blob("a", b"content")
    assert not listens(port)
    with Azurite(location=tmp_path / "store") as second, open_blobs(second) as blobs:
        assert blobs.get_blob_client("kept", "a").download_blob().readall() == b"content"


def open_blobs(azurite: Azurite) -> BlobServiceClient:
    """Return a client for its blobs."""
    return BlobServiceClient.from_connection_string(azurite.connection_string)


def test_the_error_names_a_busy_port(azurite: Azurite) -> None:
    """The error names the port and what to do; nothing is started."""
    port = azurite.ports["queue"]
    second_azurite = Azurite(ports={"queue": port})
    with pytest.raises(LocalError, match=rf"port {port} is in use by another program: stop it .* --free-ports"):
        second_azurite.__enter__()


def test_the_error_names_a_port_that_another_service_takes_at_the_start() -> None:
    """In the same sentence, without Azurite's own output: here by another of its services."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(LocalError, match=rf"^port {port} is in use by another program: [^\n]*$"):
        Azurite(ports={"blob": port, "table": port}).__enter__()


def test_the_error_of_a_failed_start_contains_the_output_of_azurite(tmp_path: Path) -> None:
    """Its own output is in the error."""
    (tmp_path / "__azurite_db_blob__.json").write_text("this is no database")
    with pytest.raises(LocalError, match=r"Azurite ended at once; its output: (.|\n)*JSON"):
        Azurite(location=tmp_path).__enter__()


def test_azurite_ends_when_its_parent_is_killed() -> None:
    """It ends although the parent could not end it."""
    script = (
        "import time; from throughline.local.azurite import Azurite; running = Azurite().__enter__(); "
        "print(running.ports['blob'], flush=True); time.sleep(60)"
    )
    with started([sys.executable, "-c", script], cwd=PROJECT) as parent:
        assert parent.stdout is not None
        port = int(parent.stdout.readline())
        assert listens(port)
        parent.send_signal(signal.SIGKILL)
    assert wait_for(lambda: not listens(port))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_runs_azurite_until_a_signal(number: signal.Signals) -> None:
    """It prints the connection string first."""
    command = [sys.executable, "-m", "throughline.local.azurite", "--free-ports"]
    with started(command, cwd=PROJECT) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;")
        port = int(line.partition("BlobEndpoint=http://127.0.0.1:")[2].partition("/")[0])
        assert listens(port)
        running.send_signal(number)
        assert running.wait(20) == 0
    assert not listens(port)


def listens(port: int) -> bool:
    """Whether the port accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_second_install_does_nothing() -> None:
    """It does not call npm: there is none under this name."""
    assert install(NodeTools(node=Path("none"), npm=("no-such-npm",))).is_file()


def test_a_folder_is_made_again_when_its_sources_change(tmp_path: Path) -> None:
    """Otherwise it is unchanged; when making it fails, the old one stays."""
    build = tmp_path / "build"
    source, paths = tmp_path / "source", list[Path]()

    def make(folder: Path) -> None:
        paths.append(folder)
        (folder / "made").write_text(source.read_text())
        if source.read_text() == "bad":
            raise RuntimeError("asked to fail")

    for content, times in (("one", 1), ("one", 1), ("two", 2)):
        source.write_text(content)
        assert (install_once("thing", (source,), make, build=build) / "made").read_text() == content
        assert len(paths) == times
    source.write_text("bad")
    with pytest.raises(RuntimeError, match="asked to fail"):
        install_once("thing", (source,), make, build=build)
    assert (build / "thing" / "made").read_text() == "two"


def test_node_and_npm_are_found() -> None:
    tools = find_node()
    version = subprocess.run([*tools.npm, "--version"], capture_output=True, text=True, check=True).stdout
    assert int(version.partition(".")[0]) >= 9
