"""Queue triggers: messages that others put into a storage queue.

As in the extension's QueueListener and QueueProcessor (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage
.Queues): a text in Base64, at most batchSize + newBatchThreshold messages at once, and after maxDequeueCount tries the
message goes to `QUEUE-poison`.
"""

from collections.abc import Callable
from typing import Any

from throughline.local.host.config import HostConfig
from throughline.local.host.index import Function
from throughline.local.host.message_queue import Call, MessageQueue, Pace, QueueRules
from throughline.local.host.storage import HostStorage, QueueMessage
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum


class TriggerQueue(MessageQueue):
    """The queue of one function."""

    def __init__(
        self,
        function: Function,
        storage: HostStorage,
        worker: WorkerProcess,
        config: HostConfig,
        pace: Pace,
        *,
        call: Callable[..., Any],
    ) -> None:
        name, queues = function.trigger.data["queueName"], config.extensions.queues
        rules = QueueRules(
            name=name,
            poison=f"{name}-poison",
            limit=queues.batch_size + queues.new_batch_threshold,
            tries=queues.max_dequeue_count,
            visibility=pace.visibility,
            retry=queues.retry,
        )
        super().__init__(storage, worker, rules, call)
        self._function = function

    async def _call_of(self, message: QueueMessage) -> Call:
        text = message.content()
        metadata = {
            "QueueTrigger": Datum(text, "string"),
            "DequeueCount": Datum(str(message.tries), "json"),
            "Id": Datum(message.id, "string"),
            "PopReceipt": Datum(message.receipt, "string"),
        }
        subject = f"message {message.id}"
        return Call(function=self._function, value=Datum(text, "string"), metadata=metadata, subject=subject)
