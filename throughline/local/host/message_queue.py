"""A queue of messages as the host works through it: in batches, held while a function runs, tried again, then poison.

Names and formats are those of the real host (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs and
.Queues). Delivery is at least once, in any order.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from throughline.local.host.logs import logger
from throughline.local.host.storage import HostStorage, QueueMessage

_MOST_MESSAGES = 32  # the limit of one call
_PATIENCE_SECONDS = 0.1  # to wait for more free slots before messages for the free ones are requested
_IDLE_SECONDS = 1.0  # between two reads of an empty queue, for messages that become visible again


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNames:
    """The name of a queue, and of the one that takes its poison messages."""

    queue: str
    poison: str


class MessageQueue(ABC):
    """A queue that this host serves; `most` messages at once.

    `visibility` is the seconds for which a message is held without renewal, `retry` those until a failed one is tried
    again; `call` runs the storage calls.
    """

    def __init__(
        self,
        own_host_storage: HostStorage,
        names: QueueNames,
        *,
        limit: int,
        visibility: int,
        retry: int,
        call: Callable[..., Any],
    ) -> None:
        self.poisoned = 0
        self._own, self._name, self._poison_name = own_host_storage, names.queue, names.poison
        self._most, self._visibility, self._retry = limit, visibility, retry
        self._call = call
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

    def noted(self) -> None:
        """Count one more message."""
        self._queued += 1
        self._news.set()

    async def serve(self) -> None:
        """Deliver the queued messages until cancelled; running invocations continue, see `finish`."""
        limit = self._most
        while True:
            await self._slots(limit)
            self._news.clear()
            count = min(_MOST_MESSAGES, limit - len(self._running))
            messages = await self._call(self._own.get_messages, self._name, count, self._visibility)
            for message in messages:
                task = asyncio.create_task(self._serve(message))
                self._running.add(task)
                task.add_done_callback(self._done)
            if len(messages) < count:
                if self._queued and not self._running:  # the count may be wrong
                    counted_from = self._queued
                    self._queued += await self._call(self._own.count_messages, self._name) - counted_from
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), _IDLE_SECONDS)

    async def finish(self) -> None:
        """Wait for the invocations that run."""
        while self._running:
            await asyncio.wait(self._running)

    async def _slots(self, limit: int) -> None:
        """Wait for half of the slots, or after a moment for one: this makes few calls and leaves no slot idle."""
        loop = asyncio.get_running_loop()
        patience = loop.time() + _PATIENCE_SECONDS
        while (busy := len(self._running)) > limit // 2:
            self._room.clear()
            remaining = patience - loop.time()
            if remaining <= 0 and busy < limit:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._room.wait(), max(remaining, 0) if busy < limit else None)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._room.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("serving a message failed, it will be seen again: %r", error, exc_info=error)

    async def _serve(self, message: QueueMessage) -> None:
        """Execute a message, and hold it meanwhile."""
        lease, end = [message], asyncio.Event()
        renewal = asyncio.create_task(self._renew(lease, end))
        try:
            keep = await self._deliver(message)
        finally:
            end.set()
            await renewal  # not cancelled: a pending renewal changes the receipt
        if keep:
            await self._call(self._own.hold_message, self._name, lease[0], self._retry)
            asyncio.get_running_loop().call_later(self._retry, self._news.set)
            return
        self._queued = max(0, self._queued - 1)
        if not await self._call(self._own.delete_message, self._name, lease[0]):
            logger.warning("message %s was taken by another host meanwhile, it may be served twice", message.id)

    async def _renew(self, lease: list[QueueMessage], end: asyncio.Event) -> None:
        while True:
            try:
                await asyncio.wait_for(end.wait(), self._visibility / 2)
            except TimeoutError:
                receipt = await self._call(self._own.hold_message, self._name, lease[0], self._visibility)
                if receipt is None:
                    logger.warning(
                        "message %s was taken by another host meanwhile, it may be served twice", lease[0].id
                    )
                    return
                lease[0] = replace(lease[0], receipt=receipt)
            else:
                return

    @abstractmethod
    async def _deliver(self, message: QueueMessage) -> bool:
        """Invoke the function for a message; return True when it must be tried again."""

    async def _poison(self, message: QueueMessage, reason: str) -> None:
        logger.error("moved to %s: %s", self._poison_name, reason)
        await self._call(self._own.create_queue, self._poison_name)
        await self._call(self._own.put_raw_message, self._poison_name, message.text)
        self.poisoned += 1
