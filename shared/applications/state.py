"""What is known of an application run and of its runs, as values. Pure.

`shared/applications/fold.py` computes the next state; `shared/applications/rows.py` stores both in the application's
partition.
"""

import functools
import operator
from datetime import datetime

import msgspec

from shared.applications.asset_changes import AssetChanges
from shared.model import ApplicationTimes, Contribution, Process, Span
from shared.openlineage.decoding import Event
from shared.records.states import State
from shared.storage_layout import digest_in_reference, digest_of, process_key
from shared.translation.application.context import NO_APPLICATION_FACTS, ApplicationFacts, StreamBatch
from shared.translation.application.lifecycle import LifecycleEvent, LifecycleEvents
from shared.translation.run.facts import ColumnSource, RunFacts
from shared.translation.staging_elimination import StagingResult, eliminate_staging

MAX_SUPPORTERS = 64
"""Runs that a content keeps one by one; older ones are folded into one span, and can't be retracted any more."""
MAX_BATCHES = 64
"""Stream batches, and writes that name no source, that an application remembers: the latest."""


class Content(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What runs of an application contribute to a process, in equal words. `supporters`: the runs that do, and when;
    `folded`: the span of those that are no longer kept one by one.
    """

    process: Process
    supporters: dict[str, Span] = {}
    folded: Span | None = None

    @property
    def seen(self) -> Span:
        """First and last event time of its supporters."""
        spans = (*self.supporters.values(), *([self.folded] if self.folded else []))
        return functools.reduce(operator.or_, spans)

    def supported(self, run_id: str, seen: Span) -> "Content":
        """With one more supporter; of too many the oldest is folded."""
        supporters = {**self.supporters, run_id: seen}
        if len(supporters) <= MAX_SUPPORTERS:
            return msgspec.structs.replace(self, supporters=supporters)
        oldest = min(supporters, key=lambda run: (supporters[run].last, run))
        span = supporters.pop(oldest)
        folded = self.folded | span if self.folded else span
        return msgspec.structs.replace(self, supporters=supporters, folded=folded)

    def without(self, run_id: str) -> "Content | None":
        """Without this supporter; None where none is left."""
        supporters = {run: span for run, span in self.supporters.items() if run != run_id}
        if not supporters and not self.folded:
            return None
        return msgspec.structs.replace(self, supporters=supporters)


class LatestRun(msgspec.Struct, frozen=True, array_like=True):
    """The last run that contributed to a process: when, its id, and its facts for people."""

    time: datetime
    run_id: str
    facts: RunFacts


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a run in its application.

    `verdict` with its `reason`: of the run alone. `events`: references to all of its events that are folded; `values`:
    events that stand for these, where they are many. `contents`: the process and the digest of each content that it
    supports. `seen`: first and last event time; `arrived`: when the last of its events arrived. `assets`: the keys of
    the data sets that it changed as a whole. `home`: the application to which it belongs, if that is another one: then
    this record only says so. `closed`: when it was closed, with the state of its events then (`outcome`: state and
    reason); `late`: events that arrived after that, and are skipped; `archived`: events that are in the archive.
    `facts`: what it says of its application as a whole, if anything.

    For people: `job` and `sender` are the name and the namespace of its job, `run_text` is its id as it was sent where
    that is no UUID, `omitted` names the parts of its events that can't be used. `columns`: who gave the columns of a
    run of Spark that contributes; `plan_gaps`: the parts of its plan that no rule knows; `rows_from`: where rows come
    from that no data set has; `plans_lost`: how many plans of its application were lost until then.
    """

    run_id: str
    verdict: State = State.WAITING
    reason: str = ""
    ended: str | None = None
    timed_out: bool = False
    job: str = ""
    events: tuple[str, ...] = ()
    values: tuple[Event, ...] = ()
    contents: tuple[tuple[str, str], ...] = ()
    seen: Span | None = None
    arrived: datetime | None = None
    assets: tuple[str, ...] = ()
    home: str = ""
    closed: datetime | None = None
    outcome: tuple[str, str] = ("", "")
    late: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    facts: ApplicationFacts | None = None
    sender: str = ""
    run_text: str = ""
    omitted: tuple[str, ...] = ()
    columns: ColumnSource | None = None
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    plans_lost: int = 0

    @property
    def digests(self) -> frozenset[str]:
        """The digests of its events, late and archived ones included."""
        return frozenset(map(digest_in_reference, (*self.events, *self.late, *self.archived)))

    @property
    def is_running(self) -> bool:
        """Whether it is a stream that counts, and has not ended."""
        return self.verdict is State.CONTRIBUTED and self.ended is None and not self.timed_out

    @property
    def is_decided(self) -> bool:
        """Whether nothing is awaited: neither its end nor another event."""
        return self.verdict is not State.WAITING


class ApplicationState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the folded runs of an application add up to.

    `version` grows with each commit. `contents` by digest; `lifecycle`, `batches` and `unsourced` (writes that name no
    source) by run; `assets` by key. `first`, `last`, `ended`: times and end of the application's own run; `active`:
    the last event time of any of its runs. `latest`: by process, the last run. `shares`: by process, a digest of what
    the application contributes, where what it says of one process depends on others. `runs`: how many runs have a
    record; `stale`: those to be translated again, because their context has changed. `closed`: when its last run was;
    `forgotten`: how many runs had a record once.
    """

    version: int = 0
    facts: ApplicationFacts = NO_APPLICATION_FACTS
    contents: dict[str, Content] = {}
    lifecycle: dict[str, tuple[LifecycleEvent, ...]] = {}
    batches: dict[str, StreamBatch] = {}
    unsourced: dict[str, Span] = {}
    assets: dict[str, AssetChanges] = {}
    first: datetime | None = None
    last: datetime | None = None
    ended: str | None = None
    active: datetime | None = None
    latest: dict[str, LatestRun] = {}
    shares: dict[str, str] = {}
    runs: int = 0
    stale: tuple[str, ...] = ()
    closed: datetime | None = None
    forgotten: int = 0

    @property
    def times(self) -> ApplicationTimes:
        """The times and the end of its own run."""
        return ApplicationTimes(first=self.first, last=self.last, ended=self.ended)

    @property
    def is_entangled(self) -> bool:
        """Whether what it contributes to one process depends on what it contributes to others: data sets of it were
        dropped, renamed or emptied, or statements name tables that others know.
        """
        return bool(self.lifecycle) or any(content.process.unresolved_tables for content in self.contents.values())

    def staging_results(self, application: str) -> tuple[StagingResult, ...]:
        """Its contributions, each with what staging elimination leaves of it."""
        contributions = [
            Contribution(application_run=application, content=content.process, seen=content.seen)
            for _, content in sorted(self.contents.items())
        ]
        lifecycle = LifecycleEvents.of(event for _, events in sorted(self.lifecycle.items()) for event in events)
        return eliminate_staging(contributions, lifecycle)

    def contributions(self, application: str) -> dict[str, tuple[Contribution, ...]]:
        """What it contributes to each process, by the process's key."""
        by_process: dict[str, list[Contribution]] = {}
        for result in self.staging_results(application):
            if result.remains:
                key = process_key(result.remains.content.qualified_name)
                by_process.setdefault(key, []).append(result.remains)
        return {key: tuple(contributions) for key, contributions in by_process.items()}

    def stand_ins(self) -> dict[str, frozenset[str]]:
        """By process: those by which what runs say of it is shown; none where it was eliminated as staging."""
        stand_ins: dict[str, frozenset[str]] = {}
        for result in self.staging_results(""):
            key = process_key(result.contribution.content.qualified_name)
            remains = {process_key(result.remains.content.qualified_name)} if result.remains else set()
            stand_ins[key] = stand_ins.get(key, frozenset()) | remains
        return stand_ins


def content_digest(process: Process) -> str:
    """32 hexadecimal digits: the same for the same content."""
    return digest_of(msgspec.json.encode(process))


def share_digest(contributions: tuple[Contribution, ...]) -> str:
    """16 hexadecimal digits that stand for what an application contributes to a process, and when."""
    parts = sorted((content_digest(contribution.content), contribution.seen) for contribution in contributions)
    return digest_of(msgspec.json.encode(parts))[:16]
