"""Merge the events of one run: a union that is independent of their order and of repetition. Drop redundant ones."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from shared.openlineage.decoding import ENDS, FLINK, RUNNING, Event
from shared.openlineage.facets import Exposures, Level, description_in, owner_names, tag_values
from shared.openlineage.run import (
    CONNECTORS,
    NO_SPARK_PROPERTIES,
    DatasetKey,
    Explicit,
    MergedDataset,
    MergedRun,
    TagValue,
    correct_legacy_names,
    explicit_lineage,
    has_explicit_lineage,
    with_copied_sources,
    with_sources,
)
from shared.openlineage.run_facets import Captured, JobName, Parent, PlanFacet, RunFacets, SparkProperties
from shared.openlineage.wire import (
    NO_SOURCE_CODE,
    STREAMING,
    ColumnLineage,
    Dataset,
    DatasetFacets,
    Job,
    JobFacets,
    OutputField,
    RunEvent,
    SchemaField,
    SourceCodeLocation,
    Symlink,
)

END_STRENGTH: Mapping[str | None, int] = {None: 0, "COMPLETE": 1, "ABORT": 2, "FAIL": 3}
"""Of several terminal states the one with the highest strength counts."""


def stronger_end(end: str | None, other: str | None) -> str | None:
    """The terminal state that counts if both were seen."""
    return max(end, other, key=_STRENGTH)


_STRENGTH = END_STRENGTH.__getitem__


_UNKNOWN = "unknown"
"""What OpenLineage's Spark listener calls an application until it knows the context of Spark."""
_UNNAMED = f"{_UNKNOWN}."


def merge(events: Iterable[Event]) -> MergedRun:
    """Merge all events of one run (at least one, all with the same run id; one has a body).

    An event with a plan says nothing of the job that an event of the listener says too.
    """
    listener_events = _listeners_first([*events])
    inputs: list[Dataset] = []
    outputs: list[Dataset] = []
    explicit: Explicit = {}
    bodies: list[RunEvent] = []
    of_run: list[RunFacets] = []
    of_job: list[JobFacets] = []
    omitted: set[str] = set()
    of_listener = 0
    types: set[str] = set()
    for event in listener_events:  # in one pass: most runs are small, and what is done for each event is what they cost
        types.add(event.type)
        omitted.update(event.omitted)
        body = event.body
        if body is None:
            continue
        bodies.append(body)
        if run_facets := body.run.facets:
            of_run.append(run_facets)
        if job_facets := body.job.facets:
            of_job.append(job_facets)
            if (kind := job_facets.job_type) and kind.is_snapshot and (body.inputs or body.outputs):
                inputs, outputs = [], []
        inputs += body.inputs or ()
        outputs += body.outputs or ()
        if not (run_facets and run_facets.plan):
            of_listener = len(of_job)
        if has_explicit_lineage(body):
            more_inputs, more_outputs = explicit_lineage(body, explicit)
            inputs += more_inputs
            outputs += more_outputs
    if not bodies:
        raise ValueError("none of the events has a body: there is no run to merge")
    merged_inputs, merged_outputs = _datasets(inputs), _datasets(outputs)
    merged_inputs, merged_outputs = correct_legacy_names(merged_inputs, merged_outputs) or (
        merged_inputs,
        merged_outputs,
    )
    run_id, job = listener_events[0].run_id, _job_of(bodies)
    integration, job_type, processing_type, statement, source_code = _of_job(listener_events, of_job, of_listener)
    merged_outputs = with_sources(merged_outputs, explicit) if explicit else merged_outputs
    if integration.upper() in CONNECTORS:
        merged_outputs = with_copied_sources(merged_inputs, merged_outputs)
    parent, properties, captured, plan, tags, hive_operation = _of_run(of_run)
    plans = [facets.plan for facets in of_run if facets.plan]
    of_executions = [facet for facet in plans if facet.plan or facet.problem or facet.joined] if plans else []
    is_alone = bool(of_executions) and len(plans) == len(bodies) and not any(facet.joined for facet in plans)
    job_tags, owners, description = _declared(of_job)
    dbt_project, lists_exposures = _of_dbt(of_run) if integration == _DBT else ("", False)
    times = [event.time for event in listener_events]
    return MergedRun(
        run_id=run_id,
        job=JobName(namespace=job.namespace, name=job.name),
        application_run=parent.run.run_id.lower() if parent else run_id,
        application=parent.job if parent else None,
        first=min(times),
        last=max(times),
        ended=max(types & ENDS, key=_STRENGTH, default=None),
        has_run=RUNNING in types,
        integration=integration,
        job_type=job_type,
        processing_type=processing_type,
        hive_operation=hive_operation,
        statement=statement,
        properties=properties,
        inputs=merged_inputs,
        outputs=merged_outputs,
        omitted=tuple(sorted(omitted)) if omitted else (),
        captured=captured,
        plan=plan,
        has_plan=bool(of_executions),
        plan_execution=of_executions[-1].execution if is_alone else None,
        plans_lost=max([facets.lost for facets in plans]) if plans else 0,
        tags=tags,
        job_tags=job_tags,
        owners=owners,
        description=description,
        source_code=source_code,
        dbt_project=dbt_project,
        lists_exposures=lists_exposures and not omitted,
    )


def is_unnamed(job: str) -> bool:
    """Whether the listener, when it named a job so, did not know yet what the application is called."""
    return job == _UNKNOWN or job.startswith(_UNNAMED)


def _job_of(bodies: Sequence[RunEvent]) -> Job:
    """The job of the first event that knows a name for it, of the first event if none does."""
    for body in bodies:
        if not is_unnamed(body.job.name):
            return body.job
    return bodies[0].job


def _of_job(
    events: Iterable[Event], of_job: Sequence[JobFacets], of_listener: int
) -> tuple[str, str, str, str, SourceCodeLocation]:
    """Integration, job type and processing type: of each the newest that is not empty; the longest statement, of
    equally long ones the first in order; and the latest place of its code. Only the first `of_listener` say what kind
    of job it is, if there are any; without them Flink's checkpoints do.
    """
    source_code = NO_SOURCE_CODE
    integration = job_type = processing_type = statement = ""
    for facets in of_job[:of_listener] or of_job:
        if kind := facets.job_type:
            integration = kind.integration or integration
            job_type = kind.job_type or job_type
            processing_type = kind.processing_type or processing_type
    for facets in of_job:
        if (sql := facets.sql) and sql.query and sql.query != statement:
            statement = min(statement, sql.query, key=lambda text: (-len(text), text)) if statement else sql.query
        source_code = facets.source_code_location or source_code
    if not processing_type and any(event.may_stream for event in events):
        integration, processing_type = integration or FLINK, STREAMING
    return integration, job_type, processing_type, statement, source_code


def _of_run(
    all_facets: Iterable[RunFacets],
) -> tuple[Parent | None, dict[str, Any], Captured, PlanFacet | None, tuple[TagValue, ...], str]:
    """The first parent, with the first name of it that is known; the environment properties and the Spark properties,
    each with its latest value; the latest plan; all tags; and Hive's first name of the operation.
    """
    parent: Parent | None = None
    plan: PlanFacet | None = None
    properties: dict[str, Any] = {}
    captured = NO_SPARK_PROPERTIES
    tags: set[TagValue] = set()
    hive_operation = ""
    for facets in all_facets:
        parent = _better_named(parent, facets.parent)
        if (environment := facets.environment_properties) and environment.values:
            properties.update(environment.values)
        if facets.spark_properties:
            captured = _later(captured, facets.spark_properties)
        if facets.plan and facets.plan.plan:
            plan = facets.plan
        if facets.tags:
            tags.update(tag_values(facets.tags))
        if facets.hive_query:
            hive_operation = hive_operation or facets.hive_query.operation_name or ""
    return parent, properties, captured, plan, tuple(sorted(tags)) if tags else (), hive_operation


_DBT = "DBT"
_LISTS_EXPOSURES = (1, 52)
"""The first version of OpenLineage's dbt integration that does."""
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})")


def _of_dbt(all_facets: Iterable[RunFacets]) -> tuple[str, bool]:
    """The project of a run of dbt, and whether its listener lists exposures."""
    project = version = ""
    for facets in all_facets:
        project = (facets.dbt_run.project_name if facets.dbt_run else None) or project
        version = (facets.processing_engine.openlineage_adapter_version if facets.processing_engine else "") or version
    match = _VERSION.match(version)
    return project, match is not None and (int(match[1]), int(match[2])) >= _LISTS_EXPOSURES


def _better_named(parent: Parent | None, other: Parent | None) -> Parent | None:
    """The first of two parents, unless only the second says what the same run's job is called."""
    if parent is None or other is None or not is_unnamed(parent.job.name) or parent.run.run_id != other.run.run_id:
        return parent or other
    return other


def _declared(all_facets: Iterable[JobFacets | DatasetFacets]) -> tuple[tuple[TagValue, ...], tuple[str, ...], str]:
    """The tags and the owners that these facets declare, sorted, and the latest description."""
    declared = [facets for facets in all_facets if facets.tags or facets.ownership or facets.documentation]
    if not declared:
        return (), (), ""
    descriptions = (description_in(facets.documentation) for facets in reversed(declared))
    return (
        tuple(sorted({tag for facets in declared for tag in tag_values(facets.tags)})),
        tuple(sorted({name for facets in declared for name in owner_names(facets.ownership)})),
        next(filter(None, descriptions), ""),
    )


def _later(earlier: Captured, spark: SparkProperties) -> Captured:
    """The latest value of each property."""
    properties = spark.properties
    if properties is None or properties in (earlier, NO_SPARK_PROPERTIES):
        return earlier
    values = {name: value for name, value in msgspec.structs.asdict(properties).items() if value is not None}
    return msgspec.structs.replace(earlier, **values)


def ordered(events: Iterable[Event]) -> list[Event]:
    """Events by time; those of the same time by content, which is compared for them alone."""
    by_time = sorted(events, key=_TIME)
    if len(set(map(_TIME, by_time))) == len(by_time):
        return by_time
    return [event for _, tied in groupby(by_time, key=_TIME) for event in _untied([*tied])]


def _untied(tied: list[Event]) -> list[Event]:
    return tied if len(tied) == 1 else sorted(tied, key=_order)


_TIME = attrgetter("time")


def _listeners_first(events: list[Event]) -> list[Event]:
    """The events by time, those with a plan after the others: what both name of the job, the listener names better."""
    with_plan = [event for event in events if (body := event.body) and (facets := body.run.facets) and facets.plan]
    if not with_plan:
        return ordered(events)
    ids = set(map(id, with_plan))  # comparing two events takes far longer
    return [*ordered(event for event in events if id(event) not in ids), *ordered(with_plan)]


def _datasets(datasets: Iterable[Dataset]) -> tuple[MergedDataset, ...]:
    """One value for each namespace and name, sorted."""
    grouped: dict[DatasetKey, list[DatasetFacets]] = {}
    for dataset in datasets:
        key = (dataset.namespace, dataset.name)
        all_facets = grouped.get(key)
        if all_facets is None:
            grouped[key] = [dataset.facets] if dataset.facets else []
        elif dataset.facets:
            all_facets.append(dataset.facets)
    if len(grouped) < 2:  # noqa: PLR2004 - the most frequent case needs no sorting
        return tuple([_dataset(key, facets) for key, facets in grouped.items()])
    return tuple([_dataset(key, grouped[key]) for key in sorted(grouped)])


def _dataset(key: DatasetKey, all_facets: list[DatasetFacets]) -> MergedDataset:
    """One pass: most runs are small, so the work done for each data set dominates."""
    links: list[Symlink] = []
    lineages: list[ColumnLineage] = []
    columns: Sequence[SchemaField] = ()
    states: set[tuple[str, DatasetKey | None]] = set()
    levels: Sequence[Level] = ()
    exposures: Exposures | None = None
    by_dbt = False
    declaring: list[DatasetFacets] = []
    for facets in all_facets:
        if facets.symlinks:
            links += facets.symlinks.identifiers or ()
        if (lineage := facets.column_lineage) and lineage not in lineages:
            lineages.append(lineage)
        if (schema := facets.dataset_schema) and schema.fields:
            columns = schema.fields
        if (change := facets.lifecycle_state_change) and change.lifecycle_state_change:
            previous = change.previous_identifier
            states.add(
                (change.lifecycle_state_change.upper(), (previous.namespace, previous.name) if previous else None)
            )
        if (place := facets.hierarchy) and place.hierarchy:
            levels = place.hierarchy
        exposures = facets.dbt_exposures or exposures
        by_dbt = by_dbt or facets.dbt_model is not None
        if facets.tags or facets.ownership or facets.documentation:
            declaring.append(facets)
    tags, owners, description = _declared(declaring) if declaring else ((), (), "")
    return MergedDataset(
        namespace=key[0],
        name=key[1],
        symlinks=tuple(sorted({(link.namespace, link.name) for link in links})) if links else (),
        fields=_fields(lineages) if lineages else (),
        rows=tuple(dict.fromkeys([row for lineage in lineages for row in lineage.dataset or ()])) if lineages else (),
        schema=tuple([(field.name, field.type or "") for field in columns]),
        states=tuple(sorted(states, key=str)) if len(states) > 1 else tuple(states),
        tags=tags,
        owners=owners,
        description=description,
        levels=tuple([(level.type, level.name) for level in levels]) if levels else (),
        exposures=exposures,
        by_dbt=by_dbt,
    )


def _fields(lineages: list[ColumnLineage]) -> tuple[tuple[str, tuple[OutputField, ...]], ...]:
    """Output fields by column, sorted, each once."""
    if len(lineages) == 1:
        return tuple([(column, (output,)) for column, output in sorted((lineages[0].fields or {}).items())])
    fields: dict[str, dict[OutputField, None]] = {}
    for lineage in lineages:
        for column, output in (lineage.fields or {}).items():
            fields.setdefault(column, {})[output] = None
    return tuple([(column, tuple(outputs)) for column, outputs in sorted(fields.items())])


def fold(events: Iterable[Event]) -> tuple[Event, ...]:
    """Keep the first and the last of events with equal content: `merge(fold(events)) == merge(events)`, and
    `fold((*fold(some), *others)) == fold((*some, *others))`.

    Merging takes unions and the first or last value, so equal events in between add nothing. Statistics of what was
    read and written so far do not count as content.
    """
    ends: dict[bytes, tuple[Event, Event]] = {}
    for event in events:
        content = _content(event)
        first, last = ends.get(content, (event, event))
        ends[content] = event if _before(event, first) else first, event if _before(last, event) else last
    return tuple(ordered(event for first, last in ends.values() for event in _each_once(first, last)))


def _each_once(first: Event, last: Event) -> tuple[Event, ...]:
    """Both, or one where they are equal."""
    equal = first is last or (first.time == last.time and _order(first) == _order(last))
    return (first,) if equal else (first, last)


def _content(event: Event) -> bytes:
    """An event without its time and statistics."""
    body = event.body
    if body is not None:
        body = msgspec.structs.replace(body, event_time="", inputs=_plain(body.inputs), outputs=_plain(body.outputs))
    return msgspec.json.encode((event.type, body, event.omitted))


def _plain(datasets: tuple[Dataset, ...] | None) -> tuple[Dataset, ...] | None:
    if datasets is None:
        return None
    return tuple(msgspec.structs.replace(dataset, input_facets=None, output_facets=None) for dataset in datasets)


def _before(event: Event, other: Event) -> bool:
    """Whether `event` is merged first."""
    return event.time < other.time or (
        event.time == other.time and event is not other and _order(event) < _order(other)
    )


def _order(event: Event) -> tuple[datetime, str, bytes, tuple[str, ...]]:
    """The sort key of events: by time; ties are broken by content, so that arrival order has no effect."""
    return event.time, event.type, msgspec.json.encode(event.body), event.omitted
