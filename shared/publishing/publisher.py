"""Publishing: the one place that writes lineage to the catalog, under one lease.

Whoever gets the lease drains what is dirty, in batches; everybody else returns at once. It looks again after letting
the lease go, so that a mark made while it was leaving is not left lying.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zlib import crc32

from shared.catalog.port import Catalog
from shared.errors import CatalogRefused, CatalogUnavailable, ContentLost
from shared.publishing.bisection import write_all
from shared.publishing.catalog_write import Published, remove
from shared.publishing.placeholders.columns import tell_schemas
from shared.publishing.placeholders.update import publish_state
from shared.publishing.planner import Plan, PublishOptions, Reading, plan_for
from shared.publishing.process_telemetry import report_process
from shared.publishing.publisher_lease import PUBLISHER
from shared.publishing.shadow import rehearse
from shared.records.asset_lifecycle import is_asset_entry
from shared.records.process_index import QUEUED_APPLICATION, mark_dependent
from shared.records.publish_queue import (
    QueueEntry,
    dequeue,
    enqueue,
    failures_before,
    pause,
    queue_entries,
    resume_publishing,
)
from shared.secrets import text_without_secrets
from shared.storage.lease_session import LeaseSession, start_session
from shared.storage.port import Storage
from shared.storage_layout import PUBLISH_QUEUE, QUEUE_PARTITION
from shared.telemetry.kinds import PUBLISHING

_LOG = logging.getLogger("throughline.publish")
_LONGEST_ERROR = 1000
_LONGEST_PAUSE = timedelta(hours=6)
_APART = 0.25
"""The share of a wait by which two may differ."""
_WITHOUT_ACCESS = 60.0
_MOST_CALLS = 20
"""To the catalog, one after the other, in one write."""
_LACKS_TYPE = (
    "The catalog lacks this type: `throughline types plan` names the rule, `throughline types apply` creates it"
)
_LOOKS = 8
"""Into how many parts the time is cut for which marks are let come together."""


def publish(storage: Storage, catalog: Catalog, how: PublishOptions) -> Published:
    """Drain what is dirty if nobody else is at it: counts of what was done.

    A catalog that is away costs no error here: what is dirty stays so, and the catalog is left alone for a while.
    Raises StorageUnavailable when storage is away.
    """
    done = Published()
    while not done.error:
        shift = start_session(storage, PUBLISHER, how.seconds)
        if shift is None:
            break
        try:
            tired = not _drain(storage, catalog, how, shift, done)
        finally:
            shift.lease.release()
        if tired or not _due(storage, how)[0]:
            break
    return done


def _due(storage: Storage, how: PublishOptions) -> tuple[list[QueueEntry], bool]:
    """The processes that are due, and whether the catalog was being left alone."""
    now = how.now()
    found, until, _ = queue_entries(storage)
    if until and now < until:
        return [], False
    return [each for each in found if each.due <= now], until is not None


def _due_together(storage: Storage, how: PublishOptions) -> tuple[list[QueueEntry], bool]:
    """As `_due`, once no more marks are made, or after a while: many runs of an application mark the same process
    within moments, and it is read and written once for all of them.
    """
    found = _due(storage, how)
    if not how.linger:
        return found
    for _ in range(_LOOKS):
        before, _ = found
        if not before:
            break
        time.sleep(how.linger.total_seconds() / _LOOKS)
        found = _due(storage, how)
        if found[0] == before:
            break
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Some of what is due. `full`: what is to be written need not wait until a call is full; `last`: what is to be
    removed is removed now, and not put off.
    """

    batch: Sequence[QueueEntry]
    full: bool = True
    last: bool = False


@dataclass(slots=True, kw_only=True)
class _Stride:
    """How many go in a batch: `most`, but half as many for each time but the first that one came to nothing (`vain`),
    and twice as many again for each that did not: where a catalog answers a few calls only before it asks to wait,
    these are to be enough.
    """

    most: int
    vain: int = 0

    @property
    def size(self) -> int:
        return max(1, self.most >> max(0, self.vain - 1))

    def went_well(self) -> None:
        self.vain = max(0, self.vain - 1)


def _batches(due: Sequence[QueueEntry], stride: _Stride) -> Iterator[_Step]:
    """As many in a call as it is worth: those that have never failed; then those that were in a call that failed, in
    smaller ones the more often they were; then each by itself that the catalog would not have by itself.
    """
    groups: dict[int, list[QueueEntry]] = {}
    for each in due:
        if not each.alone:
            groups.setdefault(each.attempts, []).append(each)
    for attempts, group in sorted(groups.items()):
        start = 0
        while start < len(group):
            after = start + max(1, min(stride.size, len(group)) >> max(0, attempts - 1))
            full = bool(attempts or stride.vain or after >= len(group))
            yield _Step(batch=group[start:after], full=full)
            start = after
    yield from (_Step(batch=[each]) for each in due if each.alone)


def _steps(due: Sequence[QueueEntry], stride: _Stride, leaving: Sequence[QueueEntry]) -> Iterator[_Step]:
    """All batches; then what was found `leaving` on the way: where a process goes by another name now, that one is
    there before the old one goes; and at last data sets, of which all that tells.
    """
    yield from _batches([each for each in due if not is_asset_entry(each)], stride)
    yield from (_Step(batch=[each], last=True) for each in leaving)
    yield from _batches([each for each in due if is_asset_entry(each)], stride)


def _drain(storage: Storage, catalog: Catalog, how: PublishOptions, shift: LeaseSession, done: Published) -> bool:
    """Publish until nothing is due. False when that did not come: the shift is over, or the catalog is away."""
    how = replace(how, beat=shift.may_continue)
    look = _due_together
    while True:
        due, was_paused = look(storage, how)
        if not due:
            return True
        look = _due_together
        if spread := [each for each in due if each.process.startswith(QUEUED_APPLICATION)]:
            if not _spread(storage, how, shift, spread, done):
                return False
            look = _due  # what was waited for is here
            continue
        leaving: list[QueueEntry] = []
        ready: list[Plan] = []
        before = done.progress
        stride = _Stride(most=how.batch, vain=failures_before(storage) if was_paused else 0)
        for step in _steps(due, stride, leaving):
            if how.stopped() or not shift.may_continue():
                return False
            at_hand = [*(plan.dirty for plan in ready), *step.batch]
            try:
                with how.telemetry.act(PUBLISHING):
                    if how.shadow:
                        done.held += rehearse(storage, catalog, how, step.batch)
                    else:
                        _publish_batch(storage, catalog, how, step, done=done, leaving=leaving, ready=ready)
            except (CatalogUnavailable, CatalogRefused) as error:
                done.error = _told(error)
                vain = done.progress == before and not getattr(error, "furthered", False)
                _leave_alone(storage, how, at_hand, error, stride.vain + (vain and stride.size > 1))
                return False
            stride.went_well()
            how.note(done)
        if was_paused:
            resume_publishing(storage)


def _spread(
    storage: Storage, how: PublishOptions, shift: LeaseSession, applications: Iterable[QueueEntry], done: Published
) -> bool:
    """Mark all that these applications wrote, once however many of their runs asked for it. One that can't be read
    waits, longer each time, and holds up no other. False when the shift is over.
    """
    for dirty in applications:
        if not shift.may_continue():
            return False
        try:
            enqueue(storage, mark_dependent(storage, dirty.process.removeprefix(QUEUED_APPLICATION)), since=dirty.since)
            storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, dirty.process, dirty.etag)
        except ContentLost as error:
            _put_off(storage, how, dirty, error, done)
    return True


def _put_off(
    storage: Storage, how: PublishOptions, dirty: QueueEntry, error: Exception, done: Published, *, alone: bool = False
) -> None:
    """Leave it for later: what can't be read until `verify --fix` mends it, what is refused until it is not."""
    done.refused += 1
    later = _failed(dirty, dirty.attempts, _told(error), how.now(), timedelta(minutes=1))
    storage.replace(PUBLISH_QUEUE, replace(later, alone=alone).row())
    _LOG.error("process left process=%s error=%s", dirty.process, later.error)


def _leave_alone(
    storage: Storage,
    how: PublishOptions,
    batch: Sequence[QueueEntry],
    error: CatalogUnavailable | CatalogRefused,
    vain: int,
) -> None:
    """Leave the catalog alone for a while. What may have been the reason is set behind the others: one asset that the
    catalog always chokes on must not keep everything else from being published.
    """
    wait = max(how.pause, timedelta(seconds=getattr(error, "after", _WITHOUT_ACCESS)))
    pause(storage, how.now() + wait, _told(error), vain)
    for dirty in batch if isinstance(error, CatalogUnavailable) and error.blames else ():
        found = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, dirty.process)
        if found:
            storage.replace(
                PUBLISH_QUEUE, _failed(QueueEntry.of(found), dirty.attempts, _told(error), how.now(), how.pause).row()
            )
    _LOG.warning("catalog unavailable pause=%.0fs batch=%d error=%s", wait.total_seconds(), len(batch), _told(error))


def _told(error: Exception) -> str:
    """An error's text as it may be stored and logged: catalogs, and what stands before them, may quote a request."""
    text = text_without_secrets(str(error))[:_LONGEST_ERROR]
    return f"{text}. {_LACKS_TYPE}" if isinstance(error, CatalogRefused) and error.unknown_type else text


def _failed(dirty: QueueEntry, attempts: int, error: str, now: datetime, pause: timedelta) -> QueueEntry:
    """To be tried again later: longer each time, and each a little apart from the others (always by the same share,
    so that what happened can be repeated).
    """
    wait = min(pause * 2 ** min(attempts, 16), _LONGEST_PAUSE)
    wait *= 1 - _APART * crc32(f"{dirty.process}{attempts}".encode()) / 2**32
    return replace(dirty, due=now + wait, attempts=attempts + 1, error=error)


def _processes(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    batch: Sequence[QueueEntry],
    done: Published,
    *,
    reading: Reading,
) -> Iterator[QueueEntry]:
    """The processes of a batch; the data sets in it are published on the way. One that is refused waits."""
    for dirty in batch:
        if not is_asset_entry(dirty):
            yield dirty
            continue
        try:
            done.written += publish_state(storage, catalog, how, dirty, reading)
        except CatalogRefused as error:
            if error.no_access:
                raise
            _put_off(storage, how, dirty, error, done, alone=True)
        except ContentLost as error:
            _put_off(storage, how, dirty, error, done)


def _plans(
    storage: Storage, catalog: Catalog, how: PublishOptions, batch: Sequence[QueueEntry], done: Published
) -> Iterator[Plan]:
    """The plans for the processes of a batch. One of which something that was said can't be read waits until
    `verify --fix` has mended that, longer each time, and holds up no other.
    """
    reading = Reading()  # what one plan has read serves the next: they are made one after the other
    for dirty in _processes(storage, catalog, how, batch, done, reading=reading):
        try:
            yield plan_for(storage, how, dirty, reading)
        except ContentLost as error:
            _put_off(storage, how, dirty, error, done)


def _publish_batch(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    step: _Step,
    *,
    done: Published,
    leaving: list[QueueEntry],
    ready: list[Plan],
) -> None:
    """Publish a batch. What is to be written is added to what is `ready`, and written once that fills a call or the
    step says so; what is to be removed is put off: added to `leaving`.
    """
    for plan in _plans(storage, catalog, how, step.batch, done):
        if plan.unchanged:
            done.unchanged += 1
            report_process(how, plan, "unchanged")
            if tell_schemas(storage, plan):
                dequeue(storage, plan.dirty, plan.revisit)
        elif plan.entry.may_still_land(how.now()):
            done.postponed += 1
            report_process(how, plan, "postponed")
            storage.replace(PUBLISH_QUEUE, replace(plan.dirty, due=plan.entry.until).row())
        elif plan.entity:
            ready.append(plan)
        elif step.last:
            _remove(storage, catalog, how, plan, done)
        else:
            leaving.append(plan.dirty)
    while len(ready) >= how.batch or (ready and step.full):
        plans = _one_write(catalog, ready[: how.batch])
        for refusal in write_all(storage, catalog, how, plans, done):
            _refuse(storage, how, refusal.plan, refusal.error, done)
        del ready[: len(plans)]


def _one_write(catalog: Catalog, plans: list[Plan]) -> list[Plan]:
    """The first of these, so many that their write is bounded: where one is cut off, nobody writes them until its
    longest time is over.
    """
    while len(plans) > 1 and catalog.calls_to_write([each.entity for each in plans if each.entity]) > _MOST_CALLS:
        plans = plans[: len(plans) // 2]
    return plans


def _remove(storage: Storage, catalog: Catalog, how: PublishOptions, plan: Plan, done: Published) -> None:
    try:
        done.removed += remove(storage, catalog, how, plan)
    except CatalogRefused as error:
        if error.no_access:
            raise
        _refuse(storage, how, plan, error, done)


def _refuse(
    storage: Storage, how: PublishOptions, plan: Plan, error: CatalogRefused | CatalogUnavailable, done: Published
) -> None:
    """A process that the catalog would not have by itself waits, longer each time, and holds up no other."""
    found = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, plan.dirty.process)
    dirty = QueueEntry.of(found) if found else plan.dirty
    _put_off(storage, how, replace(dirty, attempts=plan.dirty.attempts), error, done, alone=True)
    report_process(how, plan, "refused", _told(error))
