"""Reduce an event to the parts that lineage needs: what is stored when THROUGHLINE_REDACT is on.

Kept is what `wire` names. A table has a rule for each type of it that holds names, texts or values of people.
Everything else (Spark properties and plans, error texts, other facets) is neither decoded nor written.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from shared.naming.names import without_query
from shared.openlineage.decoding import Event
from shared.openlineage.facets import (
    DATASET,
    Assertion,
    ColumnMetrics,
    DeclaredTag,
    Documentation,
    Expectations,
    Exposure,
    LineageEntry,
    LineageSource,
    LiteralOperand,
    Locations,
    Owner,
    Partition,
    Transformation,
)
from shared.openlineage.run_facets import (
    Captured,
    EnvironmentProperties,
    ExecutionParameter,
    HiveProperties,
    HiveSession,
    JobName,
    SparkProperties,
)
from shared.openlineage.wire import (
    Dataset,
    DatasetName,
    InputField,
    Job,
    OutputField,
    RunEvent,
    SourceCodeLocation,
    Symlink,
)
from shared.secrets import address_without_secrets, parameter_without_secrets, short_text, text_without_secrets
from shared.translation.process.union import code_address
from shared.translation.run.application import needed_properties
from shared.translation.sql.statement_reader import redact


def redacted(event: Event) -> bytes:
    """The bytes to store instead of the received ones: without literals in the statement, without properties that name
    neither job nor place, without query strings, and without whatever lineage does not read.

    `decode` reads them like the original. The same event always gives the same bytes, so that sending it again changes
    nothing. sqlglot is imported by the first event with a statement.
    """
    body = event.body
    if body is None:
        return msgspec.json.encode({"eventTime": event.time, "dataset": {"namespace": "", "name": ""}})
    return msgspec.json.encode(_redacted(replace(body, job=_job(body))))


def _redacted(value: Any) -> Any:
    """A part of an event with the rules applied to it and to all parts in it."""
    rule = _RULES.get(type(value))
    if rule:
        value = rule(value)
    if isinstance(value, msgspec.Struct):
        parts = {}
        for name in value.__struct_fields__:
            part = getattr(value, name)
            if isinstance(part, _NESTED) and (new := _redacted(part)) is not part:
                parts[name] = new
        return replace(value, **parts) if parts else value
    if isinstance(value, tuple):
        return tuple([_redacted(element) for element in value])
    return {name: _redacted(field_value) for name, field_value in value.items()} if isinstance(value, dict) else value


_NESTED = (msgspec.Struct, tuple, dict)
"""The types that have parts."""


def _job(body: RunEvent) -> Job:
    """The job with its own name and statement redacted, which depends on the rest of the event."""
    facets = body.job.facets
    if facets and facets.sql:
        sql = facets.sql.query or ""
        sql = sql.replace('"', "`") if _names_quoted(body) else sql
        facets = replace(facets, sql=replace(facets.sql, query=_statement(sql)))
    return Job(namespace=text_without_secrets(body.job.namespace), name=_own_name(body), facets=facets)


_ANSI = frozenset({"athena", "duckdb", "oracle", "postgres", "redshift", "snowflake", "sqlserver", "trino"})
"""Schemes of databases whose SQL encloses names in double quotes."""


def _names_quoted(body: RunEvent) -> bool:
    """Whether a statement is dbt's for such a database; in Spark SQL double quotes enclose texts."""
    schemes = {dataset.namespace.partition(":")[0] for dataset in body.datasets}
    return body.job_type.integration == "DBT" and bool(schemes) and schemes <= _ANSI


def _own_name(body: RunEvent) -> str:
    """The job's name, redacted so that it still begins with its application's name if it did."""
    name_before = body.parent.job.name if body.parent else ""
    name = body.job.name
    if not name_before or not name.startswith(name_before):
        return text_without_secrets(name)
    return text_without_secrets(name_before) + text_without_secrets(name[len(name_before) :])


def _statement(sql: str) -> str:
    return redact(sql, readable=True)


def _expression(text: str | None) -> str | None:
    """A description of what happens to a column, which is an expression of SQL."""
    return _statement(text) if text else None


def _text(text: str | None) -> str | None:
    """A text that may be missing."""
    return text_without_secrets(text) if text else text


def _dataset_name(value: Any) -> Any:
    """Anything that has the namespace and the name of a data set."""
    namespace, name = without_query(value.namespace, value.name)
    return replace(value, namespace=namespace, name=name)


def _job_name(value: Any) -> Any:
    """Anything that has the namespace and the name of a job."""
    return replace(value, namespace=text_without_secrets(value.namespace), name=text_without_secrets(value.name))


def _entry_name(value: LineageEntry | LineageSource) -> Any:
    """An entry or a source of explicit lineage, which is a data set or a job, and may have no name."""
    if value.namespace is None or value.name is None:
        return value
    return _dataset_name(value) if value.type == DATASET else _job_name(value)


def _captured(properties: SparkProperties) -> SparkProperties | None:
    """The Spark properties that name a workspace or a job, redacted like job names; None if there are none."""
    named = asdict(properties.properties) if properties.properties else {}
    captured_values = {name: text_without_secrets(value) for name, value in named.items() if value}
    return SparkProperties(properties=Captured(**captured_values)) if captured_values else None


def _parameter(parameter: ExecutionParameter) -> ExecutionParameter:
    value = parameter.value
    if isinstance(value, str):
        value = parameter_without_secrets(parameter.key, value)
    return replace(parameter, name=_text(parameter.name), value=value)


def _values(values: Mapping[str, Any]) -> dict[str, str]:
    """Values by key, as texts without secrets."""
    return {key: parameter_without_secrets(key, str(value)) for key, value in values.items()}


_RULES: Mapping[type, Callable[[Any], Any]] = {
    **dict.fromkeys((Dataset, DatasetName, InputField, Symlink), _dataset_name),
    **dict.fromkeys((LineageEntry, LineageSource), _entry_name),
    JobName: _job_name,
    EnvironmentProperties: lambda facet: replace(facet, values=needed_properties(facet.values or {})),
    SparkProperties: _captured,
    DeclaredTag: lambda tag: replace(tag, value=_text(tag.value)),
    Owner: lambda owner: replace(owner, name=text_without_secrets(owner.name)),
    ExecutionParameter: _parameter,
    HiveSession: lambda session: replace(session, username=_text(session.username)),
    HiveProperties: lambda facet: replace(facet, properties=_values(facet.properties or {})),
    LiteralOperand: lambda _: LiteralOperand(value="?"),
    Partition: lambda partition: Partition(dimensions=_values(partition.dimensions or {})),
    Locations: lambda facet: Locations(locations=tuple(map(address_without_secrets, facet.locations or ()))),
    SourceCodeLocation: lambda code: replace(code, url=code_address(code), version=short_text(code.version)),
    Exposure: lambda exposure: replace(exposure, url=_text(exposure.url)),
    Documentation: lambda facet: Documentation(description=_text(facet.description)),
    OutputField: lambda field: replace(field, transformation_description=_expression(field.transformation_description)),
    Transformation: lambda step: replace(step, description=_expression(step.description)),
    Assertion: lambda test: replace(test, expected=None, actual=None, name=None),
    ColumnMetrics: lambda metrics: ColumnMetrics(
        null_count=metrics.null_count, distinct_count=metrics.distinct_count, count=metrics.count
    ),
    Expectations: lambda facet: Expectations(
        assertions=tuple([assertion for assertion in facet.assertions or () if isinstance(assertion.success, bool)])
    ),
}
"""By type. Plans need none: the jar has left values out in the driver."""
