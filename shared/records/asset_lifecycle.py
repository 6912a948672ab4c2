"""When data sets were last created, overwritten, altered, emptied, renamed or dropped: a row of `assetlifecycle` each.

All of these times are kept, because an event that creates a data set may arrive before the one that dropped it earlier.
Each is an entry of the run that did it, which retracts it when it turns out to have failed.

Only drops, renames and truncations concern staging elimination. Those are rows of their application too
(`application/entries.py`): publishing reads them by application, in one query, and these by data set, in a point read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

import msgspec

from shared.model import Asset
from shared.openlineage.run import MergedRun
from shared.records.asset_matches import match_key, queue_key
from shared.records.cells import PackedCell
from shared.records.publish_queue import QueueEntry
from shared.records.versioned_entry import VersionedEntry, contents, merge_entry
from shared.storage.compare_and_swap import RowAddress, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import ASSET_LIFECYCLE, QUEUED_ASSET, STATE
from shared.translation.run.changes import StateChange

MAX_ENTRIES = 16
"""Runs whose changes of a data set are kept one by one, and may be retracted."""

_ALIVE = frozenset({"CREATE", "OVERWRITE"})
_LOST = frozenset({"DROP", "RENAME"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetState:
    """A data set with the last time of each change of its state; `became` is its present name once it was renamed."""

    asset: Asset
    times: dict[str, datetime] = field(default_factory=dict)
    became: str = ""

    @property
    def sentence(self) -> str:
        """The sentence for the catalog: dropped or renamed, and when; empty while the data set exists."""
        alive = max((at for state, at in self.times.items() if state in _ALIVE), default=None)
        lost = max(((at, state) for state, at in self.times.items() if state in _LOST), default=None)
        if lost is None or (alive and alive >= lost[0]):
            return ""
        at, state = lost
        return f"Renamed to {self.became} on {at:%Y-%m-%d}." if state == "RENAME" else f"Dropped on {at:%Y-%m-%d}."


class AssetChange(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A change of a data set as a whole; `became`: the qualified name that a RENAME gave."""

    at: datetime
    state: str
    became: str = ""


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a data set: what each of the latest runs changed, and the changes by earlier ones
    (`folded`).
    """

    asset: Asset | None = None
    entries: dict[str, VersionedEntry[tuple[AssetChange, ...]]] = {}
    folded: tuple[AssetChange, ...] = ()

    @property
    def changes(self) -> tuple[AssetChange, ...]:
        """All changes that are not retracted, by time."""
        return tuple(sorted(chain(self.folded, *contents(self.entries))))

    def state(self) -> AssetState | None:
        """The state after all changes, in any order of arrival; None when every change was retracted."""
        changes = self.changes
        if self.asset is None or not changes:
            return None
        became = next((each.became for each in reversed(changes) if each.state == "RENAME"), "")
        return AssetState(asset=self.asset, times={each.state: each.at for each in changes}, became=became)

    @property
    def may_be_lost(self) -> bool:
        """Whether the catalog says, or should say, that it is gone."""
        return any(each.state in _LOST for each in self.changes) or any(
            each.retracted for each in self.entries.values()
        )

    def with_entry(self, run_id: str, entry: VersionedEntry[tuple[AssetChange, ...]], asset: Asset | None) -> "_Record":
        """With a run's entry, unless a newer one is there. Of those that leave the latest of each state is kept."""
        entries, left = merge_entry(self.entries, run_id, entry, most=MAX_ENTRIES)
        if entries is self.entries:
            return self
        latest = {each.state: each for each in sorted(chain(self.folded, *left))}
        return _Record(asset=self.asset or asset, entries=dict(entries), folded=tuple(sorted(latest.values())))


_RECORD = PackedCell(name="lifecycle", decoder=msgspec.json.Decoder(_Record))

Changes = Mapping[str, tuple[Asset, tuple[AssetChange, ...]]]
"""The data sets that a run changed as a whole, each with its changes, by their keys in `assetlifecycle`."""


def changes_by_asset(changes: Iterable[StateChange]) -> Changes:
    """The changes of a run to whole data sets, but internal ones; a renamed one is created under its new name. Pure."""
    found: dict[str, tuple[Asset, tuple[AssetChange, ...]]] = {}

    def add(asset: Asset, change: AssetChange) -> None:
        first, others = found.get(match_key(asset.key), (asset, ()))
        found[match_key(asset.key)] = (first, (*others, change))

    for each in changes:
        if each.internal:
            continue
        became = each.became.qualified_name if each.became else ""
        add(each.asset, AssetChange(at=each.at, state=each.state, became=became))
        if each.became:
            add(each.became, AssetChange(at=each.at, state="CREATE"))
    return found


def record_changes(
    storage: Storage, run: MergedRun, changes: Changes, before: Iterable[str], generation: int
) -> set[str]:
    """Record the changes of a run, and retract those that it recorded `before` of other data sets. Returns the queue
    keys of the data sets whose sentence in the catalog may change. Raises WriteConflict.
    """
    return {
        queue_key(key)
        for key in sorted({*changes, *before})
        if _note(storage, key, run, changes.get(key), generation).may_be_lost
    }


def _note(
    storage: Storage, key: str, run: MergedRun, change: tuple[Asset, tuple[AssetChange, ...]] | None, generation: int
) -> _Record:
    """Write a run's entry; returns the record with it."""
    asset, changes = change or (None, None)
    entry = VersionedEntry(generation, run.last, changes and tuple(sorted(changes)))
    swapped = compare_and_swap(
        storage,
        RowAddress(ASSET_LIFECYCLE, key, STATE),
        lambda known: (known or _Record()).with_entry(run.run_id, entry, asset),
        decode=lambda row: _RECORD.unpack(storage, row),
        encode=lambda record: Row(partition=key, key=STATE, values=_RECORD.pack(storage, record)),
    )
    return swapped.after or _Record()


def _sentence(record: _Record) -> str:
    state = record.state()
    return state.sentence if state else ""


def _read(storage: Storage, key: str) -> _Record:
    row = storage.read(ASSET_LIFECYCLE, key, STATE)
    return _RECORD.unpack(storage, row) if row else _Record()


def is_asset_entry(entry: QueueEntry) -> bool:
    """Whether an entry of the publish queue is for a data set, not for a process."""
    return entry.process.startswith(QUEUED_ASSET)


def state_of(storage: Storage, key: str) -> tuple[Asset | None, str]:
    """A data set by its key (None where it is not on record), and its sentence for the catalog."""
    record = _read(storage, key)
    return record.asset, _sentence(record)


def sentences(storage: Storage, assets: Iterable[Asset]) -> dict[str, str]:
    """The sentences for the catalog of these data sets, by their keys in the publish queue: a point read each."""
    keys = [match_key(asset.key) for asset in assets]
    return {queue_key(key): _sentence(_read(storage, key)) for key in keys}


def states(storage: Storage) -> tuple[AssetState, ...]:
    """All states on record, by qualified name."""
    found = (state for row in storage.scan(ASSET_LIFECYCLE) if (state := _RECORD.unpack(storage, row).state()))
    return tuple(sorted(found, key=lambda state: (state.asset.qualified_name, state.asset.type)))
