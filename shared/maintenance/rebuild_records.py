"""What a rebuild writes down of stored events before anything is settled, and what it must leave as it is."""

import gzip
import zlib
from dataclasses import dataclass, replace
from datetime import datetime

from shared.events.archive_format import Member, job_in
from shared.events.archive_index import Archived
from shared.openlineage.merging import stronger_end
from shared.records.application_entries import APPLICATION_KEYS, entries_of
from shared.records.process_index import RESOLVE_TOGETHER
from shared.records.run_state import ContributionRecord, RunState, change_run_state
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CONTRIBUTIONS, EVENTS, RUNS, STATE, StoredEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbuildable:
    """The runs of which retention has deleted a part, and the applications of which they spoke."""

    runs: frozenset[str]
    applications: frozenset[str]

    def row(self, storage: Storage, table: str, row: Row) -> Row | None:
        """What of a row stays: None where it is rebuilt; else what runs that are gone have said."""
        if table == CONTRIBUTIONS:
            return self._said(storage, row)
        if table != RUNS:
            return None
        if row.key == STATE:
            return row if row.partition in self.runs else None
        if row.partition in self.applications and row.key.startswith(APPLICATION_KEYS):
            return entries_of(storage, row, self.runs)
        return None

    def _said(self, storage: Storage, row: Row) -> Row | None:
        application_run, _, digest = row.key.partition("|")
        if digest == RESOLVE_TOGETHER:
            return row if application_run in self.applications else None
        record = ContributionRecord.without_content(row)
        stays = {run: word for run, word in record.supporters.items() if run in self.runs}
        folded = record.folded if application_run in self.applications else None
        if not stays and not folded:
            return None
        if len(stays) == len(record.supporters):
            return row
        return replace(ContributionRecord.of(row, storage), supporters=stays, folded=folded).row(storage)


def unbuildable(storage: Storage) -> Unbuildable:
    """What can't be rebuilt: one scan of `runs`."""
    found = (RunState.of(row, storage) for row in storage.scan(RUNS) if row.key == STATE and row.values.get("gone"))
    gone = tuple(found)
    applications = {by for state in gone for _, by, _ in state.attempted} | {
        by for state in gone for by, _ in state.left
    }
    return Unbuildable(runs=frozenset(state.run_id for state in gone), applications=frozenset(applications))


def note_member(storage: Storage, batch: str, generation: int, member: Member) -> None:
    """The row of what lies in one member of a file, and its run closed again with those that count."""
    archived = Archived.of_member(batch, member)
    storage.upsert(RUNS, archived.row(storage))
    closed = max((line.closed for line in member.lines if line.closed), default=None)
    if archived.ignored or closed is None:
        return
    counted = tuple(line.place for line in member.lines if not line.is_late)
    _close_again(storage, RunState(run_id=archived.partition, closed=closed, generation=generation), counted)


def note_blob(storage: Storage, place: StoredEvent, arrived: datetime) -> None:
    """The row of an event in `events`; where its run is closed and it had arrived by then, it counts as one of its."""
    packed = storage.get(EVENTS, place.blob)
    if packed is None:
        return  # archived meanwhile
    storage.insert(RUNS, event_row(place, packed))
    found = storage.read(RUNS, place.run_id, STATE)
    state = RunState.of(found, storage) if found else None
    if state and state.closed and arrived <= state.closed:
        _close_again(storage, state, (place,))


def event_row(place: StoredEvent, packed: bytes) -> Row:
    """The row of a stored event, with the job's name and the size as the receiver records them; without them where the
    blob is damaged.
    """
    try:
        raw = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        values: dict[str, Value] = {}
    else:
        values = {"job": job_in(raw), "bytes": len(raw)}
    return Row(partition=place.run_id, key=place.row_key, values=values)


def _close_again(storage: Storage, fresh: RunState, counted: tuple[StoredEvent, ...]) -> None:
    """Add events to those with which a run was closed. A run of which a part is gone stays as it is."""
    digests = {place.digest for place in counted}

    def change(found: RunState | None) -> RunState:
        known = found or fresh
        if found and (found.gone or (found.closed and digests <= found.merged)):
            return found
        end = known.end if known.closed else None
        for place in counted:
            end = stronger_end(end, place.end)
        return replace(
            known,
            closed=known.closed or fresh.closed,
            generation=max(known.generation, fresh.generation),
            end=end,
            timed_out=end is None,
            settled=False,
            merged=(known.merged if known.closed else frozenset()) | digests,
        )

    change_run_state(storage, fresh.run_id, change)
