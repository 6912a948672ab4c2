"""Explicit lineage of an event (`shapes.explicit`) as outputs with column lineage and the sources that it names.

An entry for a data set becomes an output of the run, also where `outputs` lacks it. Its sources are the only ones of
that output: other inputs of the run do not feed it. Entries for jobs, and jobs as sources, name no data set that is
written or read, but for the data sets that feed the event's own job: those are inputs of the run.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from shared.openlineage.run import DatasetKey, MergedDataset
from shared.openlineage.shapes.explicit import DATASET, DatasetLineage, LineageEntry, LineageSource
from shared.openlineage.wire import ColumnLineage, Dataset, DatasetFacets, InputField, OutputField, RunEvent

Explicit = dict[DatasetKey, set[DatasetKey]]
"""The sources that explicit lineage names, by output."""


def explicit_lineage(body: RunEvent, sources: Explicit) -> tuple[tuple[Dataset, ...], tuple[Dataset, ...]]:
    """The inputs and outputs that an event's explicit lineage adds to the event's own; `sources` gets those of each
    output.
    """
    inputs: list[Dataset] = []
    outputs: list[Dataset] = []
    for target, lineage in _targets(body):
        read = _sources(lineage)
        sources.setdefault(target, set()).update(_key(each) for each in read)
        inputs += map(_input, read)
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
        replace(each, sources=tuple(sorted(explicit[each.key]))) if each.key in explicit else each for each in outputs
    )


def _targets(body: RunEvent) -> Iterator[tuple[DatasetKey, DatasetLineage]]:
    """The data sets that explicit lineage is about: outputs with the facet, and those of the job's entries."""
    for output in body.outputs or ():
        if output.facets and output.facets.lineage and _has_content(output.facets.lineage):
            yield (output.namespace, output.name), output.facets.lineage
    for entry in _entries(body):
        named = entry.namespace is not None and entry.name is not None
        if named and entry.type == DATASET and _has_content(entry):
            yield (entry.namespace or "", entry.name or ""), entry


def _has_content(lineage: DatasetLineage) -> bool:
    """Without `inputs` and columns nothing is said; an empty list of inputs says that nothing feeds it."""
    return lineage.inputs is not None or bool(lineage.fields)


def _entries(body: RunEvent) -> tuple[LineageEntry, ...]:
    facet = body.job.facets.lineage if body.job.facets else None
    return (facet.entries or ()) if facet else ()


def _sources(lineage: DatasetLineage) -> list[LineageSource]:
    """The data sets that feed a target, or a column of it."""
    of_columns = (each for field in (lineage.fields or {}).values() for each in field.inputs or ())
    return [each for each in (*(lineage.inputs or ()), *of_columns) if _is_dataset(each)]


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
    for each in sources:
        if each.field is not None and _is_dataset(each):
            namespace, name = _key(each)
            yield InputField(namespace=namespace, name=name, field=each.field, transformations=each.transformations)
