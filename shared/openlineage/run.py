"""One OpenLineage run as a value: what all its events say together. `merging` makes it of events.

All fields but those that identify the run have defaults, so that other readers can build one by hand.

Explicit lineage of an event (the facet `lineage`) becomes outputs with column lineage and the sources that it names. An
entry for a data set becomes an output of the run, also where `outputs` lacks it. Its sources are the only ones of that
output: other inputs of the run do not feed it. Entries for jobs, and jobs as sources, name no data set that is written
or read, but for the data sets that feed the event's own job: those are inputs of the run.

Data set names of older listeners are corrected by what the same run says elsewhere.

A special case: Connectors copy each table to its own topic or each topic to its own table, in one run for all of them.

Their events name every table and every topic of the connector, and say nowhere which belongs to which: the names do. A
source of Debezium calls the topic of the table `shop.public.orders` `PREFIX.public.orders`, its JDBC sink the table of
that topic `PREFIX_public_orders` (`collection.name.format` in Debezium's page of the JDBC connector), and others call
both alike but for database and schema.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from shared.openlineage.facets import DATASET, DatasetLineage, Exposures, LineageEntry, LineageSource
from shared.openlineage.run_facets import Captured, JobName, PlanFacet
from shared.openlineage.wire import (
    NO_SOURCE_CODE,
    ColumnLineage,
    Dataset,
    DatasetFacets,
    InputField,
    OutputField,
    RunEvent,
    SourceCodeLocation,
    is_stream,
)

TagValue = tuple[str, str, str]
"""A tag's key, its value, and the column that it is of; no column: the data set, the job or the run."""

DatasetKey = tuple[str, str]
"""A data set's namespace and name, as spelled."""


class MergedDataset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One data set of a run, merged from all its events.

    `fields` and `rows` are the union of the column lineage facets: by output column, and for all rows. `schema` has the
    columns and types of the last event with a schema; `states` the lifecycle state changes (CREATE, OVERWRITE, ALTER,
    DROP, RENAME, TRUNCATE), each with the previous name if the name changed. `sources`: the data sets that explicit
    lineage names as those that feed it; None without explicit lineage: all inputs of the run may. `tags`, `owners`,
    `description` and `levels` (type and name, from the highest to itself) are what events declare of it. `exposures`:
    its readers outside of dbt, None where no event lists them; `by_dbt`: whether dbt makes it. `tables`: its names in
    catalogs of tables, by the plan that makes it.
    """

    namespace: str
    name: str
    symlinks: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, tuple[OutputField, ...]], ...] = ()
    rows: tuple[InputField, ...] = ()
    schema: tuple[tuple[str, str], ...] = ()
    states: tuple[tuple[str, DatasetKey | None], ...] = ()
    sources: tuple[DatasetKey, ...] | None = None
    tags: tuple[TagValue, ...] = ()
    owners: tuple[str, ...] = ()
    description: str = ""
    levels: tuple[tuple[str, str], ...] = ()
    exposures: Exposures | None = None
    by_dbt: bool = False
    tables: tuple[str, ...] = ()

    @property
    def key(self) -> DatasetKey:
        """Namespace and name."""
        return (self.namespace, self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in its schema."""
        return tuple([name for name, _ in self.schema])


NO_SPARK_PROPERTIES = Captured()


class MergedRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run: all its events as one value. `ended` is its terminal state: FAIL and ABORT beat COMPLETE; `has_run`:
    whether it was seen RUNNING.

    `integration`, `job_type` and `processing_type` are those of the jobType facet (SPARK, SQL_JOB, STREAMING), empty if
    it is missing; `hive_operation` is Hive's name of the operation; `statement` is the job's SQL text as the user wrote
    it; `captured` are the Spark properties that identify workspace and job. `plan` is Spark's own plan, if
    throughline-plan.jar sent it: `shared.plans` reads it, and notes whether the run's lineage is `exact_by_plan`,
    whether some of its columns are only upper bounds (`opaque`), whether that differs from the listener's
    (`plan_differs`), which parts of the plan no rule knows (`plan_gaps`), and where rows come from that no data set has
    (`rows_from`). `has_plan`: whether there was one, also one that could not be written; `plan_execution`: the number
    of its execution in Spark, if it came alone, since the jar knew no run of the listener: then the run keeps its
    `plan`. `plans_lost`: how many plans of its application the jar had not been able to send until then.
    `table_change`: DROP or TRUNCATE and the table's name in its catalog, by the plan; empty if there is none.
    `tags` are what events declare of the run; `job_tags`, `owners`, `description` and `source_code`, of its job.
    `dbt_project`: whose run it is; `lists_exposures`: whether what its events do not list as an exposure is none.
    """

    run_id: str
    job: JobName
    application_run: str
    first: datetime
    last: datetime
    application: JobName | None = None
    ended: str | None = None
    has_run: bool = False
    integration: str = ""
    job_type: str = ""
    processing_type: str = ""
    hive_operation: str = ""
    statement: str = ""
    properties: Mapping[str, Any] = msgspec.field(default_factory=dict)
    inputs: tuple[MergedDataset, ...] = ()
    outputs: tuple[MergedDataset, ...] = ()
    omitted: tuple[str, ...] = ()
    captured: Captured = NO_SPARK_PROPERTIES
    plan: PlanFacet | None = None
    exact_by_plan: bool = False
    opaque: bool = False
    plan_differs: bool = False
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    has_plan: bool = False
    plan_execution: int | None = None
    plans_lost: int = 0
    table_change: tuple[str, str] = ("", "")
    tags: tuple[TagValue, ...] = ()
    job_tags: tuple[TagValue, ...] = ()
    owners: tuple[str, ...] = ()
    description: str = ""
    source_code: SourceCodeLocation = NO_SOURCE_CODE
    dbt_project: str = ""
    lists_exposures: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether it runs until it is cancelled."""
        return is_stream(self.processing_type, self.integration)

    @property
    def counts(self) -> bool:
        """Whether what it says counts or is withdrawn already: it has ended, or is a stream that has run."""
        return self.ended is not None or (self.has_run and self.is_stream)

    @property
    def is_withdrawn(self) -> bool:
        """Whether it failed or was cancelled, and is no stream that keeps what it did until then."""
        if self.ended not in {"FAIL", "ABORT"}:
            return False
        return not (self.is_stream and (self.has_run or self.ended == "ABORT"))

    @property
    def is_application(self) -> bool:
        """Whether this run has no parent: an application, or a single run."""
        return self.application_run == self.run_id


Explicit = dict[DatasetKey, set[DatasetKey]]
"""The sources that explicit lineage names, by output."""


def explicit_lineage(body: RunEvent, sources: Explicit) -> tuple[tuple[Dataset, ...], tuple[Dataset, ...]]:
    """The inputs and outputs that an event's explicit lineage adds to the event's own; `sources` gets those of each
    output.
    """
    inputs: list[Dataset] = []
    outputs: list[Dataset] = []
    for target, lineage in _targets(body):
        lineage_sources = _sources(lineage)
        sources.setdefault(target, set()).update(_key(source) for source in lineage_sources)
        inputs += map(_input, lineage_sources)
        facets = DatasetFacets(column_lineage=_columns(lineage))
        outputs.append(Dataset(namespace=target[0], name=target[1], facets=facets))
    job = (body.job.namespace, body.job.name)
    for entry in _entries(body):
        if entry.type != DATASET and (entry.name is None or (entry.namespace, entry.name) == job):
            inputs += map(_input, _sources(entry))
    return tuple(inputs), tuple(outputs)


def has_explicit_lineage(body: RunEvent) -> bool:
    """Whether an event has any."""
    facets = body.job.facets
    if facets and facets.lineage:
        return True
    for output in body.outputs or ():  # a loop, because it is run for each event: any() takes twice as long
        facets_of_output = output.facets
        if facets_of_output and facets_of_output.lineage:
            return True
    return False


def with_sources(outputs: Iterable[MergedDataset], explicit: Explicit) -> tuple[MergedDataset, ...]:
    """Each output with the sources that explicit lineage names for it."""
    return tuple(
        replace(output, sources=tuple(sorted(explicit[output.key]))) if output.key in explicit else output
        for output in outputs
    )


def _targets(body: RunEvent) -> Iterator[tuple[DatasetKey, DatasetLineage]]:
    """The data sets that explicit lineage is about: outputs with the facet, and those of the job's entries."""
    for output in body.outputs or ():
        if output.facets and output.facets.lineage and output.facets.lineage.has_content:
            yield (output.namespace, output.name), output.facets.lineage
    for entry in _entries(body):
        named = entry.namespace is not None and entry.name is not None
        if named and entry.type == DATASET and entry.has_content:
            yield (entry.namespace or "", entry.name or ""), entry


def _entries(body: RunEvent) -> tuple[LineageEntry, ...]:
    facet = body.job.facets.lineage if body.job.facets else None
    return (facet.entries or ()) if facet else ()


def _sources(lineage: DatasetLineage) -> list[LineageSource]:
    """The data sets that feed a target, or a column of it."""
    of_columns = (source for field in (lineage.fields or {}).values() for source in field.inputs or ())
    return [source for source in (*(lineage.inputs or ()), *of_columns) if _is_dataset(source)]


def _is_dataset(source: LineageSource) -> bool:
    return source.type == DATASET and source.namespace is not None and source.name is not None


def _key(source: LineageSource) -> DatasetKey:
    return source.namespace or "", source.name or ""


def _input(source: LineageSource) -> Dataset:
    namespace, name = _key(source)
    return Dataset(namespace=namespace, name=name)


def _columns(lineage: DatasetLineage) -> ColumnLineage:
    """As a facet `columnLineage`. A source without a field feeds the data set, and no column that is known."""
    fields = {
        column: OutputField(input_fields=tuple(_fields(field.inputs or ())))
        for column, field in (lineage.fields or {}).items()
    }
    return ColumnLineage(fields=fields or None, dataset=tuple(_fields(lineage.inputs or ())) or None)


def _fields(sources: Iterable[LineageSource]) -> Iterator[InputField]:
    for source in sources:
        if source.field is not None and _is_dataset(source):
            namespace, name = _key(source)
            yield InputField(namespace=namespace, name=name, field=source.field, transformations=source.transformations)


def correct_legacy_names(
    inputs: Sequence[MergedDataset], outputs: Sequence[MergedDataset]
) -> tuple[tuple[MergedDataset, ...], tuple[MergedDataset, ...]] | None:
    """Inputs and outputs with Iceberg tables under their locations; None if nothing is to be corrected.

    Listener 1.12 names the table `db.t` of a warehouse `<folder>/db.t` (its symlink's namespace is the folder); its
    location is `<folder>/db/t`, as newer listeners have it.
    """
    locations = {
        dataset.key: f"{folder.rstrip('/')}/{table.replace('.', '/')}"
        for dataset in (*inputs, *outputs)
        for folder, table in dataset.symlinks
        if "." in table and folder.startswith("/") and dataset.name == f"{folder.rstrip('/')}/{table}"
    }
    return (_placed(inputs, locations), _placed(outputs, locations)) if locations else None


def _placed(datasets: Sequence[MergedDataset], locations: Mapping[DatasetKey, str]) -> tuple[MergedDataset, ...]:
    def name(source: InputField) -> InputField:
        location = locations.get((source.namespace, source.name))
        return replace(source, name=location) if location else source

    return tuple(
        replace(
            dataset,
            name=locations.get(dataset.key, dataset.name),
            fields=tuple((column, tuple(_field(field, name) for field in fields)) for column, fields in dataset.fields),
            rows=tuple(map(name, dataset.rows)),
        )
        for dataset in datasets
    )


def _field(field: OutputField, name: Callable[[InputField], InputField]) -> OutputField:
    return replace(field, input_fields=tuple(map(name, field.input_fields or ())))


CONNECTORS = frozenset({"DEBEZIUM", "KAFKA_CONNECT"})
"""The integrations of the jobType facet whose jobs are connectors."""

_MOST_PARTS = 6
"""Of a name's end; more than database, schema and table have."""


def with_copied_sources(inputs: Sequence[MergedDataset], outputs: Sequence[MergedDataset]) -> tuple[MergedDataset, ...]:
    """The outputs of a connector, each with the inputs whose names say that it is their copy as its only sources. One
    that is called like no input, or has sources already, stays: any input may be its source.
    """
    by_end: _ByEnd = {}
    for dataset in inputs:
        for name in {dataset.name, dataset.name.replace(".", "_")}:  # dots mean database and schema in a sink
            length, ends = _ends(name)
            for end in ends:
                by_end.setdefault(end, []).append((length, dataset.key))
    return tuple(
        replace(output, sources=copied)
        if output.sources is None and (copied := _copied(by_end, output.name))
        else output
        for output in outputs
    )


_ByEnd = dict[tuple[str, ...], list[tuple[int, DatasetKey]]]
"""Data sets with the number of parts of their names, by each end of the name."""


def _ends(name: str) -> tuple[int, Iterator[tuple[str, ...]]]:
    """The number of a name's parts, and its ends, the longest first."""
    parts = tuple(name.casefold().split("."))
    return len(parts), (parts[-length:] for length in range(min(len(parts), _MOST_PARTS), 0, -1))


def _copied(by_end: _ByEnd, name: str) -> tuple[DatasetKey, ...]:
    """The data sets that share the longest end with a name. One of both names may have more parts in front, the other
    only one: a prefix or a database.
    """
    length, ends = _ends(name)
    for end in ends:
        if keys := {key for other, key in by_end.get(end, ()) if len(end) >= min(length, other) - 1}:
            return tuple(sorted(keys))
    return ()


def workspace(run: MergedRun) -> str:
    """The host of the workspace in which a run ran: its property, else the start of its job's name, else empty."""
    return _host(run.captured.databricks_host or "") or _host(run.job.name)


def _host(text: str) -> str:
    host = _DOTTED_HOST.match(text.removeprefix("https://"))
    return host[0].lower() if host else ""


_DOTTED_HOST = re.compile(
    r"(?:adb-\d+\.\d+\.(?:azuredatabricks\.net|databricks\.azure\.(?:us|cn))"
    r"|dbc-[0-9a-f-]+\.cloud\.databricks\.com|\d+\.\d+\.gcp\.databricks\.com)(?=[./]|$)",
    re.IGNORECASE,
)


def text_property(properties: Mapping[str, Any], key: str) -> str:
    """The value of a property; empty where it is missing or not a text."""
    value = properties.get(key)
    return value if isinstance(value, str) else ""
