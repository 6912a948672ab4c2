"""Blob triggers on the local functions host, with a real Azurite."""

import base64
import json
import signal
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from azure.storage.blob import ContainerClient

from tests.local.hosting import App, sample, wait_for
from throughline.local.azurite import Azurite
from throughline.local.event_grid.watch import BlobWatch
from throughline.local.host.blobs import Pattern
from throughline.local.host.storage import HostStorage

pytestmark = pytest.mark.azurite


@pytest.fixture
def app(azurite: Azurite, unique: str, tmp_path: Path) -> Iterator[App]:
    """The sample app with a blob trigger, not started yet."""
    settings = {
        "AzureWebJobsStorage": azurite.connection_string,
        "CONTAINER": unique,
        "AzureFunctionsWebHost__hostid": f"host-{unique}",
    }
    with sample("blobs", tmp_path, settings) as app:
        yield app


@pytest.fixture
def container(azurite: Azurite, unique: str) -> Iterator[ContainerClient]:
    """The watched container."""
    with ContainerClient.from_connection_string(azurite.connection_string, unique) as client:
        client.create_container()
        yield client


@pytest.fixture
def storage(azurite: Azurite) -> HostStorage:
    """The account's queues."""
    return HostStorage(azurite.connection_string, Counter())


def names(app: App, kind: str) -> list[str]:
    """Return the blobs of functions' recorded begins or ends."""
    return sorted(note["name"].rpartition("/")[2] for note in app.notes(kind))


def test_every_blob_is_delivered_once(app: App, container: ContainerClient) -> None:
    """Old and new ones, with name, length and address; other blobs are ignored."""
    container.upload_blob("in/a b/ü%41.txt", b"hello")
    container.upload_blob("in/other.json", b"no")
    container.upload_blob("elsewhere/in/x.txt", b"no")
    app.start()
    assert wait_for(lambda: len(app.notes("end")) == 1)
    for number in range(40):
        container.upload_blob(f"in/{number}.txt", b"x")
    assert wait_for(lambda: len(app.notes("end")) >= 41)
    assert app.quiet()
    assert names(app, "begin") == sorted(["ü%41.txt", *(f"{number}.txt" for number in range(40))])
    first = app.notes("end")[0]
    del first["at"]
    assert first == {
        "what": "end",
        "name": f"{container.container_name}/in/a b/ü%41.txt",
        "length": 5,
        "uri": container.get_blob_client("in/a b/ü%41.txt").url,
        "content": "hello",
    }
    calls = app.get("/admin/host/calls")
    assert calls["invocations"] == {"on_blob": {"ok": 41, "failed": 0}}
    assert (calls["in_flight"], calls["queued"], calls["poisoned"]) == (0, 0, 0)
    kinds = ("put message", "get blob", "delete message")
    assert [calls["storage"][kind] for kind in kinds] == [41] * 3


def test_an_overwritten_blob_is_delivered_again(app: App, container: ContainerClient) -> None:
    app.start()
    for times, content in ((1, b"one"), (2, b"two")):
        container.upload_blob("in/a.txt", content, overwrite=True)
        assert wait_for(partial(app.ended, times))
    assert [note["content"] for note in app.notes("end")] == ["one", "two"]
    assert app.quiet()
    assert len(app.notes("begin")) == 2


def test_a_restarted_host_delivers_only_new_blobs(app: App, container: ContainerClient) -> None:
    """It also remembers blobs found just before its end; only a new blob is delivered."""
    for number in range(30):
        container.upload_blob(f"in/{number}.txt", b"x")
    host = app.start()
    assert wait_for(lambda: len(app.notes("end")) >= 5)
    assert host.end() == 0
    app.start()
    container.upload_blob("in/new.txt", b"x")
    assert wait_for(lambda: len(set(names(app, "end"))) == 31)
    assert app.quiet()
    assert names(app, "end") == sorted(["new.txt", *(f"{number}.txt" for number in range(30))])


def test_a_failing_blob_is_retried_and_then_moved_to_the_poison_queue(
    app: App, container: ContainerClient, storage: HostStorage
) -> None:
    """After poisonBlobThreshold tries its message is in the poison queue; others are not delayed."""
    app.start()
    container.upload_blob("in/bad.txt", b"fail")
    container.upload_blob("in/good.txt", b"x")
    assert wait_for(lambda: app.get("/admin/host/calls")["poisoned"] == 1)
    assert names(app, "begin") == ["bad.txt", "bad.txt", "good.txt"]
    calls = app.get("/admin/host/calls")
    assert calls["invocations"] == {"on_blob": {"ok": 1, "failed": 2}}
    poison = [json.loads(message.content()) for message in storage.get_messages("webjobs-blobtrigger-poison", 32, 1)]
    (own_message,) = [message for message in poison if message["ContainerName"] == container.container_name]
    assert own_message["BlobName"] == "in/bad.txt"
    assert own_message["FunctionId"] == "Host.Functions.on_blob"
    log = app.hosts[0].log.read_text()
    assert "try=1/2 failed: ValueError('asked to fail')" in log
    assert "try=2/2 failed: ValueError('asked to fail')" in log


def test_a_killed_host_s_blobs_are_delivered_again(app: App, container: ContainerClient) -> None:
    """They are delivered soon after the restart; finished ones are not."""
    host = app.start()
    container.upload_blob("in/done.txt", b"x")
    assert wait_for(lambda: app.quiet() and names(app, "end") == ["done.txt"])
    container.upload_blob("in/cut.txt", b"sleep 0.8")
    assert wait_for(lambda: names(app, "begin") == ["cut.txt", "done.txt"])
    host.end(signal.SIGKILL)
    app.start()
    assert wait_for(lambda: names(app, "end") == ["cut.txt", "done.txt"])
    assert names(app, "begin") == ["cut.txt", "cut.txt", "done.txt"]


def test_functions_run_concurrently_and_a_long_call_keeps_its_message(app: App, container: ContainerClient) -> None:
    """As many run as host.json allows, and one that takes longer than its message's visibility runs once."""
    container.upload_blob("in/long.txt", b"sleep 3.2")
    for number in range(5):
        container.upload_blob(f"in/{number}.txt", b"sleep 1")
    host = app.start()
    assert wait_for(lambda: len(app.notes("begin")) == 6)
    assert not app.notes("end")
    assert wait_for(lambda: len(app.notes("end")) == 5)
    assert host.end() == 0, "it waits for the long one"
    assert [note["what"] for note in app.notes("begin", "end")] == ["begin"] * 6 + ["end"] * 6


def test_messages_without_a_blob_are_dropped(app: App, container: ContainerClient, storage: HostStorage) -> None:
    """A deleted blob, a removed function; a message of an unknown sender is poisoned."""
    app.notices = False
    queue = f"azure-webjobs-blobtrigger-host-{container.container_name}"
    container.upload_blob("in/now.txt", b"x")
    storage.create_queue(queue)
    message = {"FunctionId": "Host.Functions.on_blob", "ContainerName": container.container_name, "ETag": '"0x1"'}
    message["BlobName"] = "in/now.txt"
    for change in ({}, {"BlobName": "in/gone.txt"}, {"FunctionId": "Host.Functions.gone"}):
        storage.put_message(queue, message | change)
    storage.put_text(queue, base64.b64encode(json.dumps([1]).encode()).decode())
    app.start()
    assert wait_for(lambda: names(app, "end") == ["now.txt"])
    assert wait_for(lambda: storage.count_messages(queue) == 0)
    calls = app.get("/admin/host/calls")
    assert calls["invocations"] == {"on_blob": {"ok": 1, "failed": 0}}
    assert (calls["queued"], calls["poisoned"]) == (0, 1)
    assert "Host.Functions.gone is no longer in this app" in app.hosts[0].log.read_text()


def test_the_host_starts_without_storage_and_continues_when_it_is_available(tmp_path: Path) -> None:
    """The host answers meanwhile, logs the problem, and continues when storage is available."""
    with Azurite() as first_azurite:
        settings = {"AzureWebJobsStorage": first_azurite.connection_string, "CONTAINER": "later"}
    with sample("blobs", tmp_path, settings) as app:
        host = app.start()
        assert app.get("/admin/host/status")["state"] == "Running"
        assert wait_for(lambda: "no answer from" in host.log.read_text())
        with Azurite(ports=first_azurite.ports) as back:
            with ContainerClient.from_connection_string(back.connection_string, "later") as container:
                container.create_container()
                container.upload_blob("in/a.txt", b"x")
            assert wait_for(lambda: names(app, "end") == ["a.txt"])
            assert host.end() == 0
    assert "sig=" not in host.log.read_text()


def test_new_blobs_are_found_by_listing_the_last_names(container: ContainerClient, storage: HostStorage) -> None:
    """When listing everything takes long, Event Grid's watch lists only the last names, and sometimes all."""
    watch = BlobWatch(storage, Pattern(container.container_name), None)
    for number in range(1000, 1600):
        container.upload_blob(f"{number}", b"x")
    assert len(watch.look()) == 600
    assert watch.watermark() == "1350"
    container.upload_blob("3000", b"x")
    container.upload_blob("0001", b"x")
    assert [blob.name for blob in watch.look()] == ["3000"]
    assert wait_for(lambda: [blob.name for blob in watch.look()] == ["0001"])
