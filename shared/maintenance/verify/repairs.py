"""The repairs of `verify`: process a run again, publish a process again, delete an orphan.

Each looks once more at what was found, since much may have happened in between, and returns why it could not repair it:
nothing where it did.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from shared.catalog.port import AssetKey
from shared.errors import WriteConflict
from shared.events.dead_letters import DeadLetter, dead_letter, delete_letter
from shared.events.stored_runs import last_arrival, noted, packed_event, readable_event
from shared.maintenance.rebuild_records import event_row
from shared.maintenance.replay import LetterOutcome, process_stored, replay_dead_letters
from shared.maintenance.verify.checks import CHANGED, VerifyContext
from shared.openlineage.merging import merge, stronger_end
from shared.processing.processor import RunProcessor
from shared.processing.triggers import TimedOut
from shared.publishing.publisher_lease import remove_placeholders
from shared.records.application.entries import generations_in, holds_entries
from shared.records.application.process_index import contributions_of, note_process_ref, processes_written_by
from shared.records.ledger import LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import enqueue
from shared.records.run_state import (
    CONTENT,
    ContentKey,
    ContributionRecord,
    EntryKey,
    RunState,
    contribution_key,
    readable_run_state,
    run_state_of,
)
from shared.storage.compare_and_swap import write_if_unchanged
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTENTS, CONTRIBUTIONS, EVENTS, RUNS, STATE, StoredEvent

_LOG = logging.getLogger("throughline.verify")
UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError)
"""What merging or translating raises for events that it can't use."""


def has_end(events: Iterable[StoredEvent]) -> bool:
    """Whether one of these events ends its run."""
    return any(event.end for event in events)


def is_over(context: VerifyContext, events: tuple[StoredEvent, ...]) -> bool:
    """Whether the last event of a run came so long ago that the run should have been processed."""
    last = last_arrival(context.storage, events)
    wait = context.grace if has_end(events) else max(context.grace, context.end_timeout)
    return last is None or datetime.now(UTC) - last >= wait


def process_again(context: VerifyContext, run_id: str) -> str:
    """Process a run from all that is stored of it. A lost state is restored first, so that the run can withdraw
    contributions it no longer makes. Raises WriteConflict.
    """
    storage = context.storage
    events = tuple(each for each in noted(storage, run_id).events if packed_event(storage, each) is not None)
    if not events:
        return "nothing of it is stored any more"
    row = storage.read(RUNS, run_id, STATE)
    state = readable_run_state(row, storage)
    if state is None:
        restored = restored_state(storage, run_id, events).row(storage)
        if not write_if_unchanged(storage, RUNS, replace(restored, etag=row.etag if row else "")):
            raise WriteConflict(f"Run {run_id} is being processed by another worker", after=2)
        _LOG.info("state restored run=%s unreadable=%s", run_id, row is not None)
        state = run_state_of(storage, run_id)
    if has_end(events) or not is_over(context, events):
        process_stored(storage, run_id, state, events, context.names)
    else:
        RunProcessor(storage=storage, names=context.names).process(run_id, TimedOut())
    return ""


def restored_state(storage: Storage, run_id: str, events: Iterable[StoredEvent]) -> RunState:
    """A run's state as far as other rows say: what it may have contributed, in its latest generation."""
    places = tuple(events)
    end: str | None = None
    for place in places:
        end = stronger_end(end, place.end)
    try:
        opened = [event for place in places if (event := readable_event(storage, place))]
        by = merge(opened).application_run if opened else run_id
    except UNUSABLE:
        by = run_id  # processing makes dead letters of its events
    contributed: dict[ContentKey, int] = {}
    for process in processes_written_by(storage, by):
        for _, record in contributions_of(storage, process, by):
            if run_id in record.supporters:
                contributed[process, by, record.digest] = record.supporters[run_id].generation
    rows = (row for row in storage.partition(RUNS, by) if holds_entries(row))
    entries: dict[EntryKey, int] = {
        (by, row.key): generations[run_id] for row in rows if run_id in (generations := generations_in(storage, row))
    }
    return RunState(
        run_id=run_id,
        end=end,
        generation=max((*contributed.values(), *entries.values()), default=0),
        attempted=frozenset(contributed),
        entries=frozenset(entries),
    )


def process_event_again(context: VerifyContext, event: StoredEvent) -> str:
    """Insert the row of a stored event, as the receiver would have, and process its run, unless that waits."""
    packed = packed_event(context.storage, event)
    context.storage.insert(RUNS, event_row(event, packed or b""))
    is_known = context.storage.read(RUNS, event.run_id, STATE) is not None
    return process_again(context, event.run_id) if is_known or event.end else ""


def process_letter_again(context: VerifyContext, digest: str) -> str:
    """Replay a dead letter."""
    replayed = replay_dead_letters(context.storage, lambda letter: letter.digest == digest, names=context.names)
    outcomes = [each.outcome for each in replayed if each.letter.digest == digest]
    used = all(outcome is LetterOutcome.USED for outcome in outcomes) and dead_letter(context.storage, digest) is None
    return "" if used else CHANGED


def read_contribution(storage: Storage, key: ContentKey) -> Row | None:
    """The row of a contribution."""
    process, by, digest = key
    return storage.read(CONTRIBUTIONS, process, contribution_key(by, digest))


def process_supporters_again(context: VerifyContext, key: ContentKey) -> str:
    """Have the runs behind a contribution write its lost content again; until then the row has none."""
    storage = context.storage
    found = read_contribution(storage, key)
    if found is None:
        return ""
    record = ContributionRecord.without_content(found)
    if storage.get(CONTENTS, CONTENT.blob(found)) is None:
        if storage.replace(CONTRIBUTIONS, record.row(storage)) is None:
            return CHANGED
        for run_id, supporter in sorted(record.supporters.items()):
            if not supporter.retracted:
                process_again(context, run_id)
        enqueue(storage, [record.process])
    after = read_contribution(storage, key)
    written = ContributionRecord.of(after, storage) if after else record
    return CHANGED if written.content is None and written.seen else ""


def publish_again(context: VerifyContext, corrected: LedgerEntry) -> str:
    """Publish a process again, with its ledger entry `corrected` unless that has changed since it was read."""
    storage = context.storage
    if ledger_entry(storage, corrected.process) != corrected and put_entry(storage, corrected) is None:
        return CHANGED
    enqueue(storage, [corrected.process])
    return ""


def publish_contribution_again(context: VerifyContext, key: ContentKey) -> str:
    """Publish a process again, with the reference from an application run to it: the end of that may have missed it."""
    found = read_contribution(context.storage, key)
    record = ContributionRecord.of(found, context.storage) if found else None
    if record and record.content and record.seen:
        note_process_ref(context.storage, record.application_run, record.content)
        enqueue(context.storage, [record.process])
    return ""


def is_orphan(storage: Storage, run_id: str, key: ContentKey) -> bool:
    """Whether a run was processed without this contribution; or nothing at all is stored of the run."""
    row = storage.read(RUNS, run_id, STATE)
    state = readable_run_state(row, storage)
    if state is None:
        return row is None and not noted(storage, run_id).events
    return state.settled and bool(state.context_digest) and key not in state.current


def delete_supporter(context: VerifyContext, run_id: str, key: ContentKey) -> str:
    """Retract a run's support of a contribution, and publish the process."""
    found = read_contribution(context.storage, key)
    record = ContributionRecord.without_content(found) if found else None
    if not found or not record or run_id not in record.supporters or not is_orphan(context.storage, run_id, key):
        return ""
    retracted = msgspec.structs.replace(record.supporters[run_id], content=None)
    fresh = replace(record, supporters={**record.supporters, run_id: retracted}).row(context.storage)
    values = {**found.values, "supporters": fresh.values["supporters"]}  # its content stays where it is
    if context.storage.replace(CONTRIBUTIONS, replace(found, values=values)) is None:
        return CHANGED
    enqueue(context.storage, [record.process])
    return ""


def letter_is_stored(storage: Storage, letter: DeadLetter) -> bool:
    """Whether the blob of a dead letter is there."""
    if letter.place:
        return packed_event(storage, letter.place) is not None
    return any(fact.name == letter.blob for fact in storage.blobs(EVENTS, letter.blob))


def delete_lost_letter(context: VerifyContext, letter: DeadLetter) -> str:
    """Delete a dead letter, unless its blob is back or it was met again."""
    return "" if letter_is_stored(context.storage, letter) or delete_letter(context.storage, letter) else CHANGED


def delete_event_row(context: VerifyContext, event: StoredEvent) -> str:
    """Delete the row of an event without a blob. What was merged of it stays; a blob that comes back gets a row."""
    if packed_event(context.storage, event) is None:
        context.storage.delete(RUNS, event.run_id, event.row_key)
    return ""


def delete_placeholder(context: VerifyContext, key: AssetKey) -> str:
    """Delete a placeholder under the publisher's lease: a publisher creates assets before processes that use them."""
    if context.publishing.shadow:
        return "shadow mode leaves the catalog as it is"
    try:
        return CHANGED if remove_placeholders(context, [key], wait=False).kept else ""
    except WriteConflict:
        return CHANGED
