"""Shadow mode: run everything except catalog writes, and record what would be written.

A row of `shadow` replaces the queue entry of a process or data set. The ledger says what the catalog holds, and so
stays as it is. When shadow mode ends, the rows become queue entries again, and are published from the records of then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from shared.catalog.port import AssetKey
from shared.publishing.context import PublishOptions
from shared.publishing.outcomes import Outcome, Refusal
from shared.publishing.placeholders import described, is_outdated, report_columns
from shared.publishing.planning import Plan, execute
from shared.publishing.writing import CatalogWriter, kept_entry
from shared.records.cells import PackedCell
from shared.records.publish_queue import QueueEntry, enqueue
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


class Rehearsal(CatalogWriter):
    """Publishes up to the first write to the catalog, which is held back."""

    def keep(self, plans: Sequence[Plan]) -> None:
        """End the plans of unchanged processes; new columns that they report are held back."""
        storage = self.context.storage
        for plan in plans:
            row = storage.read(SHADOW, QUEUE_PARTITION, plan.queue_entry.target)
            if row:  # conditional: a newer row stays
                storage.delete(SHADOW, QUEUE_PARTITION, row.key, row.etag)
            entry = kept_entry(plan)
            if entry:
                self._hold_descriptions(sorted(report_columns(self.context, plan)))
            kept_plan = execute(storage, plan, entry)
            self.outcomes.finish_plans([kept_plan] if kept_plan else [], "unchanged")

    def remove(self, plan: Plan) -> list[Refusal]:
        """Hold the removal of a process back."""
        self._hold_back(plan, HeldBack(action=ShadowAction.REMOVE, qualified_name=plan.name))
        return []

    def describe(self, entries: Sequence[QueueEntry]) -> None:
        """Hold the descriptions of these data sets back."""
        self._hold_descriptions([entry.key for entry in entries])
        self.outcomes.finish([Outcome.of(entry) for entry in entries])

    def _begin(self, plans: Sequence[Plan]) -> list[Plan]:
        """Hold the writes of these plans back: none is to be sent."""
        for plan in plans:
            missing = {asset.key for asset in plan.assets if not self.records[asset.key].guid}
            self._hold_back(
                plan, HeldBack(action=ShadowAction.WRITE, qualified_name=plan.name, creates=tuple(sorted(missing)))
            )
        self.context.assets.flush(self.context.storage)
        return []

    def _hold_back(self, plan: Plan, write: HeldBack) -> None:
        recorded = execute(self.context.storage, plan)
        if recorded:
            self._hold(plan.queue_entry.target, write)
            self.outcomes.finish_plans([recorded], "held")

    def _hold_descriptions(self, keys: Sequence[str]) -> None:
        rows, storage = self.context.assets, self.context.storage
        rows.flush(storage)
        for key, record in rows.by_key(storage, keys).items():
            if is_outdated(record):
                name = described(record).qualified_name
                self._hold(f"{QUEUED_ASSET}{key}", HeldBack(action=ShadowAction.DESCRIBE, qualified_name=name))
                self.outcomes.published.held += 1

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
