"""Triggers of storage: blobs, by Event Grid's webhook, queues, and unavailable storage."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

from throughline.local.host.blobs import BlobQueue
from throughline.local.host.config import HostConfig
from throughline.local.host.index import Function
from throughline.local.host.logs import logger
from throughline.local.host.message_queue import Pace
from throughline.local.host.queues import TriggerQueue
from throughline.local.host.settings import connection_string
from throughline.local.host.storage import HostStorage, StorageError
from throughline.local.host.worker.client import WorkerProcess

_RETRY_SECONDS = 1.0

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


class StorageGoneError(Exception):
    """Storage has been unavailable for longer than the host waits."""


class StorageHost:
    """All blob and queue triggers of an app; `blobs` is the queue of the blob triggers, if there are any."""

    def __init__(
        self, functions: Sequence[Function], worker: WorkerProcess, *, config: HostConfig, pace: Pace, host_id: str
    ) -> None:
        self.calls: Counter[str] = Counter()
        self._patience = pace.patience
        self._storage = storage = HostStorage(connection_string(), self.calls)
        self._threads = ThreadPoolExecutor(16, "storage")
        self._away_since: float | None = None
        self.blobs: BlobQueue | None = None
        self._queues: list[TriggerQueue | BlobQueue] = [
            TriggerQueue(function, storage, worker, config, pace, call=self._call)
            for function in functions
            if function.trigger.type == "queueTrigger"
        ]
        if by_id := {function.id: function for function in functions if function.trigger.type == "blobTrigger"}:
            self.blobs = BlobQueue(by_id, storage, worker, config, pace, host_id=host_id, call=self._call)
            self._queues.append(self.blobs)

    async def queued(self) -> int:
        """Return the number of messages in the queues, also of those that are being served."""
        counts = await asyncio.gather(*(self._call(self._storage.count_messages, queue.name) for queue in self._queues))
        return sum(counts)

    @property
    def poisoned(self) -> int:
        """The number of messages that were given up."""
        return sum(queue.poisoned for queue in self._queues)

    async def run(self) -> None:
        """Serve the queues until cancelled; running invocations continue, see `finish`.

        Raises StorageGoneError when storage is unavailable for long.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for queue in self._queues:
                    group.create_task(self._retrying(queue.serve))
        except ExceptionGroup as several:
            raise several.exceptions[0] from several

    async def finish(self) -> None:
        """Wait for the invocations that run."""
        for queue in self._queues:
            await queue.finish()
        self._threads.shutdown()

    async def _call(self, call: Callable[[*Arguments], T], *args: *Arguments) -> T:
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._threads, call, *args)
        except StorageError:
            self._away_since = self._away_since or loop.time()
            raise
        self._away_since = None
        return answer

    async def _retrying(self, loop: Callable[[], Awaitable[None]]) -> None:
        """Run an endless loop, and start it again whenever storage was unavailable."""
        while True:
            try:
                await loop()
            except StorageError as error:
                seconds = asyncio.get_running_loop().time() - (self._away_since or asyncio.get_running_loop().time())
                if seconds >= self._patience:
                    raise StorageGoneError(f"storage has been unavailable for {seconds:.0f} s: {error}") from error
                logger.warning("storage: %s; trying again in %s s", error, _RETRY_SECONDS)
                await asyncio.sleep(_RETRY_SECONDS)
