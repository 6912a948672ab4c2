"""Compute an application again from the stored events of its runs, and compare that with what is on record.

It is computed from nothing, in memory, by the same fold. What can't be computed any more stays as it is: runs whose
events are deleted, and what runs contributed whose records have been forgotten. A difference is committed as by a fold:
marks first, then the header with as many records as fit. The runs whose records follow in further transactions are
*stale* until then, so that a fold in between takes out all that they say.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from itertools import islice
from operator import or_
from types import MappingProxyType
from typing import TypeVar

from msgspec import structs

from shared.applications.partition import Commit, OpenApplication, counting_events, counting_references, read_whole
from shared.applications.processor import MAX_ATTEMPTS, ApplicationProcessor, FoldRequest
from shared.applications.rows import FoldMemory
from shared.applications.state import ApplicationState, AssetChanges, Content, RunRecord, earliest_of, latest_of
from shared.errors import WriteConflict
from shared.events.archive import archived_packed
from shared.events.dead_letters import DeadLetter, dead_letters, put_letter
from shared.model import Span, latest_tests
from shared.records.publish_queue import ASSET_KIND, FORWARD_KIND, PROCESS_KIND
from shared.storage.memory import ScratchStorage
from shared.storage.port import Storage
from shared.storage_layout import APPLICATIONS, EVENTS, MAX_INLINE, EventRow, StoredEvent
from shared.telemetry.port import SILENT

_MAX_RUNS = 40
"""Runs that are folded, or whose records are written, at a time."""
_MAX_EVENTS = 1000
"""Events of a run that are folded at a time: a stream has hundreds of thousands after a year."""
_NOWHERE = "nowhere"
"""The home of a run of which only a part could be folded."""
Records = Mapping[str, RunRecord]
NO_RECORDS: Records = MappingProxyType({})
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputed:
    """An application as it should be (`state`, `records`), beside the `snapshot` of it as it is on record.

    `contributed`: the keys of all processes to which it contributes; `processes`, `assets`: of those about which it
    says something else; `runs`: those whose records differ; `kept`: those that stay as they are, because events of
    them are deleted. `letters`: events that can't be used.
    """

    snapshot: OpenApplication
    state: ApplicationState
    records: Records
    contributed: frozenset[str]
    processes: frozenset[str]
    assets: frozenset[str]
    runs: frozenset[str]
    kept: frozenset[str]
    letters: tuple[DeadLetter, ...]

    @property
    def differs(self) -> bool:
        """Whether what is on record is not what it should be."""
        return bool(self.processes or self.assets or self.runs or problem_of(self.snapshot))

    @property
    def forwarded(self) -> frozenset[str]:
        """The runs that are to be forwarded again."""
        run_records_before = self.snapshot.records
        return frozenset(run for run in self.runs if self.records[run].changes_lineage(run_records_before.get(run)))


def recompute(processor: ApplicationProcessor, application: str, unrecorded: Records = NO_RECORDS) -> Recomputed:
    """Compute an application again, and commit what differs; the publisher is told of all that it contributes, changed
    or not. `unrecorded`: as for `recomputed`. Raises WriteConflict where it keeps changing, and StorageUnavailable.
    """
    for attempt in range(MAX_ATTEMPTS):
        outcome = recomputed(processor, application, unrecorded)
        version = outcome.snapshot.state.version + outcome.differs
        targets = {
            PROCESS_KIND: outcome.processes | outcome.contributed,
            ASSET_KIND: outcome.assets,
            FORWARD_KIND: outcome.forwarded,
        }
        processor.leave_marks(application, version, targets)
        if not outcome.differs or _commit(processor, outcome):
            for letter in outcome.letters:
                put_letter(processor.storage, letter)
            return outcome
        processor.pause(attempt / MAX_ATTEMPTS)
    raise WriteConflict(f"Application {application} kept changing while it was computed again", after=2)


def recomputed(
    processor: ApplicationProcessor,
    application: str,
    unrecorded: Records = NO_RECORDS,
    *,
    max_events: int = _MAX_EVENTS,
) -> Recomputed:
    """Compute an application again; writes nothing. `unrecorded`: runs with stored events, but without a record: each
    with references to its events, and with what can't be computed. `max_events`: of a run that are in memory at a time.
    Raises StorageUnavailable.
    """
    snapshot = read_whole(processor.storage, application, lenient=True)
    stored = {**unrecorded, **snapshot.records}
    scratch = ScratchStorage(processor.storage)
    computing = replace(processor, storage=scratch, memory=FoldMemory())
    kept_runs = _fold_again(computing, snapshot, stored, processor.storage, max_events)
    computed = read_whole(scratch, application)
    records = {
        run_id: record if record.home or run_id in kept_runs else _with_closing(computed.records[run_id], record)
        for run_id, record in stored.items()
    }
    state = _with_kept(computed.state, snapshot.state, records, kept_runs, forgotten=len(unrecorded))
    if application in kept_runs or application not in records:
        state = _with_times(state, snapshot.state)
    previous = snapshot.state
    shares, previous_shares = state.share_digests(application), previous.share_digests(application)
    own_times = (previous.first, previous.last, previous.ended) != (state.first, state.last, state.ended)
    changes, previous_changes = _changes(state), _changes(previous)
    return Recomputed(
        snapshot=snapshot,
        state=structs.replace(state, shares=shares if state.is_entangled else {}),
        records=records,
        contributed=frozenset(shares),
        processes=_differing(shares, previous_shares) | (shares.keys() if own_times else frozenset()),
        assets=_differing(changes, previous_changes),
        runs=frozenset(run_id for run_id, record in records.items() if record != snapshot.records.get(run_id)),
        kept=frozenset(kept_runs),
        letters=tuple(
            replace(letter, job=records[letter.place.run_id].job) for letter in dead_letters(scratch) if letter.place
        ),
    )


# --- computing


def _fold_again(
    processor: ApplicationProcessor, snapshot: OpenApplication, records: Records, storage: Storage, max_events: int
) -> frozenset[str]:
    """Fold the events of all runs into an empty application. Returns the runs of which events are not stored."""
    application, scratch = snapshot.application, processor.storage
    kept_runs: set[str] = set()
    own_run_record = records.get(application)
    if own_run_record and own_run_record.home:
        references = (*own_run_record.events, *own_run_record.archived)
        processor.fold(application, FoldRequest(homes={application: own_run_record.home}, elsewhere=references))
    elif own_run_record is None:
        waiting = [row for row in snapshot.by_run().get(application, []) if not row.event.end]
        for row in waiting:
            scratch.insert(APPLICATIONS, row.row(application))
    run_ids = sorted(run_id for run_id, record in records.items() if not record.home)
    for start in range(0, len(run_ids), _MAX_RUNS):
        chunk = [records[run_id] for run_id in run_ids[start : start + _MAX_RUNS]]
        open_runs: set[str] = set()
        timed_out: set[str] = set()
        for record in chunk:
            rest = _put_events(processor, application, record, storage, max_events)
            if not rest:
                kept_runs.add(record.run_id)
            elif not any(event.end for event in rest):
                open_runs.add(record.run_id)
            if record.timed_out:
                timed_out.add(record.run_id)
        processor.fold(application, FoldRequest(force=frozenset(open_runs), timed_out=frozenset(timed_out)))
    return frozenset(kept_runs)


def _put_events(
    processor: ApplicationProcessor, application: str, record: RunRecord, storage: Storage, max_events: int
) -> list[StoredEvent]:
    """Put the events of a run into the scratch storage, and fold all but the last of them, so many at a time. Returns
    those last ones; none, and the run contributes nothing, where events are not stored.
    """
    expected = len(counting_references(record)) + (record.earlier.number if record.earlier else 0)
    scratch, silent = processor.storage, replace(processor, telemetry=SILENT)
    events, number, last = counting_events(storage, record), 0, list[StoredEvent]()
    while chunk := list(islice(events, max_events)):
        if number:
            silent.fold(application, FoldRequest(force=frozenset({record.run_id})))
            _forget_references(silent, application, record.run_id)
        payloads = _payloads(processor, storage, chunk)
        if len(payloads) < len(chunk):
            break
        for event, payload in payloads.items():
            if len(payload) > MAX_INLINE:
                scratch.put_new(EVENTS, event.blob, payload)
            row = EventRow(event=event, payload=payload, received=record.arrived)
            scratch.insert(APPLICATIONS, row.row(application))
        number, last = number + len(chunk), chunk
    else:
        if number >= expected:
            return last
    if number:
        silent.fold(application, FoldRequest(homes={record.run_id: _NOWHERE}))
    return []


def _forget_references(processor: ApplicationProcessor, application: str, run_id: str) -> None:
    """Have the record of a stream refer to the last of its events alone: values stand for them, and each further fold
    would sort and write all references.
    """
    snapshot = read_whole(processor.storage, application)
    record = snapshot.records[run_id]
    if record.is_running and record.values:
        record = structs.replace(record, events=(), archived=record.events[-1:])
        commit = Commit.of(processor.storage, snapshot, snapshot.state, {run_id: record})
        commit.execute(processor.storage, processor.memory)


def _payloads(
    processor: ApplicationProcessor, storage: Storage, events: Iterable[StoredEvent]
) -> dict[StoredEvent, bytes]:
    """The events with their bytes, as far as they are stored."""
    blobs = {event: processor.blob_cache.get(event.digest) or storage.get(EVENTS, event.blob) for event in events}
    payloads = {event: payload for event, payload in blobs.items() if payload is not None}
    return payloads | archived_packed(storage, blobs.keys() - payloads.keys())


def _with_closing(computed: RunRecord, stored: RunRecord) -> RunRecord:
    """A computed record with what can't be computed: where its events are, what the receiver left out of them, and when
    it was closed.
    """
    return structs.replace(
        computed,
        events=stored.events,
        archived=stored.archived,
        earlier=stored.earlier,
        late=stored.late,
        arrived=stored.arrived,
        omitted=tuple(sorted({*computed.omitted, *stored.omitted})),
        closed=stored.closed,
        outcome=stored.outcome,
        values=() if stored.closed else computed.values,
    )


def _with_kept(
    state: ApplicationState, previous: ApplicationState, records: Records, kept_runs: frozenset[str], *, forgotten: int
) -> ApplicationState:
    """A computed state with what stays of the previous one. `forgotten`: how many runs are on record again."""
    still_forgotten = max(0, previous.forgotten - forgotten)

    def stays(run_id: str) -> bool:
        return run_id in kept_runs or (still_forgotten > 0 and run_id not in records)

    contents, assets = dict(state.contents), dict(state.assets)
    for digest, content in previous.contents.items():
        supporters = _chosen(content.supporters, stays)
        folded = content.folded if still_forgotten else None
        if supporters or folded:
            contents[digest] = _united(contents.get(digest) or Content(process=content.process), supporters, folded)
    for key, changes in previous.assets.items():
        by_run = _chosen(changes.by_run, stays)
        folded_changes = changes.folded if still_forgotten else ()
        tests = changes.tests if still_forgotten or kept_runs else ()
        if by_run or folded_changes or tests:
            computed = assets.get(key) or AssetChanges(asset=changes.asset)
            assets[key] = structs.replace(
                computed,
                by_run={**computed.by_run, **by_run},
                folded=tuple(sorted({*computed.folded, *folded_changes})),
                tests=latest_tests((*computed.tests, *tests)),
            )
    latest = {process: run for process, run in previous.latest.items() if stays(run.run_id)}
    closed = [record.closed for record in records.values() if not record.home]
    return structs.replace(
        state,
        version=previous.version,
        contents=contents,
        assets=assets,
        lifecycle={**state.lifecycle, **_chosen(previous.lifecycle, stays)},
        batches={**state.batches, **_chosen(previous.batches, stays)},
        unsourced={**state.unsourced, **_chosen(previous.unsourced, stays)},
        latest={**latest, **state.latest},
        ends={**state.ends, **_chosen(previous.ends, lambda run_id: run_id in kept_runs)},
        ended_until=latest_of(state.ended_until, previous.ended_until),
        has_plans=state.has_plans or previous.has_plans,
        active=latest_of(state.active, previous.active),
        runs=len(records),
        forgotten=still_forgotten,
        stale=(),
        closed=previous.closed or _latest(closed),
    )


def _with_times(state: ApplicationState, previous: ApplicationState) -> ApplicationState:
    """With the times of an own run whose record is forgotten."""
    return structs.replace(
        state,
        first=earliest_of(state.first, previous.first),
        last=latest_of(state.last, previous.last),
        ended=previous.ended,
    )


def _chosen(by_run: Mapping[str, _V], choose: Callable[[str], bool]) -> dict[str, _V]:
    return {run_id: value for run_id, value in by_run.items() if choose(run_id)}


def _latest(closed: Iterable[datetime | None]) -> datetime | None:
    """When the last run was closed; None while one is not."""
    moments = list(closed)
    return max(filter(None, moments)) if moments and all(moments) else None


def _united(content: Content, supporters: Mapping[str, Span], folded: Span | None) -> Content:
    spans = [span for span in (content.folded, folded) if span]
    return structs.replace(
        content,
        supporters={**content.supporters, **supporters},
        folded=reduce(or_, spans) if spans else None,
    )


# --- comparing, and committing


def _changes(state: ApplicationState) -> dict[str, object]:
    """The changes of data sets that count, by key."""
    return {
        key: (changes.latest, changes.tests) for key, changes in state.assets.items() if changes.latest or changes.tests
    }


def problem_of(snapshot: OpenApplication) -> str:
    """What the rows of an application lack, or say in two ways."""
    if snapshot.lost:
        return f"content of {', '.join(snapshot.lost)} is gone"
    contents, records = snapshot.state.contents, snapshot.records
    for run_id, record in records.items():
        for _, digest in record.contents:
            content = contents.get(digest)
            if content is None or (run_id not in content.supporters and content.folded is None):
                return f"run {run_id} contributes what the state lacks"
    for digest, content in contents.items():
        for run_id in content.supporters:
            supporter = records.get(run_id)
            if supporter is None and not snapshot.state.forgotten:
                return f"run {run_id} is said to contribute, and has no record"
            if supporter and digest not in {supported_digest for _, supported_digest in supporter.contents}:
                return f"run {run_id} is said to contribute what its record does not have"
    return ""


def _differing(computed: Mapping[str, object], stored: Mapping[str, object]) -> frozenset[str]:
    return frozenset(key for key in computed.keys() | stored.keys() if computed.get(key) != stored.get(key))


def _commit(processor: ApplicationProcessor, outcome: Recomputed) -> bool:
    """Commit what differs; False where the application has changed since it was read."""
    storage, application = processor.storage, outcome.snapshot.application
    snapshot, state = outcome.snapshot, outcome.state
    run_ids = sorted(outcome.runs)
    while True:
        chunk, remaining_runs = run_ids[:_MAX_RUNS], run_ids[_MAX_RUNS:]
        records = {run_id: outcome.records[run_id] for run_id in chunk}
        commit = Commit.of(storage, snapshot, structs.replace(state, stale=tuple(remaining_runs)), records)
        if not commit.execute(storage, processor.memory):
            if snapshot.state.version == outcome.snapshot.state.version:
                return False
            remaining_runs = run_ids  # another worker has committed between two of these transactions
        if not remaining_runs:
            return True
        snapshot = read_whole(storage, application, lenient=True)
        state = snapshot.state
        run_ids = [
            run_id for run_id in remaining_runs if snapshot.records.get(run_id) == outcome.snapshot.records.get(run_id)
        ]
