"""What leaves of a run as it is now: read from the header of its application, its record and, for raw events, blobs.

A target takes an event, or answers why not: that is the port of targets.
"""

import gzip
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from shared.applications.partition import read_record, read_state
from shared.applications.state import ApplicationState, RunRecord, is_declared
from shared.errors import ContentLost
from shared.events.archive import stored_packed
from shared.forwarding.event import EndedRun, JobKey, dataset_names, run_content
from shared.forwarding.rules import Mode, TargetRule
from shared.http_errors import Answer
from shared.model import Contribution, Process
from shared.openlineage.selection import MATCH_ALL, GlobFilter
from shared.records.states import State
from shared.storage.port import Storage
from shared.storage_layout import digest_in_reference, digest_of, event_of_reference
from shared.translation.aggregate import aggregate, published, with_excluded

COMPLETE, RUNNING = "COMPLETE", "RUNNING"
_MOST_STATES = 200
"""States that are kept at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingEvent:
    """An event that leaves: of which run, an id that is the same for the same content, its time, and its JSON."""

    run_id: str
    digest: str
    time: datetime
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedRun:
    """A run that may leave: its `record`, and what is sent of it merged. `names`: of its data sets."""

    record: RunRecord
    run: EndedRun
    names: tuple[str, ...]

    @property
    def job(self) -> JobKey:
        """Namespace and name of its job, by which rules choose."""
        return self.run.job or (self.record.sender, self.record.job)

    def digest(self, target: TargetRule, job: JobKey) -> str:
        """32 hexadecimal digits: the same for the same content. `job`: under which the target has the run."""
        if target.mode is Mode.RAW:
            return digest_of("\n".join(sorted(self.record.digests)).encode())
        return run_content(self.run, job, explicit=target.explicit).digest


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReader:
    """Reads decided runs; headers are kept for one round. `paths`: the data sets that may leave."""

    storage: Storage
    paths: GlobFilter = MATCH_ALL
    states: dict[str, ApplicationState | None] = field(default_factory=dict)

    def state(self, application: str) -> ApplicationState | None:
        """The state of an application; None without one. Raises ContentLost."""
        if application not in self.states:
            if len(self.states) >= _MOST_STATES:
                self.states.clear()
            snapshot = read_state(self.storage, application)
            self.states[application] = snapshot.state if snapshot else None
        return self.states[application]

    def decided_run(self, application: str, run_id: str) -> DecidedRun | None:
        """A run that has been decided in this application; None where it is not, or lies elsewhere. Raises
        ContentLost.
        """
        state, record = self.state(application), read_record(self.storage, application, run_id)
        if state is None or record is None or record.home or record.seen is None or not record.is_decided:
            return None
        digests = (digest for _, digest in record.contents)
        contents = (state.contents[digest].process for digest in digests if digest in state.contents)
        processes = tuple(process for content in contents if (process := self._published(content, record)))
        processes = tuple(process for process in processes if not is_declared(process)) or processes
        run = EndedRun(
            run_id=run_id,
            type=_type(record),
            span=record.seen,
            job_name=record.job,
            processes=processes,
            environment=state.facts.environment,
        )
        return DecidedRun(record=record, run=run, names=tuple(dataset_names(processes)))

    def _published(self, content: Process, record: RunRecord) -> Process | None:
        """What the catalog would get of a run's content alone: without noise and what the path settings exclude."""
        if record.seen is None:
            return None
        contribution = Contribution(application_run="", content=content, seen=record.seen)
        process = aggregate([contribution], {}, now=None).process
        return published(with_excluded(process, self.paths))

    def merged(self, decided_run: DecidedRun, target: TargetRule, job: JobKey) -> Iterator[OutgoingEvent]:
        """The one event of a run."""
        content = run_content(decided_run.run, job, explicit=target.explicit)
        yield OutgoingEvent(
            run_id=decided_run.run.run_id, digest=content.digest, time=decided_run.run.span.last, body=content.body
        )

    def raw(self, decided_run: DecidedRun, delivered_digests: frozenset[str]) -> Iterator[OutgoingEvent]:
        """The events of a run by time, without those that were delivered. Raises ContentLost."""
        record = decided_run.record
        for reference in sorted({*record.events, *record.late, *record.archived}):
            if digest_in_reference(reference) in delivered_digests:
                continue
            event = event_of_reference(record.run_id, reference)
            stored_bytes = stored_packed(self.storage, event.blob)
            if stored_bytes is None:
                raise ContentLost(f"Blob {event.blob} is missing, so the event can't be forwarded", after=60)
            yield OutgoingEvent(
                run_id=record.run_id, digest=event.digest, time=event.time, body=gzip.decompress(stored_bytes)
            )


def _type(record: RunRecord) -> str:
    """The type of the event. A run that failed after it had counted is a FAIL; a stream keeps what it did when it is
    cancelled.
    """
    if record.is_running:
        return RUNNING
    return record.ended or COMPLETE if record.verdict is not State.CONTRIBUTED else COMPLETE


SignIn = Callable[[], Mapping[str, str]]
"""Gives the headers that say who we are. Raises Retry without a token."""


class Target(Protocol):
    """An open target."""

    def send(self, event: OutgoingEvent) -> Answer:
        """Hand over an event, which may have been handed over before. Failures are answers, not exceptions."""
