"""What Microsoft's functions host asks of storage to deliver one event, by way of delivery, and what limit follows.

`polling` was counted on the real host (WebHost 4.1037.0, blob extension 5.3.7, November 2026): 8 HEAD, 1 GET, 4 calls
on the receipt, and the queue's. Which of them Event Grid leaves was only read, in the extension's source
(azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs: `BlobTriggerExecutor`, `BlobReceiptManager`,
`BlobQueueTriggerExecutor`, `BlobTriggerBinding`, `ReadBlobArgumentBinding`, `BlobsExtensionConfigProvider`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

ACCOUNT_REQUESTS = 20_000
"""A second, to one account by default:
https://learn.microsoft.com/azure/storage/common/scalability-targets-standard-account.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request for each event: what it is for, its class as in `bench.costs`, how many, and whether a scan makes it
    (else the delivery of what is in the queue, which all ways have in common).
    """

    what: str
    kind: str
    count: int = 1
    scan: bool = False


CALLS = (
    Call(what="HEAD of the blob that was listed", kind="blob other", scan=True),
    Call(
        what="HEAD of the receipt, before and after its lease, and before its end",
        kind="blob other",
        count=3,
        scan=True,
    ),
    Call(what="the receipt created, and completed by its metadata", kind="blob write", count=2, scan=True),
    Call(what="the receipt leased, and released", kind="blob other", count=2, scan=True),
    Call(what="a message put, taken, deleted", kind="queue", count=3),
    Call(what="HEAD of the blob: version, writer, properties, and at its opening", kind="blob other", count=4),
    Call(what="GET of the blob", kind="blob read"),
)
"""A message is taken together with others where there are some, so the queue's are at most so many."""

DELIVERIES = ("eventGrid", "polling")


def calls_of(delivery: str) -> Counter[str]:
    """Requests for each event by class, with this way of delivery; ValueError when there is none of that name."""
    if delivery not in DELIVERIES:
        raise ValueError(f"{delivery!r} is none of {', '.join(DELIVERIES)}")
    found = Counter[str]()
    for call in CALLS:
        if delivery == "polling" or not call.scan:
            found[call.kind] += call.count
    return found


def events_a_second(own: Mapping[str, Mapping[str, float]], delivery: str) -> float:
    """How many events a second an account takes: `own` are our requests for each event, by phase and class. Those to
    the catalog go elsewhere.
    """
    ours = sum(count for of in own.values() for kind, count in of.items() if kind != "catalog")
    return ACCOUNT_REQUESTS / (ours + calls_of(delivery).total())
