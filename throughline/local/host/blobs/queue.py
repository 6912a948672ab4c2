"""The queue between the finding of blobs and the functions: its messages name blobs.

Names and formats are those of the real host (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.local.host.blobs.pattern import Pattern
from throughline.local.host.blobs.stored import Blob, QueueMessage
from throughline.local.host.index import Function, HostConfig
from throughline.local.host.logs import logger
from throughline.local.host.message_queue import MessageQueue, QueueNames
from throughline.local.host.storage import HostStorage
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum

POISON_QUEUE = "webjobs-blobtrigger-poison"
_LOOKS = 4  # HEAD requests with which the real host prepares an invocation
_PROPERTIES = {
    "etag": "ETag",
    "last-modified": "LastModified",
    "x-ms-creation-time": "CreatedOn",
    "content-type": "ContentType",
    "content-encoding": "ContentEncoding",
    "x-ms-blob-type": "BlobType",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobTarget:
    """A function that receives blobs, and the location of the blobs.

    `changed` is called with the name of a blob that has another version than its message; None delivers the present
    version, as with Event Grid.
    """

    function: Function
    source: HostStorage
    pattern: Pattern
    changed: Callable[[str], None] | None = None


class BlobQueue(MessageQueue):
    """The queue of one host, for all blob triggers."""

    def __init__(
        self,
        own: HostStorage,
        worker: WorkerProcess,
        config: HostConfig,
        *,
        host_id: str,
        visibility: int,
        retry: int,
        call: Callable[..., Any],
    ) -> None:
        names = QueueNames(queue=f"azure-webjobs-blobtrigger-{host_id}", poison=POISON_QUEUE)
        most = config.blob_parallelism
        super().__init__(own, names, most=most, visibility=visibility, retry=retry, call=call)
        self.targets: Mapping[str, BlobTarget] = {}
        self._worker, self._config = worker, config

    async def put(self, function_id: str, container: str, name: str, etag: str) -> None:
        """Queue one version of a blob for a function. Raises StorageError."""
        await self._call(self.put_now, function_id, container, name, etag)
        self.noted()

    def put_now(self, function_id: str, container: str, name: str, etag: str) -> None:
        """Do the same in a thread of the caller, which calls `noted` afterwards."""
        message = {
            "Type": "BlobTrigger",
            "FunctionId": function_id,
            "BlobType": "BlockBlob",
            "ContainerName": container,
            "BlobName": name,
            "ETag": etag,
        }
        self._own.put_message(self._name, message)

    async def _deliver(self, message: QueueMessage) -> bool:
        """Invoke the function for a message; return True when it must be tried again."""
        try:
            content = message.json()
            function_id, name, etag = content["FunctionId"], content["BlobName"], content["ETag"]
        except (ValueError, KeyError) as error:
            await self._poison(message, f"a message of another sender ({error!r})")
            return False
        target = self.targets.get(function_id)
        if target is None:
            logger.warning("%s is no longer in this app: its message for %s is dropped", function_id, name)
            return False
        threshold = self._config.poison_threshold
        if message.tries > threshold:  # each host that took it died
            await self._poison(message, f"{target.function.name} never finished with {name}")
            return False
        blob = await self._blob(target, name)
        if blob is None:
            return False
        if target.changed is not None and blob.etag != etag:
            target.changed(name)
            return False
        outcome = await self._worker.invoke(
            target.function,
            Datum(blob.data, "bytes"),
            _metadata(target, name, blob),
            f"{message.tries}/{threshold}",
        )
        if outcome.error and message.tries >= threshold:
            await self._poison(message, f"{target.function.name} failed {message.tries} times with {name}")
        return bool(outcome.error) and message.tries < threshold

    async def _blob(self, target: BlobTarget, name: str) -> Blob | None:
        """Return the blob's content; with polling, after as many HEAD requests as the real host makes."""
        for _ in range(_LOOKS if target.changed is not None else 0):
            if await self._call(target.source.head_blob, target.pattern.container, name) is None:
                return None
        blob: Blob | None = await self._call(target.source.get_blob, target.pattern.container, name)
        return blob


def _metadata(target: BlobTarget, name: str, blob: Blob) -> dict[str, Datum]:
    """Return the trigger metadata that the real host sends with the content."""
    properties: dict[str, Any] = {
        theirs: blob.properties[header] for header, theirs in _PROPERTIES.items() if header in blob.properties
    }
    properties["ContentLength"] = len(blob.data)
    names = target.pattern.match(name) or {}
    return {key: Datum(value, "string") for key, value in names.items()} | {
        "BlobTrigger": Datum(f"{target.pattern.container}/{name}", "string"),
        "Uri": Datum(blob.url, "string"),
        "Properties": Datum(json.dumps(properties), "json"),
        "Metadata": Datum(json.dumps(blob.metadata), "json"),
    }
