"""Blob triggers: their paths, and the queue between Event Grid's notices and the functions, whose messages name blobs.

Names and formats are those of the real host (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.local.host.config import HostConfig
from throughline.local.host.index import Function
from throughline.local.host.logs import logger
from throughline.local.host.message_queue import MessageQueue, QueueNames
from throughline.local.host.storage import Blob, HostStorage, QueueMessage
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum

POISON_QUEUE = "webjobs-blobtrigger-poison"
_PROPERTIES = {
    "etag": "ETag",
    "last-modified": "LastModified",
    "x-ms-creation-time": "CreatedOn",
    "content-type": "ContentType",
    "content-encoding": "ContentEncoding",
    "x-ms-blob-type": "BlobType",
}


class Pattern:
    """A trigger's `path`: a container, and a blob pattern with `{names}`; without one every blob matches."""

    def __init__(self, path: str) -> None:
        self.container, _, blob = path.partition("/")
        pieces = re.split(r"\{(\w+)\}", blob or "{name}")  # literal, name, literal, name, … literal
        self.prefix = pieces[0]
        parts = (f"(?P<{piece}>.*)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces))
        self._regex = re.compile("".join(parts), re.DOTALL)

    def match(self, blob: str) -> dict[str, str] | None:
        """Return the values of the names, or None when the blob does not match."""
        match = self._regex.fullmatch(blob)
        return match.groupdict() if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobTarget:
    """A function that receives blobs, and the location of the blobs."""

    function: Function
    source: HostStorage
    pattern: Pattern


class BlobQueue(MessageQueue):
    """The queue of one host, for all blob triggers."""

    def __init__(
        self,
        own_host_storage: HostStorage,
        worker: WorkerProcess,
        config: HostConfig,
        *,
        host_id: str,
        visibility: int,
        retry: int,
        call: Callable[..., Any],
    ) -> None:
        names = QueueNames(queue=f"azure-webjobs-blobtrigger-{host_id}", poison=POISON_QUEUE)
        limit = config.extensions.blobs.max_degree_of_parallelism
        super().__init__(own_host_storage, names, limit=limit, visibility=visibility, retry=retry, call=call)
        self.targets: Mapping[str, BlobTarget] = {}
        self._worker, self._threshold = worker, config.extensions.blobs.poison_blob_threshold

    async def put(self, function_id: str, container: str, name: str, etag: str) -> None:
        """Queue one version of a blob for a function. Raises StorageError."""
        message = {
            "Type": "BlobTrigger",
            "FunctionId": function_id,
            "BlobType": "BlockBlob",
            "ContainerName": container,
            "BlobName": name,
            "ETag": etag,
        }
        await self._call(self._own.put_message, self._name, message)
        self.noted()

    async def _deliver(self, message: QueueMessage) -> bool:
        """Invoke the function for a message, with the present version; return True when it must be tried again."""
        try:
            content = message.json()
            function_id, name = content["FunctionId"], content["BlobName"]
        except (ValueError, KeyError) as error:
            await self._poison(message, f"a message of another sender ({error!r})")
            return False
        target = self.targets.get(function_id)
        if target is None:
            logger.warning("%s is no longer in this app: its message for %s is dropped", function_id, name)
            return False
        threshold = self._threshold
        if message.tries > threshold:  # each host that took it died
            await self._poison(message, f"{target.function.name} never finished with {name}")
            return False
        blob: Blob | None = await self._call(target.source.get_blob, target.pattern.container, name)
        if blob is None:
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


def _metadata(target: BlobTarget, name: str, blob: Blob) -> dict[str, Datum]:
    """Return the trigger metadata that the real host sends with the content."""
    properties: dict[str, Any] = {
        property_name: blob.properties[header]
        for header, property_name in _PROPERTIES.items()
        if header in blob.properties
    }
    properties["ContentLength"] = len(blob.data)
    names = target.pattern.match(name) or {}
    return {key: Datum(value, "string") for key, value in names.items()} | {
        "BlobTrigger": Datum(f"{target.pattern.container}/{name}", "string"),
        "Uri": Datum(blob.url, "string"),
        "Properties": Datum(json.dumps(properties), "json"),
        "Metadata": Datum(json.dumps(blob.metadata), "json"),
    }
