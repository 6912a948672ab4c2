"""How blobs are delivered: Event Grid, a real account's polling, the emulator's polling."""

import base64
import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
import requests
from azure.storage.blob import ContainerClient

from tests.local.host_contract import Bench, contract_case
from tests.local.host_contract.http import HOOK_KEY, write_keys
from tests.local.hosting import APPS, App, sample, wait_for
from throughline.local.event_grid import Weather
from throughline.local.host.blobs.delivery import EMULATOR, EVENT_GRID, POLLING
from throughline.local.host.blobs.polling import AccountStrategy, EmulatorStrategy
from throughline.local.host.index import read_functions
from throughline.local.host.storage import HostStorage

_HOOK = "/runtime/webhooks/blobs?functionName=Host.Functions.on_blob"


@contextmanager
def container_of(bench: Bench) -> Iterator[ContainerClient]:
    """Create and return the watched container."""
    with ContainerClient.from_connection_string(bench.azurite.connection_string, bench.container) as client:
        client.create_container()
        yield client


def _names(app: App, what: str) -> list[str]:
    return sorted(note["name"].rpartition("/")[2] for note in app.notes(what))


def _has_begun(app: App, name: str) -> bool:
    return name in _names(app, "begin")


def _has_state(app: App, state: str) -> bool:
    return bool(app.get("/admin/host/status")["state"] == state)


def _logged(log: Path, text: str) -> bool:
    return text in log.read_text()


def _created(container: ContainerClient, name: str) -> dict[str, object]:
    blob = container.get_blob_client(name)
    etag = blob.get_blob_properties().etag.strip('"')
    return {
        "topic": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
        "subject": f"/blobServices/default/containers/{container.container_name}/blobs/{name}",
        "eventType": "Microsoft.Storage.BlobCreated",
        "data": {"eTag": etag, "blobType": "BlockBlob", "url": f"{container.url}/{quote(name)}"},
    }


@contract_case("the webhook: 401 without its key, 200 to the handshake, 202 to a notification")
def _webhook(bench: Bench) -> None:
    keys = bench.scratch / "keys.json"
    write_keys(keys)
    with container_of(bench) as container, sample("blobs", bench.scratch, bench.settings(), "--keys", str(keys)) as app:
        app.delivery, app.notices = EVENT_GRID, False
        app.start()
        container.upload_blob("in/a b.txt", b"x")

        def post(kind: str, content: object, key: str = HOOK_KEY) -> requests.Response:
            headers = {"aeg-event-type": kind, "x-functions-key": key}
            return requests.post(f"{app.url}{_HOOK}", json=content, headers=headers, timeout=60)

        validation = [{"eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "data": {"validationCode": "7"}}]
        assert post("SubscriptionValidation", validation, key="").status_code == 401
        assert post("SubscriptionValidation", validation).json() == {"validationResponse": "7"}
        assert post("Nonsense", []).status_code == 400
        assert post("Notification", {"data": 1}).status_code == 400
        assert post("Notification", [_created(container, "in/a b.txt")]).status_code == 202
        assert wait_for(lambda: _names(app, "end") == ["a b.txt"])


@contract_case("Event Grid: at least once, in any order, some twice, some late, some never")
def _event_grid_delivery(bench: Bench) -> None:
    weather = Weather(seed=3, twice=0.3, late=0.3, never=0.2, lateness=1.0)
    written = [f"{number:02}.txt" for number in range(30)]
    expected = Counter({name: len(weather.deliveries(f"in/{name}")) for name in written})
    assert set(expected.values()) == {0, 1, 2}
    with container_of(bench) as container:
        for name in written:
            container.upload_blob(f"in/{name}", b"x")
        with sample("blobs", bench.scratch, bench.settings(), delivery=EVENT_GRID, weather=weather) as app:
            app.start()
            assert wait_for(lambda: len(app.notes("end")) == expected.total())
            assert Counter(_names(app, "end")) == +expected
            order = [note["name"].rpartition("/")[2] for note in app.notes("begin")]
            assert order != sorted(order)


@contract_case("polling: 8 HEAD, 1 GET, 4 writes on the receipt an event; name, uri, length, metadata")
def _calls_of_polling(bench: Bench) -> None:
    with container_of(bench) as container, sample("blobs", bench.scratch, bench.settings()) as app:
        for number in range(5):
            container.upload_blob(f"in/ü{number}.txt", b"12345", metadata={"who": "me"})
        app.start()
        assert wait_for(lambda: app.ended(5))
        assert app.scanned()
        note = app.notes("end")[0]
        assert note["uri"].endswith(f"/{container.container_name}/in/%C3%BC0.txt")
        assert (note["name"], note["length"]) == (f"{container.container_name}/in/ü0.txt", 5)
        assert note["metadata"] == {"who": "me"}
        calls = app.get("/admin/host/calls")["storage"]
        repeated = calls["head blob"] - 5 * 8  # blobs of the newest second are checked again, two HEAD each
        assert repeated >= 0
        assert repeated % 2 == 0
        kinds = ("get blob", "put blob", "lease blob", "set metadata", "release blob", "put message", "delete message")
        assert [calls[kind] for kind in kinds] == [5] * 7


@contract_case("a real account's polling: a page each ten seconds, found blobs queued one after another")
def _pages(bench: Bench) -> None:
    assert (AccountStrategy.interval, AccountStrategy.page) == (10.0, 5000)
    app_folder = bench.scratch / "app"
    shutil.copytree(APPS / "blobs", app_folder)
    blobs = {"maxDegreeOfParallelism": 1}
    (app_folder / "host.json").write_text(json.dumps({"version": "2.0", "extensions": {"blobs": blobs}}))
    with pytest.MonkeyPatch.context() as patch, container_of(bench) as container:
        for number in range(5):
            container.upload_blob(f"in/{number}.txt", b"x")
        for name, text in bench.settings().items():
            patch.setenv(name, text)
        (function,) = read_functions(app_folder)
        storage = HostStorage(bench.azurite.connection_string, Counter())
        strategy = AccountStrategy(function, storage, storage, "nobody")
        strategy.page = 2
        assert [len(strategy.look()) for _ in range(3)] == [2, 2, 1]
        with sample(app_folder, bench.scratch, bench.settings(), "--page", "2") as app:
            app.start()
            assert wait_for(lambda: app.ended(5))
            assert [note["name"][-5] for note in app.notes("begin")] == list("01234")


@contract_case("polling the emulator: each two seconds, and never a blob written in the second of a listing")
def _emulator(bench: Bench) -> None:
    assert EmulatorStrategy.interval == 2.0
    assert _written_after_a_look(bench, EMULATOR) == "missed"


@contract_case("a real account's polling finds a blob written in the second of a listing")
def _account(bench: Bench) -> None:
    assert _written_after_a_look(bench, POLLING) == "found"


def _written_after_a_look(bench: Bench, delivery: str) -> str:
    """Write a blob after a listing, in the same second; return `found` or `missed`. A later blob ends the wait."""
    with container_of(bench) as container, sample("blobs", bench.scratch, bench.settings(), delivery=delivery) as app:
        app.start()
        app.get("/admin/host/status")
        for attempt in range(10):
            time.sleep(1.0 - time.time() % 1)  # a second begins
            first, second = (container.get_blob_client(f"in/{attempt} {which}.txt") for which in ("a", "b"))
            first.upload_blob(b"x")
            assert wait_for(partial(_has_begun, app, f"{attempt} a.txt"))
            second.upload_blob(b"x")
            if first.get_blob_properties().last_modified == second.get_blob_properties().last_modified:
                break
        time.sleep(1.0)
        container.upload_blob("in/last.txt", b"x")
        assert wait_for(lambda: "last.txt" in _names(app, "end"))
        assert app.scanned()
        return "found" if f"{attempt} b.txt" in _names(app, "end") else "missed"


@contract_case("after five tries a message is poison; at most maxDegreeOfParallelism run at once")
def _poison(bench: Bench) -> None:
    app_folder = bench.scratch / "app"
    shutil.copytree(APPS / "blobs", app_folder)
    blobs = {"maxDegreeOfParallelism": 2}
    (app_folder / "host.json").write_text(json.dumps({"version": "2.0", "extensions": {"blobs": blobs}}))
    queue = f"azure-webjobs-blobtrigger-host-{bench.container}"
    storage = HostStorage(bench.azurite.connection_string, Counter())
    storage.create_queue(queue)
    contents = {"bad": b"fail"} | dict.fromkeys("0123", b"sleep 1")
    with container_of(bench) as container, sample(app_folder, bench.scratch, bench.settings(), "--retry", "0") as app:
        for name, content in contents.items():
            etag = container.upload_blob(f"in/{name}.txt", content).get_blob_properties().etag
            message = {"FunctionId": "Host.Functions.on_blob", "BlobName": f"in/{name}.txt", "ETag": etag}
            storage.put_message(queue, message | {"ContainerName": bench.container})
        app.delivery, app.notices = EVENT_GRID, False  # nothing but these messages
        app.start()
        assert wait_for(lambda: app.get("/admin/host/calls")["poisoned"] == 1)
        assert wait_for(lambda: app.ended(4))
        assert _names(app, "begin").count("bad.txt") == 5
        running = most = 0
        for note in app.notes("begin", "end"):
            if not note["name"].endswith("bad.txt"):
                running += 1 if note["what"] == "begin" else -1
                most = max(most, running)
        assert most <= 2
        texts = [message.text for message in storage.get_messages("webjobs-blobtrigger-poison", 32, 1)]
        poison = [json.loads(base64.b64decode(text)) for text in texts]
        assert [each["BlobName"] for each in poison if each["ContainerName"] == bench.container] == ["in/bad.txt"]


class _Refusing(BaseHTTPRequestHandler):
    """A storage account whose identity may use blobs and queues, but not the service's properties."""

    def do_GET(self) -> None:
        self._answer(403 if "comp=properties" in self.path else 200 if "comp=metadata" in self.path else 404)

    def do_PUT(self) -> None:
        self._answer(201)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("x-ms-approximate-messages-count", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()


@contract_case("refused service properties stop a polling host, 503 at /; with Event Grid it runs")
def _refused(bench: Bench) -> None:
    app_folder = bench.scratch / "app"
    shutil.copytree(APPS / "blobs", app_folder)
    shutil.copytree(APPS / "timers" / "at_start", app_folder / "at_start")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/acme"
        account = f"AccountName=acme;AccountKey=a2V5;BlobEndpoint={url};QueueEndpoint={url}"
        settings = bench.settings() | {"AzureWebJobsStorage": account}
        for delivery, status, state in ((POLLING, 503, "Error"), (EVENT_GRID, 200, "Running")):
            scratch = bench.scratch / delivery
            scratch.mkdir()
            with sample(app_folder, scratch, settings, delivery=delivery) as app:
                app.notices = False
                host = app.start()
                assert wait_for(partial(_has_state, app, state))
                if delivery == POLLING:
                    assert wait_for(partial(_logged, host.log, "Host.Startup[515] A host error has"))
                else:
                    assert wait_for(partial(app.notes, "start"))
                assert requests.get(f"{app.url}/", timeout=60).status_code == status
                assert bool(app.notes("start")) == (delivery == EVENT_GRID)
        server.shutdown()


@contract_case("a timer that was due while no host ran is called at the start, past due")
def _past_due(bench: Bench) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    storage = HostStorage(bench.azurite.connection_string, Counter())
    storage.create_container("azure-webjobs-hosts")
    status = f"timers/host-{bench.container}/Host.Functions.every_second/status"
    storage.put_blob("azure-webjobs-hosts", status, json.dumps({"Next": yesterday.isoformat()}).encode())
    with sample("timers", bench.scratch, bench.settings() | {"SCHEDULE": "0 0 0 1 1 *"}) as app:
        app.start()
        assert wait_for(lambda: app.notes("begin") and app.notes("start"))
        assert [note["past_due"] for note in app.notes("begin")] == [True]
        assert len(app.notes("start")) == 1, "runOnStartup"
