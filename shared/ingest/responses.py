"""The answers to senders: one place for both paths.

    kept, ignored            201
    forwarded by ourselves   508
    the sender's fault       4xx, as application/problem+json (RFC 9457), with the field where it is known
    storage pushes back      429 and Retry-After
    storage is away          503 and Retry-After

A Java listener retries a 429 or 503 once, if the wait is shorter than its own five seconds, and then drops the event.
So only these two errors have such an answer, with a short wait.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.errors import Refused, StorageBusy, StorageUnavailable
from shared.ingest.receiver import BatchReceipt, Receipt
from shared.secrets import text_without_secrets

_LONGEST_WAIT = 2
"""Seconds; a whole number, at random, so that senders do not retry all at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status, body, its media type, and further headers."""

    status: int
    body: str
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def kept(receipt: Receipt) -> Answer:
    """The event is stored, or set aside with a reason."""
    outcome = {"status": "ignored", "reason": receipt.ignored} if receipt.ignored else {"status": "kept"}
    omitted = {"omitted": receipt.omitted} if receipt.omitted else {}
    body = {**outcome, "run": receipt.run_id, "event": receipt.digest, **omitted}
    return Answer(status=201, body=json.dumps(body))


def batch_kept(receipt: BatchReceipt) -> Answer:
    """200 for every batch that was read, as the specification has it: the body says which events failed, and why."""
    return Answer(status=200, body=json.dumps(receipt.document))


def no_such_path() -> Answer:
    """Neither of the two paths that take events."""
    return _problem(404, "There is no such path", "Post an event to v1/lineage, or an array to v1/lineage/batch")


def own_event() -> Answer:
    """What this installation forwards itself: it would be stored and forwarded again, without an end."""
    return _problem(508, "This receiver is that of the sender", "Forward to another address: this one is our own")


def refused(refusal: Refused) -> Answer:
    """The sender must mend something."""
    more = {"field": refusal.field} if refusal.field else {}
    return _problem(refusal.status, refusal.title, refusal.detail, more=more)


def retry_later(error: StorageUnavailable) -> Answer:
    """Storage does not answer or is busy, and nothing is wrong with the event: the sender should send it again."""
    wait = {"Retry-After": str(random.randint(1, _LONGEST_WAIT))}
    if isinstance(error, StorageBusy):
        return _problem(429, "Storage is busy, send it again more slowly", str(error), headers=wait)
    return _problem(503, "Storage is away, send it again", str(error), headers=wait)


def _problem(
    status: int,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> Answer:
    # A listener logs the answer: it quotes no password that the event had.
    detail = text_without_secrets(detail)
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **(more or {})}
    return Answer(status=status, body=json.dumps(body), kind="application/problem+json", headers=headers or {})
