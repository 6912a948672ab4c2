"""What the runs of an application say of one another. Pure.

A run alone may be incomplete: on Databricks only some runs name the notebook, and a write in a stream's `foreachBatch`
names only its target, while the enclosing batch names the sources. The other runs are its context.

Data sets are dropped, renamed and truncated. Of these lifecycle events only the latest of each kind counts for a data
set: a loop in one application repeats them.

Plans are joined to the listener's runs of the same executions, where the plan listener did not know these runs. Both
name the same application run, and say of an execution's end the same time in milliseconds: that of Spark's event.
Where several executions of an application end at once, what they do, write and read tells them apart.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from shared.model import Asset, Span
from shared.naming.names import BUILT_IN, Names
from shared.naming.stores.families import NO_ENVIRONMENT, RunEnvironment, bounded
from shared.openlineage.run import MergedDataset, MergedRun, workspace
from shared.openlineage.selection import node_of
from shared.secrets import address_without_secrets
from shared.translation.process.identity import MAX_NAME_LENGTH, JobIdentity, identity_of, strongest
from shared.translation.process.job_names import identifying_properties


class ApplicationFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the runs of an application have in common: its strongest job identities (none, one or two, which stand for
    several), and the environment on which names of data sets depend.
    """

    identities: tuple[JobIdentity, ...] = ()
    environment: RunEnvironment = NO_ENVIRONMENT

    def __or__(self, other: "ApplicationFacts") -> "ApplicationFacts":
        if other in (self, NO_APPLICATION_FACTS):
            return self
        mounts: dict[str, str] = {}
        for point, source in (*self.environment.mounts, *other.environment.mounts):
            mounts[point] = min(mounts.get(point, source), source)
        environment = RunEnvironment(
            workspace=max(self.environment.workspace, other.environment.workspace), mounts=tuple(sorted(mounts.items()))
        )
        return ApplicationFacts(
            identities=strongest((*self.identities, *other.identities)),
            environment=NO_ENVIRONMENT if environment == NO_ENVIRONMENT else environment,
        )


NO_APPLICATION_FACTS = ApplicationFacts()


class StreamBatch(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A stream batch that writes nothing itself: when it ran and what it read. `began`: its start is known; quick
    batches often send no START.
    """

    seen: Span
    run_id: str
    inputs: tuple[Asset, ...]
    began: bool = True

    @property
    def ends(self) -> Span:
        """The span in which the writes inside of it may have ended."""
        return self.seen if self.began else Span(first=self.seen.last - _SOON_AFTER, last=self.seen.last)

    def encloses(self, seen_span: Span) -> bool:
        """Whether a run with this span may have run inside of it."""
        if self.began and seen_span.first < self.seen.first:
            return False
        return self.ends.first <= seen_span.last <= self.ends.last


_SOON_AFTER = timedelta(seconds=1)
"""A batch ends within this time after the last write inside of it."""


class RunContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What translating a run needs besides its events: facts of its application, the batches that may enclose it, and
    the naming rules.
    """

    facts: ApplicationFacts = NO_APPLICATION_FACTS
    batches: tuple[StreamBatch, ...] = ()
    names: Names = BUILT_IN


NO_CONTEXT = RunContext()


def application_facts_of(run: MergedRun) -> ApplicationFacts:
    """The facts that a run adds to its application; NO_APPLICATION_FACTS for most."""
    host = workspace(run)
    if not run.properties and not host:
        return NO_APPLICATION_FACTS
    return ApplicationFacts(
        identities=strongest([identity_of(run)]) if run.properties else (),
        environment=_environment(host, run.properties),
    )


_MOUNTS = "mountPoints"


def _environment(host: str, properties: Mapping[str, Any]) -> RunEnvironment:
    """A run's environment: a Databricks workspace's host, and the mounts in the properties, which may be invalid."""
    mounts = properties.get(_MOUNTS)
    pairs = {
        (point, address_without_secrets(source))
        for mount in (mounts if isinstance(mounts, list) else ())
        if isinstance(mount, dict)
        for point, source in ((mount.get("mountPoint"), mount.get("source")),)
        if isinstance(point, str) and isinstance(source, str) and point and source
    }
    return RunEnvironment(workspace=host, mounts=tuple(sorted(pairs))) if host or pairs else NO_ENVIRONMENT


def needed_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The environment properties that naming and job identity read, without secrets; others are never needed."""
    mounts = _environment("", properties).mounts
    kept_identifying_properties: dict[str, Any] = identifying_properties(properties)
    return kept_identifying_properties | (
        {_MOUNTS: [{"mountPoint": point, "source": source} for point, source in mounts]} if mounts else {}
    )


AT_ONCE = timedelta(milliseconds=2)
"""Events this close may be reported in either order."""


def enclosing_batches(batches: Iterable[StreamBatch], run: MergedRun) -> tuple[StreamBatch, ...]:
    """The batch in which this run wrote, sorted if several are possible; empty for most runs.

    Concurrent streams enclose each other's writes too. A batch ends right after its own writes, so the first to end is
    the right one.
    """
    run_span = Span(first=run.first, last=run.last)
    near = sorted(batch for batch in batches if batch.run_id != run.run_id and batch.encloses(run_span))
    first = min((batch.seen.last for batch in near), default=None)
    return tuple(batch for batch in near if first and batch.seen.last <= first + AT_ONCE)


DROP, RENAME, TRUNCATE = "DROP", "RENAME", "TRUNCATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent:
    """DROP, RENAME or TRUNCATE (`state`) of the data set with `qualified_name`, at the time `at`.

    A RENAME has the new `asset`, and the places before and after as they stand in names of processes. Events known only
    from SQL have no qualified name but the name of a `table`.
    """

    state: str
    qualified_name: str
    at: datetime
    table: str = ""
    asset: Asset | None = None
    before: str = ""
    after: str = ""

    def sort_key(self) -> tuple[datetime, str, str]:
        """Order of events of one data set: the last counts."""
        return (self.at, self.after, str(self.asset))


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvents:
    """The lifecycle events of an application's data sets, by kind and qualified name."""

    dropped: Mapping[str, datetime] = field(default_factory=dict)
    emptied: Mapping[str, datetime] = field(default_factory=dict)
    renamed: Mapping[str, LifecycleEvent] = field(default_factory=dict)
    by_table: tuple[LifecycleEvent, ...] = ()

    @classmethod
    def of(cls, lifecycle: Iterable[LifecycleEvent]) -> "LifecycleEvents":
        """The latest of each data set and kind."""
        latest: dict[str, dict[str, LifecycleEvent]] = {DROP: {}, RENAME: {}, TRUNCATE: {}}
        by_table: dict[tuple[str, str], LifecycleEvent] = {}
        for event in sorted(lifecycle, key=LifecycleEvent.sort_key):
            if event.table:
                by_table[event.table, event.state] = event
            else:
                latest[event.state][event.qualified_name] = event
        return cls(
            dropped={name: event.at for name, event in latest[DROP].items()},
            emptied={name: event.at for name, event in latest[TRUNCATE].items()},
            renamed=latest[RENAME],
            by_table=tuple(by_table[key] for key in sorted(by_table)),
        )

    def located(self, tables: "Tables") -> "LifecycleEvents":
        """With the events by table name assigned to the data sets of that name."""
        if not self.by_table:
            return self
        dropped, emptied = dict(self.dropped), dict(self.emptied)
        for event in self.by_table:
            asset = tables.find(event.table)
            if asset:
                known_moments = dropped if event.state == DROP else emptied
                known_moments[asset.qualified_name] = max(known_moments.get(asset.qualified_name, event.at), event.at)
        return LifecycleEvents(dropped=dropped, emptied=emptied, renamed=self.renamed)

    def __bool__(self) -> bool:
        """Whether there are any events."""
        return bool(self.dropped or self.emptied or self.renamed or self.by_table)

    def now(self, asset: Asset, moment: datetime) -> tuple[Asset | None, tuple[LifecycleEvent, ...]]:
        """The present asset of a data set that was `asset` at that time (None: dropped), and the renames in between."""
        if asset.qualified_name not in self.renamed and asset.qualified_name not in self.dropped:
            return asset, ()
        steps: list[LifecycleEvent] = []
        passed: set[str] = set()
        while asset.qualified_name not in passed:
            passed.add(asset.qualified_name)
            move, end = self.renamed.get(asset.qualified_name), self.dropped.get(asset.qualified_name)
            if end and end >= moment and not (move and moment <= move.at <= end):
                return None, ()
            if move is None or move.asset is None or move.at < moment:
                break
            steps.append(move)
            asset, moment = move.asset, move.at
        return asset, tuple(steps)


def _last(table: str) -> str:
    return table.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The data sets of an application by their table names in the events."""

    exact: Mapping[str, Asset]
    last: Mapping[str, Asset | None]
    """By a name's last part; None if several data sets have it."""

    @classmethod
    def of(cls, assets: Iterable[Asset]) -> "Tables":
        """From all assets of the application."""
        exact: dict[str, Asset] = {}
        last: dict[str, Asset | None] = {}
        for asset in sorted(set(assets)):
            for table in asset.tables:
                exact.setdefault(table, asset)
                known_asset = last.setdefault(_last(table), asset)
                if known_asset is None or known_asset.qualified_name != asset.qualified_name:
                    last[_last(table)] = None
        return cls(exact=exact, last=last)

    def find(self, table: str) -> Asset | None:
        """The data set of a table name; one without a database matches if only one database has it."""
        return self.exact.get(table) if "." in table else self.last.get(table)


def present_name(qualified_name: str, event: LifecycleEvent) -> str:
    """A process's qualified name after its sink was renamed; a shortened name is unchanged."""
    if not qualified_name.endswith(f"/{event.before}"):
        return qualified_name
    return bounded(f"{qualified_name[: -len(event.before)]}{event.after}", MAX_NAME_LENGTH)


MAX_AT_ONCE = 24
"""Executions of an application that end at one moment: of more none is joined."""
JOINED = "its plan counts with the listener's run of the same execution"
"""The reason of a plan's run that is skipped, because the plan is joined to another run."""
_MAX_NAMES = 8
"""Names of data sets that tell executions apart."""
_NOT_SQL = frozenset({"APPLICATION", "RDD_JOB"})


class Execution(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What tells an execution of Spark from others: when it ended, its `operation`, and what it wrote and read, by the
    last parts of their names. All of these are digests, since names may contain secrets. `is_plan`: its run is of a
    plan alone, else of the listener alone. `began` orders the executions of one kind.
    """

    ended: datetime
    is_plan: bool
    began: str
    operation: str = ""
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


def execution_of(run: MergedRun) -> Execution | None:
    """The execution of a run that ended, if the plan or the listener's run of it may be missing."""
    is_alone = run.plan_execution is not None
    is_sql = run.job_type.upper() not in _NOT_SQL and run.integration.upper() in {"", "SPARK"}
    if run.ended is None or run.is_application or (run.has_plan and not is_alone) or not is_sql:
        return None
    return Execution(
        ended=run.last,
        is_plan=is_alone,
        began=f"{run.plan_execution:012}" if is_alone else run.first.isoformat(),
        operation=_digest(node_of(run.job.name, run.application.name if run.application else "")),
        outputs=_names(run.outputs),
        inputs=_names(run.inputs),
    )


def _names(datasets: Iterable[MergedDataset]) -> tuple[str, ...]:
    """The last parts of the names, as digests: of a path the folder, of a table's name the table."""
    names = (name for dataset in datasets for _, name in (dataset.key, *dataset.symlinks))
    parts = {name.strip("/").replace("/", ".").rpartition(".")[2].lower() for name in names}
    return tuple(sorted(map(_digest, parts)))[:_MAX_NAMES]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=4).hexdigest()


def joins_in(runs: Iterable[MergedRun]) -> dict[str, str]:
    """As `plan_joins`, for runs of any applications."""
    runs = tuple(runs)
    if all(run.plan_execution is None for run in runs):
        return {}
    by_application: dict[str, dict[str, Execution]] = {}
    for run in runs:
        if execution := execution_of(run):
            by_application.setdefault(run.application_run, {})[run.run_id] = execution
    return {plan: run for executions in by_application.values() for plan, run in plan_joins(executions).items()}


def plan_joins(executions: Mapping[str, Execution]) -> dict[str, str]:
    """From the run of a plan to the listener's run of the same execution. `executions`: those of one application, by
    run, in any order. A plan without a partner is left out: its run stands for itself.
    """
    at_once: dict[datetime, list[str]] = {}
    for run_id in sorted(executions, key=lambda run: (executions[run].began, run)):
        at_once.setdefault(executions[run_id].ended, []).append(run_id)
    joins: dict[str, str] = {}
    for runs in at_once.values():
        plans = [run for run in runs if executions[run].is_plan]
        if plans and len(runs) <= MAX_AT_ONCE:
            joins |= _joins(executions, plans, [run for run in runs if not executions[run].is_plan])
    return joins


def _joins(executions: Mapping[str, Execution], plans: list[str], runs: list[str]) -> dict[str, str]:
    joins: dict[str, str] = {}
    for rule in _RULES:
        for plan in tuple(plans):
            partner = next((run for run in runs if rule(executions[plan], executions[run])), None)
            if partner:
                joins[plan] = partner
                plans.remove(plan)
                runs.remove(partner)
    if len(plans) == len(runs) == 1 and not (executions[plans[0]].outputs and executions[runs[0]].outputs):
        joins[plans[0]] = runs[0]
    return joins


def _is_same(plan: Execution, run: Execution) -> bool:
    return _is_same_write(plan, run) and plan.inputs == run.inputs


def _reads_the_same(plan: Execution, run: Execution) -> bool:
    return _is_same_write(plan, run) and not set(plan.inputs).isdisjoint(run.inputs)


def _is_same_write(plan: Execution, run: Execution) -> bool:
    return plan.operation == run.operation and _writes_the_same(plan, run)


def _writes_the_same(plan: Execution, run: Execution) -> bool:
    return not set(plan.outputs).isdisjoint(run.outputs)


_RULES: tuple[Callable[[Execution, Execution], bool], ...] = (
    _is_same,
    _reads_the_same,
    _is_same_write,
    _writes_the_same,
)
"""From the strictest on: what a stricter rule joins is no partner for the others."""
