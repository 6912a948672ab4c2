"""The queue between the finding of blobs and the functions: messages, tries, poison.

Names and formats are those of the real host (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs).
Delivery is at least once, in any order.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, TypeVarTuple

from local.host.blobs.pattern import Pattern
from local.host.blobs.stored import Blob, QueueMessage
from local.host.index import Function, HostConfig
from local.host.logs import logger
from local.host.storage import HostStorage
from local.host.worker.client import WorkerProcess
from local.host.worker.messages import Datum

POISON_QUEUE = "webjobs-blobtrigger-poison"
_MOST_MESSAGES = 32  # the limit of one call
_PATIENCE_SECONDS = 0.1  # to wait for more free slots before messages for the free ones are requested
_IDLE_SECONDS = 1.0  # between two reads of an empty queue, for messages that become visible again
_LOOKS = 4  # HEAD requests with which the real host prepares an invocation
_PROPERTIES = {
    "etag": "ETag",
    "last-modified": "LastModified",
    "x-ms-creation-time": "CreatedOn",
    "content-type": "ContentType",
    "content-encoding": "ContentEncoding",
    "x-ms-blob-type": "BlobType",
}

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


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


class BlobQueue:
    """The queue of one host.

    `visibility` is the seconds for which a message is held without renewal, `retry` those until a failed one is tried
    again; `threads` runs the storage calls.
    """

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
        self.targets: Mapping[str, BlobTarget] = {}
        self.poisoned = 0
        self._own, self._worker, self._config = own, worker, config
        self._visibility, self._retry = visibility, retry
        self._call = call
        self._name = f"azure-webjobs-blobtrigger-{host_id}"
        self._queued = 0  # messages in the queue, as far as this host knows
        self._news = asyncio.Event()  # there may be a message
        self._room = asyncio.Event()  # a message is finished
        self._running: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """The number of messages that are not being served yet."""
        return max(0, self._queued - len(self._running))

    async def prepare(self) -> None:
        """Create the queue, and count the messages that an earlier host left in it."""
        await self._call(self._own.create_queue, self._name)
        self._queued = await self._call(self._own.count_messages, self._name)

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

    def noted(self) -> None:
        """Count one more message."""
        self._queued += 1
        self._news.set()

    async def serve(self) -> None:
        """Deliver the queued messages until cancelled; running invocations continue, see `finish`."""
        most = self._config.blob_parallelism
        while True:
            await self._slots(most)
            self._news.clear()
            wanted = min(_MOST_MESSAGES, most - len(self._running))
            messages = await self._call(self._own.get_messages, self._name, wanted, self._visibility)
            for message in messages:
                task = asyncio.create_task(self._serve(message))
                self._running.add(task)
                task.add_done_callback(self._done)
            if len(messages) < wanted:
                if self._queued and not self._running:  # the count may be wrong
                    counted_from = self._queued
                    self._queued += await self._call(self._own.count_messages, self._name) - counted_from
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), _IDLE_SECONDS)

    async def finish(self) -> None:
        """Wait for the invocations that run."""
        while self._running:
            await asyncio.wait(self._running)

    async def _slots(self, most: int) -> None:
        """Wait for half of the slots, or after a moment for one: this makes few calls and leaves no slot idle."""
        loop = asyncio.get_running_loop()
        patience = loop.time() + _PATIENCE_SECONDS
        while (busy := len(self._running)) > most // 2:
            self._room.clear()
            left = patience - loop.time()
            if left <= 0 and busy < most:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._room.wait(), max(left, 0) if busy < most else None)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._room.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("serving a message failed, it will be seen again: %r", error, exc_info=error)

    async def _serve(self, message: QueueMessage) -> None:
        """Execute a message, and hold it meanwhile."""
        held, done = [message], asyncio.Event()
        renewal = asyncio.create_task(self._renew(held, done))
        try:
            keep = await self._deliver(message)
        finally:
            done.set()
            await renewal  # not cancelled: a pending renewal changes the receipt
        if keep:
            await self._call(self._own.hold_message, self._name, held[0], self._retry)
            asyncio.get_running_loop().call_later(self._retry, self._news.set)
            return
        self._queued = max(0, self._queued - 1)
        if not await self._call(self._own.delete_message, self._name, held[0]):
            logger.warning("message %s was taken by another host meanwhile, it may be served twice", message.id)

    async def _renew(self, held: list[QueueMessage], done: asyncio.Event) -> None:
        while True:
            try:
                await asyncio.wait_for(done.wait(), self._visibility / 2)
            except TimeoutError:
                receipt = await self._call(self._own.hold_message, self._name, held[0], self._visibility)
                if receipt is None:
                    logger.warning("message %s was taken by another host meanwhile, it may be served twice", held[0].id)
                    return
                held[0] = replace(held[0], receipt=receipt)
            else:
                return

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

    async def _poison(self, message: QueueMessage, why: str) -> None:
        logger.error("moved to %s: %s", POISON_QUEUE, why)
        await self._call(self._own.create_queue, POISON_QUEUE)
        await self._call(self._own.put_raw_message, POISON_QUEUE, message.text)
        self.poisoned += 1


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
