"""Receiving of single bodies in tests."""

from typing import Any

from shared.ingest.receiver import BatchReceipt, Receipt, Receiver
from shared.storage.port import Storage


def receive(storage: Storage, body: bytes, *, most_bytes: int, encoding: str = "", **options: Any) -> Receipt:
    """Store one event, as the function does; `options`: further fields of `Receiver`."""
    return Receiver(storage=storage, max_body_bytes=most_bytes, **options).receive(body, encoding=encoding)


def receive_batch(
    storage: Storage, body: bytes, *, most_bytes: int, encoding: str = "", **options: Any
) -> BatchReceipt:
    """Store the events of an array."""
    return Receiver(storage=storage, max_body_bytes=most_bytes, **options).receive_batch(body, encoding=encoding)
