"""Write a run's state and its contributions."""

from dataclasses import replace

from shared.errors import Superseded
from shared.model import Process, Span
from shared.openlineage.run import MergedRun
from shared.records.application.process_index import note_process_ref
from shared.records.run_state import ContentKey, ContributionRecord, RunState, contribution_key
from shared.records.versioned_entry import VersionedEntry
from shared.storage.compare_and_swap import RowAddress, compare_and_swap
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS, RUNS


def write_state(storage: Storage, state: RunState) -> RunState:
    """Write this state. Raises Superseded if another worker has changed the row since it was read."""
    etag = storage.replace(RUNS, state.row(storage))
    if not etag:
        raise Superseded(f"Run {state.run_id} is being processed by another worker", after=2)
    return replace(state, etag=etag)


def with_new_times(storage: Storage, run: MergedRun, state: RunState) -> RunState:
    """The state of an application that was processed before, with its new times written. The times decide which
    application run is newer, so they are written before the processes are queued.
    """
    if run.application_run != run.run_id or not state.settled or state.seen == span_of(run):
        return state
    return write_state(storage, replace(state, seen=span_of(run)))


def span_of(run: MergedRun) -> Span:
    """First and last event time of a run."""
    return Span(first=run.first, last=run.last)


def contribute(storage: Storage, run: MergedRun, key: ContentKey, content: Process, generation: int) -> None:
    """Write that this run contributes this content."""
    _change(storage, run, key, content, VersionedEntry(generation, run.last, span_of(run)))


def retract(storage: Storage, run: MergedRun, key: ContentKey, generation: int) -> None:
    """Write that this run no longer contributes this content. The retraction is written even if no contribution was: a
    superseded worker may still write one, with its older generation.
    """
    _change(storage, run, key, None, VersionedEntry[Span](generation, run.last))


def _change(
    storage: Storage, run: MergedRun, key: ContentKey, content: Process | None, supporter: VersionedEntry[Span]
) -> None:
    """Change one contribution; most often it is new. The reference from the application to the process comes first, so
    that the end of the application always finds the processes it wrote.
    """
    process, application_run, digest = key
    fresh = ContributionRecord(process=process, application_run=application_run, digest=digest)
    if content:
        note_process_ref(storage, application_run, content)
    compare_and_swap(
        storage,
        RowAddress(CONTRIBUTIONS, process, contribution_key(application_run, digest)),
        lambda known: (known or fresh).with_supporter(run.run_id, supporter, content),
        decode=lambda row: ContributionRecord.of(row, storage),
        encode=lambda record: record.row(storage),
        read=None,
    )
