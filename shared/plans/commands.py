"""What a command writes, as a data set with column lineage, and where.

MERGE, UPDATE and DELETE change rows of a table in place, of Delta and of Spark's V2 tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from shared.openlineage.facets import Transformation
from shared.openlineage.run import DatasetKey, MergedDataset
from shared.openlineage.wire import InputField, OutputField
from shared.plans.evaluation import Context, EvaluatedColumn, Evaluation
from shared.plans.nodes.document import (
    FILTER,
    IDENTITY,
    JOIN,
    Flow,
    FlowStep,
    Node,
    UnreadablePlan,
    decides,
    kind,
    nodes,
    ref,
    united,
)
from shared.plans.nodes.expressions import Expressions
from shared.plans.nodes.texts import Text, text_of, together
from shared.plans.places import places_of

NO_PLACE: DatasetKey = ("", "")
"""Of an output whose place the plan does not show."""

_MAX_ALIASES = 8


def relation_of(evaluation: Evaluation, command: Node, field: str) -> Any:
    """A field of a command; of one that is a plan, the relation behind its aliases."""
    value = command.get(field)
    for _ in range(_MAX_ALIASES):
        index = ref(value)
        if index is None:
            return value
        plan = evaluation.node(index)
        value = plan.get("child") if kind(plan) in {"SubqueryAlias", "View", "Project"} else dict(plan)
    return value


def output_at(place: DatasetKey, columns: Iterable[EvaluatedColumn], rows: Flow) -> MergedDataset:
    """A data set with the lineage of its columns and rows."""
    columns = list(columns)
    return MergedDataset(
        namespace=place[0],
        name=place[1],
        fields=tuple(
            [
                (column.name, (OutputField(input_fields=_fields(column.flow, column.text)),))
                for column in columns
                if column.flow
            ]
        ),
        rows=_fields({source: frozenset(map(_as_condition, steps)) for source, steps in rows.items()}),
        schema=tuple([(column.name, column.type) for column in columns]),
    )


def _as_condition(step: FlowStep) -> FlowStep:
    return step if not step.direct else decides(FILTER)


def _fields(flow: Flow, text: Text | None = None) -> tuple[InputField, ...]:
    return tuple(
        [
            InputField(
                namespace=source.dataset[0],
                name=source.dataset[1],
                field=source.column,
                transformations=tuple([_transformation(step, text) for step in sorted(steps)]),
            )
            for source, steps in sorted(flow.items())
        ]
    )


def _transformation(step: FlowStep, text: Text | None) -> Transformation:
    return Transformation(
        type="DIRECT" if step.direct else "INDIRECT",
        subtype=step.subtype,
        masking=step.masked or None,
        description=(text.text or None) if text and step.direct and step.subtype != IDENTITY else None,
    )


_CLAUSES = (
    *("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"),
    *("matchedActions", "notMatchedActions", "notMatchedBySourceActions"),
)
"""Of a MERGE: Delta's fields, and Spark's."""

Assignments = list[tuple[str, Flow, Text]]
"""Columns of the table by name, each with what it is set to."""


def _merge(evaluation: Evaluation, command: Node) -> MergedDataset:
    """The actions of each clause, under its condition and the one of the merge."""
    place, context = _target(evaluation, command, "target", "targetTable")
    source = evaluation.plan(_plan(command, "source", "sourceTable")[1])
    context = replace(context, below=(source, *context.below))
    rows = [source.rows, context.condition("condition", JOIN), context.condition("mergeCondition", JOIN)]
    assignments: Assignments = []
    names = [column.name for column in context.below[-1].columns]
    for clause in (node for clauses in _CLAUSES for node in nodes(command.get(clauses))):
        rows.append(replace(context, node=clause).condition("condition", FILTER))
        assignments += _set(context, (*_assignments(clause), *_actions(clause, names)))
    return _changed(context, place, assignments, united(rows))


def _update(evaluation: Evaluation, command: Node) -> MergedDataset:
    """An expression for each column of the table (Delta), or assignments, under a condition."""
    place, context = _target(evaluation, command, "target", "table")
    names = (column.name for column in context.below[-1].columns)
    values = zip(names, nodes(command.get("updateExpressions")), strict=False)
    return _changed(
        context, place, _set(context, (*values, *_assignments(command))), context.condition("condition", FILTER)
    )


def _delete(evaluation: Evaluation, command: Node) -> MergedDataset:
    place, context = _target(evaluation, command, "target", "table")
    return _changed(context, place, [], context.condition("condition", FILTER))


def _target(evaluation: Evaluation, command: Node, *names: str) -> tuple[DatasetKey, Context]:
    """The place of the table that a command changes, and what the command may use: that table's plan. The table is in
    the first of these fields that is a plan.
    """
    name, index = _plan(command, *names)
    place = next(places_of(relation_of(evaluation, command, name)), NO_PLACE)
    expressions = Expressions(plans=evaluation, outer={})
    return place, Context(evaluation=evaluation, node=command, below=(evaluation.plan(index),), expressions=expressions)


def _actions(clause: Node, names: Sequence[str]) -> Iterator[tuple[str, Node]]:
    """The actions of Delta's clauses, which name a column of the table, or follow their order."""
    for place, action in enumerate(nodes(clause.get("actions"))):
        parts = action.get("targetColNameParts") or names[place : place + 1]
        if parts:
            yield str(parts[0]), action.get("expr") or {}


def _assignments(clause: Node) -> Iterator[tuple[str, Node]]:
    """The assignments of Spark's own clauses: `key = value`, where the key may be a field of a column."""
    for node in nodes(clause.get("assignments")):
        key = node.get("key")
        while isinstance(key, dict) and "child" in key:
            key = key["child"]
        if isinstance(key, dict) and key.get("name"):
            yield str(key["name"]), node.get("value") or {}


def _set(context: Context, values: Iterable[tuple[str, Node]]) -> Assignments:
    """The flow and the text of each value."""
    flows, texts = context.columns, context.texts
    return [(name, context.expressions(value, flows), text_of(value, texts)) for name, value in values]


def _changed(context: Context, place: DatasetKey, assignments: Assignments, rows: Flow) -> MergedDataset:
    """The changed table: its own columns are no sources, since they stay where they are."""
    context.evaluation.datasets.pop(place, None)
    columns = []
    for name, group in groupby(sorted(assignments, key=_name), key=_name):
        values = list(group)
        flow = _foreign(united(value_flow for _, value_flow, _ in values), place)
        columns.append(
            EvaluatedColumn(id=(), name=name, type="", flow=flow, text=together(text for *_, text in values))
        )
    output = output_at(place, columns, _foreign(rows, place))
    return replace(output, schema=tuple((column.name, column.type) for column in context.below[-1].columns))


def _foreign(flow: Flow, place: DatasetKey) -> Flow:
    return {source: steps for source, steps in flow.items() if source.dataset != place}


_name = itemgetter(0)


def _plan(command: Node, *names: str) -> tuple[str, int]:
    """The first of these fields that is a plan."""
    for name in names:
        index = ref(command.get(name))
        if index is not None:
            return name, index
    raise UnreadablePlan(f"{kind(command)} has no {' or '.join(names)}")


ROW_CHANGES: Mapping[str, Callable[[Evaluation, Node], MergedDataset]] = {
    "MergeIntoCommand": _merge,
    "MergeIntoTable": _merge,
    "MergeIntoIcebergTable": _merge,
    "UpdateCommand": _update,
    "UpdateTable": _update,
    "UpdateIcebergTable": _update,
    "DeleteCommand": _delete,
    "DeleteFromTable": _delete,
    "DeleteFromIcebergTable": _delete,
}
"""By command: Delta's, Spark's own for V2 tables, and Iceberg's of Spark 3.3 and 3.4."""
