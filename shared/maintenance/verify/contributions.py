"""Damage to contributions: against the runs that speak for them, the links that lead to them, and their contents."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from shared.events.stored_runs import noted
from shared.maintenance.verify.inconsistencies import Inconsistency, World
from shared.maintenance.verify.runs import settle_anew, state_of
from shared.records.process_index import note_process_ref
from shared.records.publish_queue import enqueue
from shared.records.run_state import ContentKey, ContributionRecord, RunState, contribution_key
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTENTS, CONTRIBUTIONS, PROCESS_REF, RUNS, STATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A contribution: `unspoken` are the runs that stand behind it though their states, as they were read, do not say
    so; `blob` is its content's, where that is gone; `linked`: whether the application knows the process.
    """

    row: Row
    record: ContributionRecord
    unspoken: tuple[str, ...] = ()
    blob: str = ""
    linked: bool = True

    @property
    def key(self) -> ContentKey:
        """Where it is."""
        return self.record.process, self.record.application_run, self.record.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A run whose state tells of contributions or words that were not seen."""

    state: RunState
    contributions: tuple[ContentKey, ...]
    words: tuple[tuple[str, str], ...]


def _named(key: ContentKey) -> str:
    return f"contribution of {key[1]} to process {key[0]}"


def _read(storage: Storage, key: ContentKey) -> Row | None:
    process, by, digest = key
    return storage.read(CONTRIBUTIONS, process, contribution_key(by, digest))


def orphans(world: World, spoken: Spoken) -> Iterator[Inconsistency]:
    """Words in a contribution of runs that do not stand behind it (any more)."""
    for run_id in spoken.unspoken:
        if _is_orphan(world.storage, run_id, spoken.key):
            yield Inconsistency(
                subject=_named(spoken.key),
                words=f"run {run_id} is named as saying it, but says no such thing",
                about=(run_id, spoken.key),
            )


def _is_orphan(storage: Storage, run_id: str, key: ContentKey) -> bool:
    """Whether the run is settled without it; or nothing at all is known of the run."""
    state, unreadable = state_of(storage, storage.read(RUNS, run_id, STATE))
    if unreadable:
        return False
    if state is None:
        return not noted(storage, run_id).events
    return state.settled and bool(state.heard) and key not in state.current


def take_back(world: World, damage: Inconsistency) -> bool:
    """Withdraw the run's word, and publish the process anew."""
    run_id, key = damage.about
    found = _read(world.storage, key)
    record = ContributionRecord.without_content(found) if found else None
    if found is None or record is None or run_id not in record.supporters:
        return True
    if not _is_orphan(world.storage, run_id, key):
        return True
    gone = msgspec.structs.replace(record.supporters[run_id], content=None)
    supporters = replace(record, supporters={**record.supporters, run_id: gone}).row(world.storage).values["supporters"]
    fresh = replace(found, values={**found.values, "supporters": supporters})
    if world.storage.replace(CONTRIBUTIONS, fresh) is None:
        return False
    enqueue(world.storage, [record.process])
    return True


def lost_contents(world: World, spoken: Spoken) -> Iterator[Inconsistency]:
    """Contributions whose content is a blob that is gone."""
    if spoken.blob and world.storage.get(CONTENTS, spoken.blob) is None:
        yield Inconsistency(
            subject=_named(spoken.key), words=f"its content, blob {spoken.blob}, is gone", about=spoken.key
        )


def say_again(world: World, damage: Inconsistency) -> bool:
    """Have the runs that stand behind it say it again: the row waits for that without a content."""
    storage, key = world.storage, damage.about
    found = _read(storage, key)
    if found is None:
        return True
    record = ContributionRecord.without_content(found)
    if storage.get(CONTENTS, str(found.values.get("content_blob", ""))) is None:
        if storage.replace(CONTRIBUTIONS, record.row(storage)) is None:
            return False
        for run_id, word in sorted(record.supporters.items()):
            if not word.retracted:
                settle_anew(world, run_id)
        enqueue(storage, [record.process])
    after = _read(storage, key)
    said = ContributionRecord.of(after, storage) if after else record
    return said.content is not None or said.seen is None


def lost_links(world: World, spoken: Spoken) -> Iterator[Inconsistency]:
    """Processes that an application run wrote without knowing of it: its end and its tables' fates would miss them."""
    process, by, _ = spoken.key
    if not spoken.linked and spoken.record.seen and world.storage.read(RUNS, by, f"{PROCESS_REF}{process}") is None:
        yield Inconsistency(subject=_named(spoken.key), words="the application run has no link to it", about=spoken.key)


def link_again(world: World, damage: Inconsistency) -> bool:
    """Write the link, and publish the process anew: the end of the application may have missed it."""
    found = _read(world.storage, damage.about)
    record = ContributionRecord.of(found, world.storage) if found else None
    if record and record.content and record.seen:
        note_process_ref(world.storage, record.application_run, record.content)
        enqueue(world.storage, [record.process])
    return True


def lost_contributions(world: World, said: Said) -> Iterator[Inconsistency]:
    """Contributions that a run stands behind, and that are not there or do not know of it."""
    for key in said.contributions:
        if _is_lost(world.storage, said.state.run_id, key):
            yield Inconsistency(
                subject=_named(key),
                words=f"run {said.state.run_id} says it, but it is not there",
                about=said.state.run_id,
            )


def _is_lost(storage: Storage, run_id: str, key: ContentKey) -> bool:
    state, _ = state_of(storage, storage.read(RUNS, run_id, STATE))
    if state is None or not state.settled or not state.heard or key not in state.current:
        return False
    found = _read(storage, key)
    if found is None:
        return True
    record = ContributionRecord.without_content(found)
    word = record.supporters.get(run_id)
    return word.retracted if word else record.folded is None


def lost_words(world: World, said: Said) -> Iterator[Inconsistency]:
    """What a run left for the others of its application (a stream's batch, a dropped table), and that is not there."""
    for by, key in said.words:
        state, _ = state_of(world.storage, world.storage.read(RUNS, said.state.run_id, STATE))
        kept = state is not None and state.settled and (by, key) in state.left
        if kept and world.storage.read(RUNS, by, key) is None:
            yield Inconsistency(
                subject=f"run {said.state.run_id}",
                words=f"left word for its application {by} ({key.partition('|')[0]}), which is gone",
                about=said.state.run_id,
            )
