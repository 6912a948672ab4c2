"""Receive events over HTTP: check, select, store, answer. Imports storage, storage_layout and the wire format."""

from shared.ingest.receiver import Redact, note_refusal, receive, receive_batch
from shared.ingest.responses import Answer, batch_kept, come_again, kept, refused

__all__ = [
    "Answer",
    "Redact",
    "batch_kept",
    "come_again",
    "kept",
    "note_refusal",
    "receive",
    "receive_batch",
    "refused",
]
