"""Purge: remove all that Throughline created from the catalog. The ledger records it, so a replay creates all again.

In batches, each as publishing does it: *writing* before the call, *nothing* after it. An interrupted purge is run
again, and finds only what is left.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from shared.atlas.entities import PROCESS_TYPE
from shared.catalog.port import AssetKey, batches, calls_for_guids
from shared.errors import ContentLost
from shared.publishing.context import PublishContext
from shared.publishing.headers import Headers
from shared.publishing.planning import InFlight, Plan, Planner, execute
from shared.publishing.publisher_lease import placeholders, remove_placeholders, turn
from shared.records.assets import all_assets
from shared.records.landing import NEVER
from shared.records.ledger import PURGED, LedgerEntry, ledger_entries, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry, Settled, read_queue, settle
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import QUEUE_PARTITION, SHADOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What one step did: processes and placeholders removed; placeholders `kept` since others use them; processes
    `left` for the next purge since another worker may be writing them.
    """

    processes: int = 0
    placeholders: int = 0
    kept: int = 0
    left: int = 0

    def __add__(self, other: "Purged") -> "Purged":
        return Purged(
            processes=self.processes + other.processes,
            placeholders=self.placeholders + other.placeholders,
            kept=self.kept + other.kept,
            left=self.left + other.left,
        )


def processes_to_purge(storage: Storage) -> Iterator[LedgerEntry]:
    """The processes that the catalog holds, or may hold. Reads only."""
    return (entry for entry in ledger_entries(storage) if entry.state is not LedgerState.NOTHING)


def placeholders_to_purge(context: PublishContext) -> Iterator[AssetKey]:
    """The placeholders that still bear our row, used by others or not. Reads only."""
    names = {record.own for record in all_assets(context.storage)}
    for batch in placeholders(context.catalog, names, context.publishing.batch):
        yield from sorted(batch)


def purge(context: PublishContext) -> Iterator[Purged]:
    """Remove all processes, then all placeholders, lazily, a batch at a time.

    Raises StorageUnavailable, CatalogUnavailable, CatalogRefused, and WriteConflict while another publisher holds the
    lease.
    """
    most = context.publishing.batch
    for entries in batches(processes_to_purge(context.storage), most):
        yield _purge_processes(context, entries)
    for keys in batches(placeholders_to_purge(context), most):
        done = remove_placeholders(context, keys)
        yield Purged(placeholders=len(done.removed), kept=len(done.kept))


def _purge_processes(context: PublishContext, entries: Sequence[LedgerEntry]) -> Purged:
    storage, catalog, now = context.storage, context.catalog, context.publishing.now()
    with turn(context):
        queue = {queued.target: queued for queued in read_queue(storage).entries}
        bound = context.after(calls_for_guids(len(entries)) + 1)  # one for what comes before them
        begun: list[LedgerEntry] = []
        left = 0
        for listed in entries:
            entry = ledger_entry(storage, listed.process)
            if entry.state is LedgerState.NOTHING:
                continue
            is_free = not entry.landing.is_open(now)
            writing = replace(entry, state=LedgerState.WRITING, landing=entry.landing.begun(now, bound))
            noted = put_entry(storage, writing) if is_free else None
            begun += [noted] if noted else []
            left += noted is None
        guids = catalog.find([(PROCESS_TYPE, entry.qualified_name) for entry in begun])
        lands = min((entry.landing.lands for entry in begun), default=now)
        if guids and not context.is_in_time(lands, calls_for_guids(len(guids))):
            return Purged(left=left + len(begun))  # the calls could take effect too late: the next purge finds them
        if guids:
            catalog.remove(sorted(guids.values()))
        late = now + context.publishing.call_bound if catalog.may_still_land() else NEVER
        planner = Planner(context=context, headers=Headers(context=context))
        purged = sum(_note_purged(context, planner, entry, queue.get(entry.process), late) for entry in begun)
    return Purged(processes=purged, left=left + len(begun) - purged)


def _note_purged(
    context: PublishContext, planner: Planner, entry: LedgerEntry, queued: QueueEntry | None, late: datetime
) -> bool:
    """Note that the catalog holds nothing of a process, and take it off the queue, unless what is queued is newer than
    the purge. What its marks are about is put on record.
    """
    storage = context.storage
    gone = replace(
        entry,
        state=LedgerState.NOTHING,
        fingerprint="",
        schemas="",
        assets=frozenset(),
        guid="",
        landing=entry.landing.answered(late),
        because=PURGED,
    )
    plan = Plan(queue_entry=queued or QueueEntry(target=entry.process), entry=gone, entity=None)
    with suppress(InFlight, ContentLost):
        plan = planner.plan(queued) if queued else plan
        settled = execute(storage, plan, replace(gone, forgotten=plan.entry.forgotten))
        if settled and queued:
            settle(storage, [Settled.of(settled.queue_entry)])
        storage.delete(SHADOW, QUEUE_PARTITION, entry.process)
        return settled is not None
    return put_entry(storage, gone) is not None
