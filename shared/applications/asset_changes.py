"""What applications change of data sets as a whole: created, overwritten, emptied, renamed, dropped. Pure."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from shared.model import Asset
from shared.storage_layout import asset_key
from shared.translation.run.changes import StateChange

MAX_CHANGES = 16
"""Runs whose changes of a data set are kept one by one, and may be retracted."""


class AssetChange(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A change of a data set as a whole, in the listener's word (CREATE, DROP …); `became`: the qualified name that a
    RENAME gave.
    """

    time: datetime
    state: str
    became: str = ""


class AssetChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What runs of an application changed of a data set as a whole: by run, and by earlier ones (`folded`)."""

    asset: Asset
    by_run: dict[str, tuple[AssetChange, ...]] = {}
    folded: tuple[AssetChange, ...] = ()

    @property
    def latest(self) -> tuple[AssetChange, ...]:
        """The latest change of each state, by time."""
        changes = sorted((*self.folded, *(change for changes in self.by_run.values() for change in changes)))
        return tuple(sorted({change.state: change for change in changes}.values()))

    def changed(self, run_id: str, changes: tuple[AssetChange, ...]) -> "AssetChanges":
        """With the changes of a run; of too many runs the oldest is folded."""
        by_run = {**self.by_run, run_id: changes}
        if len(by_run) <= MAX_CHANGES:
            return msgspec.structs.replace(self, by_run=by_run)
        oldest = min(by_run, key=lambda run: (by_run[run][-1].time, run))
        folded = sorted((*self.folded, *by_run.pop(oldest)))
        latest = {change.state: change for change in folded}
        return msgspec.structs.replace(self, by_run=by_run, folded=tuple(sorted(latest.values())))

    def without(self, run_id: str) -> "AssetChanges":
        """Without the changes of a run; it stays, also with none, so that the publisher sees that they went."""
        by_run = {run: changes for run, changes in self.by_run.items() if run != run_id}
        return msgspec.structs.replace(self, by_run=by_run)


def changes_by_asset(changes: Iterable[StateChange]) -> dict[str, tuple[Asset, tuple[AssetChange, ...]]]:
    """The data sets that a run changed as a whole, each with its changes, by their keys in `assets`. A renamed one is
    created under its new name; internal ones are left out.
    """
    by_asset: dict[str, tuple[Asset, tuple[AssetChange, ...]]] = {}

    def add(asset: Asset, change: AssetChange) -> None:
        first, earlier_changes = by_asset.get(asset_key(asset.key), (asset, ()))
        by_asset[asset_key(asset.key)] = (first, (*earlier_changes, change))

    for change in changes:
        if change.internal:
            continue
        became = change.became.qualified_name if change.became else ""
        add(change.asset, AssetChange(time=change.at, state=change.state, became=became))
        if change.became:
            add(change.became, AssetChange(time=change.at, state="CREATE"))
    return by_asset
