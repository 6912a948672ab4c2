"""One writer at a time: the loop that changes a row against concurrent writers, and sessions of work under a lease.

The loop: read, change, write if unchanged, try again. Etags and conditional writes: Azure Table Storage, "Managing
concurrency in Table storage" (If-Match). Only one worker holds a lease at a time.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from shared.errors import WriteConflict
from shared.storage.port import Lease, Row, Storage

T = TypeVar("T")

MAX_ATTEMPTS = 8
_FIRST_BACKOFF = 0.005
"""Seconds: about one call to storage. The wait before attempt n is random, up to 2^n of these."""
UNREAD = Row(partition="", key="")
"""In place of a row: the caller has not read it."""


class RowAddress(NamedTuple):
    """A row's address."""

    table: str
    partition: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swapped(Generic[T]):
    """A row's value `before` and `after` the change, None for no row; `etag` of the row as it is now."""

    before: T | None
    after: T | None
    etag: str = ""

    @property
    def changed(self) -> bool:
        """Whether the row was written or deleted."""
        return self.before != self.after


def compare_and_swap(
    storage: Storage,
    place: RowAddress,
    change: Callable[[T | None], T | None],
    *,
    decode: Callable[[Row], T],
    encode: Callable[[T], Row],
    read: Row | None = UNREAD,
    sleep: Callable[[float], object] = time.sleep,
) -> Swapped[T]:
    """Change one row, whatever other workers write to it.

    `change` maps the value on record (None: no row) to the one wanted. An equal value writes nothing, None deletes the
    row. It is called once for each attempt, so it should be pure. `read`: the row as the caller has read it already,
    None where there is most likely none and `change` makes one: the first attempt then reads nothing. `sleep`
    waits between attempts, but not before the first that reads the row itself: the row given may just have been old.

    Raises WriteConflict after MAX_ATTEMPTS, and what storage, `decode`, `change` and `encode` raise.
    """
    first_reading = 0 if read is UNREAD else 1
    for attempt in range(MAX_ATTEMPTS):
        if attempt > first_reading:
            sleep(random.uniform(0, _FIRST_BACKOFF * 2**attempt))
        row = storage.read(*place) if attempt >= first_reading else read
        old = decode(row) if row else None
        new = change(old)
        etag = row.etag if row else ""
        if old == new:
            return Swapped(before=old, after=new, etag=etag)
        if new is None:
            if storage.delete(*place, etag):
                return Swapped(before=old, after=None)
        elif etag_written := write_if_unchanged(storage, place.table, replace(encode(new), etag=etag)):
            return Swapped(before=old, after=new, etag=etag_written)
    raise WriteConflict(
        f"Row {place.key[:80]} of {place.table} was changed by others during each of {MAX_ATTEMPTS} attempts to write"
        " it: this work is tried again",
        after=2,
    )


def write_if_unchanged(storage: Storage, table: str, row: Row) -> str | None:
    """Write a row over the one with `row.etag`, or as a new one where that is empty.

    Returns the new etag; None, and nothing written, when another worker changed, deleted or inserted the row meanwhile.
    """
    return storage.replace(table, row) if row.etag else storage.insert(table, row)


_LEASE_SECONDS = 60
_RENEW_AFTER = 20.0
MAX_SESSION = 180.0
"""Seconds; then the next invocation, or the sweeper, continues the work."""


@dataclass(slots=True, kw_only=True)
class LeaseSession:
    """A lease that is held, and when the session began and the lease was renewed, in seconds of `clock`."""

    lease: Lease
    clock: Callable[[], float]
    began: float
    renewed: float

    def may_continue(self, share: float = 1.0) -> bool:
        """Whether there is time for the next piece of work, which may begin within this `share` of the session; renews
        the lease. False too when the lease was lost.
        """
        now = self.clock()
        if now - self.began > MAX_SESSION * share:
            return False
        if now - self.renewed > _RENEW_AFTER:
            self.renewed = now
            return self.lease.renew()
        return True


def start_session(storage: Storage, name: str, clock: Callable[[], float] = time.monotonic) -> LeaseSession | None:
    """Acquire the lease of this name; None when another worker holds it. `clock` gives monotonic seconds."""
    began = clock()  # before the call: the lease may have begun before its answer came
    lease = storage.lease(name, _LEASE_SECONDS)
    return LeaseSession(lease=lease, clock=clock, began=began, renewed=began) if lease else None


@contextmanager
def session_of(
    storage: Storage, name: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[LeaseSession | None]:
    """The same for the time of a block, after which the lease is released."""
    session = start_session(storage, name, clock)
    try:
        yield session
    finally:
        if session:
            session.lease.release()
