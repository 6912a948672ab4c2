"""The storage requests by which Microsoft's functions host delivers one event, and the limit that follows from them.

Those of Event Grid's webhook were read in the blob extension's source (azure-sdk-for-net,
Microsoft.Azure.WebJobs.Extensions.Storage.Blobs: `BlobQueueTriggerExecutor`, `BlobTriggerBinding`,
`ReadBlobArgumentBinding`, `BlobsExtensionConfigProvider`). A polling trigger, which makes the same ones and eight more,
was counted on the real host (WebHost 4.1037.0, blob extension 5.3.7, November 2026). With a queue Event Grid puts the
message itself, and the parser reads the blob.
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
    """Requests for each event: their purpose, their class as in `tests.bench.costs`, and their number.

    `webhook`: only the blob trigger makes them, which Event Grid's webhook starts.
    """

    what: str
    kind: str
    count: int = 1
    webhook: bool = False


CALLS = (
    Call(what="a message put, taken, deleted", kind="queue", count=3),
    Call(
        what="HEAD of the blob: version, writer, properties, and at its opening",
        kind="blob other",
        count=4,
        webhook=True,
    ),
    Call(what="GET of the blob", kind="blob read"),
)
"""One call takes several messages if there are some, so the queue's requests are at most this many."""

DELIVERIES = ("eventGrid", "queue")


def calls_of(delivery: str) -> Counter[str]:
    """Return the requests for each event by class, with this delivery. Raises ValueError for an unknown delivery."""
    if delivery not in DELIVERIES:
        raise ValueError(f"{delivery!r} is none of {', '.join(DELIVERIES)}")
    counts = Counter[str]()
    for call in CALLS:
        if delivery == "eventGrid" or not call.webhook:
            counts[call.kind] += call.count
    return counts


def events_a_second(counts_by_phase: Mapping[str, Mapping[str, float]], delivery: str) -> float:
    """Return how many events per second an account takes.

    `counts_by_phase` are our requests for each event, by phase and class; those to the catalog do not count.
    """
    own_requests = sum(
        count for counts in counts_by_phase.values() for kind, count in counts.items() if kind != "catalog"
    )
    return ACCOUNT_REQUESTS / (own_requests + calls_of(delivery).total())
