"""A queue of messages as the host works through it: held while a function runs, tried again, then poison.

Names and formats are those of the real host (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs and
.Queues). Delivery is at least once, in any order.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from throughline.local.host.index import Function
from throughline.local.host.logs import logger
from throughline.local.host.storage import HostStorage, QueueMessage
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum

_MOST_MESSAGES = 32  # the limit of one call
_IDLE_SECONDS = 1.0  # between two reads of an empty queue, for messages that become visible again


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How messages are served.

    Seconds: `visibility` for which a message is held without renewal, `retry` until a failed one is tried again,
    `patience` for which storage may be unavailable.
    """

    visibility: int = 30
    retry: int = 1
    patience: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """The name of a queue, and of the one that takes its poison messages; how its messages are served.

    At most `limit` at once, each tried `tries` times. Seconds: `visibility` for which a message is held without
    renewal, `retry` until a failed one is tried again.
    """

    name: str
    poison: str
    limit: int
    tries: int
    visibility: int
    retry: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The call that a message stands for: a function with its trigger's value; `subject` names the value in the log."""

    function: Function
    value: Datum
    metadata: dict[str, Datum]
    subject: str


class MessageQueue(ABC):
    """A queue that this host serves. `call` runs the storage calls."""

    def __init__(
        self, storage: HostStorage, worker: WorkerProcess, rules: QueueRules, call: Callable[..., Any]
    ) -> None:
        self.poisoned = 0
        self._storage, self._worker, self._rules, self._call = storage, worker, rules, call
        self._exists = asyncio.Event()
        self._news = asyncio.Event()  # there may be a message
        self._room = asyncio.Event()  # a message is finished
        self._running: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._rules.name

    async def serve(self) -> None:
        """Deliver the queued messages until cancelled; running invocations continue, see `finish`."""
        await self._call(self._storage.create_queue, self.name)
        self._exists.set()
        while True:
            while len(self._running) >= self._rules.limit:
                self._room.clear()
                await self._room.wait()
            self._news.clear()
            count = min(_MOST_MESSAGES, self._rules.limit - len(self._running))
            messages = await self._call(self._storage.get_messages, self.name, count, self._rules.visibility)
            for message in messages:
                task = asyncio.create_task(self._serve(message))
                self._running.add(task)
                task.add_done_callback(self._done)
            if len(messages) < count:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), _IDLE_SECONDS)

    async def finish(self) -> None:
        """Wait for the invocations that run."""
        while self._running:
            await asyncio.wait(self._running)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._room.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("serving a message failed, it will be seen again: %r", error, exc_info=error)

    async def _serve(self, message: QueueMessage) -> None:
        """Deliver a message, and hold it meanwhile."""
        end = asyncio.Event()
        renewal = asyncio.create_task(self._held(message, end))
        try:
            is_left = await self._deliver(message)
        finally:
            end.set()
            message = await renewal  # not cancelled: a pending renewal changes the receipt
        if is_left:
            await self._call(self._storage.hold_message, self.name, message, self._rules.retry)
            asyncio.get_running_loop().call_later(self._rules.retry, self._news.set)
        elif not await self._call(self._storage.delete_message, self.name, message):
            logger.warning("message %s was taken by another host meanwhile, it may be served twice", message.id)

    async def _held(self, message: QueueMessage, end: asyncio.Event) -> QueueMessage:
        """Hold a message until the end or until another host took it, and return it with its last receipt."""
        while True:
            try:
                await asyncio.wait_for(end.wait(), self._rules.visibility / 2)
            except TimeoutError:
                hold = self._storage.hold_message
                if (receipt := await self._call(hold, self.name, message, self._rules.visibility)) is None:
                    return message
                message = replace(message, receipt=receipt)
            else:
                return message

    async def _deliver(self, message: QueueMessage) -> bool:
        """Invoke the function for a message; return True when it must be tried again."""
        tries = self._rules.tries
        try:
            call = await self._call_of(message)
        except ValueError as error:
            await self._poison(message, f"message {message.id} can't be read ({error!r})")
            return False
        if call is None:
            return False
        if message.tries > tries:  # each host that took it died
            await self._poison(message, f"{call.function.name} never finished with {call.subject}")
            return False
        outcome = await self._worker.invoke(call.function, call.value, call.metadata, f"{message.tries}/{tries}")
        if outcome.error and message.tries == tries:
            await self._poison(message, f"{call.function.name} failed {tries} times with {call.subject}")
        return bool(outcome.error) and message.tries < tries

    @abstractmethod
    async def _call_of(self, message: QueueMessage) -> Call | None:
        """Return the call that a message stands for; None: it is of no use any more. ValueError: it is no message."""

    async def _poison(self, message: QueueMessage, reason: str) -> None:
        logger.error("moved to %s: %s", self._rules.poison, reason)
        await self._call(self._storage.create_queue, self._rules.poison)
        await self._call(self._storage.put_text, self._rules.poison, message.text)
        self.poisoned += 1
