"""The state of data sets as wholes: on our record, and on those in the catalog that we placed there ourselves.

A row of `assets` holds when a data set was last created, overwritten, altered, emptied, renamed or dropped: all of
them, since what made it anew may be heard of before what dropped it.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from shared.atlas import AssetEntity, asset_entity
from shared.catalog import Catalog
from shared.errors import Contended
from shared.model import Asset
from shared.openlineage import MergedRun
from shared.pipeline.dirty import Dirty, mark_dirty
from shared.pipeline.places import ASSET, ASSETS, DIRTY, DIRTY_PARTITION, STATE, digest_of
from shared.pipeline.records import packed_cell, unpacked_cell
from shared.storage import Row, Storage
from shared.translation import Around, Change, changes_in

_LOG = logging.getLogger("throughline.assets")
_TRIES = 8
_ALIVE = frozenset({"CREATE", "OVERWRITE"})
_LOST = frozenset({"DROP", "RENAME"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetState:
    """A data set with the last time of each change of its state; `became` is its present name once it was renamed."""

    asset: Asset
    times: dict[str, datetime] = field(default_factory=dict)
    became: str = ""

    def after(self, change: Change) -> "AssetState":
        """The state after one more change, whatever the order in which they come."""
        known = self.times.get(change.state)
        if known and (known, self.became) >= (change.at, change.became):
            return self
        renamed = change.state == "RENAME"
        times = {**self.times, change.state: change.at}
        return replace(self, times=times, became=change.became if renamed else self.became)

    @property
    def sentence(self) -> str:
        """What people should know of it: that it was dropped or renamed; empty while it is there."""
        alive = max((at for state, at in self.times.items() if state in _ALIVE), default=None)
        lost = max(((at, state) for state, at in self.times.items() if state in _LOST), default=None)
        if lost is None or (alive and alive >= lost[0]):
            return ""
        at, state = lost
        return f"Renamed to {self.became} on {at:%Y-%m-%d}." if state == "RENAME" else f"Dropped on {at:%Y-%m-%d}."


_decode = msgspec.json.Decoder(AssetState).decode


def note_states(storage: Storage, run: MergedRun, heard: Around) -> None:
    """Put on record what a run did to data sets as wholes; what people should know of is to be published."""
    for change in changes_in(run, heard):
        if _note(storage, change):
            mark_dirty(storage, [_mark(change.asset)])


def _key(asset: Asset) -> str:
    return digest_of(f"{asset.type}|{asset.qualified_name}".encode())


def _mark(asset: Asset) -> str:
    return f"{ASSET}{_key(asset)}"


def _note(storage: Storage, change: Change) -> bool:
    """Whether what people should know of the data set may have changed."""
    for _ in range(_TRIES):
        found = storage.read(ASSETS, _key(change.asset), STATE)
        before = _decode(unpacked_cell(storage, "state", found)) if found else AssetState(asset=change.asset)
        after = before.after(change)
        cell = packed_cell(storage, "state", after)
        row = Row(partition=_key(change.asset), key=STATE, values=cell, etag=found.etag if found else "")
        if after == before or (storage.replace(ASSETS, row) if found else storage.insert(ASSETS, row)):
            return bool(after.sentence or before.sentence)
    raise Contended(f"The state of {change.asset.qualified_name} kept changing", after=2)


def is_asset(dirty: Dirty) -> bool:
    """Whether a dirty mark stands for a data set, not for a process."""
    return dirty.process.startswith(ASSET)


def state_of(storage: Storage, dirty: Dirty) -> AssetState | None:
    """The state that is to be published."""
    found = storage.read(ASSETS, dirty.process.removeprefix(ASSET), STATE)
    return _decode(unpacked_cell(storage, "state", found)) if found else None


def sentences(storage: Storage, assets: Iterable[Asset]) -> dict[str, str]:
    """What people should know of these data sets, by the keys of their dirty marks: a point read each."""
    rows = {_mark(asset): storage.read(ASSETS, _key(asset), STATE) for asset in assets}
    return {mark: _decode(unpacked_cell(storage, "state", row)).sentence if row else "" for mark, row in rows.items()}


def placeholder(asset: Asset, said: Mapping[str, str]) -> AssetEntity:
    """A data set that no scan has found, with what is `said` of it."""
    return asset_entity(asset, said[_mark(asset)])


def publish_state(storage: Storage, catalog: Catalog, dirty: Dirty) -> bool:
    """Say in the catalog what became of a data set, if it is one that we placed there. Whether anything was written."""
    state = state_of(storage, dirty)
    written = False
    if state:
        written = catalog.describe_placeholder(asset_entity(state.asset, state.sentence))
        if written:
            _LOG.info("asset described asset=%r state=%r", state.asset.qualified_name, state.sentence)
    storage.delete(DIRTY, DIRTY_PARTITION, dirty.process, dirty.etag)
    return written


def states(storage: Storage) -> tuple[AssetState, ...]:
    """All states on record, by qualified name."""
    found = (_decode(unpacked_cell(storage, "state", row)) for row in storage.scan(ASSETS))
    return tuple(sorted(found, key=lambda state: (state.asset.qualified_name, state.asset.type)))
