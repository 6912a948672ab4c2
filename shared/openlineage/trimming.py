"""An event with nothing in it but what lineage is made of, for who does not want the rest stored. Pure.

What is kept is what `wire` names, each through one of three hands: statements, environment properties, and the
spellings of data sets. Whatever a listener sends beside that (Spark's properties and plans, the text of errors, facets
of others) is not built, and so not written.
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
    """What becomes of a statement (`names_quoted`: whether double quotes stand around names in it, not around texts),
    of environment properties, of a data set's namespace and name, and of the namespace or name of a job. Each must give
    the same for the same.
    """

    statement: Callable[[str, bool], str]
    properties: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    spelling: Callable[[str, str], tuple[str, str]]
    job: Callable[[str], str]


def trim(event: Event, hands: Redactors) -> bytes:
    """The bytes of an event of a run (one with a body) that says the same, as JSON of OpenLineage. `decode` reads from
    them what it read from the event's own, but for what was taken out.
    """
    body = event.body
    if body is None:
        return msgspec.json.encode({"eventTime": event.time, "dataset": {"namespace": "", "name": ""}})
    return msgspec.json.encode(
        replace(
            body,
            run=_run(body.run, hands),
            job=_job(body, hands),
            inputs=_datasets(body.inputs, hands),
            outputs=_datasets(body.outputs, hands),
        )
    )


def _run(run: Run, hands: Redactors) -> Run:
    facets = run.facets
    if facets is None:
        return run
    told = facets.environment_properties
    properties = replace(told, values=dict(hands.properties(told.values or {}))) if told else None
    kept = RunFacets(
        parent=_parent(facets.parent, hands),
        environment_properties=properties,
        processing_engine=facets.processing_engine,
        spark_properties=_captured(facets.spark_properties, hands),
    )
    return replace(run, facets=kept)


def _captured(told: SparkProperties | None, hands: Redactors) -> SparkProperties | None:
    """Of Spark's properties those that name a workspace or a job, as such names are kept."""
    if told is None or told.properties is None:
        return None
    kept = {name: hands.job(word) for name, word in msgspec.structs.asdict(told.properties).items() if word}
    return SparkProperties(properties=Captured(**kept)) if kept else None


def _parent(parent: Parent | None, hands: Redactors) -> Parent | None:
    return replace(parent, job=_job_name(parent.job, hands)) if parent else None


def _job_name(job: JobName, hands: Redactors) -> JobName:
    return JobName(namespace=hands.job(job.namespace), name=hands.job(job.name))


_ANSI = frozenset({"athena", "duckdb", "oracle", "postgres", "redshift", "snowflake", "sqlserver", "trino"})
"""Schemes of databases in whose SQL double quotes stand around names."""


def _names_quoted(body: RunEvent) -> bool:
    """Whether a statement is dbt's for such a database; Spark's own SQL has texts in double quotes."""
    kind = body.job.facets.job_type if body.job.facets else None
    if not kind or kind.integration != "DBT":
        return False
    schemes = {each.namespace.partition(":")[0] for each in (*(body.inputs or ()), *(body.outputs or ()))}
    return bool(schemes) and schemes <= _ANSI


def _job(body: RunEvent, hands: Redactors) -> Job:
    facets = body.job.facets
    if facets and facets.sql:
        statement = hands.statement(facets.sql.query, _names_quoted(body))
        facets = JobFacets(job_type=facets.job_type, sql=replace(facets.sql, query=statement))
    return Job(namespace=hands.job(body.job.namespace), name=_own_name(body, hands), facets=facets)


def _own_name(body: RunEvent, hands: Redactors) -> str:
    """The job's name; where it begins with its application's, that is still so."""
    parent = body.run.facets.parent if body.run.facets else None
    before = parent.job.name if parent else ""
    name = body.job.name
    if not before or not name.startswith(before):
        return hands.job(name)
    return hands.job(before) + hands.job(name[len(before) :])


def _datasets(datasets: Iterable[Dataset] | None, hands: Redactors) -> tuple[Dataset, ...] | None:
    return None if datasets is None else tuple(_dataset(each, hands) for each in datasets)


def _dataset(dataset: Dataset, hands: Redactors) -> Dataset:
    facets = _facets(dataset.facets, hands) if dataset.facets else None
    namespace, name = hands.spelling(dataset.namespace, dataset.name)
    return replace(dataset, namespace=namespace, name=name, facets=facets)


def _facets(facets: DatasetFacets, hands: Redactors) -> DatasetFacets:
    def named(value: Any) -> Any:
        """Anything that has a namespace and a name."""
        namespace, name = hands.spelling(value.namespace, value.name)
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
