"""Reduce an event to the parts that lineage needs, for deployments that must not store the rest.

Kept is what `wire` names, passed through the caller's redactors. Everything else (Spark properties and plans, error
texts, other facets) is neither decoded nor written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from shared.openlineage.decoding import Event
from shared.openlineage.shapes.declared import Documentation, Ownership, Tags
from shared.openlineage.shapes.explicit import (
    DATASET,
    DatasetLineage,
    JobLineage,
    LineageEntry,
    LineageField,
    LineageSource,
)
from shared.openlineage.shapes.quality import Assertions, ColumnMetrics, Expectations
from shared.openlineage.wire import (
    Captured,
    ColumnLineage,
    Dataset,
    DatasetFacets,
    InputFacets,
    InputField,
    Job,
    JobFacets,
    JobName,
    OutputField,
    Parent,
    Run,
    RunEvent,
    RunFacets,
    SparkProperties,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactors:
    """Deterministic functions that redact a SQL statement (and whether double quotes enclose names in it, not texts),
    environment properties, a data set's namespace and name, and a job's namespace or name.
    """

    statement: Callable[[str, bool], str]
    properties: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    spelling: Callable[[str, str], tuple[str, str]]
    job: Callable[[str], str]


def trim(event: Event, redactors: Redactors) -> bytes:
    """The event as OpenLineage JSON with nothing but redacted, needed parts. `decode` reads it like the original."""
    body = event.body
    if body is None:
        return msgspec.json.encode({"eventTime": event.time, "dataset": {"namespace": "", "name": ""}})
    return msgspec.json.encode(
        replace(
            body,
            run=_run(body.run, redactors),
            job=_job(body, redactors),
            inputs=_datasets(body.inputs, redactors),
            outputs=_datasets(body.outputs, redactors),
        )
    )


def _run(run: Run, redactors: Redactors) -> Run:
    facets = run.facets
    if facets is None:
        return run
    given = facets.environment_properties
    properties = replace(given, values=dict(redactors.properties(given.values or {}))) if given else None
    kept = RunFacets(
        parent=_parent(facets.parent, redactors),
        environment_properties=properties,
        processing_engine=facets.processing_engine,
        spark_properties=_captured(facets.spark_properties, redactors),
        plan=facets.plan,  # the jar has left values out in the driver
        tags=_tags(facets.tags, redactors),
    )
    return replace(run, facets=kept)


def _captured(given: SparkProperties | None, redactors: Redactors) -> SparkProperties | None:
    """The Spark properties that name a workspace or a job, redacted like job names."""
    if given is None or given.properties is None:
        return None
    kept = {name: redactors.job(value) for name, value in msgspec.structs.asdict(given.properties).items() if value}
    return SparkProperties(properties=Captured(**kept)) if kept else None


def _parent(parent: Parent | None, redactors: Redactors) -> Parent | None:
    return replace(parent, job=_job_name(parent.job, redactors)) if parent else None


def _job_name(job: JobName, redactors: Redactors) -> JobName:
    return JobName(namespace=redactors.job(job.namespace), name=redactors.job(job.name))


_ANSI = frozenset({"athena", "duckdb", "oracle", "postgres", "redshift", "snowflake", "sqlserver", "trino"})
"""Schemes of databases whose SQL encloses names in double quotes."""


def _names_quoted(body: RunEvent) -> bool:
    """Whether a statement is dbt's for such a database; in Spark SQL double quotes enclose texts."""
    kind = body.job.facets.job_type if body.job.facets else None
    if not kind or kind.integration != "DBT":
        return False
    schemes = {each.namespace.partition(":")[0] for each in (*(body.inputs or ()), *(body.outputs or ()))}
    return bool(schemes) and schemes <= _ANSI


def _job(body: RunEvent, redactors: Redactors) -> Job:
    facets = body.job.facets
    if facets:
        sql = facets.sql
        if sql:
            sql = replace(sql, query=redactors.statement(sql.query, _names_quoted(body)))
        facets = JobFacets(
            job_type=facets.job_type,
            sql=sql,
            tags=_tags(facets.tags, redactors),
            ownership=_ownership(facets.ownership, redactors),
            documentation=_documentation(facets.documentation, redactors),
            lineage=_entries(facets.lineage, redactors),
        )
    return Job(namespace=redactors.job(body.job.namespace), name=_own_name(body, redactors), facets=facets)


def _own_name(body: RunEvent, redactors: Redactors) -> str:
    """The job's name, redacted so that it still begins with its application's name if it did."""
    parent = body.run.facets.parent if body.run.facets else None
    before = parent.job.name if parent else ""
    name = body.job.name
    if not before or not name.startswith(before):
        return redactors.job(name)
    return redactors.job(before) + redactors.job(name[len(before) :])


def _datasets(datasets: Iterable[Dataset] | None, redactors: Redactors) -> tuple[Dataset, ...] | None:
    return None if datasets is None else tuple(_dataset(each, redactors) for each in datasets)


def _dataset(dataset: Dataset, redactors: Redactors) -> Dataset:
    facets = _facets(dataset.facets, redactors) if dataset.facets else None
    namespace, name = redactors.spelling(dataset.namespace, dataset.name)
    read = dataset.input_facets
    if read:
        read = replace(read, **_quality(read), great_expectations=_results(read.great_expectations))
    return replace(dataset, namespace=namespace, name=name, facets=facets, input_facets=read)


def _facets(facets: DatasetFacets, redactors: Redactors) -> DatasetFacets:
    def named(value: Any) -> Any:
        """Anything that has a namespace and a name."""
        namespace, name = redactors.spelling(value.namespace, value.name)
        return replace(value, namespace=namespace, name=name)

    def source(value: InputField) -> InputField:
        described: InputField = named(value)
        return _described(described, redactors)

    links, change = facets.symlinks, facets.lifecycle_state_change
    if links and links.identifiers:
        links = replace(links, identifiers=tuple(map(named, links.identifiers)))
    if change and change.previous_identifier:
        change = replace(change, previous_identifier=named(change.previous_identifier))

    def described(field: OutputField) -> OutputField:
        text, sources = field.transformation_description, field.input_fields
        return OutputField(
            input_fields=None if sources is None else tuple(map(source, sources)),
            transformation_type=field.transformation_type,
            transformation_description=redactors.statement(text, False) if text else None,
        )

    lineage = _lineage(facets.column_lineage, described, source) if facets.column_lineage else None
    return replace(
        facets,
        symlinks=links,
        lifecycle_state_change=change,
        column_lineage=lineage,
        tags=_tags(facets.tags, redactors),
        ownership=_ownership(facets.ownership, redactors),
        documentation=_documentation(facets.documentation, redactors),
        lineage=_explicit(facets.lineage, redactors) if facets.lineage else None,
        **_quality(facets),
    )


def _tags(tags: Tags | None, redactors: Redactors) -> Tags | None:
    if tags is None:
        return None
    return Tags(tags=tuple(replace(each, value=redactors.job(each.value)) for each in tags.tags or ()))


def _ownership(given: Ownership | None, redactors: Redactors) -> Ownership | None:
    if given is None:
        return None
    return Ownership(owners=tuple(replace(each, name=redactors.job(each.name)) for each in given.owners or ()))


def _documentation(given: Documentation | None, redactors: Redactors) -> Documentation | None:
    return Documentation(description=redactors.job(given.description)) if given else None


def _quality(facets: InputFacets | DatasetFacets) -> dict[str, Any]:
    """What was tested and counted, without the values that were met."""
    tested, measured = facets.data_quality_assertions, facets.data_quality_metrics
    if tested:
        plain = tuple(replace(each, expected=None, actual=None, name=None) for each in tested.assertions or ())
        tested = Assertions(assertions=plain)
    if measured and measured.column_metrics:
        counts = {
            column: ColumnMetrics(null_count=each.null_count, distinct_count=each.distinct_count, count=each.count)
            for column, each in measured.column_metrics.items()
        }
        measured = replace(measured, column_metrics=counts)
    return {"data_quality_assertions": tested, "data_quality_metrics": measured}


def _results(given: Expectations | None) -> Expectations | None:
    """Expectations with the results that are known; another one is a text."""
    if given is None:
        return None
    known = (each for each in given.assertions or () if isinstance(each.success, bool))
    return Expectations(assertions=tuple(known))


def _entries(given: JobLineage | None, redactors: Redactors) -> JobLineage | None:
    if given is None:
        return None
    entries = (_named_part(_explicit(each, redactors), redactors) for each in given.entries or ())
    return JobLineage(entries=tuple(entries))


Explicit = TypeVar("Explicit", bound=DatasetLineage)


def _explicit(given: Explicit, redactors: Redactors) -> Explicit:
    def sources(field: DatasetLineage | LineageField) -> tuple[LineageSource, ...] | None:
        if field.inputs is None:
            return None
        return tuple(_named_part(_described(each, redactors), redactors) for each in field.inputs)

    fields = {column: LineageField(inputs=sources(field)) for column, field in (given.fields or {}).items()}
    return replace(given, inputs=sources(given), fields=None if given.fields is None else fields)


Part = TypeVar("Part", LineageEntry, LineageSource)


def _named_part(part: Part, redactors: Redactors) -> Part:
    """An entry or a source, its name redacted as that of a data set or of a job."""
    if part.namespace is None or part.name is None:
        return part
    if part.type == DATASET:
        namespace, name = redactors.spelling(part.namespace, part.name)
    else:
        namespace, name = redactors.job(part.namespace), redactors.job(part.name)
    return replace(part, namespace=namespace, name=name)


Described = TypeVar("Described", InputField, LineageSource)


def _described(source: Described, redactors: Redactors) -> Described:
    """A source column; descriptions of what happens to it are expressions of SQL."""
    steps = source.transformations
    if not steps or not any(each.description for each in steps):
        return source
    redacted = (
        replace(each, description=redactors.statement(each.description, False)) if each.description else each
        for each in steps
    )
    return replace(source, transformations=tuple(redacted))


def _lineage(
    lineage: ColumnLineage,
    output: Callable[[OutputField], OutputField],
    named: Callable[[InputField], InputField],
) -> ColumnLineage:
    fields, rows = lineage.fields, lineage.dataset
    return ColumnLineage(
        fields=None if fields is None else {name: output(field) for name, field in fields.items()},
        dataset=None if rows is None else tuple(map(named, rows)),
    )
