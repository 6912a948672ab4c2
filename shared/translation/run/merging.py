"""Merge a run's events: the listener's, and Spark's own plan with the SQL in it.

The plan decides where it is exact, and adds to the listener's lineage else. It belongs to one execution of Spark, as
the listener's run does. So it never replaces what another run wrote to the same place. Data sets keep the listener's
spelling and other names.
"""

from collections.abc import Collection, Iterable
from operator import attrgetter

from msgspec.structs import replace

from shared.model import OPAQUE
from shared.openlineage.decoding import Event
from shared.openlineage.merging import is_unnamed, merge, stronger_end
from shared.openlineage.run import DatasetKey, MergedDataset, MergedRun
from shared.plans.commands import NO_PLACE
from shared.plans.nodes.document import UnreadablePlan
from shared.plans.places import QueryFlow
from shared.plans.reader import PlanLineage, read_plan


def merge_run(events: Iterable[Event]) -> MergedRun:
    """All events of one run (at least one, all with the same run id; one has a body) as one value, with what its plan
    shows; `plan_gaps` names what the plan left open.
    """
    return _with_its_plan(merge(events))


def merge_plan(run: MergedRun, plan: MergedRun) -> MergedRun:
    """The listener's run of an execution with the run of the execution's plan, which came alone: as `merge_run` merges
    their events, had they the same run id.
    """
    is_better_named = is_unnamed(run.job.name)
    return _with_its_plan(
        replace(
            run,
            job=plan.job if is_better_named else run.job,
            application=plan.application if is_better_named else run.application,
            first=min(run.first, plan.first),
            last=max(run.last, plan.last),
            ended=stronger_end(run.ended, plan.ended),
            has_run=run.has_run or plan.has_run,
            integration=run.integration or plan.integration,
            job_type=run.job_type or plan.job_type,
            processing_type=run.processing_type or plan.processing_type,
            omitted=tuple(sorted({*run.omitted, *plan.omitted})),
            plan=plan.plan,
            has_plan=True,
            plans_lost=max(run.plans_lost, plan.plans_lost),
        )
    )


def _with_its_plan(run: MergedRun) -> MergedRun:
    """A run with the lineage of its plan. A plan alone is kept, since it may still be merged with another run."""
    if run.plan is None:
        return run
    plan_to_keep = None if run.plan_execution is None else run.plan
    try:
        plan_lineage = read_plan(run.plan, _read_query)
    except UnreadablePlan as error:
        return replace(run, plan=plan_to_keep, plan_gaps=(str(error),))
    return _with_plan(replace(run, plan=plan_to_keep), plan_lineage)


def _read_query(text: str, dialect: str) -> QueryFlow | None:
    from shared.translation.sql.queries import read_from  # noqa: PLC0415 - sqlglot costs a third of a second

    return read_from(text, dialect)


def _with_plan(run: MergedRun, plan_lineage: PlanLineage) -> MergedRun:
    """A run with the lineage of its plan."""
    gaps = tuple(name for name, _ in plan_lineage.unknown)
    if not plan_lineage.outputs:
        return replace(run, plan_gaps=gaps, rows_from=plan_lineage.rows_from, table_change=plan_lineage.table_change)
    reported = _by_place(run.outputs)
    outputs = dict(reported)
    if plan_lineage.exact:
        outputs = {place: replace(dataset, fields=(), rows=()) for place, dataset in reported.items()}
    for dataset in plan_lineage.outputs:
        place = _match(dataset, plan_lineage, reported)
        if place is not None:
            outputs[place] = _both(outputs.get(place), dataset)
    inputs = _by_place(run.inputs)
    for dataset in plan_lineage.inputs:
        place = _place(dataset.key)
        if place in inputs or _folder(place, inputs) == place:
            inputs[place] = _both(inputs.get(place), dataset)
    return replace(
        run,
        inputs=tuple(sorted(inputs.values(), key=attrgetter("key"))),
        outputs=tuple(sorted(outputs.values(), key=attrgetter("key"))),
        exact_by_plan=plan_lineage.exact,
        opaque=_has_upper_bounds(outputs.values()),
        plan_differs=plan_lineage.exact and _values(run.outputs, inputs) != _values(outputs.values(), inputs),
        plan_gaps=gaps,
        rows_from=plan_lineage.rows_from,
    )


def _has_upper_bounds(outputs: Iterable[MergedDataset]) -> bool:
    """Whether the value of a source may reach a column, and is not known to reach it beside that."""
    return any(
        any(step.how == OPAQUE for step in source.transformations or ())
        and not any(step.is_direct and not step.masking and step.how != OPAQUE for step in source.transformations or ())
        for output in outputs
        for _, fields in output.fields
        for field in fields
        for source in field.input_fields or ()
    )


_Value = tuple[DatasetKey, str, DatasetKey, str]
"""An output, its column, an input, and the column of it whose value arrives."""


def _values(outputs: Iterable[MergedDataset], inputs: Collection[DatasetKey]) -> set[_Value]:
    """The values that reach columns: what the listener and the plan are compared by. Conditions are left out, since
    listeners before 1.37 copy them into each column. Files count as the folder that is read.
    """
    return {
        (
            _place(output.key),
            column.lower(),
            _folder(_place((source.namespace, source.name)), inputs),
            source.field.lower(),
        )
        for output in outputs
        for column, fields in output.fields
        for field in fields
        for source in field.input_fields or ()
        if not source.transformations or any(step.is_direct for step in source.transformations)
    }


def _folder(place: DatasetKey, folders: Iterable[DatasetKey]) -> DatasetKey:
    """The nearest of the folders that a data set lies in, else itself: Spark lists files where the listener names their
    folder.
    """
    parents = [folder for folder in folders if place[0] == folder[0] and place[1].startswith(f"{folder[1]}/")]
    return max(parents, key=lambda folder: len(folder[1]), default=place)


def _match(
    output: MergedDataset, plan_lineage: PlanLineage, reported: dict[DatasetKey, MergedDataset]
) -> DatasetKey | None:
    """Where the listener has this output. An execution with one output has it under whatever name."""
    place = _place(output.key)
    if place in reported:
        return place
    if len(reported) == 1 and len({plan_output.key for plan_output in plan_lineage.outputs}) == 1:
        return next(iter(reported))
    return None if output.key == NO_PLACE else place


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


def _by_place(datasets: Iterable[MergedDataset]) -> dict[DatasetKey, MergedDataset]:
    """Data sets by place; two spellings of one are one, with the other names and column lineage of both."""
    by_place: dict[DatasetKey, MergedDataset] = {}
    for dataset in datasets:
        first = by_place.setdefault(_place(dataset.key), dataset)
        if first is not dataset:
            names = tuple(dict.fromkeys((*first.symlinks, *dataset.symlinks)))
            by_place[_place(dataset.key)] = replace(_both(first, dataset), symlinks=names)
    return by_place


def _place(key: DatasetKey) -> DatasetKey:
    """A data set's name without the slashes that spellings differ in."""
    return key[0].rstrip("/"), key[1].strip("/")
