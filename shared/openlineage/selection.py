"""Which events are kept: only what no run's lineage could need is dropped.

"Not interesting" is a value, `Ignore(reason)`, never an exception. Decisions are made on one event alone, so
whatever may matter together with its siblings is kept: every event that names a data set, ends a run, may open an
application, carries properties that other runs inherit, or has parts that could not be read.
"""

from collections.abc import Callable
from dataclasses import dataclass

from shared.openlineage.decoding import Event
from shared.openlineage.operations import split_job_name
from shared.openlineage.wire import RunEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """The event is not needed, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The event is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    reason: str
    ignores: Callable[[RunEvent], bool]


def _names_a_dataset(body: RunEvent) -> bool:
    return bool(body.inputs or body.outputs)


def _is_application(body: RunEvent) -> bool:
    return body.run.facets is None or body.run.facets.parent is None


def _carries_properties(body: RunEvent) -> bool:
    properties = body.run.facets.environment_properties if body.run.facets else None
    return bool(properties and properties.values)


def _needed_by_others(body: RunEvent) -> bool:
    return _names_a_dataset(body) or _is_application(body) or _carries_properties(body)


def _is_spark(body: RunEvent) -> bool:
    kind = body.job.facets.job_type if body.job.facets else None
    return bool(kind and kind.integration == "SPARK")


def _idle(body: RunEvent) -> bool:
    """Only Spark names its jobs by nodes: in other engines the same words are a user's."""
    if _needed_by_others(body) or not _is_spark(body):
        return False
    parent = body.run.facets.parent if body.run.facets else None
    return bool(split_job_name(body.job.name, parent.job.name if parent else "")[1].idle_reason)


def _says_nothing(body: RunEvent) -> bool:
    return not _needed_by_others(body) and body.event_type in {"RUNNING", "OTHER", None}


RULES: tuple[_Rule, ...] = (
    _Rule(reason="the operation only reads or sets up the session", ignores=_idle),
    _Rule(reason="names no data set and ends nothing", ignores=_says_nothing),
)
"""In order; the first that ignores gives the reason."""


def select(event: Event) -> Keep | Ignore:
    """Keep or Ignore, for one decoded event."""
    if event.body is None:
        return Ignore(reason="a job or data set event tells of no run")
    for rule in RULES:
        if not event.omitted and rule.ignores(event.body):
            return Ignore(reason=rule.reason)
    return Keep()
