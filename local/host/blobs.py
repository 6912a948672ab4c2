"""Blob triggers: a scan finds new blobs, a queue carries them to the functions, receipts remember them.

Names and steps are those of the real host's `LogsAndContainerScan` (azure-sdk-for-net,
Microsoft.Azure.WebJobs.Extensions.Storage.Blobs). Delivery is at least once, in any order. Unlike the real host this
one expects to be alone: a receipt is written once, after its message and without a lease, so a crash between the two
makes a duplicate, never a loss. It also deletes receipts whose blob is gone or overwritten, and keeps the queue short,
because Azurite slows down with all that it stores.
"""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar, TypeVarTuple

from local.host.index import Function, HostConfig
from local.host.logs import logger
from local.host.scan import RECEIPTS, Trigger, Version
from local.host.settings import connection_string
from local.host.storage import Blob, Message, Storage, StorageError
from local.host.worker import Worker

POISON_QUEUE = "webjobs-blobtrigger-poison"
_QUEUED_AT_ONCE = 8
_MOST_MESSAGES = 32  # that one call may return
_SCAN_PAUSE = 9  # after a scan of t seconds at least 9 t pass until the next: Azurite does nothing else meanwhile
_PATIENCE_SECONDS = 0.1  # for more slots to become free before messages for those that are free are asked for
_IDLE_SECONDS = 1.0  # between looks into an empty queue, for messages that become visible again
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
class Pace:
    """Seconds: `poll` between scans, `visibility` that a message is ours without renewal, `retry` until a failed
    one is tried again.
    """

    poll: float = 10.0
    visibility: int = 30
    retry: int = 1


class BlobHost:
    """All blob triggers of an app, their queue and who serves it."""

    def __init__(
        self, functions: Iterable[Function], worker: Worker, *, config: HostConfig, pace: Pace, host_id: str
    ) -> None:
        self.calls: Counter[str] = Counter()
        self.scans: Counter[str] = Counter()
        self.poisoned = 0
        self._storages: dict[str, Storage] = {}
        self._own = self._storage("AzureWebJobsStorage")
        self._triggers = {
            function.id: Trigger(function, self._storage(function.trigger.data.get("connection")), host_id)
            for function in functions
        }
        self._worker, self._config, self._pace = worker, config, pace
        self._queue = f"azure-webjobs-blobtrigger-{host_id}"
        self._waiting: Counter[str] = Counter()  # found, not yet queued
        self._queued = 0  # messages in the queue, as far as we know
        self._news = asyncio.Event()  # there may be a message
        self._room = asyncio.Event()  # a message is done with
        self._running: set[asyncio.Task[None]] = set()
        self._putting: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(16, "storage")

    @property
    def queued(self) -> int:
        """How many blobs have been found and not begun with."""
        return self._waiting.total() + max(0, self._queued - len(self._running))

    async def run(self) -> None:
        """Scan and serve the queue until cancelled; what has begun by then goes on, see `finish`."""
        await self._retrying(self._prepare)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._retrying(self._serve_queue))
            for trigger in self._triggers.values():
                group.create_task(self._retrying(self._scan, trigger))

    async def finish(self) -> None:
        """Wait for the invocations that run."""
        while begun := self._running | self._putting:
            await asyncio.wait(begun)
        self._threads.shutdown()

    def _storage(self, setting: str | None) -> Storage:
        text = connection_string(setting or "AzureWebJobsStorage")
        if text not in self._storages:
            self._storages[text] = Storage(text, self.calls)
        return self._storages[text]

    async def _call(self, call: Callable[[*Arguments], T], *args: *Arguments) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)

    async def _retrying(self, loop: Callable[..., Any], *args: Any) -> None:
        """Run a loop, and again whenever storage was away."""
        while True:
            try:
                await loop(*args)
            except StorageError as error:
                logger.warning("storage: %s; trying again in %s s", error, self._pace.poll)
                await asyncio.sleep(self._pace.poll)
            else:
                return

    async def _prepare(self) -> None:
        await self._call(self._own.create_container, RECEIPTS)
        await self._call(self._own.create_queue, self._queue)
        for trigger in self._triggers.values():
            await self._call(trigger.load, self._own)
        self._queued = await self._call(self._own.count_messages, self._queue)

    # --- from the container to the queue

    async def _scan(self, trigger: Trigger) -> None:
        loop = asyncio.get_running_loop()
        next_full = loop.time()
        while True:
            begun = loop.time()
            # Between the scans of everything, where those take long, only of what comes last in order of names.
            after = "" if begun >= next_full else await self._call(trigger.watermark)
            found, gone = await self._call(trigger.look, after)
            if not after:
                next_full = loop.time() + _SCAN_PAUSE * (loop.time() - begun)
            self._waiting[trigger.function.id] = len(found)
            try:
                await _in_groups(found, lambda version: self._enqueue(trigger, version))
            finally:
                self._waiting[trigger.function.id] = 0
            await _in_groups(
                gone, lambda version: self._call(self._own.delete_blob, RECEIPTS, trigger.receipt(version))
            )
            trigger.seen -= gone
            self.scans[trigger.function.name] += not after
            pause = self._pace.poll if trigger.source.emulated else max(self._pace.poll, next_full - loop.time())
            await asyncio.sleep(pause)

    async def _enqueue(self, trigger: Trigger, version: Version) -> None:
        while self._queued >= max(_MOST_MESSAGES, 2 * self._config.blob_parallelism):
            self._room.clear()
            await self._room.wait()
        # Shielded and waited for at the end: a message without its receipt would be a duplicate after the restart.
        putting = asyncio.create_task(self._put(trigger, version))
        self._putting.add(putting)
        putting.add_done_callback(self._putting.discard)
        await asyncio.shield(putting)

    async def _put(self, trigger: Trigger, version: Version) -> None:
        name, etag = version
        message = {
            "Type": "BlobTrigger",
            "FunctionId": trigger.function.id,
            "BlobType": "BlockBlob",
            "ContainerName": trigger.pattern.container,
            "BlobName": name,
            "ETag": etag,
        }
        self._queued += 1
        try:
            await self._call(self._own.put_message, self._queue, message)
        except StorageError:
            self._queued -= 1
            raise
        self._waiting[trigger.function.id] -= 1
        self._news.set()
        await self._call(self._own.put_blob, RECEIPTS, trigger.receipt(version))
        trigger.seen.add(version)

    # --- from the queue to the functions

    async def _serve_queue(self) -> None:
        most = self._config.blob_parallelism
        while True:
            await self._slots(most)
            self._news.clear()
            wanted = min(_MOST_MESSAGES, most - len(self._running))
            messages = await self._call(self._own.get_messages, self._queue, wanted, self._pace.visibility)
            for message in messages:
                task = asyncio.create_task(self._serve(message))
                self._running.add(task)
                task.add_done_callback(self._done)
            if len(messages) < wanted:
                if self._queued and not self._running:  # perhaps our count is wrong
                    counted_from = self._queued
                    self._queued += await self._call(self._own.count_messages, self._queue) - counted_from
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), _IDLE_SECONDS)

    async def _slots(self, most: int) -> None:
        """Wait until half of the slots are free, or a moment later at least one is: few calls, and no idle slots."""
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

    async def _serve(self, message: Message) -> None:
        """Do what a message asks, holding it meanwhile."""
        held, done = [message], asyncio.Event()
        renewal = asyncio.create_task(self._renew(held, done))
        try:
            keep = await self._deliver(message)
        finally:
            done.set()
            await renewal  # not cancelled: a renewal on its way changes the receipt
        if keep:
            await self._call(self._own.hold_message, self._queue, held[0], self._pace.retry)
            asyncio.get_running_loop().call_later(self._pace.retry, self._news.set)
            return
        self._queued = max(0, self._queued - 1)
        if not await self._call(self._own.delete_message, self._queue, held[0]):
            logger.warning("message %s was taken by another host meanwhile, it may be served twice", message.id)

    async def _renew(self, held: list[Message], done: asyncio.Event) -> None:
        while True:
            try:
                await asyncio.wait_for(done.wait(), self._pace.visibility / 2)
            except TimeoutError:
                receipt = await self._call(self._own.hold_message, self._queue, held[0], self._pace.visibility)
                if receipt is None:
                    logger.warning("message %s was taken by another host meanwhile, it may be served twice", held[0].id)
                    return
                held[0] = replace(held[0], receipt=receipt)
            else:
                return

    async def _deliver(self, message: Message) -> bool:
        """Invoke the function for a message; True when it is to be tried again."""
        try:
            content = message.json()
            function_id, version = content["FunctionId"], (content["BlobName"], content["ETag"])
        except (ValueError, KeyError) as error:
            await self._poison(message, f"a message that is none of ours ({error!r})")
            return False
        trigger = self._triggers.get(function_id)
        if trigger is None:
            logger.warning("%s is not in this app any more: its message for %s is dropped", function_id, version[0])
            return False
        threshold = self._config.poison_threshold
        if message.tries > threshold:  # whoever had it died each time
            await self._poison(message, f"{trigger.function.name} never came to an end with {version[0]}")
            return False
        blob = await self._call(trigger.source.get_blob, trigger.pattern.container, version[0])
        if blob is None or blob.etag != version[1]:
            return False  # vanished, or overwritten: the scan finds the new version by itself
        outcome = await self._worker.invoke(
            trigger.function,
            self._worker.datum(blob.data, "bytes"),
            self._metadata(trigger, version[0], blob),
            f"{message.tries}/{threshold}",
        )
        if outcome.error and message.tries >= threshold:
            await self._poison(message, f"{trigger.function.name} failed {message.tries} times with {version[0]}")
        return bool(outcome.error) and message.tries < threshold

    async def _poison(self, message: Message, why: str) -> None:
        logger.error("moved to %s: %s", POISON_QUEUE, why)
        await self._call(self._own.create_queue, POISON_QUEUE)
        await self._call(self._own.put_raw_message, POISON_QUEUE, message.text)
        self.poisoned += 1

    def _metadata(self, trigger: Trigger, name: str, blob: Blob) -> dict[str, Any]:
        """Return what the real host sends beside the content."""
        properties: dict[str, Any] = {
            theirs: blob.properties[header] for header, theirs in _PROPERTIES.items() if header in blob.properties
        }
        properties["ContentLength"] = len(blob.data)
        datum = self._worker.datum
        names = trigger.pattern.match(name) or {}
        return {key: datum(value, "string") for key, value in names.items()} | {
            "BlobTrigger": datum(f"{trigger.pattern.container}/{name}", "string"),
            "Uri": datum(blob.url, "string"),
            "Properties": datum(json.dumps(properties), "json"),
            "Metadata": datum(json.dumps(blob.metadata), "json"),
        }


async def _in_groups(items: Iterable[Version], do: Callable[[Version], Any]) -> None:
    """Do something for all items, a few at a time; the first failure is raised when its group has ended."""
    todo = list(items)
    for start in range(0, len(todo), _QUEUED_AT_ONCE):
        results = await asyncio.gather(*map(do, todo[start : start + _QUEUED_AT_ONCE]), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
