"""How blobs are delivered by Event Grid."""

import base64
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import requests
from azure.storage.blob import ContainerClient

from tests.local.host_contract import Bench, contract_case
from tests.local.hosting import APPS, App, sample, wait_for
from throughline.local.host.storage import HostStorage

_HOOK = "/runtime/webhooks/blobs?functionName=Host.Functions.on_blob"


@contextmanager
def container_of(bench: Bench) -> Iterator[ContainerClient]:
    """Create and return the watched container."""
    with ContainerClient.from_connection_string(bench.azurite.connection_string, bench.container) as client:
        client.create_container()
        yield client


def _names(app: App, kind: str) -> list[str]:
    return sorted(note["name"].rpartition("/")[2] for note in app.notes(kind))


def _created(container: ContainerClient, name: str) -> dict[str, object]:
    blob = container.get_blob_client(name)
    etag = blob.get_blob_properties().etag.strip('"')
    return {
        "topic": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
        "subject": f"/blobServices/default/containers/{container.container_name}/blobs/{name}",
        "eventType": "Microsoft.Storage.BlobCreated",
        "data": {"eTag": etag, "blobType": "BlockBlob", "url": f"{container.url}/{quote(name)}"},
    }


@contract_case("the webhook: 200 to the handshake, 202 to a notification")
def _webhook(bench: Bench) -> None:
    with container_of(bench) as container, sample("blobs", bench.scratch, bench.settings()) as app:
        app.notices = False
        app.start()
        container.upload_blob("in/a b.txt", b"x")

        def post(kind: str, content: object) -> requests.Response:
            return requests.post(f"{app.url}{_HOOK}", json=content, headers={"aeg-event-type": kind}, timeout=60)

        validation = [{"eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "data": {"validationCode": "7"}}]
        assert post("SubscriptionValidation", validation).json() == {"validationResponse": "7"}
        assert post("Nonsense", []).status_code == 400
        assert post("Notification", {"data": 1}).status_code == 400
        assert post("Notification", [_created(container, "in/a b.txt")]).status_code == 202
        assert wait_for(lambda: _names(app, "end") == ["a b.txt"])


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
        app.notices = False  # nothing but these messages
        app.start()
        assert wait_for(lambda: app.get("/admin/host/calls")["poisoned"] == 1)
        assert wait_for(lambda: app.ended(4))
        assert _names(app, "begin").count("bad.txt") == 5
        running = peak = 0
        for note in app.notes("begin", "end"):
            if not note["name"].endswith("bad.txt"):
                running += 1 if note["what"] == "begin" else -1
                peak = max(peak, running)
        assert peak <= 2
        texts = [message.text for message in storage.get_messages("webjobs-blobtrigger-poison", 32, 1)]
        poison = [json.loads(base64.b64decode(text)) for text in texts]
        assert [message["BlobName"] for message in poison if message["ContainerName"] == bench.container] == [
            "in/bad.txt"
        ]
