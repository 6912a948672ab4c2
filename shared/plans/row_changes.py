"""MERGE, UPDATE and DELETE: statements that change rows of a table in place, of Delta and of Spark's V2 tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from shared.openlineage.run import DatasetKey, MergedDataset
from shared.plans.evaluated import Column, Evaluated
from shared.plans.evaluation import Evaluation
from shared.plans.nodes.document import Node, UnreadablePlan, kind, nodes, ref
from shared.plans.nodes.expressions import Columns
from shared.plans.nodes.flow import FILTER, JOIN, Flow, decides, through, united
from shared.plans.nodes.text_writer import Text, Texts
from shared.plans.nodes.texts import text_of, together
from shared.plans.outputs import NO_PLACE, output_at, relation_of
from shared.plans.places import places_of

_CLAUSES = (
    *("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"),
    *("matchedActions", "notMatchedActions", "notMatchedBySourceActions"),
)
"""Of a MERGE: Delta's fields, and Spark's."""

Given = list[tuple[str, Flow, Text]]
"""Columns of the table by name, each with what it is set to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The table that a command changes: its place, and its plan."""

    place: DatasetKey
    plan: Evaluated

    @classmethod
    def of(cls, evaluation: Evaluation, command: Node, *names: str) -> "_Target":
        """The first of these fields that is a plan."""
        name, index = _plan(command, *names)
        found = places_of(relation_of(evaluation, command, name))
        return cls(place=next(iter(found), NO_PLACE), plan=evaluation.plan(index))


def _merge(evaluation: Evaluation, command: Node) -> MergedDataset:
    """The actions of each clause, under its condition and the one of the merge."""
    target = _Target.of(evaluation, command, "target", "targetTable")
    source = evaluation.plan(_plan(command, "source", "sourceTable")[1])
    known = {**source.by_id, **target.plan.by_id}
    texts = {**source.texts, **target.plan.texts}
    rows = [source.rows, *_conditions(evaluation, command, "condition", known, JOIN)]
    rows += _conditions(evaluation, command, "mergeCondition", known, JOIN)
    given: Given = []
    names = [each.name for each in target.plan.columns]
    for clause in (each for clauses in _CLAUSES for each in nodes(command.get(clauses))):
        rows += _conditions(evaluation, clause, "condition", known, FILTER)
        given += _assigned(evaluation, clause, known, texts)
        given += _set_by_delta(evaluation, clause, names, known, texts)
    return _changed(evaluation, target, given, united(rows))


def _set_by_delta(
    evaluation: Evaluation, clause: Node, names: Sequence[str], known: Columns, texts: Texts
) -> Iterator[tuple[str, Flow, Text]]:
    """The actions of Delta's clauses, which name a column of the table, or follow their order."""
    for place, action in enumerate(nodes(clause.get("actions"))):
        parts = action.get("targetColNameParts") or names[place : place + 1]
        if parts:
            value = action.get("expr") or {}
            yield str(parts[0]), evaluation.flow(value, known, {}), text_of(value, texts)


def _assigned(evaluation: Evaluation, clause: Node, known: Columns, texts: Texts) -> Iterator[tuple[str, Flow, Text]]:
    """The assignments of Spark's own clauses: `key = value`, where the key may be a field of a column."""
    for each in nodes(clause.get("assignments")):
        key = each.get("key")
        while isinstance(key, dict) and "child" in key:
            key = key["child"]
        if isinstance(key, dict) and key.get("name"):
            value = each.get("value") or {}
            yield str(key["name"]), evaluation.flow(value, known, {}), text_of(value, texts)


def _update(evaluation: Evaluation, command: Node) -> MergedDataset:
    """An expression for each column of the table (Delta), or assignments, under a condition."""
    target = _Target.of(evaluation, command, "target", "table")
    known, texts = target.plan.by_id, target.plan.texts
    rows = united(_conditions(evaluation, command, "condition", known, FILTER))
    given = [
        (column.name, evaluation.flow(value, known, {}), text_of(value, texts))
        for column, value in zip(target.plan.columns, nodes(command.get("updateExpressions")), strict=False)
    ]
    given += _assigned(evaluation, command, known, texts)
    return _changed(evaluation, target, given, rows)


def _delete(evaluation: Evaluation, command: Node) -> MergedDataset:
    target = _Target.of(evaluation, command, "target", "table")
    rows = united(_conditions(evaluation, command, "condition", target.plan.by_id, FILTER))
    return _changed(evaluation, target, [], rows)


def _conditions(evaluation: Evaluation, node: Node, name: str, known: Columns, subtype: str) -> list[Flow]:
    return [through(decides(subtype), evaluation.flow(each, known, {})) for each in nodes(node.get(name))]


def _changed(evaluation: Evaluation, target: _Target, given: Given, rows: Flow) -> MergedDataset:
    """The changed table: its own columns are no sources, since they stay where they are."""
    evaluation.datasets.pop(target.place, None)
    columns = []
    for name, group in groupby(sorted(given, key=_name), key=_name):
        values = list(group)
        flow = _foreign(united(each for _, each, _ in values), target.place)
        columns.append(Column(id=(), name=name, type="", flow=flow, text=together(text for *_, text in values)))
    output = output_at(target.place, columns, _foreign(rows, target.place))
    return msgspec.structs.replace(output, schema=tuple((each.name, each.type) for each in target.plan.columns))


def _foreign(flow: Flow, place: DatasetKey) -> Flow:
    return {source: steps for source, steps in flow.items() if source.dataset != place}


def _name(given: tuple[str, Flow, Text]) -> str:
    return given[0]


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
