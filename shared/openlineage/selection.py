"""Which events are kept: only what no run's lineage could need is dropped.

"Not interesting" is a value, `Ignore(reason)`, never an exception. Decisions are made on one event alone, so
whatever may matter together with its siblings is kept: every event that names a data set, ends a run, may open an
application, carries properties that other runs inherit, or has parts that could not be read. Settings may take
operations away from these rules, or ask for more to be dropped; and they may leave out whole jobs and namespaces.

By the paths of data sets an event is dropped only when all that it names are excluded and it ends no run: what an
excluded data set hands on, and what a later event says of the run, must not be lost. What else is excluded leaves when
processes are added up (`shared.translation.path_filter`). What is only not *included* is not judged here, for a data
set has more names than one event tells.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

from shared.openlineage.decoding import ENDS, Event
from shared.openlineage.glob_filter import MATCH_ALL, GlobFilter
from shared.openlineage.operations import UNKNOWN, node_of, split_job_name
from shared.openlineage.wire import Dataset, RunEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """The event is not needed, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The event is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What settings say: of operations, which are nodes of Spark's job names, as patterns with `*` and `?`; and of
    jobs, their namespaces, and the paths of data sets.

    All events of runs by an operation of `ignore` are dropped, whatever they carry; nothing is dropped on account of an
    operation of `keep`, not even by `ignore`. Events of applications themselves are kept whatever the operations, and
    whenever one of their jobs may be wanted. Excluded jobs and namespaces are dropped whatever else is said.
    """

    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    jobs: GlobFilter = MATCH_ALL
    namespaces: GlobFilter = MATCH_ALL
    paths: GlobFilter = MATCH_ALL


DEFAULT_SELECTION = Selection()
"""Nothing but the rules below."""

_KEEP = Keep()
_NO_RUN = Ignore(reason="a job or data set event tells of no run")
_NOT_WANTED = Ignore(reason="the settings ignore this operation")
_SAYS_NOTHING = Ignore(reason="names no data set and ends nothing")
_NAMESPACE_EXCLUDED = Ignore(reason="excluded by namespace")
_NAMESPACE_NOT_INCLUDED = Ignore(reason="not of an included namespace")
_JOB_EXCLUDED = Ignore(reason="excluded by job")
_JOB_NOT_INCLUDED = Ignore(reason="not an included job")
_PATHS_EXCLUDED = Ignore(reason="excluded by path")
_MAY_STAND_ALONE = frozenset({"START", "COMPLETE", "FAIL", "ABORT"})
"""The types of events that matter without a data set: who opens a run may be late, who ends it says so."""


def select(event: Event, selection: Selection = DEFAULT_SELECTION) -> Keep | Ignore:
    """Keep or Ignore, for one decoded event."""
    body = event.body
    if body is None:
        return _NO_RUN
    if selection is not DEFAULT_SELECTION and (unwanted := _not_wanted(body, selection)):
        return unwanted
    parent = body.run.facets.parent if body.run.facets else None
    if parent is None:
        return _KEEP
    kept = bool(selection.keep) and _matches(selection.keep, body.job.name, parent.job.name)
    if selection.ignore and not kept and _matches(selection.ignore, body.job.name, parent.job.name):
        return _NOT_WANTED
    if event.omitted or _carries_properties(body):
        return _KEEP
    if selection.paths.exclude and body.event_type not in ENDS and _names_only_excluded(body, selection.paths):
        return _PATHS_EXCLUDED
    if kept or body.inputs or body.outputs:
        return _KEEP
    operation = split_job_name(body.job.name, parent.job.name)[1] if _is_spark(body) else UNKNOWN
    if operation.idle:
        return Ignore(reason=operation.reason)
    return _KEEP if body.event_type in _MAY_STAND_ALONE else _SAYS_NOTHING


def _not_wanted(body: RunEvent, selection: Selection) -> Ignore | None:
    """Why the job is not wanted, if so. The same for all events of a run, for it depends on names alone."""
    if not selection.namespaces.takes((body.job.namespace,)):
        excluded = selection.namespaces.excludes((body.job.namespace,))
        return _NAMESPACE_EXCLUDED if excluded else _NAMESPACE_NOT_INCLUDED
    if selection.jobs == MATCH_ALL:
        return None
    names = set(_names_of(body))
    if selection.jobs.takes(names):
        return None
    if selection.jobs.excludes(names):
        return _JOB_EXCLUDED
    return None if _is_application(body) and selection.jobs.may_accept_below(body.job.name) else _JOB_NOT_INCLUDED


def _names_of(body: RunEvent) -> Iterator[str]:
    """What a job is called: its own name and, of a Spark job, its application's. A parent that is no application (an
    orchestrator's task) does not count: only part of what runs below it names it.
    """
    name = body.job.name
    parent = body.run.facets.parent if body.run.facets else None
    yield name
    if parent and name.startswith(f"{parent.job.name}."):
        yield parent.job.name
    if _is_spark(body) or not _integration(body):
        yield split_job_name(name, parent.job.name if parent else "")[0]


def _is_application(body: RunEvent) -> bool:
    """Whether the event may be an application's own: it is below nothing, or says so of itself."""
    kind = body.job.facets.job_type if body.job.facets else None
    has_parent = bool(body.run.facets and body.run.facets.parent)
    return not has_parent or bool(kind and (kind.job_type or "").upper() == "APPLICATION")


def _names_only_excluded(body: RunEvent, paths: GlobFilter) -> bool:
    """Whether the event names data sets, and every one of them is excluded."""
    datasets = (*(body.inputs or ()), *(body.outputs or ()))
    names = [names for dataset in datasets for names in _data_sets_in(dataset)]
    return bool(names) and all(paths.excludes(each) for each in names)


def _data_sets_in(dataset: Dataset) -> Iterator[tuple[str, ...]]:
    """The names of a data set, and of those that its column lineage names."""
    facets = dataset.facets
    links = facets.symlinks.identifiers if facets and facets.symlinks else None
    yield (*dataset_names(dataset.namespace, dataset.name), *(each.name for each in links or ()))
    lineage = facets.column_lineage if facets else None
    if lineage:
        of_columns = (each for column in (lineage.fields or {}).values() for each in column.input_fields or ())
        for source in (*of_columns, *(lineage.dataset or ())):
            yield dataset_names(source.namespace, source.name)


def dataset_names(namespace: str, name: str) -> tuple[str, str]:
    """The spellings in which patterns of paths look for a data set: its name, and the whole of it."""
    return name, f"{namespace.rstrip('/')}/{name.lstrip('/')}"


def _carries_properties(body: RunEvent) -> bool:
    properties = body.run.facets.environment_properties if body.run.facets else None
    return bool(properties and properties.values)


def _is_spark(body: RunEvent) -> bool:
    """Only Spark names its jobs by nodes: in other engines the same words are a user's."""
    return _integration(body) == "SPARK"


def _integration(body: RunEvent) -> str:
    kind = body.job.facets.job_type if body.job.facets else None
    return (kind.integration or "") if kind else ""


def _matches(patterns: tuple[str, ...], name: str, application: str) -> bool:
    return bool(_any_of(patterns).match(node_of(name, application)))


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))
