"""Merge a run's events with its plan: the plan decides where it is exact, and adds to the listener's lineage else.

The plan belongs to one execution of Spark, as the listener's run does. So it never replaces what another run wrote to
the same place. Data sets keep the listener's spelling and other names.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from shared.openlineage.decoding import Event
from shared.openlineage.merging import merge
from shared.openlineage.run import DatasetKey, MergedDataset, MergedRun
from shared.plans.jdbc import ReadQuery
from shared.plans.nodes.document import UnreadablePlan
from shared.plans.outputs import NO_PLACE
from shared.plans.reader import PlanLineage, read_plan


def merge_with_plan(events: Iterable[Event], read_query: ReadQuery) -> MergedRun:
    """All events of one run as one value, with what its plan shows; `plan_gaps` names what the plan left open.

    `read_query` reads the texts of JDBC queries.
    """
    run = merge(events)
    if run.plan is None:
        return run
    try:
        found = read_plan(run.plan, read_query)
    except UnreadablePlan as error:
        return replace(run, plan=None, plan_gaps=(str(error),))
    return overlay(replace(run, plan=None), found)


def overlay(run: MergedRun, found: PlanLineage) -> MergedRun:
    """A run with the lineage of its plan."""
    gaps = tuple(name for name, _ in found.unknown)
    if not found.outputs:
        return replace(run, plan_gaps=gaps)
    known = {_place(each.key): each for each in run.outputs}
    outputs = dict(known)
    if found.exact:
        outputs = {place: replace(each, fields=(), rows=()) for place, each in known.items()}
    for each in found.outputs:
        place = _match(each, found, known)
        if place is not None:
            outputs[place] = _both(outputs.get(place), each)
    inputs = {_place(each.key): each for each in run.inputs}
    for each in found.inputs:
        place = _place(each.key)
        if place in inputs or not _is_inside(place, inputs):
            inputs[place] = _both(inputs.get(place), each)
    return replace(
        run,
        inputs=tuple(sorted(inputs.values(), key=_key)),
        outputs=tuple(sorted(outputs.values(), key=_key)),
        exact_by_plan=found.exact,
        plan_differs=found.exact and _values(run.outputs, inputs) != _values(outputs.values(), inputs),
        plan_gaps=gaps,
    )


_Value = tuple[DatasetKey, str, DatasetKey, str]
"""An output, its column, an input, and the column of it whose value arrives."""


def _values(outputs: Iterable[MergedDataset], inputs: Iterable[DatasetKey]) -> set[_Value]:
    """The values that reach columns: what the listener and the plan are compared by. Conditions are left out, since
    listeners before 1.37 copy them into each column. Files count as the folder that is read.
    """
    known = tuple(inputs)
    return {
        (
            _place(output.key),
            column.lower(),
            _folder(_place((source.namespace, source.name)), known),
            source.field.lower(),
        )
        for output in outputs
        for column, fields in output.fields
        for field in fields
        for source in field.input_fields or ()
        if not source.transformations or any(step.type.upper() == "DIRECT" for step in source.transformations)
    }


def _folder(place: DatasetKey, folders: Iterable[DatasetKey]) -> DatasetKey:
    above = [each for each in folders if place[0] == each[0] and place[1].startswith(f"{each[1]}/")]
    return max(above, key=lambda each: len(each[1]), default=place)


def _match(output: MergedDataset, found: PlanLineage, known: dict[DatasetKey, MergedDataset]) -> DatasetKey | None:
    """Where the listener has this output. An execution with one output has it under whatever name."""
    place = _place(output.key)
    if place in known:
        return place
    if len(known) == 1 and len({each.key for each in found.outputs}) == 1:
        return next(iter(known))
    return None if output.key == NO_PLACE else place


def _is_inside(place: DatasetKey, folders: Iterable[DatasetKey]) -> bool:
    """Whether a data set is a file of one of these: Spark lists files where the listener names their folder."""
    return any(place[0] == namespace and place[1].startswith(f"{name}/") for namespace, name in folders)


def _both(listeners: MergedDataset | None, plans: MergedDataset) -> MergedDataset:
    """One data set of both: the listener's names and schema, with the column lineage of both."""
    if listeners is None:
        return plans
    fields = dict(listeners.fields)
    for column, sources in plans.fields:
        fields[column] = tuple(dict.fromkeys((*fields.get(column, ()), *sources)))
    return replace(
        listeners,
        fields=tuple(sorted(fields.items())),
        rows=tuple(dict.fromkeys((*listeners.rows, *plans.rows))),
        schema=listeners.schema or plans.schema,
    )


def _place(key: DatasetKey) -> DatasetKey:
    """A data set's name without the slashes that spellings differ in."""
    return key[0].rstrip("/"), key[1].strip("/")


def _key(dataset: MergedDataset) -> DatasetKey:
    return dataset.key
