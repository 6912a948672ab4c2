"""Which events are kept: only what no run's lineage could need is dropped.

"Not interesting" is a value, `Ignore(reason)`, never an exception. Decisions are made on one event alone, so
whatever may matter together with its siblings is kept: every event that names a data set, ends a run, may open an
application, carries properties that other runs inherit, or has parts that could not be read. Settings may take
operations away from these rules, or ask for more to be dropped.
"""

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

from shared.openlineage.decoding import Event
from shared.openlineage.operations import UNKNOWN, node_of, split_job_name
from shared.openlineage.wire import RunEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """The event is not needed, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The event is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What settings say of operations: nodes of Spark's job names, as patterns with `*` and `?`.

    All events of runs by an operation of `ignore` are dropped, whatever they carry; nothing is dropped on account of an
    operation of `keep`, not even by `ignore`. Events of applications themselves are always kept.
    """

    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()


DEFAULT_SELECTION = Selection()
"""Nothing but the rules below."""

_KEEP = Keep()
_NO_RUN = Ignore(reason="a job or data set event tells of no run")
_NOT_WANTED = Ignore(reason="the settings ignore this operation")
_SAYS_NOTHING = Ignore(reason="names no data set and ends nothing")
_MAY_STAND_ALONE = frozenset({"START", "COMPLETE", "FAIL", "ABORT"})
"""The types of events that matter without a data set: who opens a run may be late, who ends it says so."""


def select(event: Event, selection: Selection = DEFAULT_SELECTION) -> Keep | Ignore:
    """Keep or Ignore, for one decoded event."""
    body = event.body
    if body is None:
        return _NO_RUN
    parent = body.run.facets.parent if body.run.facets else None
    if parent is None:
        return _KEEP
    kept = _matches(selection.keep, body.job.name, parent.job.name)
    if not kept and _matches(selection.ignore, body.job.name, parent.job.name):
        return _NOT_WANTED
    if kept or event.omitted or body.inputs or body.outputs or _carries_properties(body):
        return _KEEP
    operation = split_job_name(body.job.name, parent.job.name)[1] if _is_spark(body) else UNKNOWN
    if operation.idle:
        return Ignore(reason=operation.reason)
    return _KEEP if body.event_type in _MAY_STAND_ALONE else _SAYS_NOTHING


def _carries_properties(body: RunEvent) -> bool:
    properties = body.run.facets.environment_properties if body.run.facets else None
    return bool(properties and properties.values)


def _is_spark(body: RunEvent) -> bool:
    """Only Spark names its jobs by nodes: in other engines the same words are a user's."""
    kind = body.job.facets.job_type if body.job.facets else None
    return bool(kind and kind.integration == "SPARK")


def _matches(patterns: tuple[str, ...], name: str, application: str) -> bool:
    return bool(patterns) and bool(_any_of(patterns).match(node_of(name, application)))


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))
