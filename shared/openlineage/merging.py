"""The events of one run, merged: a union that depends neither on their order nor on how often each came."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from shared.openlineage.decoding import ENDS, Event
from shared.openlineage.old_names import renamed
from shared.openlineage.wire import (
    ColumnLineage,
    Dataset,
    DatasetFacets,
    InputField,
    JobName,
    OutputField,
    RunEvent,
    Symlink,
)

DatasetKey = tuple[str, str]
"""A data set's namespace and name, as spelled."""


class MergedDataset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All that a run's events say of one data set.

    `fields` and `rows` are the union of the column lineage facets: by output column, and for all rows. `schema` holds
    the columns and their types as the last event with a schema has them; `states` what happened to the data set as a
    whole (CREATE, OVERWRITE, ALTER, DROP, RENAME, TRUNCATE), each with the name it had before, if that changed.
    """

    namespace: str
    name: str
    symlinks: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, tuple[OutputField, ...]], ...] = ()
    rows: tuple[InputField, ...] = ()
    schema: tuple[tuple[str, str], ...] = ()
    states: tuple[tuple[str, DatasetKey | None], ...] = ()

    @property
    def key(self) -> DatasetKey:
        """Namespace and name."""
        return (self.namespace, self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in its schema."""
        return tuple(name for name, _ in self.schema)


class MergedRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run: all its events as one value. `ended` is its terminal state: FAIL and ABORT beat COMPLETE.

    `integration`, `job_type` and `processing_type` are the words of the jobType facet (SPARK, SQL_JOB, STREAMING),
    empty where it is missing; `statement` is the SQL text of the job, as the user wrote it.
    """

    run_id: str
    job: JobName
    application_run: str
    application: JobName | None
    first: datetime
    last: datetime
    ended: str | None
    integration: str
    job_type: str
    processing_type: str
    statement: str
    properties: Mapping[str, Any]
    inputs: tuple[MergedDataset, ...]
    outputs: tuple[MergedDataset, ...]
    omitted: tuple[str, ...] = ()

    @property
    def is_application(self) -> bool:
        """Whether this run has no parent: it is an application, or stands alone."""
        return self.application_run == self.run_id


END_STRENGTH: Mapping[str | None, int] = {None: 0, "COMPLETE": 1, "ABORT": 2, "FAIL": 3}
"""Which terminal state counts when several were seen: the strongest."""


def stronger_end(one: str | None, other: str | None) -> str | None:
    """The terminal state that counts when both were seen."""
    return max(one, other, key=END_STRENGTH.__getitem__)


def merge(events: Iterable[Event]) -> MergedRun:
    """All events of one run (at least one, all with the same run id and a body) as one value."""
    ordered = _ordered(events)
    bodies = [event.body for event in ordered if event.body]
    parents = [body.run.facets.parent for body in bodies if body.run.facets and body.run.facets.parent]
    types = [body.job.facets.job_type for body in bodies if body.job.facets and body.job.facets.job_type]
    run_id = ordered[0].run_id
    ended = None
    for event in ordered:
        ended = stronger_end(ended, event.type if event.type in ENDS else None)
    inputs = _datasets(dataset for body in bodies for dataset in body.inputs or ())
    outputs = _datasets(dataset for body in bodies for dataset in body.outputs or ())
    inputs, outputs = renamed(inputs, outputs) or (inputs, outputs)
    return MergedRun(
        run_id=run_id,
        job=JobName(namespace=bodies[0].job.namespace, name=bodies[0].job.name),
        application_run=parents[0].run.run_id.lower() if parents else run_id,
        application=parents[0].job if parents else None,
        first=ordered[0].time,
        last=ordered[-1].time,
        ended=ended,
        integration=next((kind.integration for kind in types if kind.integration), ""),
        job_type=next((kind.job_type for kind in types if kind.job_type), ""),
        processing_type=next((kind.processing_type for kind in types if kind.processing_type), ""),
        statement=_statement(bodies),
        properties=_properties(bodies),
        inputs=inputs,
        outputs=outputs,
        omitted=tuple(sorted({path for event in ordered for path in event.omitted})),
    )


def _ordered(events: Iterable[Event]) -> list[Event]:
    """By time; ties are broken by content, so that no arrival order shows through."""
    ordered = sorted(events, key=attrgetter("time"))
    if any(one.time == other.time for one, other in pairwise(ordered)):
        ordered.sort(key=lambda event: (event.time, event.type, repr(event.body)))
    return ordered


def _properties(bodies: Iterable[RunEvent]) -> dict[str, Any]:
    """The environment properties of all events; the latest word wins."""
    merged: dict[str, Any] = {}
    for body in bodies:
        found = body.run.facets.environment_properties if body.run.facets else None
        merged.update((found.values or {}) if found else {})
    return merged


def _statement(bodies: Iterable[RunEvent]) -> str:
    """The longest statement that an event tells; of equally long ones the first in order."""
    told = {body.job.facets.sql.query for body in bodies if body.job.facets and body.job.facets.sql}
    return min(told, key=lambda text: (-len(text), text), default="")


def _datasets(datasets: Iterable[Dataset]) -> tuple[MergedDataset, ...]:
    """One value for each namespace and name, sorted."""
    grouped: dict[DatasetKey, list[Dataset]] = {}
    for dataset in datasets:
        grouped.setdefault((dataset.namespace, dataset.name), []).append(dataset)
    return tuple(_dataset(key, grouped[key]) for key in sorted(grouped))


def _dataset(key: DatasetKey, spoken: list[Dataset]) -> MergedDataset:
    facets = [dataset.facets for dataset in spoken if dataset.facets]
    symlinks: set[Symlink] = {
        symlink for facet in facets if facet.symlinks for symlink in facet.symlinks.identifiers or ()
    }
    lineages: list[ColumnLineage] = []
    for facet in facets:
        if facet.column_lineage and facet.column_lineage not in lineages:
            lineages.append(facet.column_lineage)
    return MergedDataset(
        namespace=key[0],
        name=key[1],
        symlinks=tuple(sorted({(link.namespace, link.name) for link in symlinks})),
        fields=_fields(lineages),
        rows=tuple(dict.fromkeys(row for lineage in lineages for row in lineage.dataset or ())),
        schema=_schema(facets),
        states=_states(facets),
    )


def _fields(lineages: list[ColumnLineage]) -> tuple[tuple[str, tuple[OutputField, ...]], ...]:
    """By output column, sorted: each word on it once."""
    if len(lineages) == 1:
        return tuple((column, (output,)) for column, output in sorted((lineages[0].fields or {}).items(), key=_FIRST))
    fields: dict[str, dict[OutputField, None]] = {}
    for lineage in lineages:
        for column, output in (lineage.fields or {}).items():
            fields.setdefault(column, {})[output] = None
    return tuple((column, tuple(outputs)) for column, outputs in sorted(fields.items(), key=_FIRST))


_FIRST = itemgetter(0)


def _schema(facets: Sequence[DatasetFacets]) -> tuple[tuple[str, str], ...]:
    """The columns as the last event that has any tells them."""
    for facet in reversed(facets):
        if facet.dataset_schema and facet.dataset_schema.fields:
            return tuple((field.name, field.type or "") for field in facet.dataset_schema.fields)
    return ()


def _states(facets: Iterable[DatasetFacets]) -> tuple[tuple[str, DatasetKey | None], ...]:
    """Each state change once, sorted."""
    found: set[tuple[str, DatasetKey | None]] = set()
    for facet in facets:
        change = facet.lifecycle_state_change
        if change and change.lifecycle_state_change:
            before = change.previous_identifier
            found.add((change.lifecycle_state_change.upper(), (before.namespace, before.name) if before else None))
    return tuple(sorted(found, key=str))
