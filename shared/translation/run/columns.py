"""The columns of a run: from Spark's own plan with the SQL in it, and from the listener's events.

The plan decides where it is exact, and adds to the listener's lineage else. It belongs to one execution of Spark, as
the listener's run does. So it never replaces what another run wrote to the same place. Data sets keep the listener's
spelling and other names.

Edges are made of the column lineage facet, versions 1-0-0 to 1-2-0. 1-0-0 lists input fields; 1-0-1 adds a mask for the
whole output field; 1-1-0 adds transformations to each input field; 1-2-0 adds `dataset`, what every output row depends
on. Listeners put DIRECT types in `dataset` too, which cannot be: it holds dependencies of rows, so all of it is
indirect. Listeners before 1.37 copy row dependencies (joins, filters, groups, sorts) into every output field: they
become one edge to all rows, as newer listeners report them, so that an upgrade changes no lineage. Conditions and
windows belong to the field in which they stand.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

from msgspec.structs import replace

from shared.model import DIRECT, INDIRECT, OPAQUE, Asset, Column, ColumnEdge, EdgeKind
from shared.openlineage.decoding import Event
from shared.openlineage.facets import Transformation
from shared.openlineage.merging import is_unnamed, merge, stronger_end
from shared.openlineage.run import DatasetKey, MergedDataset, MergedRun
from shared.openlineage.wire import OutputField
from shared.plans.commands import NO_PLACE
from shared.plans.nodes.document import UnreadablePlan
from shared.plans.places import QueryFlow
from shared.plans.reader import PlanLineage, read_plan
from shared.translation.process.union import ALL_ROWS, union_edges
from shared.translation.sql.statement_reader import redact


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
        OPAQUE in map(_HOW, source.transformations or ())
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
    folders = _Folders(inputs)
    return {
        (place, column.lower(), folders[source.namespace, source.name], source.field.lower())
        for output in outputs
        for place in [_place(output.key)]
        for column, fields in output.fields
        for field in fields
        for source in field.input_fields or ()
        if not source.transformations or any(map(_IS_DIRECT, source.transformations))
    }


_HOW, _IS_DIRECT = attrgetter("how"), attrgetter("is_direct")
"""For what looks at each step of each source: a generator for each takes twice as long."""


class _Folders(dict[DatasetKey, DatasetKey]):
    """The folder of `folders` in which each source lies, or its own place."""

    def __init__(self, folders: Collection[DatasetKey]) -> None:
        super().__init__()
        self._folders = folders

    def __missing__(self, key: DatasetKey) -> DatasetKey:
        place = self[key] = _folder(_place(key), self._folders)
        return place


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
        earlier = fields.get(column)
        fields[column] = tuple(dict.fromkeys((*earlier, *sources))) if earlier else sources
    return replace(
        listeners,
        fields=tuple(sorted(fields.items())),
        rows=tuple(dict.fromkeys((*listeners.rows, *plans.rows))) if listeners.rows else plans.rows,
        schema=listeners.schema or plans.schema,
        tables=listeners.tables or plans.tables,
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


Schemas = Mapping[str, Sequence[str]]
"""The columns of data sets, as their schemas spell them, by the assets' qualified names."""


def named_in_columns(output: MergedDataset) -> dict[DatasetKey, None]:
    """The namespaces and names of the data sets in the column lineage of `output`, in its order."""
    names: dict[DatasetKey, None] = {}
    for column, fields in output.fields:
        if column in METADATA and column not in output.columns:
            continue
        for field in fields:
            for source in field.input_fields or ():
                names[source.namespace, source.name] = None
    for source in output.rows:
        names[source.namespace, source.name] = None
    return names


def column_edges(
    output: MergedDataset, target: Asset, sources: Mapping[DatasetKey, Asset | None], schemas: Schemas
) -> tuple[ColumnEdge, ...]:
    """All edges into `output`, sorted, one for each pair of columns and kind. `sources`: the assets of the data sets
    that `named_in_columns` names, None for noise. Columns are spelled as in `schemas` and the output's own schema.
    """
    columns = {place: _Columns(asset.qualified_name if asset else None, schemas) for place, asset in sources.items()}
    of_rows: _OfRows = set()
    edges = _of_fields(output, target, columns, of_rows)
    for source in output.rows:
        start = columns[source.namespace, source.name][source.field]
        if start:
            steps = source.transformations or ()
            masked = bool(steps) and all(step.masking is True for step in steps)
            subtypes = tuple(sorted({step.how for step in steps if step.is_indirect}))
            of_rows.add((start, masked, subtypes))
    every_row = Column(qualified_name=target.qualified_name, column=ALL_ROWS)
    for start, masked, subtypes in of_rows:
        edges.append(ColumnEdge(input=start, output=every_row, kind=INDIRECT, masked=masked, how=subtypes))
    return union_edges(edges)


def sourceless(output: MergedDataset, target: Asset, edges: Iterable[ColumnEdge]) -> tuple[Column, ...]:
    """The columns in the schema of `output` that no value reaches; empty without column lineage."""
    if not output.fields:
        return ()
    reached = {edge.output.column for edge in edges if edge.kind is DIRECT}
    missing = {*output.columns} - reached
    return tuple([Column(qualified_name=target.qualified_name, column=name) for name in sorted(missing)])


_OfRows = set[tuple[Column, bool, tuple[str, ...]]]
"""Row dependencies: input column, whether masked, and the steps."""


def _of_fields(
    output: MergedDataset, target: Asset, columns: Mapping[DatasetKey, "_Columns"], of_rows: _OfRows
) -> list[ColumnEdge]:
    """The edges to single columns; row dependencies are added to `of_rows`."""
    edges: list[ColumnEdge] = []
    ways, spelled = _Ways(), _Spelling(output.columns)
    for column, fields in output.fields:
        if column in METADATA and column not in output.columns:
            continue
        end = Column(qualified_name=target.qualified_name, column=spelled[column])
        for field in fields:
            for source in field.input_fields or ():
                start = columns[source.namespace, source.name][source.field]
                if start is None:
                    continue
                steps = source.transformations
                for kind, by_rows, masked, subtypes, text in (
                    map(ways.__getitem__, steps) if steps else (_before_1_1(field),)
                ):
                    if by_rows:
                        of_rows.add((start, masked, subtypes))
                    else:
                        edges.append(
                            ColumnEdge(
                                input=start, output=end, kind=kind, masked=masked, how=subtypes, expressions=text
                            )
                        )
    return edges


class _Columns(dict[str, Column | None]):
    """The columns of a source data set by their names in events, made on demand: None for metadata columns, and for all
    columns of noise (`name` is None).
    """

    def __init__(self, name: str | None, schemas: Schemas) -> None:
        super().__init__()
        self._name = name
        self._spelled = _Spelling(schemas.get(name, ()) if name is not None else ())

    def __missing__(self, field: str) -> Column | None:
        column = None
        if self._name is not None and field not in METADATA:
            column = Column(qualified_name=self._name, column=self._spelled[field])
        self[field] = column
        return column


class _Spelling(dict[str, str]):
    """The schema's spelling of each column: Spark ignores case, and so do events. Columns that differ only in case (a
    case-sensitive session can have them) keep their spelling.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(zip(columns, columns, strict=True))
        self._columns = columns

    def __missing__(self, column: str) -> str:
        spelled = self[column] = self._folded.get(column.lower()) or column
        return spelled

    @cached_property
    def _folded(self) -> dict[str, str]:
        spelled: dict[str, str] = {}
        for column in self._columns:
            folded = column.lower()
            spelled[folded] = column if folded not in spelled else ""
        return spelled


METADATA = frozenset(
    {
        *("_metadata", "_metadata.file_path", "_metadata.file_name", "_metadata.file_size"),
        *("_metadata.file_block_start", "_metadata.file_block_length", "_metadata.file_modification_time"),
        *("_metadata.row_index", "_metadata.row_id", "_metadata.row_commit_version"),
        *("__delta_internal_row_index", "__delta_internal_is_row_deleted", "__internal_idx_col"),
        *("_change_type", "_commit_version", "_commit_timestamp"),
        *("_file", "_pos", "_spec_id", "_partition", "_deleted"),
    }
)
"""Metadata columns that table formats or Spark add to a table."""


_DECIDES_ABOUT_ROWS = frozenset({"JOIN", "FILTER", "GROUP_BY", "SORT"})


_Way = tuple[EdgeKind, bool, bool, tuple[str, ...], tuple[str, ...]]
"""Kind, whether it is a row dependency, masked, the step's subtype, and its expression."""


class _Ways(dict[Transformation, _Way]):
    """How each transformation acts, computed once: without descriptions there are about a dozen."""

    def __missing__(self, step: Transformation) -> _Way:
        indirect, subtype = step.is_indirect, step.how
        by_rows = indirect and subtype in _DECIDES_ABOUT_ROWS
        expressions = _expressions(step.description) if step.description and not by_rows else ()
        way = (
            INDIRECT if indirect else DIRECT,
            by_rows,
            step.masking is True,
            (subtype,) if subtype else (),
            expressions,
        )
        self[step] = way
        return way


def _before_1_1(field: OutputField) -> _Way:
    """How a source reaches a field in facets without transformations."""
    kind = (field.transformation_type or "").upper()
    text = _expressions(field.transformation_description) if field.transformation_description else ()
    return DIRECT, False, kind == "MASKED", (kind,) if kind else (), text


MAX_EXPRESSION = 500
"""Characters. The rest of a longer description is left out."""
_MAY_HAVE_LITERALS = re.compile(r"""["'\\$]|--|/\*|(?<![\w.])\.?\d""")


def _expressions(description: str) -> tuple[str, ...]:
    """A transformation's description without literals. The texts that Spark's plan gives have none."""
    text = redact(description) if _MAY_HAVE_LITERALS.search(description) else description
    text = " ".join(text.split())
    return (text if len(text) <= MAX_EXPRESSION else f"{text[: MAX_EXPRESSION - 1]}…",) if text else ()
