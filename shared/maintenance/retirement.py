"""Retiring: what no run has spoken of for long leaves the catalog, until a new run speaks of it.

The ledger notes up to when a process is retired: what was said up to then is not shown any more, however often it is
replayed, and the first later word brings the process back, made of later words alone. The publisher does the removing,
as with everything that leaves. Placeholders that only such processes used leave with them; what a scan found stays.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.catalog.port import AssetKey, Catalog
from shared.publishing.options import PublishOptions
from shared.publishing.planner import Reading, last_supported, recorded
from shared.publishing.publisher_lease import assets_on_record, placeholders
from shared.records.ledger import LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import enqueue
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import LEDGER


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A process (by key) in the catalog, and when the newest word of it was said."""

    process: str
    qualified_name: str
    guid: str
    last: datetime


def is_unseen(entry: LedgerEntry, last: datetime | None, before: datetime) -> bool:
    """Whether a process in the catalog is to be retired: nothing was said of it since a time. Pure.

    Of what nobody says anything any more the publisher knows already.
    """
    return entry.state is LedgerState.WRITTEN and last is not None and last < before


def unseen(storage: Storage, before: datetime, *, looked: Callable[[], None] = lambda: None) -> Iterator[Unseen]:
    """The processes in the catalog of which nothing was said since `before`. Reads only; `looked` is called for each
    process that was looked at.
    """
    for row in storage.scan(LEDGER):
        entry = LedgerEntry.of(row)
        last = last_supported(storage, entry.process, Reading()) if entry.state is LedgerState.WRITTEN else None
        looked()
        if last and is_unseen(entry, last, before):
            yield Unseen(process=entry.process, qualified_name=entry.qualified_name, guid=entry.guid, last=last)


def retire(storage: Storage, chosen: Unseen) -> bool:
    """Have the publisher take a process out of the catalog. False, and nothing changed, when somebody is writing it
    now. Done again, it changes nothing. What is said meanwhile brings the process back.
    """
    entry = ledger_entry(storage, chosen.process)
    if entry.state is not LedgerState.WRITTEN or not put_entry(storage, replace(entry, retired=chosen.last)):
        return False
    enqueue(storage, [chosen.process])
    return True


def lonely(storage: Storage, catalog: Catalog, how: PublishOptions, leaving: Sequence[Unseen]) -> Iterator[AssetKey]:
    """The assets that we placed and nothing will use any more once these processes have left: neither a process on our
    record, nor anything else that the catalog links to them. Reads only.
    """
    names = {each.qualified_name for each in leaving}
    stay: set[str] = set()
    unused = assets_on_record(storage)
    for _, entity in recorded(storage, how):
        if entity.qualified_name not in names:
            stay.add(entity.qualified_name)
            unused -= {*entity.inputs, *entity.outputs}
    entries = (LedgerEntry.of(row) for row in storage.scan(LEDGER))
    guids = {entry.guid for entry in entries if entry.qualified_name not in stay}  # also what is just being removed
    for found in placeholders(catalog, unused, how.batch):
        yield from (key for key, each in sorted(found.items()) if each.links <= guids)
