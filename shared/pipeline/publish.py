"""Publishing: the one place that writes lineage to the catalog, under one lease.

Whoever gets the lease drains what is dirty, in batches; everybody else returns at once. It looks again after letting
the lease go, so that a mark made while it was leaving is not left lying.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from shared.atlas import PROCESS_TYPE, ProcessEntity, asset_entity, process_entity
from shared.catalog import Catalog
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import ApplicationFacts, Asset, Contribution, Process
from shared.pipeline.dirty import Dirty, dirty_processes, pause, resume
from shared.pipeline.ledger import Entry, ledger_entry, note
from shared.pipeline.places import CONTRIBUTIONS, DIRTY, DIRTY_PARTITION, LEDGER, RUNS, STATE, stored_from_row
from shared.pipeline.records import ContributionRecord, RunState
from shared.storage import Lease, Storage
from shared.translation import Patience, Sum, add_up

_LOG = logging.getLogger("throughline.publish")
_LEASE = "publisher"
_LEASE_SECONDS = 60
_RENEW_AFTER = 20.0
_LONGEST_ERROR = 1000
_LONGEST_PAUSE = timedelta(hours=6)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """How to publish.

    `batch`: entities in one call; `call_bound`: after what time a call is certainly over; `with_indirect`: whether
    columns that only decide are shown; `pause`: how long a catalog that is away is left alone; `now`: the clock.
    """

    batch: int = 50
    call_bound: timedelta = timedelta(seconds=120)
    with_indirect: bool = False
    patience: Patience = field(default_factory=Patience)
    pause: timedelta = timedelta(seconds=15)
    now: Callable[[], datetime] = _utc_now


@dataclass(slots=True, kw_only=True)
class Published:
    """Counts of what one draining did."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    refused: int = 0
    postponed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is to happen to one dirty process: `entity` is None when the catalog should hold nothing."""

    dirty: Dirty
    entry: Entry
    entity: ProcessEntity | None
    assets: tuple[Asset, ...] = ()
    revisit: datetime | None = None

    @property
    def unchanged(self) -> bool:
        if self.entity is None:
            return self.entry.state == "nothing"
        return self.entry.state == "written" and self.entry.fingerprint == self.entity.fingerprint


def publish(storage: Storage, catalog: Catalog, how: Publishing) -> Published:
    """Drain what is dirty if nobody else is at it: counts of what was done.

    A catalog that is away costs no error here: what is dirty stays so, and the catalog is left alone for a while.
    Raises StorageUnavailable when storage is away.
    """
    done = Published()
    while not done.error:
        lease = storage.lease(_LEASE, _LEASE_SECONDS)
        if lease is None:
            break
        try:
            worked = _drain(storage, catalog, how, lease, done)
        finally:
            lease.release()
        if not worked or not _due(storage, how.now())[0]:
            break
    return done


def _due(storage: Storage, now: datetime) -> tuple[list[Dirty], bool]:
    """The processes that are due, and whether the catalog was being left alone."""
    found, until, _ = dirty_processes(storage)
    if until and now < until:
        return [], False
    return [each for each in found if each.due <= now], until is not None


def _drain(storage: Storage, catalog: Catalog, how: Publishing, lease: Lease, done: Published) -> bool:
    """Publish until nothing is due. False when there was nothing to do or no way to go on."""
    worked, renewed = False, time.monotonic()
    while True:
        due, was_paused = _due(storage, how.now())
        if not due:
            return worked
        for start in range(0, len(due), how.batch):
            if time.monotonic() - renewed > _RENEW_AFTER:
                if not lease.renew():
                    return False
                renewed = time.monotonic()
            try:
                _publish_batch(storage, catalog, how, due[start : start + how.batch], done)
            except CatalogUnavailable as error:
                done.error = str(error)
                wait = max(how.pause, timedelta(seconds=error.after))
                pause(storage, how.now() + wait, done.error[:_LONGEST_ERROR])
                _LOG.warning("catalog unavailable pause=%ss dirty=%d error=%s", wait.seconds, len(due), error)
                return False
        if was_paused:
            resume(storage)
        worked = True


def _publish_batch(
    storage: Storage, catalog: Catalog, how: Publishing, batch: Sequence[Dirty], done: Published
) -> None:
    plans = []
    for dirty in batch:
        plan = _plan(storage, how, dirty)
        if plan.entry.may_still_land(how.now()):
            done.postponed += 1
            storage.replace(DIRTY, replace(dirty, due=plan.entry.until).row())
        elif plan.unchanged:
            done.unchanged += 1
            _clean(storage, plan)
        elif plan.entity is None:
            _remove(storage, catalog, how, plan)
            done.removed += 1
        else:
            plans.append(plan)
    if not plans:
        return
    try:
        done.written += _write(storage, catalog, how, plans)
    except CatalogRefused:
        for plan in plans:
            _write_alone(storage, catalog, how, plan.dirty, done)


def current(storage: Storage, process: str, how: Publishing) -> Sum:
    """A process (by key) as it should be now, added up from all that is on record of it."""
    contributions = tuple(_contributions(storage, process))
    runs = sorted({each.application_run for each in contributions})
    facts = {run: _facts(storage, run) for run in runs} if len(runs) > 1 else {}
    return add_up(contributions, facts, now=how.now(), patience=how.patience)


def recorded(storage: Storage, how: Publishing) -> Iterator[tuple[Process, ProcessEntity]]:
    """Every process on our record as it should be now, with the entity that the catalog should hold of it."""
    for row in storage.scan(LEDGER):
        process = current(storage, row.partition, how).process
        if process:
            yield process, process_entity(process, with_indirect=how.with_indirect)


def _plan(storage: Storage, how: Publishing, dirty: Dirty) -> _Plan:
    entry = ledger_entry(storage, dirty.process)
    total = current(storage, dirty.process, how)
    process = total.process
    return _Plan(
        dirty=dirty,
        entry=entry,
        entity=process_entity(process, with_indirect=how.with_indirect) if process else None,
        assets=(*process.inputs, *process.outputs) if process else (),
        revisit=total.revisit,
    )


def _contributions(storage: Storage, process: str) -> Iterable[Contribution]:
    for row in storage.partition(CONTRIBUTIONS, process):
        contribution = ContributionRecord.of(row, storage).contribution
        if contribution:
            yield contribution


def _facts(storage: Storage, application_run: str) -> ApplicationFacts:
    """What is stored of an application run's own events. Needed only where several contributed to a process."""
    times, ended = [], None
    for row in storage.partition(RUNS, application_run):
        if row.key == STATE:
            ended = RunState.of(row).end
        elif place := stored_from_row(application_run, row.key):
            times.append(place.time)
    return ApplicationFacts(first=min(times, default=None), last=max(times, default=None), ended=ended)


def _write(storage: Storage, catalog: Catalog, how: Publishing, plans: Sequence[_Plan]) -> int:
    """Data sets first, since processes can only refer to what is there. How many processes were written."""
    guids = _assets(catalog, plans)
    until = how.now() + 2 * how.call_bound
    begun = [
        (plan, entity, entry)
        for plan, entity in ((_claim(storage, plan, until), plan.entity) for plan in plans)
        if plan and entity and (entry := note(storage, _writing(plan.entry, entity, until)))
    ]
    if not begun or how.now() + how.call_bound > until:
        return 0  # too late to be over by then: what was begun is done again after that
    try:
        written = catalog.write_processes([entity for _, entity, _ in begun], guids)
    except CatalogRefused:
        for plan, _, entry in begun:  # a refused call writes nothing
            note(storage, replace(plan.entry, etag=entry.etag))
            storage.replace(DIRTY, replace(plan.dirty, due=how.now()).row())
        raise
    for plan, entity, entry in begun:
        if note(storage, replace(entry, state="written", guid=written[entity.qualified_name])):
            _clean(storage, plan)
        _LOG.info(
            "process published process=%r inputs=%d outputs=%d",
            entity.qualified_name,
            len(entity.inputs),
            len(entity.outputs),
        )
    return len(begun)


def _claim(storage: Storage, plan: _Plan, until: datetime) -> _Plan | None:
    """The plan with the dirty mark that it was made from in our hands; None when the process was marked anew, or
    published by another, since the mark was read: the plan may then be old.
    """
    claimed = replace(plan.dirty, due=until, revisit=False)
    etag = storage.replace(DIRTY, claimed.row())
    return replace(plan, dirty=replace(claimed, etag=etag)) if etag else None


def _writing(entry: Entry, entity: ProcessEntity, until: datetime) -> Entry:
    return replace(
        entry,
        state="writing",
        qualified_name=entity.qualified_name,
        fingerprint=entity.fingerprint,
        until=until,
    )


def _assets(catalog: Catalog, plans: Sequence[_Plan]) -> dict[tuple[str, str], str]:
    """The guids of all assets of these plans; those that nobody has found yet are created."""
    wanted = {(asset.type, asset.qualified_name): asset for plan in plans for asset in plan.assets}
    guids = catalog.find(sorted(wanted))
    missing = [asset_entity(wanted[key]) for key in sorted(wanted) if key not in guids]
    if missing:
        guids |= catalog.create_assets(missing)
    return guids


def _remove(storage: Storage, catalog: Catalog, how: Publishing, plan: _Plan) -> None:
    """Take a process away that nothing speaks for any more."""
    until = how.now() + 2 * how.call_bound
    claimed = _claim(storage, plan, until)
    entry = note(storage, replace(plan.entry, state="writing", until=until)) if claimed else None
    if claimed is None or entry is None or how.now() + how.call_bound > until:
        return
    catalog.delete_process(PROCESS_TYPE, entry.qualified_name)
    if note(storage, replace(entry, state="nothing", fingerprint="", guid="")):
        _clean(storage, claimed)
    _LOG.info("process removed process=%r", entry.qualified_name)


def _write_alone(storage: Storage, catalog: Catalog, how: Publishing, dirty: Dirty, done: Published) -> None:
    """One process of a batch that was refused: the others are not held up by the one that is at fault."""
    found = storage.read(DIRTY, DIRTY_PARTITION, dirty.process)
    if found is None:
        return
    plan = _plan(storage, how, Dirty.of(found))
    try:
        done.written += _write(storage, catalog, how, [plan])
    except CatalogRefused as error:
        done.refused += 1
        wait = min(timedelta(minutes=2**dirty.attempts), _LONGEST_PAUSE)
        again = storage.read(DIRTY, DIRTY_PARTITION, dirty.process)
        if again:
            postponed = replace(
                Dirty.of(again), due=how.now() + wait, attempts=dirty.attempts + 1, error=str(error)[:_LONGEST_ERROR]
            )
            storage.replace(DIRTY, postponed.row())
        _LOG.error("catalog refused process=%s error=%s", dirty.process, error)


def _clean(storage: Storage, plan: _Plan) -> None:
    """No longer dirty, unless it was marked again meanwhile; or dirty later, when time alone may change it."""
    if plan.revisit:
        storage.replace(DIRTY, replace(plan.dirty, due=plan.revisit, revisit=True, attempts=0, error="").row())
    else:
        storage.delete(DIRTY, DIRTY_PARTITION, plan.dirty.process, plan.dirty.etag)
