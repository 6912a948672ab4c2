"""Triggers of storage: finding blobs (by polling or Event Grid's webhook), queues, and unavailable storage."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, TypeVarTuple

from throughline.local.host.blobs.delivery import EMULATOR, EVENT_GRID, POLLING
from throughline.local.host.blobs.pattern import RECEIPTS, Pattern
from throughline.local.host.blobs.polling import AccountStrategy, EmulatorStrategy, Strategy
from throughline.local.host.blobs.queue import BlobQueue, BlobTarget
from throughline.local.host.blobs.receipts import Receipts
from throughline.local.host.index import Function, HostConfig
from throughline.local.host.logs import logger
from throughline.local.host.message_queue import MessageQueue
from throughline.local.host.queues import TriggerQueue
from throughline.local.host.settings import connection_string
from throughline.local.host.storage import HostStorage, StorageError, StorageRefusedError
from throughline.local.host.worker.client import WorkerProcess

_RETRY_SECONDS = 1.0

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


class StorageGoneError(Exception):
    """Storage has been unavailable for longer than the host waits."""


class ListenerError(Exception):
    """The listener of the blob triggers can't start; the host is in error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How blobs are found and served.

    `delivery`: None follows function.json and the account. Seconds: `poll` between listings (None: the strategy's own),
    `visibility` for which a message is held without renewal, `retry` until a failed one is tried again, `patience` for
    which storage may be unavailable. `page`: blobs that one listing of an account returns.
    """

    delivery: str | None = None
    poll: float | None = None
    visibility: int = 30
    retry: int = 1
    patience: float = 30.0
    page: int = AccountStrategy.page


class StorageHost:
    """All blob and queue triggers of an app."""

    def __init__(
        self, functions: Sequence[Function], worker: WorkerProcess, *, config: HostConfig, pace: Pace, host_id: str
    ) -> None:
        self.calls: Counter[str] = Counter()
        self.scans: Counter[str] = Counter()
        self._pace, self._host_id = pace, host_id
        self._storages: dict[str, HostStorage] = {}
        self._own = self._storage("AzureWebJobsStorage")
        self._threads = ThreadPoolExecutor(16, "storage")
        self._away_since: float | None = None
        self._found: Counter[str] = Counter()  # not yet queued
        self._queueing: set[asyncio.Task[bool]] = set()
        self.queue = BlobQueue(
            self._own,
            worker,
            config,
            host_id=host_id,
            visibility=pace.visibility,
            retry=pace.retry,
            call=self._call,
        )
        self._strategies: list[Strategy] = []
        self._queues = [
            TriggerQueue(
                function,
                self._storage(function.trigger.data.get("connection")),
                worker,
                config,
                visibility=pace.visibility,
                call=self._call,
            )
            for function in functions
            if function.trigger.type == "queueTrigger"
        ]
        targets = {}
        for function in functions:
            if function.trigger.type != "blobTrigger":
                continue
            strategy = self._strategy(function)
            targets[function.id] = BlobTarget(
                function=function,
                source=self._storage(function.trigger.data.get("connection")),
                pattern=Pattern(function.trigger.data["path"]),
                changed=None if strategy is None else strategy.again.append,
            )
            if strategy is not None:
                self._strategies.append(strategy)
        self.queue.targets = targets

    @property
    def queued(self) -> int:
        """The number of found blobs and messages that are not being served yet."""
        return self._found.total() + sum(each.waiting for each in self._served)

    @property
    def poisoned(self) -> int:
        """The number of messages that were given up."""
        return sum(each.poisoned for each in self._served)

    @property
    def _served(self) -> tuple[MessageQueue, ...]:
        return (*((self.queue,) if self.queue.targets else ()), *self._queues)

    async def prepare(self) -> None:
        """Prepare the finding of blobs.

        Raises ListenerError when the account refuses a call that polling needs, StorageGoneError when it is unavailable
        for long.
        """
        await self._retrying(self._prepare)

    async def run(self) -> None:
        """Find blobs and serve the queue until cancelled; running invocations continue, see `finish`.

        Raises StorageGoneError when storage is unavailable for long.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for queue in self._served:
                    group.create_task(self._retrying(queue.serve))
                for strategy in self._strategies:
                    group.create_task(self._retrying(partial(self._poll, strategy)))
        except ExceptionGroup as several:
            raise several.exceptions[0] from several

    async def finish(self) -> None:
        """Wait for the invocations that run."""
        if self._queueing:
            await asyncio.wait(self._queueing)
        for queue in self._served:
            await queue.finish()
        self._threads.shutdown()

    def _storage(self, setting: str | None) -> HostStorage:
        text = connection_string(setting or "AzureWebJobsStorage")
        if text not in self._storages:
            self._storages[text] = HostStorage(text, self.calls)
        return self._storages[text]

    def _strategy(self, function: Function) -> Strategy | None:
        """Return the polling strategy of a function's blobs; None with Event Grid."""
        source = self._storage(function.trigger.data.get("connection"))
        usual = EMULATOR if source.emulated else POLLING
        if function.trigger.data.get("source") == "EventGrid":
            usual = EVENT_GRID
        delivery = self._pace.delivery or usual
        if delivery == EVENT_GRID:
            return None
        strategy: Strategy
        if delivery == EMULATOR:
            strategy = EmulatorStrategy(function, source)
        else:
            strategy = AccountStrategy(function, source, self._own, self._host_id)
            strategy.page = self._pace.page
        strategy.interval = self._pace.poll or strategy.interval
        return strategy

    async def _call(self, call: Callable[[*Arguments], T], *args: *Arguments) -> T:
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._threads, call, *args)
        except StorageRefusedError:
            raise
        except StorageError:
            self._away_since = self._away_since or loop.time()
            raise
        self._away_since = None
        return answer

    async def _retrying(self, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop, and start it again whenever storage was unavailable."""
        while True:
            try:
                await loop()
            except StorageError as error:
                away = asyncio.get_running_loop().time() - (self._away_since or asyncio.get_running_loop().time())
                if away >= self._pace.patience:
                    raise StorageGoneError(f"storage has been unavailable for {away:.0f} s: {error}") from error
                logger.warning("storage: %s; trying again in %s s", error, _RETRY_SECONDS)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def _prepare(self) -> None:
        await self._call(self._own.create_container, RECEIPTS)
        for queue in self._served:
            await queue.prepare()
        try:
            for strategy in self._strategies:
                await self._call(strategy.begin)
        except StorageRefusedError as error:
            raise ListenerError(str(error)) from error

    async def _poll(self, strategy: Strategy) -> None:
        function = strategy.function
        receipts = Receipts(self._own, self._host_id, function.id)
        while True:
            names = deque(await self._call(strategy.look))
            try:
                while names:  # one after another, as in the real host
                    self._found[function.id] = len(names)
                    # Shielded, and waited for at the end: a message without its receipt would be a duplicate.
                    queueing = asyncio.create_task(self._queue(strategy, receipts, names[0]))
                    self._queueing.add(queueing)
                    queueing.add_done_callback(self._queueing.discard)
                    if not await asyncio.shield(queueing):
                        strategy.again.append(names[0])
                    names.popleft()
            finally:
                strategy.again.extend(names)  # storage was unavailable: they are tried again when it is back
                self._found[function.id] = 0
            await self._call(strategy.queued)
            self.scans[function.name] += 1
            await asyncio.sleep(strategy.interval)

    async def _queue(self, strategy: Strategy, receipts: Receipts, name: str) -> bool:
        """Queue a blob unless it has been queued; return False when it must be tried again."""
        container = strategy.pattern.container
        blob = await self._call(strategy.source.head_blob, container, name)
        if blob is None:
            return True
        put: list[str] = []

        def put_message() -> None:
            self.queue.put_now(strategy.function.id, container, name, blob.etag)
            put.append(name)

        done = await self._call(receipts.queue_once, container, name, blob.etag, put_message)
        if put:
            self.queue.noted()
        return done
