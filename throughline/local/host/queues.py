"""Queue triggers: messages that others put into a storage queue.

As in the extension's QueueListener and QueueProcessor (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage
.Queues): a text in Base64, at most batchSize + newBatchThreshold messages at once, and after maxDequeueCount tries the
message goes to `QUEUE-poison`.
"""

from collections.abc import Callable
from typing import Any

from throughline.local.host.config import HostConfig
from throughline.local.host.index import Function
from throughline.local.host.message_queue import MessageQueue, QueueNames
from throughline.local.host.storage import HostStorage, QueueMessage
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum


class TriggerQueue(MessageQueue):
    """The queue of one function."""

    def __init__(
        self,
        function: Function,
        own_host_storage: HostStorage,
        worker: WorkerProcess,
        config: HostConfig,
        *,
        visibility: int,
        call: Callable[..., Any],
    ) -> None:
        name = function.trigger.data["queueName"]
        names = QueueNames(queue=name, poison=f"{name}-poison")
        queues = config.extensions.queues
        limit, retry = queues.batch_size + queues.new_batch_threshold, queues.retry
        super().__init__(own_host_storage, names, limit=limit, visibility=visibility, retry=retry, call=call)
        self._function, self._worker, self._tries = function, worker, queues.max_dequeue_count

    async def _deliver(self, message: QueueMessage) -> bool:
        name, tries = self._function.name, self._tries
        if message.tries > tries:  # each host that took it died
            await self._poison(message, f"{name} never finished with message {message.id}")
            return False
        try:
            text = message.content()
        except ValueError as error:
            await self._poison(message, f"message {message.id} is no Base64 of a text ({error!r})")
            return False
        metadata = {
            "QueueTrigger": Datum(text, "string"),
            "DequeueCount": Datum(str(message.tries), "json"),
            "Id": Datum(message.id, "string"),
            "PopReceipt": Datum(message.receipt, "string"),
        }
        outcome = await self._worker.invoke(self._function, Datum(text, "string"), metadata, f"{message.tries}/{tries}")
        if outcome.error and message.tries >= tries:
            await self._poison(message, f"{name} failed {message.tries} times with message {message.id}")
        return bool(outcome.error) and message.tries < tries
