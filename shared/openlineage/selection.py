"""Select events: drop only those that no run's lineage can need.

Each event is judged by itself, so everything that may matter together with other events is kept: events that name a
data set, end a run, may start an application, carry properties that other runs inherit, or have unreadable parts.
Settings may keep or ignore further operations, and exclude whole jobs and namespaces, by glob patterns.

Filters of paths drop no event: lineage passes through excluded data sets, and what was read must not be forgotten.
Excluded data sets leave when processes are aggregated (`shared.translation.path_filter`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

from shared.openlineage.decoding import Event
from shared.openlineage.operations import UNKNOWN, node_of, split_job_name
from shared.openlineage.wire import RunEvent

_WILDCARDS = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobFilter:
    """Patterns of whole names. Excluded names are rejected, and if `include` is not empty, all that match none of it.

    `*` stands for any characters, `?` for one; nothing else is special. Case counts unless `ignore_case`.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_case: bool = False

    def excludes(self, names: Iterable[str]) -> bool:
        """Whether one of a thing's names is excluded."""
        return bool(self.exclude) and _any(self.exclude, names, ignore_case=self.ignore_case)

    def accepts(self, names: Iterable[str]) -> bool:
        """Whether a thing with these names is accepted."""
        all_names = tuple(names)
        if self.excludes(all_names):
            return False
        return not self.include or _any(self.include, all_names, ignore_case=self.ignore_case)

    def may_accept_below(self, name: str) -> bool:
        """Whether a name that begins with this one and a dot could be accepted."""
        starts = (_WILDCARDS.split(pattern, maxsplit=1)[0] for pattern in self.include)
        return not self.include or any(f"{name}.".startswith(start) or start.startswith(f"{name}.") for start in starts)


MATCH_ALL = GlobFilter()
"""Accepts every name."""


def _any(patterns: tuple[str, ...], names: Iterable[str], *, ignore_case: bool) -> bool:
    pattern = _compiled(patterns, ignore_case)
    return any(pattern.fullmatch(name) for name in names)


@cache
def _compiled(patterns: tuple[str, ...], ignore_case: bool) -> re.Pattern[str]:
    """Patterns of fnmatch, which do not backtrack twice; but `[` stands for itself, as in `[dbo].[orders]`."""
    text = "|".join(translate(pattern.replace("[", "[[]")) for pattern in patterns)
    return re.compile(text, re.IGNORECASE if ignore_case else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """The event is not needed, for this `reason`."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The event is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """The settings: operations (nodes in Spark's job names) as patterns with `*` and `?`; filters of jobs and of their
    namespaces.

    Events of operations in `ignore` are dropped; `keep` goes before `ignore` and before the built-in rules. An
    application's own events are kept if any of its jobs may be accepted. Excluded jobs and namespaces are dropped in
    any case.
    """

    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    jobs: GlobFilter = MATCH_ALL
    namespaces: GlobFilter = MATCH_ALL


DEFAULT_SELECTION = EventFilter()
"""The built-in rules alone."""

_KEEP = Keep()
_NO_RUN = Ignore(reason="job or data set event without a run")
_OPERATION_IGNORED = Ignore(reason="operation ignored by the settings")
_IRRELEVANT = Ignore(reason="names no data set and ends no run")
_NAMESPACE_EXCLUDED = Ignore(reason="excluded by namespace")
_NAMESPACE_NOT_INCLUDED = Ignore(reason="namespace not included")
_JOB_EXCLUDED = Ignore(reason="excluded by job")
_JOB_NOT_INCLUDED = Ignore(reason="job not included")
BY_SETTINGS = frozenset(
    ignored.reason
    for ignored in (
        _OPERATION_IGNORED,
        _NAMESPACE_EXCLUDED,
        _NAMESPACE_NOT_INCLUDED,
        _JOB_EXCLUDED,
        _JOB_NOT_INCLUDED,
    )
)
"""The reasons that are settings: such an event might have had lineage."""
CHECKS = "throughline-check"
"""The namespace of the jobs by which Throughline checks itself, as `canary` does. No setting excludes it."""
CHECK_APPLICATION = "throughline_check"
"""How the names of such jobs begin."""
CHECK = "check"
"""Why their events count as skipped: they are processed like others, and withdrawn with a FAIL of their run."""
NO_WRITE = frozenset({"START", "FAIL", "ABORT"})
"""Types of events whose outputs are not written: not yet, or not at all."""

_MAY_STAND_ALONE = frozenset({"START", "COMPLETE", "FAIL", "ABORT"})
"""Event types that matter without data sets: they start or end a run."""


def select(event: Event, selection: EventFilter = DEFAULT_SELECTION) -> Keep | Ignore:
    """Keep or Ignore, for one decoded event."""
    body = event.body
    if body is None:
        return _NO_RUN
    if body.job.namespace == CHECKS:
        return _KEEP
    if selection is not DEFAULT_SELECTION and (excluded := _excluded(body, selection)):
        return excluded
    parent = body.parent
    if parent is None:
        return _KEEP
    is_kept = bool(selection.keep) and _matches(selection.keep, body.job.name, parent.job.name)
    if selection.ignore and not is_kept and _matches(selection.ignore, body.job.name, parent.job.name):
        return _OPERATION_IGNORED
    if event.omitted or _carries_properties(body):
        return _KEEP
    if is_kept or body.inputs or body.outputs:
        return _KEEP
    operation = split_job_name(body.job.name, parent.job.name)[1] if _is_spark(body) else UNKNOWN
    if operation.idle:
        return Ignore(reason=operation.reason)
    return _KEEP if body.event_type in _MAY_STAND_ALONE else _IRRELEVANT


def _excluded(body: RunEvent, selection: EventFilter) -> Ignore | None:
    """Why the job is excluded, if it is. It depends on names alone: the same for all events of a run."""
    if not selection.namespaces.accepts((body.job.namespace,)):
        by_pattern = selection.namespaces.excludes((body.job.namespace,))
        return _NAMESPACE_EXCLUDED if by_pattern else _NAMESPACE_NOT_INCLUDED
    if selection.jobs == MATCH_ALL:
        return None
    names = set(_names_of(body))
    if selection.jobs.accepts(names):
        return None
    if selection.jobs.excludes(names):
        return _JOB_EXCLUDED
    return None if _is_application(body) and selection.jobs.may_accept_below(body.job.name) else _JOB_NOT_INCLUDED


def _names_of(body: RunEvent) -> Iterator[str]:
    """A job's own name and, of a Spark job, its application's. Other parents (an orchestrator's task) do not count:
    only some of the runs below them name them.
    """
    name, parent = body.job.name, body.parent
    yield name
    if parent and name.startswith(f"{parent.job.name}."):
        yield parent.job.name
    if body.job_type.integration in {"SPARK", "", None}:
        yield split_job_name(name, parent.job.name if parent else "")[0]


def _is_application(body: RunEvent) -> bool:
    """Whether the event may be an application's own: without a parent, or of job type APPLICATION."""
    return body.parent is None or (body.job_type.job_type or "").upper() == "APPLICATION"


def _carries_properties(body: RunEvent) -> bool:
    properties = body.run.facets.environment_properties if body.run.facets else None
    return bool(properties and properties.values)


def _is_spark(body: RunEvent) -> bool:
    """Only Spark puts plan nodes into job names; elsewhere such words are the user's."""
    return body.job_type.integration == "SPARK"


def _matches(patterns: tuple[str, ...], name: str, application: str) -> bool:
    return bool(_any_of(patterns).match(node_of(name, application)))


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))
