"""Blob triggers: their paths, and the queue between Event Grid's notices and the functions, whose messages name blobs.

Names and formats are those of the real host (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs).
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from throughline.local.host.config import HostConfig
from throughline.local.host.index import Function
from throughline.local.host.logs import logger
from throughline.local.host.message_queue import Call, MessageQueue, Pace, QueueRules
from throughline.local.host.storage import HostStorage, QueueMessage
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum

POISON_QUEUE = "webjobs-blobtrigger-poison"


class Pattern:
    """A trigger's `path`: a container, and a blob pattern with `{names}`; without one every blob matches."""

    def __init__(self, path: str) -> None:
        self.container, _, blob = path.partition("/")
        pieces = re.split(r"\{\w+\}", blob or "{name}")
        self.prefix = pieces[0]
        self._regex = re.compile(".*".join(map(re.escape, pieces)), re.DOTALL)

    def matches(self, blob: str) -> bool:
        """Whether the name of a blob has this pattern."""
        return self._regex.fullmatch(blob) is not None


class BlobQueue(MessageQueue):
    """The queue of one host, for all blob triggers: `functions` by id."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        storage: HostStorage,
        worker: WorkerProcess,
        config: HostConfig,
        pace: Pace,
        *,
        host_id: str,
        call: Callable[..., Any],
    ) -> None:
        rules = QueueRules(
            name=f"azure-webjobs-blobtrigger-{host_id}",
            poison=POISON_QUEUE,
            limit=config.extensions.blobs.max_degree_of_parallelism,
            tries=config.extensions.blobs.poison_blob_threshold,
            visibility=pace.visibility,
            retry=pace.retry,
        )
        super().__init__(storage, worker, rules, call)
        self._functions = functions

    async def put(self, function_id: str, container: str, name: str, etag: str) -> None:
        """Queue one version of a blob for a function, once there is the queue. Raises StorageError."""
        await self._exists.wait()
        message = {
            "Type": "BlobTrigger",
            "FunctionId": function_id,
            "BlobType": "BlockBlob",
            "ContainerName": container,
            "BlobName": name,
            "ETag": etag,
        }
        await self._call(self._storage.put_message, self.name, message)
        self._news.set()

    async def _call_of(self, message: QueueMessage) -> Call | None:
        """Return the call with the present version of the blob; None when the function or the blob is gone."""
        content = json.loads(message.content())
        try:
            function_id, container, name = (content[key] for key in ("FunctionId", "ContainerName", "BlobName"))
        except (LookupError, TypeError) as error:
            raise ValueError(f"a message of another sender: {error!r}") from error
        function = self._functions.get(function_id)
        if function is None:
            logger.warning("%s is no longer in this app: its message for %s is dropped", function_id, name)
            return None
        data: bytes | None = await self._call(self._storage.get_blob, container, name)
        if data is None:
            return None
        metadata = {
            "BlobTrigger": Datum(f"{container}/{name}", "string"),
            "Uri": Datum(self._storage.blob_url(container, name), "string"),
            "Properties": Datum(json.dumps({"ContentLength": len(data)}), "json"),
        }
        return Call(function=function, value=Datum(data, "bytes"), metadata=metadata, subject=name)
