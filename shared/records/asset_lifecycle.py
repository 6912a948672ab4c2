"""The state of data sets as wholes, on our record; what the catalog is told of it is in `describing`.

A row of `assets` holds when a data set was last created, overwritten, altered, emptied, renamed or dropped: all of
them, since what made it anew may be heard of before what dropped it. Each is the word of the run that did it, with the
generation of its settling: a run that turns out to have failed takes it back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from shared.atlas.entities import AssetEntity, asset_entity
from shared.model import Asset
from shared.openlineage.run import MergedRun
from shared.records.publish_queue import Dirty
from shared.records.run_state import packed_cell, unpacked_cell
from shared.storage.compare_and_swap import Place, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import ASSET, ASSETS, STATE, digest_of
from shared.translation.application.context import RunContext
from shared.translation.run.changes import StateChange, state_changes_in

_REMEMBERED = 16
"""Runs whose words on a data set are kept one by one, and may be taken back."""

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
        """What people should know of it: that it was dropped or renamed; empty while it is there."""
        alive = max((at for state, at in self.times.items() if state in _ALIVE), default=None)
        lost = max(((at, state) for state, at in self.times.items() if state in _LOST), default=None)
        if lost is None or (alive and alive >= lost[0]):
            return ""
        at, state = lost
        return f"Renamed to {self.became} on {at:%Y-%m-%d}." if state == "RENAME" else f"Dropped on {at:%Y-%m-%d}."


class _Told(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A change as it is kept."""

    at: datetime
    state: str
    became: str = ""


class _Word(msgspec.Struct, frozen=True, array_like=True):
    """What one run did to a data set, in which generation of its settling; nothing when it has taken it back."""

    generation: int
    told: tuple[_Told, ...] = ()


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a data set: the words of the latest runs, and what others said before them (`folded`)."""

    asset: Asset | None = None
    words: dict[str, _Word] = {}
    folded: tuple[_Told, ...] = ()

    def state(self) -> AssetState | None:
        """Put together, whatever the order in which it came; None when nothing was said that still holds."""
        told = sorted((*self.folded, *(each for word in self.words.values() for each in word.told)))
        if self.asset is None or not told:
            return None
        became = next((each.became for each in reversed(told) if each.state == "RENAME"), "")
        return AssetState(asset=self.asset, times={each.state: each.at for each in told}, became=became)

    @property
    def may_be_lost(self) -> bool:
        """Whether people may have been told that it is gone, or should be."""
        told = (*self.folded, *(each for word in self.words.values() for each in word.told))
        return any(each.state in _LOST for each in told) or any(not word.told for word in self.words.values())

    def with_word(self, run_id: str, word: _Word, asset: Asset | None) -> "_Record":
        """With a run's word, unless it has one of a later generation. The oldest of too many are folded."""
        known = self.words.get(run_id)
        if known and known.generation >= word.generation:
            return self
        words = {**self.words, run_id: word}
        if len(words) > _REMEMBERED:
            oldest = min(words, key=lambda run: (bool(words[run].told), words[run].told, run))
            latest = {each.state: each for each in sorted((*self.folded, *words.pop(oldest).told))}
            return _Record(asset=self.asset or asset, words=words, folded=tuple(sorted(latest.values())))
        return _Record(asset=self.asset or asset, words=words, folded=self.folded)


_decode = msgspec.json.Decoder(_Record).decode

Changes = Mapping[str, tuple[StateChange, ...]]
"""What a run did to data sets as wholes, by their keys in `assets`."""


def changes_by_asset(run: MergedRun, heard: RunContext) -> Changes:
    """What a run did to data sets as wholes. Pure."""
    found: dict[str, tuple[StateChange, ...]] = {}
    for change in state_changes_in(run, heard):
        found[_key(change.asset)] = (*found.get(_key(change.asset), ()), change)
    return found


def note_states(storage: Storage, run_id: str, changes: Changes, before: Iterable[str], generation: int) -> set[str]:
    """Put on record what a run did, and take back what it said `before` of other data sets. Returns what is to be
    marked dirty, since people should know of it.
    """
    marks: set[str] = set()
    for key in sorted({*changes, *before}):
        told = tuple(sorted(_Told(at=each.at, state=each.state, became=each.became) for each in changes.get(key, ())))
        asset = changes[key][0].asset if key in changes else None
        if _note(storage, key, run_id, _Word(generation=generation, told=told), asset).may_be_lost:
            marks.add(f"{ASSET}{key}")
    return marks


def _key(asset: Asset) -> str:
    return digest_of(f"{asset.type}|{asset.qualified_name}".encode())


def _mark(asset: Asset) -> str:
    return f"{ASSET}{_key(asset)}"


def _note(storage: Storage, key: str, run_id: str, word: _Word, asset: Asset | None) -> _Record:
    """The record as it is then."""
    swapped = compare_and_swap(
        storage,
        Place(ASSETS, key, STATE),
        lambda known: (known or _Record()).with_word(run_id, word, asset),
        decode=lambda row: _decode(unpacked_cell(storage, "state", row)),
        encode=lambda record: Row(partition=key, key=STATE, values=packed_cell(storage, "state", record)),
    )
    return swapped.after or _Record()


def _state(storage: Storage, row: Row | None) -> AssetState | None:
    return _decode(unpacked_cell(storage, "state", row)).state() if row else None


def is_asset(dirty: Dirty) -> bool:
    """Whether a dirty mark stands for a data set, not for a process."""
    return dirty.process.startswith(ASSET)


def state_of(storage: Storage, key: str) -> tuple[Asset | None, str]:
    """A data set by its key, if it is on record, and what people should know of it."""
    row = storage.read(ASSETS, key, STATE)
    record = _decode(unpacked_cell(storage, "state", row)) if row else _Record()
    state = record.state()
    return record.asset, state.sentence if state else ""


def sentences(storage: Storage, assets: Iterable[Asset]) -> dict[str, str]:
    """What people should know of these data sets, by the keys of their dirty marks: a point read each."""
    found = {_mark(asset): _state(storage, storage.read(ASSETS, _key(asset), STATE)) for asset in assets}
    return {mark: state.sentence if state else "" for mark, state in found.items()}


def placeholder(asset: Asset, said: Mapping[str, str], columns: tuple[tuple[str, str], ...] = ()) -> AssetEntity:
    """A data set that no scan has found, with what is `said` of it, and its columns."""
    return asset_entity(asset, said[_mark(asset)], columns)


def states(storage: Storage) -> tuple[AssetState, ...]:
    """All states on record, by qualified name."""
    found = (state for row in storage.scan(ASSETS) if (state := _state(storage, row)))
    return tuple(sorted(found, key=lambda state: (state.asset.qualified_name, state.asset.type)))
