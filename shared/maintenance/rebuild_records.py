"""The rows that a rebuild writes of stored events before it processes runs, and those it must keep."""

import gzip
from dataclasses import dataclass, replace
from datetime import datetime

from shared.events.archive_format import DAMAGED, Member, job_in
from shared.events.archive_index import Archived
from shared.openlineage.merging import stronger_end
from shared.records.application.entries import APPLICATION_KEYS, entries_of
from shared.records.application.process_index import RESOLVE_TOGETHER
from shared.records.run_state import ContributionRecord, RunState, change_run_state, run_state_of
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CONTRIBUTIONS, EVENTS, RUNS, STATE, StoredEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredRuns:
    """The runs of which retention has deleted events, and the applications they contributed to."""

    runs: frozenset[str]
    applications: frozenset[str]

    def row(self, storage: Storage, table: str, row: Row) -> Row | None:
        """The part of a row that stays: what expired runs wrote; None where all of it is rebuilt."""
        if table == CONTRIBUTIONS:
            return self._contribution(storage, row)
        if table != RUNS:
            return None
        if row.key == STATE:
            return row if row.partition in self.runs else None
        if row.partition in self.applications and row.key.startswith(APPLICATION_KEYS):
            return entries_of(storage, row, self.runs)
        return None

    def _contribution(self, storage: Storage, row: Row) -> Row | None:
        application_run, _, digest = row.key.partition("|")
        if digest == RESOLVE_TOGETHER:
            return row if application_run in self.applications else None
        record = ContributionRecord.without_content(row)
        stays = {run: each for run, each in record.supporters.items() if run in self.runs}
        folded = record.folded if application_run in self.applications else None
        if not stays and not folded:
            return None
        if len(stays) == len(record.supporters):
            return row
        return replace(ContributionRecord.of(row, storage), supporters=stays, folded=folded).row(storage)


def expired_runs(storage: Storage) -> ExpiredRuns:
    """The runs that can't be rebuilt: one scan of `runs`."""
    found = (RunState.of(row, storage) for row in storage.scan(RUNS) if row.key == STATE and row.values.get("expired"))
    gone = tuple(found)
    applications = {by for state in gone for _, by, _ in state.attempted} | {
        by for state in gone for by, _ in state.entries
    }
    return ExpiredRuns(runs=frozenset(state.run_id for state in gone), applications=frozenset(applications))


def record_member(storage: Storage, batch: str, generation: int, member: Member) -> None:
    """Write the index row of one member of an archive file, and close its run again with the events that count."""
    archived = Archived.of_member(batch, member)
    storage.upsert(RUNS, archived.row(storage))
    closed = max((line.closed for line in member.lines if line.closed), default=None)
    if archived.ignored or closed is None:
        return
    counted = tuple(line.place for line in member.lines if not line.is_late)
    _close_again(storage, RunState(run_id=archived.partition, closed=closed, generation=generation), counted)


def record_blob(storage: Storage, place: StoredEvent, arrived: datetime) -> None:
    """Write the row of an event in `events`; it counts for a closed run if it had arrived by then."""
    packed = storage.get(EVENTS, place.blob)
    if packed is None:
        return  # archived meanwhile
    storage.insert(RUNS, event_row(place, packed))
    state = run_state_of(storage, place.run_id)
    if state and state.closed and arrived <= state.closed:
        _close_again(storage, state, (place,))


def event_row(place: StoredEvent, packed: bytes) -> Row:
    """The row of a stored event, with the job's name and the size as the receiver records them; without them where the
    blob is damaged.
    """
    try:
        raw = gzip.decompress(packed)
    except DAMAGED:
        values: dict[str, Value] = {}
    else:
        values = {"job": job_in(raw), "bytes": len(raw)}
    return Row(partition=place.run_id, key=place.row_key, values=values)


def _close_again(storage: Storage, fresh: RunState, counted: tuple[StoredEvent, ...]) -> None:
    """Add events to those that a closed run counts. An expired run stays as it is."""
    digests = {place.digest for place in counted}

    def change(found: RunState | None) -> RunState:
        known = found or fresh
        if found and (found.expired or (found.closed and digests <= found.merged)):
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
