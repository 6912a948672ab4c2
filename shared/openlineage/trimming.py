"""Reduce an event to the parts that lineage needs, for deployments that must not store the rest.

Kept is what `wire` names, passed through the caller's redactors. Everything else (Spark properties and plans, error
texts, other facets) is neither decoded nor written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from shared.openlineage.decoding import Event
from shared.openlineage.wire import (
    Captured,
    ColumnLineage,
    Dataset,
    DatasetFacets,
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
    if facets and facets.sql:
        statement = redactors.statement(facets.sql.query, _names_quoted(body))
        facets = JobFacets(job_type=facets.job_type, sql=replace(facets.sql, query=statement))
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
    return replace(dataset, namespace=namespace, name=name, facets=facets)


def _facets(facets: DatasetFacets, redactors: Redactors) -> DatasetFacets:
    def named(value: Any) -> Any:
        """Anything that has a namespace and a name."""
        namespace, name = redactors.spelling(value.namespace, value.name)
        return replace(value, namespace=namespace, name=name)

    links, change = facets.symlinks, facets.lifecycle_state_change
    if links and links.identifiers:
        links = replace(links, identifiers=tuple(map(named, links.identifiers)))
    if change and change.previous_identifier:
        change = replace(change, previous_identifier=named(change.previous_identifier))
    lineage = _lineage(facets.column_lineage, named) if facets.column_lineage else None
    return replace(facets, symlinks=links, lifecycle_state_change=change, column_lineage=lineage)


def _lineage(lineage: ColumnLineage, named: Callable[[InputField], InputField]) -> ColumnLineage:
    def output(field: OutputField) -> OutputField:
        sources = field.input_fields
        return field if sources is None else replace(field, input_fields=tuple(map(named, sources)))

    fields, rows = lineage.fields, lineage.dataset
    return ColumnLineage(
        fields=None if fields is None else {name: output(field) for name, field in fields.items()},
        dataset=None if rows is None else tuple(map(named, rows)),
    )
