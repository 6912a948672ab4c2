"""The storage requests by which Microsoft's functions host delivers one event, and the limit that follows from them.

`polling` was counted on the real host (WebHost 4.1037.0, blob extension 5.3.7, November 2026): 8 HEAD, 1 GET, 4 calls
on the receipt, and the queue's. The subset that Event Grid needs was not counted but read in the extension's source
(azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs: `BlobTriggerExecutor`, `BlobReceiptManager`,
`BlobQueueTriggerExecutor`, `BlobTriggerBinding`, `ReadBlobArgumentBinding`, `BlobsExtensionConfigProvider`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

ACCOUNT_REQUESTS = 20_000
"""Requests per second that one account takes by default:
https://learn.microsoft.com/azure/storage/common/scalability-targets-standard-account.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Requests for each event: their purpose, their class as in `bench.costs`, and their number.

    `scan`: only polling makes them; the others deliver a queued message, which is common to both ways of delivery.
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
"""One call takes several messages if there are some, so the queue's requests are at most this many."""

DELIVERIES = ("eventGrid", "polling")


def calls_of(delivery: str) -> Counter[str]:
    """Return the requests for each event by class, with this delivery. Raises ValueError for an unknown delivery."""
    if delivery not in DELIVERIES:
        raise ValueError(f"{delivery!r} is none of {', '.join(DELIVERIES)}")
    found = Counter[str]()
    for call in CALLS:
        if delivery == "polling" or not call.scan:
            found[call.kind] += call.count
    return found


def events_a_second(own: Mapping[str, Mapping[str, float]], delivery: str) -> float:
    """Return how many events per second an account takes.

    `own` are our requests for each event, by phase and class; those to the catalog do not count.
    """
    ours = sum(count for of in own.values() for kind, count in of.items() if kind != "catalog")
    return ACCOUNT_REQUESTS / (ours + calls_of(delivery).total())
