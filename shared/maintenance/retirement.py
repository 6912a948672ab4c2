"""Retire processes that no run has contributed to for long: they leave the catalog until a new run contributes.

The ledger records the time up to which contributions are retired, so a replay does not bring them back; the first later
contribution does, without the older ones. The publisher removes the process. Placeholders that only such processes used
leave with them; assets found by a scan stay.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.catalog.port import AssetKey
from shared.publishing.context import PublishContext
from shared.publishing.planning import read_processes
from shared.publishing.publisher_lease import placeholders
from shared.reading.processes import recorded
from shared.records.assets import all_assets
from shared.records.ledger import LedgerEntry, ledger_entries, ledger_entry, put_entry
from shared.records.publish_queue import enqueue
from shared.records.states import LedgerState
from shared.storage.port import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenProcess:
    """A process (by key) in the catalog, and the time of its newest contribution."""

    process: str
    qualified_name: str
    guid: str
    last: datetime


def is_unseen(entry: LedgerEntry, last: datetime | None, moment_before: datetime) -> bool:
    """Whether a process in the catalog is to be retired: its newest contribution is older than `moment_before`. Pure.

    Processes without any contribution are removed by the publisher anyway.
    """
    return entry.state is LedgerState.WRITTEN and last is not None and last < moment_before


def unseen_processes(
    storage: Storage, before: datetime, *, progress: Callable[[], None] = lambda: None
) -> Iterator[UnseenProcess]:
    """The processes in the catalog without a contribution since `before`. Reads only; `progress` is called for each
    process that was read.
    """
    for process in read_processes(storage):
        entry = process.entry
        seen_span = replace(process, entry=replace(entry, retired=None)).seen  # a retirement may have been cut off
        last = seen_span.last if seen_span else None
        progress()
        if last and is_unseen(entry, last, before):
            yield UnseenProcess(process=entry.process, qualified_name=entry.qualified_name, guid=entry.guid, last=last)


def retire(storage: Storage, chosen: UnseenProcess) -> bool:
    """Have the publisher remove a process from the catalog. False, and nothing changed, while a publisher writes it.
    Idempotent; a contribution made meanwhile brings the process back.
    """
    entry = ledger_entry(storage, chosen.process)
    if entry.state is not LedgerState.WRITTEN or not put_entry(storage, replace(entry, retired=chosen.last)):
        return False
    enqueue(storage, [chosen.process])
    return True


def unused_placeholders(context: PublishContext, leaving: Sequence[UnseenProcess]) -> Iterator[AssetKey]:
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
