"""Helpers for tests of processing."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.openlineage.decoding import decode
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, StoredEvent, digest_of, stored, stored_from_blob
from tests.support.receiving import receive

P = ParamSpec("P")
T = TypeVar("T")


def _watched(method: Callable[Concatenate[MemoryStorage, P], T]) -> "Callable[Concatenate[Watched, P], T]":
    """Return a method of `Watched` that counts the call, runs the test's action, and calls the storage's own method."""
    name = method.__name__

    def called(self: "Watched", /, *arguments: P.args, **named: P.kwargs) -> T:
        self.calls[name] += 1
        self.step_in(name, arguments)
        answer: T = getattr(self.real, name)(*arguments, **named)
        return answer

    return called


class Watched:
    """Storage that counts calls and runs a test's action at one of them."""

    def __init__(self, real: MemoryStorage) -> None:
        self.real = real
        self.calls: Counter[str] = Counter()
        self.step_in: Callable[[str, tuple[Any, ...]], None] = lambda _name, _arguments: None

    put_new = _watched(MemoryStorage.put_new)
    get = _watched(MemoryStorage.get)
    get_part = _watched(MemoryStorage.get_part)
    delete_blob = _watched(MemoryStorage.delete_blob)
    blobs = _watched(MemoryStorage.blobs)
    children = _watched(MemoryStorage.children)
    insert = _watched(MemoryStorage.insert)
    upsert = _watched(MemoryStorage.upsert)
    replace = _watched(MemoryStorage.replace)
    delete = _watched(MemoryStorage.delete)
    transact = _watched(MemoryStorage.transact)
    read = _watched(MemoryStorage.read)
    partition = _watched(MemoryStorage.partition)
    scan = _watched(MemoryStorage.scan)
    lease = _watched(MemoryStorage.lease)


def post(storage: Any, *bodies: bytes) -> list[StoredEvent]:
    """Post the events; return those that are new in storage, in that order."""
    stored_events = []
    for body in bodies:
        place = stored(decode(body), digest_of(body))
        is_new = storage.get(EVENTS, place.blob) is None
        if receive(storage, body, most_bytes=1_000_000).ignored is None and is_new:
            stored_events.append(place)
    return stored_events


def deliver_event(storage: Any, event: StoredEvent) -> bool:
    """Deliver an event to the parser, in a process of its own: whether there may be something to publish."""
    payload = storage.get(EVENTS, event.blob)
    return Delivery(processor=ApplicationProcessor(storage=storage)).deliver(event, payload)


def deliver_blob(storage: Any, blob: str, payload: bytes | None = None, **options: Any) -> bool:
    """Deliver a blob of `events` to the parser, in a process of its own. `options`: of the processor."""
    processor = ApplicationProcessor(storage=storage, **options)
    return Delivery(processor=processor).deliver(
        stored_from_blob(blob), storage.get(EVENTS, blob) or b"" if payload is None else payload
    )


class Killed(BaseException):
    """`kill -9`."""
