"""Receipts: the polling trigger's records of the versions of blobs that it has queued, shared by several hosts.

The steps are those of the extension's BlobTriggerExecutor and BlobReceiptManager (azure-sdk-for-net,
Microsoft.Azure.WebJobs.Extensions.Storage.Blobs): create an incomplete receipt, take its lease, queue the message,
mark the receipt completed, release the lease. A crash in between makes a duplicate, never a loss.
"""

from collections.abc import Callable

from throughline.local.host.blobs.pattern import RECEIPTS
from throughline.local.host.storage import HostStorage

_COMPLETED = "Completed"


class Receipts:
    """The receipts of one function, in the account of AzureWebJobsStorage."""

    def __init__(self, own: HostStorage, host_id: str, function_id: str) -> None:
        self._own = own
        self._prefix = f"blobreceipts/{host_id}/{function_id}"

    def queue_once(self, container: str, name: str, etag: str, put: Callable[[], None]) -> bool:
        """Call `put` for a version of a blob (its ETag in quotes) unless its receipt is completed.

        Returns False when another host is queuing it: try again later.
        """
        receipt = f"{self._prefix}/{etag}/{container}/{name}"
        held = self._own.head_blob(RECEIPTS, receipt)
        if held is not None and _completed(held.metadata):
            return True
        if held is None and not self._own.put_blob(RECEIPTS, receipt, fresh={_COMPLETED: "false"}):
            return False
        lease = self._own.lease_blob(RECEIPTS, receipt)
        if lease is None:
            return False
        try:
            held = self._own.head_blob(RECEIPTS, receipt)
            if held is not None and not _completed(held.metadata):
                put()
                current = self._own.head_blob(RECEIPTS, receipt)
                metadata = {} if current is None else current.metadata
                self._own.set_metadata(RECEIPTS, receipt, {**metadata, _COMPLETED.lower(): "true"}, lease)
        finally:
            self._own.release_blob(RECEIPTS, receipt, lease)
        return True


def _completed(metadata: dict[str, str]) -> bool:
    return metadata.get(_COMPLETED.lower(), "").lower() == "true"
