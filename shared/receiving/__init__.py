"""Receiving events: validate, select, store, answer. Nothing here knows what becomes of them later."""

from shared.receiving.answers import Answer, batch_kept, come_again, kept, refused
from shared.receiving.receive import BatchReceipt, Receipt, Redact, note_refusal, receive, receive_batch

__all__ = [
    "Answer",
    "BatchReceipt",
    "Receipt",
    "Redact",
    "batch_kept",
    "come_again",
    "kept",
    "note_refusal",
    "receive",
    "receive_batch",
    "refused",
]
