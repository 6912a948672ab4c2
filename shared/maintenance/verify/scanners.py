"""What each kind of damage is shown: all of a stage, one by one, in few calls for many; and what is noted on the way.

A stage holds eight bytes of each thing that later ones ask for, and a run, a contribution or a batch of processes.
"""

import heapq
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any

from shared.catalog.port import Node
from shared.errors import ContentLost
from shared.events.archive_index import ARCHIVED, Archived
from shared.events.dead_letters import DeadLetter, dead_letters
from shared.events.stored_runs import Arrived, arrivals
from shared.maintenance.verify.contributions import Said, Spoken
from shared.maintenance.verify.inconsistencies import Stage, Survey, World
from shared.maintenance.verify.processes import Planned, is_at_work
from shared.maintenance.verify.runs import RunOnRecord, state_of
from shared.publishing.placeholders.creation import with_resolved_names
from shared.publishing.planner import Reading, plan_for
from shared.records.application_entries import holds_entries
from shared.records.asset_matches import read_matches
from shared.records.digest_set import combined_digest, short
from shared.records.process_index import RESOLVE_TOGETHER
from shared.records.publish_queue import QueueEntry, queue_entries
from shared.records.run_state import ContributionRecord, RunState
from shared.records.states import LedgerState
from shared.reporting.run_outcomes import counted
from shared.storage.port import Row
from shared.storage_layout import (
    CONTENTS,
    CONTRIBUTIONS,
    LEDGER,
    PROCESS_REF,
    RUNS,
    STATE,
    StoredEvent,
    stored_from_row,
)


def _letters(world: World) -> Iterator[DeadLetter]:
    return counted(world.seen, Stage.LETTERS, dead_letters(world.storage))


def _runs(world: World) -> Iterator[RunOnRecord]:
    """Every run that has rows, after the blobs were listed: a row comes before its blob."""
    survey = world.survey
    for each in counted(world.seen, "stored events", arrivals(world.storage)):
        if each.event:
            survey.events.add(short(each.event.digest))
    there = array("Q")
    rows = counted(world.seen, Stage.RUNS, world.storage.scan(RUNS))
    for run_id, own in groupby(rows, key=lambda row: row.partition):
        yield _run(world, run_id, own, there)
    for one in there:
        survey.words.meet(one)


def _run(world: World, run_id: str, rows: Iterator[Row], there: "array[int]") -> RunOnRecord:
    survey = world.survey
    places: list[StoredEvent] = []
    found, archived = None, []
    for row in rows:
        if row.key == STATE:
            found = row
        elif row.key.startswith(ARCHIVED):
            archived.append(row)
        elif place := _noted(survey, row, there):
            places.append(place)
    state, unreadable = state_of(world.storage, found)
    if state and state.settled:
        for key in state.current:
            survey.spoken.add(combined_digest(run_id, *key))
        for word in state.entries:
            survey.words.add(combined_digest(*word))
    stored = tuple(place for place in places if survey.events.meet(short(place.digest)))
    known = set(stored)
    missing = tuple(place for place in places if place not in known)
    if state is None:  # else nothing has to be known of what is archived
        stored += tuple(event for row in archived for event in Archived.of(row, world.storage).events)
    return RunOnRecord(run_id=run_id, stored=stored, missing=missing, state=state, unreadable=unreadable)


def _noted(survey: Survey, row: Row, there: "array[int]") -> StoredEvent | None:
    """The event of a row, if it is one's; links and words are noted."""
    if row.key.startswith(PROCESS_REF):
        survey.links.add(combined_digest(row.partition, row.key.removeprefix(PROCESS_REF)))
    elif holds_entries(row):
        there.append(combined_digest(row.partition, row.key))
    else:
        return stored_from_row(row.partition, row.key)
    return None


def _unnoted(world: World) -> Iterator[Arrived]:
    """Stored events that no row told of."""
    unmet = world.survey.events.unmet()
    if unmet:
        for each in counted(world.seen, Stage.EVENTS, arrivals(world.storage)):
            if each.event and short(each.event.digest) in unmet:
                yield each


def _contributions(world: World) -> Iterator[Spoken]:
    survey = world.survey
    for fact in counted(world.seen, "contents", world.storage.blobs(CONTENTS)):
        survey.contents.add(combined_digest(fact.name))
    for row in counted(world.seen, Stage.CONTRIBUTIONS, world.storage.scan(CONTRIBUTIONS)):
        application_run, _, digest = row.key.partition("|")
        if digest == RESOLVE_TOGETHER:
            continue
        record = ContributionRecord.without_content(row)
        key = (record.process, application_run, digest)
        if record.folded:
            survey.folded.add(combined_digest(*key))
        speak = [run for run, word in record.supporters.items() if not word.retracted]
        blob = str(row.values.get("content_blob") or "")
        yield Spoken(
            row=row,
            record=record,
            unspoken=tuple(run for run in speak if not survey.spoken.meet(combined_digest(run, *key))),
            blob=blob if blob and not survey.contents.meet(combined_digest(blob)) else "",
            linked=survey.links.meet(combined_digest(application_run, record.process)),
        )


def _said(world: World) -> Iterator[Said]:
    """Runs whose states tell of something that was not seen."""
    survey = world.survey
    contributions, words = survey.spoken.unmet(), survey.words.unmet()
    rows = world.storage.scan(RUNS) if contributions or words else iter(())
    for row in counted(world.seen, Stage.SAID, rows):
        state: RunState | None = state_of(world.storage, row)[0] if row.key == STATE else None
        if state is None or not state.settled:
            continue
        run = state.run_id
        lost = tuple(
            key
            for key in sorted(state.current)
            if combined_digest(run, *key) in contributions and combined_digest(*key) not in survey.folded
        )
        unheard = tuple(word for word in sorted(state.entries) if combined_digest(*word) in words)
        if lost or unheard:
            yield Said(state=state, contributions=lost, words=unheard)


def _processes(world: World) -> Iterator[Planned]:
    """Every process that contributions or the ledger tell of, a batch at a time: what the catalog holds is asked at
    once for all of a batch.
    """
    storage = world.storage
    spoken = (key for key, _ in groupby(row.partition for row in storage.scan(CONTRIBUTIONS)))
    written = (row.partition for row in storage.scan(LEDGER))
    keys = (key for key, _ in groupby(heapq.merge(spoken, written)))
    while batch := list(islice(keys, world.publishing.batch)):
        yield from counted(world.seen, Stage.PROCESSES, _batch(world, batch))


def _batch(world: World, keys: Sequence[str]) -> list[Planned]:
    marks = {each.process: each for each in queue_entries(world.storage)[0]}
    now, reading = datetime.now(UTC), Reading()
    found = []
    for key in keys:
        with suppress(ContentLost):  # found among the contributions; what the process should be can't be told before
            plan = plan_for(world.storage, world.publishing, QueueEntry(process=key, due=now), reading)
            known = read_matches(world.storage, {asset.key: None for asset in plan.assets})
            plan = with_resolved_names(plan, known, world.publishing)
            dirty = marks.get(key)
            found.append(Planned(plan=plan, dirty=dirty, at_work=is_at_work(world, dirty)))
    held = world.catalog.read_processes([each.name for each in found if each.name])
    for each in found:
        if each.entry.state is not LedgerState.NOTHING:
            world.survey.written.add(short(each.entry.process))
        for asset in (*each.plan.entity.inputs, *each.plan.entity.outputs) if each.plan.entity else ():
            world.survey.used.add(combined_digest(*asset))
    return [replace(each, held=held.get(each.name)) for each in found]


def _ours(world: World) -> Iterator[Node]:
    """Our processes: all of them are found before any is removed, for a search goes by pages."""
    ours = [node for node in world.catalog.ours() if node.is_process]
    return counted(world.seen, Stage.CATALOG, ours)


def _placed(world: World) -> Iterator[Node]:
    """The data sets that we placed, after what used them may have been removed."""
    ours = [node for node in world.catalog.ours() if not node.is_process]
    return counted(world.seen, Stage.PLACED, ours)


WALKS: Mapping[Stage, Callable[[World], Iterator[Any]]] = {
    Stage.LETTERS: _letters,
    Stage.RUNS: _runs,
    Stage.EVENTS: _unnoted,
    Stage.CONTRIBUTIONS: _contributions,
    Stage.SAID: _said,
    Stage.PROCESSES: _processes,
    Stage.CATALOG: _ours,
    Stage.PLACED: _placed,
}
