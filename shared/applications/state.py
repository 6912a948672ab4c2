"""What is known of an application run and of its runs, as values. Pure.

`shared/applications/fold.py` computes the next state; `shared/applications/rows.py` stores both in the application's
partition.
"""

import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from shared.model import Asset, Contribution, Process, QualityTest, Span
from shared.openlineage.decoding import Event
from shared.openlineage.selection import DECLARED
from shared.records.states import State
from shared.storage_layout import (
    asset_key,
    digest_in_reference,
    digest_of,
    process_key,
)
from shared.translation.run.application import (
    NO_APPLICATION_FACTS,
    ApplicationFacts,
    Execution,
    LifecycleEvent,
    LifecycleEvents,
    StreamBatch,
)
from shared.translation.run.facts import ColumnSource, RunFacts, StatedFact
from shared.translation.run.translate import StateChange
from shared.translation.staging_elimination import StagingResult, eliminate_staging

MAX_SUPPORTERS = 64
"""Runs that a content keeps one by one; older ones are folded into one span, and can't be retracted any more."""
MAX_BATCHES = 64
"""Stream batches, and writes that name no source, that an application remembers: the latest."""


MAX_CHANGES = 16
"""Runs whose changes of a data set are kept one by one, and may be retracted."""
MAX_ENDS = 64
"""Ends of executions that an application remembers: the latest. Those of others are in the records of their runs."""


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

    def supported(self, run_id: str, seen_span: Span) -> "Content":
        """With one more supporter; of too many the oldest is folded."""
        supporters = {**self.supporters, run_id: seen_span}
        content = msgspec.structs.replace(self, supporters=supporters)
        if len(supporters) <= MAX_SUPPORTERS:
            return content
        return content.anonymous(min(supporters, key=lambda run: (supporters[run].last, run)))

    def anonymous(self, run_id: str) -> "Content":
        """With the span of this supporter, if it is one, but not its id."""
        supporters = {**self.supporters}
        span = supporters.pop(run_id, None)
        folded = self.folded | span if self.folded and span else self.folded or span
        return msgspec.structs.replace(self, supporters=supporters, folded=folded)

    def without(self, run_id: str) -> "Content | None":
        """Without this supporter; None where none is left."""
        supporters = {run: span for run, span in self.supporters.items() if run != run_id}
        if not supporters and not self.folded:
            return None
        return msgspec.structs.replace(self, supporters=supporters)


class AssetChange(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A change of a data set as a whole, in the listener's word (CREATE, DROP …); `became`: the qualified name that a
    RENAME gave.
    """

    time: datetime
    state: str
    became: str = ""


class AssetChanges(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What runs of an application changed of a data set as a whole: by run, and by earlier ones (`folded`); and the
    last results of its quality `tests`. `asset`: as the latest of these runs names it.
    """

    asset: Asset
    by_run: dict[str, tuple[AssetChange, ...]] = {}
    folded: tuple[AssetChange, ...] = ()
    tests: tuple[QualityTest, ...] = ()

    @property
    def latest(self) -> tuple[AssetChange, ...]:
        """The latest change of each state, by time."""
        changes = sorted((*self.folded, *(change for changes in self.by_run.values() for change in changes)))
        return tuple(sorted({change.state: change for change in changes}.values()))

    def changed(self, run_id: str, asset: Asset, changes: tuple[AssetChange, ...]) -> "AssetChanges":
        """With the changes of a run, and the asset as it names it; of too many runs the oldest is folded."""
        by_run = {**self.by_run, run_id: changes}
        runs = sorted(by_run, key=lambda run: (by_run[run][-1].time, run))
        asset = asset if runs[-1] == run_id else self.asset
        if len(by_run) <= MAX_CHANGES:
            return msgspec.structs.replace(self, asset=asset, by_run=by_run)
        folded = sorted((*self.folded, *by_run.pop(runs[0])))
        latest = {change.state: change for change in folded}
        return msgspec.structs.replace(self, asset=asset, by_run=by_run, folded=tuple(sorted(latest.values())))

    def without(self, run_id: str) -> "AssetChanges":
        """Without the changes of a run; it stays, also with none, so that the publisher sees that they went."""
        by_run = {run: changes for run, changes in self.by_run.items() if run != run_id}
        return msgspec.structs.replace(self, by_run=by_run)


class ExecutionEnd(msgspec.Struct, frozen=True, array_like=True):
    """When an execution of Spark ended, and whether its run is of a plan alone."""

    time: datetime
    is_plan: bool = False


class LatestRun(msgspec.Struct, frozen=True, array_like=True):
    """The last run that contributed to a process: when, its id, and its facts for people. `ends`: how many of the two
    listeners reported its end: OpenLineage's, and the plan listener.
    """

    time: datetime
    run_id: str
    facts: RunFacts
    ends: int = 0


class EarlierEvents(msgspec.Struct, frozen=True, array_like=True):
    """Archived events of a stream to which its record does not refer any more: their `number` at the least, and the
    time that none is later than.
    """

    until: datetime
    number: int


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a run in its application.

    `verdict` with its `reason`: of the run alone. `events`: references to all of its events that are folded; `values`:
    events that stand for these, where they are many. `contents`: the process and the digest of each content that it
    supports. `seen`: first and last event time; `arrived`: when the last of its events arrived. `assets`: the keys of
    the data sets that it changed as a whole. `home`: the application to which it belongs, if that is another one: then
    this record only says so. `closed`: when it was closed, with the state of its events then (`outcome`: state and
    reason); `late`: events that arrived after that, and are skipped; `archived`: events that are in the archive, of a
    stream that runs the latest of them, beside the `earlier` ones.
    `facts`: what it says of its application as a whole, if anything. `execution`: what tells it from other executions,
    where the plan or the listener's run of it may have another id; `joined`: the listener's run with which its plan
    counts.

    For people: `job` and `sender` are the name and the namespace of its job, `run_text` is its id as it was sent where
    that is no UUID, `omitted` names the parts of its events that can't be used. `columns`: who gave the columns of a
    run of Spark that contributes; `plan_gaps`: the parts of its plan that no rule knows; `rows_from`: where rows come
    from that no data set has; `plans_lost`: how many plans of its application were lost until then; `stated`:
    what else events state of it, as pairs of a title and a text.
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
    earlier: EarlierEvents | None = None
    facts: ApplicationFacts | None = None
    execution: Execution | None = None
    joined: str = ""
    sender: str = ""
    run_text: str = ""
    omitted: tuple[str, ...] = ()
    columns: ColumnSource | None = None
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    plans_lost: int = 0
    stated: tuple[StatedFact, ...] = ()

    @property
    def digests(self) -> frozenset[str]:
        """The digests of its events as far as it refers to them, late and archived ones included."""
        return frozenset(map(digest_in_reference, (*self.events, *self.late, *self.archived)))

    @property
    def is_running(self) -> bool:
        """Whether it is a stream that counts, and has not ended."""
        return self.verdict is State.CONTRIBUTED and self.ended is None and not self.timed_out

    @property
    def is_decided(self) -> bool:
        """Whether nothing is awaited: neither its end nor another event."""
        return self.verdict is not State.WAITING

    def changes_lineage(self, previous: "RunRecord | None") -> bool:
        """Whether it contributes, or did, and something of that or of its events is new: such a run is forwarded."""
        if self.home or not (self.contents or (previous and previous.contents)):
            return False
        return previous is None or (self.contents, self.ended, self.digests) != (
            previous.contents,
            previous.ended,
            previous.digests,
        )


class ApplicationState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the folded runs of an application add up to.

    `version` grows with each commit. `contents` by digest; `lifecycle`, `batches` and `unsourced` (writes that name no
    source) by run; `assets` by key. `first`, `last`, `ended`: times and end of the application's own run; `active`:
    the last event time of any of its runs. `latest`: by process, the last run. `shares`: by process, a digest of what
    the application contributes, where what it says of one process depends on others. `ends`: of executions whose plan
    or listener's run may have another id, by run; `ended_until`: those that ended then or earlier may be in the records
    alone; `has_plans`: whether a plan without a run of the listener ever came. `runs`: how many runs have a
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
    ends: dict[str, ExecutionEnd] = {}
    ended_until: datetime | None = None
    has_plans: bool = False
    runs: int = 0
    stale: tuple[str, ...] = ()
    closed: datetime | None = None
    forgotten: int = 0

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

    def share_digests(self, application: str) -> dict[str, str]:
        """A digest of what it contributes to each process, by the process's key."""
        return {process: share_digest(shares) for process, shares in self.contributions(application).items()}

    def stand_ins(self) -> dict[str, frozenset[str]]:
        """By process: those by which what runs say of it is shown; none where it was eliminated as staging."""
        stand_ins: dict[str, frozenset[str]] = {}
        for result in self.staging_results(""):
            key = process_key(result.contribution.content.qualified_name)
            remains = {process_key(result.remains.content.qualified_name)} if result.remains else set()
            stand_ins[key] = stand_ins.get(key, frozenset()) | remains
        return stand_ins


def earliest_of(*moments: datetime | None) -> datetime | None:
    """The first of these as far as they are known."""
    return min(filter(None, moments), default=None)


def latest_of(*moments: datetime | None) -> datetime | None:
    """The last of these as far as they are known."""
    return max(filter(None, moments), default=None)


def content_digest(process: Process) -> str:
    """32 hexadecimal digits: the same for the same content."""
    return digest_of(msgspec.json.encode(process))


def share_digest(contributions: tuple[Contribution, ...]) -> str:
    """16 hexadecimal digits that stand for what an application contributes to a process, and when."""
    parts = sorted((content_digest(contribution.content), contribution.seen) for contribution in contributions)
    return digest_of(msgspec.json.encode(parts))[:16]


def changes_by_asset(changes: Iterable[StateChange]) -> dict[str, tuple[Asset, tuple[AssetChange, ...]]]:
    """The data sets that a run changed as a whole, each with its changes, by their keys in `assets`. A renamed one is
    created under its new name; internal ones are left out.
    """
    by_asset: dict[str, tuple[Asset, tuple[AssetChange, ...]]] = {}

    def add(asset: Asset, change: AssetChange) -> None:
        first, earlier_changes = by_asset.get(asset_key(asset.key), (asset, ()))
        by_asset[asset_key(asset.key)] = (first, (*earlier_changes, change))

    for change in changes:
        if change.internal:
            continue
        became = change.became.qualified_name if change.became else ""
        add(change.asset, AssetChange(time=change.at, state=change.state, became=became))
        if change.became:
            add(change.became, AssetChange(time=change.at, state="CREATE"))
    return by_asset


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """A run to be folded: its `record` so far, references to all of its events, and what can be used of these as
    `events`.

    `arrived`: when the last of them arrived. `omitted`: parts of new events that the receiver left out. `timed_out`:
    its end is not awaited any more. `home`: another application to which the run belongs.
    """

    record: RunRecord | None = None
    references: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    arrived: datetime | None = None
    omitted: frozenset[str] = frozenset()
    timed_out: bool = False
    home: str = ""

    @property
    def is_timed_out(self) -> bool:
        """Whether its end is not awaited, now or since an earlier fold."""
        return self.timed_out or bool(self.record and self.record.timed_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The next `state`, the `records` of the runs that were folded, the keys of the processes and data sets about which
    the application says something else now, and the errors of the runs that can't be used, by run. `companions`: runs
    that must be folded with these; all other fields are empty then.
    """

    state: ApplicationState
    records: dict[str, RunRecord] = field(default_factory=dict)
    processes: frozenset[str] = frozenset()
    assets: frozenset[str] = frozenset()
    errors: dict[str, Exception] = field(default_factory=dict)
    companions: frozenset[str] = frozenset()


def is_declared(process: Process) -> bool:
    """Whether a run says of this process what it is made of, and does not execute it itself."""
    return process.operations == (DECLARED.name,)
