"""Shadow mode: run everything except catalog writes, and record what would be written.

A row of `shadow` replaces the queue entry of a process or data set. The ledger says what the catalog holds, and so
stays as it is. When shadow mode ends, the rows become queue entries again, and are published from the records of then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused
from shared.publishing.context import PublishContext, PublishOptions
from shared.publishing.placeholders import described, is_outdated, report_columns
from shared.publishing.planning import Plan, execute
from shared.publishing.settling import Bisection, Refusal, Settled, Settler
from shared.publishing.writing import CatalogWriter, kept_entry, reports_new_columns
from shared.records.cells import PackedCell
from shared.records.publish_queue import QueueEntry, enqueue
from shared.records.states import LedgerState
from shared.storage.port import Row, Storage
from shared.storage_layout import QUEUE_PARTITION, QUEUED_ASSET, SHADOW


class ShadowAction(StrEnum):
    """What a publisher would do with an entity if shadow mode were off."""

    WRITE = "write"
    REMOVE = "remove"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A write that was held back: its action and qualified name; `creates`: the assets (type and qualified name) that
    the catalog lacked at that time.
    """

    action: ShadowAction
    qualified_name: str
    creates: tuple[AssetKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """Counts of what would be done: processes written, assets created, processes removed, assets described."""

    writes: int = 0
    creates: int = 0
    removes: int = 0
    describes: int = 0


_HELD_BACK = PackedCell(name="held", decoder=msgspec.json.Decoder(HeldBack))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Publishes up to the first catalog write."""

    context: PublishContext
    settler: Settler
    writer: CatalogWriter

    def rehearse(self, unchanged: Sequence[Plan], planned: Sequence[Plan]) -> None:
        """Hold the writes of these plans back. Raises CatalogRefused without access, and CatalogUnavailable."""
        for plan in unchanged:
            self._keep(plan)
        for plan in self._resolved(planned):
            self._hold_back(plan)
        self.context.assets.flush(self.context.storage)

    def _keep(self, plan: Plan) -> None:
        """End the plan of an unchanged process; new columns that it reports are held back."""
        storage, key = self.context.storage, plan.queue_entry.target
        row = storage.read(SHADOW, QUEUE_PARTITION, key)
        if row:  # conditional: a newer row stays
            storage.delete(SHADOW, QUEUE_PARTITION, key, row.etag)
        if reports_new_columns(plan):
            self._describe(sorted(report_columns(self.context, plan)))
        kept_plan = execute(storage, plan, kept_entry(plan))
        self.settler.finish_plans([kept_plan] if kept_plan else [], "unchanged")

    def _hold_back(self, plan: Plan) -> None:
        missing = {asset.key for asset in plan.assets if not self.writer.records[asset.key].guid}
        if plan.entity:
            write = HeldBack(
                action=ShadowAction.WRITE, qualified_name=plan.entity.qualified_name, creates=tuple(sorted(missing))
            )
        else:
            write = HeldBack(action=ShadowAction.REMOVE, qualified_name=plan.entry.qualified_name)
        recorded = execute(self.context.storage, plan)
        if recorded is None:
            return
        is_held = bool(plan.entity) or plan.entry.state is not LedgerState.NOTHING
        if is_held:
            self._hold(plan.queue_entry.target, write)
        self.settler.finish_plans([recorded], "held" if is_held else "unchanged")

    def _resolved(self, plans: Sequence[Plan]) -> list[Plan]:
        """The plans with resolved names; those are put off whose assets the catalog refuses to look up."""
        resolved: list[Plan] = []
        bisection = Bisection(plans)
        while call := bisection.next_call():
            try:
                resolved += self.writer.resolved(call)
                bisection.answered([])
            except CatalogRefused as error:
                if error.no_access:
                    raise
                if len(call) == 1:
                    self.settler.refuse([Refusal(plan=call[0], error=error, isolated=True)])
                bisection.answered(call)
        return resolved

    def describe(self, entries: Sequence[QueueEntry]) -> None:
        """Hold the descriptions of these data sets back."""
        self._describe([entry.key for entry in entries])
        self.settler.finish([Settled(entry=entry, is_published=True) for entry in entries])

    def _describe(self, keys: Sequence[str]) -> None:
        rows, storage = self.context.assets, self.context.storage
        rows.flush(storage)
        for key, record in rows.by_key(storage, keys).items():
            if is_outdated(record):
                name = described(record).qualified_name
                self._hold(f"{QUEUED_ASSET}{key}", HeldBack(action=ShadowAction.DESCRIBE, qualified_name=name))
                self.settler.published.held += 1

    def _hold(self, key: str, write: HeldBack) -> None:
        row = Row(partition=QUEUE_PARTITION, key=key, values=_HELD_BACK.pack(self.context.storage, write))
        self.context.storage.upsert(SHADOW, row)


def held_back(storage: Storage) -> Iterator[tuple[str, HeldBack]]:
    """All writes that are held back, by the key of the process or data set."""
    for row in storage.partition(SHADOW, QUEUE_PARTITION):
        yield row.key, _HELD_BACK.unpack(storage, row)


def counted(writes: Sequence[HeldBack]) -> Shadow:
    """Count what is held back; an asset that several processes need is created once."""
    return Shadow(
        writes=sum(write.action is ShadowAction.WRITE for write in writes),
        creates=len({key for write in writes for key in write.creates}),
        removes=sum(write.action is ShadowAction.REMOVE for write in writes),
        describes=sum(write.action is ShadowAction.DESCRIBE for write in writes),
    )


def leave_shadow_mode(storage: Storage, options: PublishOptions) -> int:
    """Unless in shadow mode, enqueue all that was held back. Returns the number of entries; safe to repeat."""
    if options.shadow:
        return 0
    number = 0
    for row in storage.partition(SHADOW, QUEUE_PARTITION):
        enqueue(storage, [row.key])
        storage.delete(SHADOW, QUEUE_PARTITION, row.key, row.etag)
        number += 1
    return number
