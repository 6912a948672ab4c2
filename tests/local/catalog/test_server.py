"""The catalog as a process: start and end, several clients, data after a restart, and the counts."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.support.catalog_server import ROOT, TABLE, Json, get, post, run, search, table
from tests.support.started import started
from throughline.local.catalog.server import CatalogServer
from throughline.local.errors import LocalError


def job(name: str, inputs: Sequence[str], outputs: Sequence[str]) -> Json:
    def refs(names: Sequence[str]) -> list[Json]:
        return [{"typeName": TABLE, "uniqueAttributes": {"qualifiedName": ref}} for ref in names]

    attributes = {"qualifiedName": name, "name": name, "inputs": refs(inputs), "outputs": refs(outputs)}
    return {"typeName": "azure_synapse_operation", "guid": -1, "attributes": attributes}


def stops_listening(port: int, seconds: float = 10) -> bool:
    """Whether nothing listens on a port any more, within some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return True
        time.sleep(0.05)
    return False


def test_eight_concurrent_clients_lose_no_entity_and_no_call(fresh_catalog: CatalogServer) -> None:
    """All create the same assets and their own processes, and change entities of the others."""
    rounds, clients = 6, 8

    def work(number: int) -> None:
        for turn in range(rounds):
            post(fresh_catalog, table("shared"), table(f"t{turn}", -2), table(f"own{number}", -3)).raise_for_status()
            description = f"{number}/{turn}"
            post(fresh_catalog, table("shared", description=description)).raise_for_status()
            post(fresh_catalog, job(f"job{number}", ["shared", f"t{turn}"], [f"own{number}"])).raise_for_status()
            assert search(fresh_catalog, typeName=TABLE, query="shared")["approximateCount"] == 1

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, range(clients)))
    calls = fresh_catalog.calls()
    assert calls["entities"] == 1 + rounds + clients + clients
    assert calls["by_outcome"] == {
        "POST entity/bulk": {"200": 3 * rounds * clients},
        "POST search/basic": {"200": rounds * clients},
    }
    entity_answer = get(
        fresh_catalog, f"entity/uniqueAttribute/type/{TABLE}", **{"attr:qualifiedName": "shared"}
    ).json()
    active = [
        item["displayText"]
        for item in entity_answer["entity"]["relationshipAttributes"]["inputToProcesses"]
        if item["relationshipStatus"] == "ACTIVE"
    ]
    assert sorted(active) == sorted(f"job{number}" for number in range(clients))


def test_a_restart_or_kill_keeps_entities_and_types(tmp_path: Path) -> None:
    server = CatalogServer(data=tmp_path / "catalog.sqlite", token="secret")  # noqa: S106 (a made-up one)
    typedef = {"entityDefs": [{"name": "mine", "superTypes": ["DataSet"], "attributeDefs": []}]}
    with server:
        post(server, table("a", -1), table("b", -2), job("j", [], []) | {"guid": "-3"}).raise_for_status()
        post(server, job("j", ["a"], ["b"])).raise_for_status()
        headers = {"Authorization": "Bearer secret"}
        requests.post(f"{server.endpoint}/types/typedefs", json=typedef, headers=headers, timeout=60).raise_for_status()
        before = get(server, f"entity/uniqueAttribute/type/{TABLE}", **{"attr:qualifiedName": "a"}).json()
        url = server.url
    with server:
        assert server.url == url
        after = get(server, f"entity/uniqueAttribute/type/{TABLE}", **{"attr:qualifiedName": "a"}).json()
        assert [step["displayText"] for step in after["entity"]["relationshipAttributes"]["inputToProcesses"]] == ["j"]
        assert after == before
        assert "mine" in {typedef["name"] for typedef in get(server, "types/typedefs").json()["entityDefs"]}
        assert "mutatedEntities" not in post(server, job("j", ["a"], ["b"])).json()
        # Killed, not stopped: answered calls are stored.
        post(server, table("late")).raise_for_status()
        os.kill(server.pid, signal.SIGKILL)
        server.stop()
        server.start()
        assert server.calls()["entities"] == 4


def test_counts_by_verb_and_outcome(fresh_catalog: CatalogServer) -> None:
    post(fresh_catalog, table("a")).raise_for_status()
    assert post(fresh_catalog, table("a") | {"typeName": "nope"}).status_code == 400
    assert get(fresh_catalog, "entity/guid/none").status_code == 404
    assert requests.get(f"{fresh_catalog.endpoint}/types/typedefs", timeout=60).status_code == 401
    requests.post(
        f"{fresh_catalog.url}/api/atlas/v2/search/basic",
        json={"typeName": TABLE},
        auth=("admin", "local"),
        timeout=60,
    ).raise_for_status()
    calls = fresh_catalog.calls()
    assert (calls["reads"], calls["writes"], calls["entities"]) == (3, 2, 1)
    assert calls["by_verb"] == {
        "GET entity/guid/{guid}": 1,
        "GET types/typedefs": 1,
        "POST entity/bulk": 2,
        "POST search/basic": 1,
    }
    assert calls["by_outcome"]["POST entity/bulk"] == {"200": 1, "400": 1}
    assert calls["by_outcome"]["GET types/typedefs"] == {"401": 1}
    fresh_catalog.reset_calls()
    assert fresh_catalog.calls()["by_verb"] == {}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "admin/calls"), ("POST", "admin/calls/reset"), ("POST", "admin/reset")]
)
def test_reading_counts_and_resets_need_the_token(fresh_catalog: CatalogServer, method: str, path: str) -> None:
    post(fresh_catalog, table("a")).raise_for_status()
    assert requests.request(method, f"{fresh_catalog.url}/{path}", timeout=60).status_code == 401
    assert fresh_catalog.calls()["entities"] == 1


def test_a_reset_forgets_entities_and_keeps_types(fresh_catalog: CatalogServer) -> None:
    def has_type() -> bool:
        return "mine" in {typedef["name"] for typedef in get(fresh_catalog, "types/typedefs").json()["entityDefs"]}

    headers = {"Authorization": f"Bearer {fresh_catalog.token}"}
    typedef = {"entityDefs": [{"name": "mine", "superTypes": ["DataSet"], "attributeDefs": []}]}
    requests.post(f"{fresh_catalog.endpoint}/types/typedefs", json=typedef, headers=headers, timeout=60)
    post(fresh_catalog, table("a"), table("m", -2) | {"typeName": "mine"}).raise_for_status()
    fresh_catalog.reset()
    assert fresh_catalog.calls()["entities"] == 0
    assert has_type()
    fresh_catalog.reset(types=True)
    assert not has_type()


def test_status_is_public(catalog_server: CatalogServer) -> None:
    status = requests.get(f"{catalog_server.url}/api/atlas/admin/status", timeout=60)
    assert status.json() == {"Status": "ACTIVE"}


def test_an_open_connection_does_not_delay_the_stop(capsys: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    server = CatalogServer()
    with server, requests.Session() as session:
        seconds = time.monotonic() - start
        # An open connection does not delay the end.
        session.get(f"{server.url}/api/atlas/admin/status", timeout=60).raise_for_status()
        start = time.monotonic()
        server.stop()
        assert time.monotonic() - start < 5
    assert stops_listening(int(server.url.rpartition(":")[2]))
    with capsys.disabled():
        sys.stdout.write(f"[the catalog started in {seconds:.2f} s] ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_catalog_without_an_error(number: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "throughline.local.catalog", "--port", "0", "--data", str(tmp_path / "c.sqlite")]
    with started(command, cwd=ROOT, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        url = child.stdout.readline().split()[2].rstrip(",")
        root = url.removesuffix("/v2")
        for _ in range(100):
            try:
                assert requests.get(f"{root}/admin/status", timeout=60).ok
                break
            except requests.ConnectionError:
                time.sleep(0.05)
        child.send_signal(number)
        _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, "")


def test_the_catalog_ends_with_its_parent_process() -> None:
    script = (
        "import time\n"
        "from throughline.local.catalog.server import CatalogServer\n"
        "with CatalogServer() as server:\n"
        "    print(server.url.rpartition(':')[2], flush=True)\n"
        "    time.sleep(60)\n"
    )
    with started([sys.executable, "-c", script], cwd=ROOT) as starter:
        assert starter.stdout is not None
        port = int(starter.stdout.readline())
        assert not stops_listening(port, seconds=0.2)
        starter.kill()
    assert stops_listening(port)


def test_a_busy_port_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        outcome = run("--port", str(port))
        assert outcome.returncode == 2
        sentence = "can't be used (Address already in use): stop what listens there, or name another by --port"
        assert outcome.stderr == f"port {port} for the catalog {sentence}\n"
        with pytest.raises(LocalError, match=rf"port {port} .* name another"):
            CatalogServer(port=port).start()
    assert "must be from 0 to 65535" in run("--port", "70000").stderr
    assert "folder you can write to" in run("--port", "0", "--data", str(tmp_path / "no" / "c.sqlite")).stderr


def test_data_in_use_or_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with CatalogServer(data=path), pytest.raises(LocalError, match=r"database is locked\. Name another file"):
        CatalogServer(data=path).start()
    text = tmp_path / "text"
    text.write_text("no database, only words\n" * 100)
    with pytest.raises(LocalError, match=r"Can't use .*text"):
        CatalogServer(data=text).start()


def test_a_catalog_that_was_not_started_has_no_process() -> None:
    with pytest.raises(LocalError, match="not running"):
        _ = CatalogServer().pid
