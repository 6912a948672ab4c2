"""Remove from the catalog: all that Throughline created (purge), or processes to which no run has contributed for long.

A purge works in batches, each as publishing does it: *writing* before the call, *nothing* after it. An interrupted
purge is run again, and finds only what is left. The ledger records it, so a replay creates all again.

Retired processes leave the catalog until a new run contributes. The ledger records the time up to which contributions
are retired, so a replay does not bring them back; the first later contribution does, without the older ones. The
publisher removes the process. Placeholders that only such processes used leave with them; assets found by a scan stay.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from shared.atlas.entities import PROCESS_TYPE
from shared.catalog.port import AssetKey, batches, calls_for_guids
from shared.errors import ContentLost
from shared.publishing.context import PublishContext, Published, placeholders, remove_unlinked, turn
from shared.publishing.headers import Headers
from shared.publishing.outcomes import Outcome, Outcomes
from shared.publishing.planning import InFlight, Plan, Planner, execute, read_processes
from shared.reading.processes import recorded
from shared.records.assets import all_assets
from shared.records.ledger import PURGED, LedgerEntry, ledger_entries, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry, enqueue, read_queue
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import QUEUE_PARTITION, SHADOW


def processes_to_purge(storage: Storage) -> Iterator[LedgerEntry]:
    """The processes that the catalog holds, or may hold. Reads only."""
    return (entry for entry in ledger_entries(storage) if entry.state is not LedgerState.NOTHING)


def placeholders_to_purge(context: PublishContext) -> Iterator[AssetKey]:
    """The placeholders that still bear our row, used by others or not. Reads only."""
    names = {record.own for record in all_assets(context.storage)}
    for batch in placeholders(context.catalog, names, context.publishing.batch):
        yield from sorted(batch)


def purge(context: PublishContext) -> Iterator[Counter[str]]:
    """Remove all processes, then all placeholders, lazily, a batch at a time: of each the numbers of `processes` and
    `placeholders` removed, of placeholders `kept` since others use them, and of processes `left` for the next purge
    since another worker may be writing them.

    Raises StorageUnavailable, CatalogUnavailable, CatalogRefused, and WriteConflict while another publisher holds the
    lease.
    """
    batch_limit = context.publishing.batch
    for entries in batches(processes_to_purge(context.storage), batch_limit):
        yield _purge_processes(context, entries)
    for keys in batches(placeholders_to_purge(context), batch_limit):
        with turn(context):
            removal = remove_unlinked(context, keys)
        yield Counter(placeholders=len(removal.removed), kept=len(removal.kept))


def _purge_processes(context: PublishContext, entries: Sequence[LedgerEntry]) -> Counter[str]:
    storage, catalog, now = context.storage, context.catalog, context.publishing.now()
    with turn(context):
        queue = {queued.target: queued for queued in read_queue(storage).entries}
        bound = context.after(calls_for_guids(len(entries)) + 1)  # one for what comes before them
        begun_entries: list[LedgerEntry] = []
        number_left = 0
        for listed in entries:
            entry = ledger_entry(storage, listed.process)
            if entry.state is LedgerState.NOTHING:
                continue
            is_free = not entry.landing.is_open(now)
            writing = replace(entry, state=LedgerState.WRITING, landing=entry.landing.begun(now, bound))
            noted = put_entry(storage, writing) if is_free else None
            begun_entries += [noted] if noted else []
            number_left += noted is None
        guids = catalog.find([(PROCESS_TYPE, entry.qualified_name) for entry in begun_entries])
        lands = min((entry.landing.lands for entry in begun_entries), default=now)
        if guids and not context.is_in_time(lands, calls_for_guids(len(guids))):
            return Counter(
                left=number_left + len(begun_entries)
            )  # the calls could take effect too late: the next purge finds them
        if guids:
            catalog.remove(sorted(guids.values()))
        gone_entries = [entry.removed(context.landed(entry.landing)) for entry in begun_entries]
        planner = Planner(context=context, headers=Headers(context=context))
        purged = sum(_note_purged(context, planner, entry, queue.get(entry.process)) for entry in gone_entries)
    return Counter(processes=purged, left=number_left + len(begun_entries) - purged)


def _note_purged(context: PublishContext, planner: Planner, gone_entry: LedgerEntry, queued: QueueEntry | None) -> bool:
    """Note that the catalog holds nothing of a process, and take it off the queue, unless what is queued is newer than
    the purge. What its marks are about is put on record.
    """
    storage = context.storage
    gone_entry = replace(gone_entry, because=PURGED)
    plan = Plan(queue_entry=queued or QueueEntry(target=gone_entry.process), entry=gone_entry, entity=None)
    with suppress(InFlight, ContentLost):
        plan = planner.plan(queued) if queued else plan
        recorded_plan = execute(storage, plan, replace(gone_entry, forgotten=plan.entry.forgotten))
        if recorded_plan and queued:
            Outcomes(context=context, published=Published()).finish([Outcome.of(recorded_plan.queue_entry)])
        storage.delete(SHADOW, QUEUE_PARTITION, gone_entry.process)
        return recorded_plan is not None
    return put_entry(storage, gone_entry) is not None


def is_unseen(entry: LedgerEntry, last: datetime | None, moment_before: datetime) -> bool:
    """Whether a process in the catalog is to be retired: its newest contribution is older than `moment_before`. Pure.

    Processes without any contribution are removed by the publisher anyway.
    """
    return entry.state is LedgerState.WRITTEN and last is not None and last < moment_before


def unseen_processes(
    storage: Storage, latest: datetime, *, progress: Callable[[], None] = lambda: None
) -> Iterator[LedgerEntry]:
    """The processes in the catalog without a contribution since `latest`, each `retired` at the time of its newest one.
    Reads only; `progress` is called for each process that was read.
    """
    for process in read_processes(storage):
        entry = process.entry
        seen_span = replace(process, entry=replace(entry, retired=None)).seen  # a retirement may have been cut off
        last = seen_span.last if seen_span else None
        progress()
        if last and is_unseen(entry, last, latest):
            yield replace(entry, retired=last)


def retire(storage: Storage, leaving: LedgerEntry) -> bool:
    """Have the publisher remove a process from the catalog. False, and nothing changed, while a publisher writes it.
    Idempotent; a contribution made meanwhile brings the process back.
    """
    entry = ledger_entry(storage, leaving.process)
    if entry.state is not LedgerState.WRITTEN or not put_entry(storage, replace(entry, retired=leaving.retired)):
        return False
    enqueue(storage, [leaving.process])
    return True


def unused_placeholders(context: PublishContext, leaving: Sequence[LedgerEntry]) -> Iterator[AssetKey]:
    """The placeholders that neither a process on record nor anything else in the catalog uses once the `leaving` ones
    are gone. Reads only.
    """
    storage = context.storage
    names = {process.qualified_name for process in leaving}
    stay: set[str] = set()
    unused = {record.own for record in all_assets(storage) if record.promise is None}
    for _, entity in recorded(storage, context.publishing):
        if entity.qualified_name not in names:
            stay.add(entity.qualified_name)
            unused -= {*entity.inputs, *entity.outputs}
    guids = {entry.guid for entry in ledger_entries(storage) if entry.qualified_name not in stay}  # removed ones too
    for batch in placeholders(context.catalog, unused, context.publishing.batch):
        yield from (key for key, placeholder in sorted(batch.items()) if placeholder.links <= guids)
