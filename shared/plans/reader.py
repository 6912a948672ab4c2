"""Read a plan: what its command writes and reads, as data sets with column lineage, as merging events gives them."""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

import msgspec

from shared.openlineage.run import DatasetKey, MergedDataset
from shared.openlineage.wire import InputField, OutputField, PlanFacet, Transformation
from shared.plans.document import Document, Node, UnreadablePlan, kind, nodes, ref, unpack
from shared.plans.evaluated import Column, Evaluated
from shared.plans.evaluation import Evaluation
from shared.plans.flow import FILTER, JOIN, Flow, Step, decides, through, united
from shared.plans.places import places_of

NO_PLACE: DatasetKey = ("", "")
"""Of an output whose place the plan does not show."""


class PlanLineage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a plan shows. `outputs` have column lineage; one at NO_PLACE is the listener's only output.

    `exact`: every part of the plan is known, so that there is nothing else. `unknown`: how often each part stands in
    the plan that no rule knows.
    """

    outputs: tuple[MergedDataset, ...] = ()
    inputs: tuple[MergedDataset, ...] = ()
    exact: bool = False
    unknown: tuple[tuple[str, int], ...] = ()


def read_plan(facet: PlanFacet) -> PlanLineage:
    """The lineage of the plan in a facet. Raises UnreadablePlan."""
    return read_document(unpack(facet))


_UNEXPECTED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a document of another form than the jar's may cause: it costs the plan, never the run."""


def read_document(document: Document) -> PlanLineage:
    """The lineage of a plan. Raises UnreadablePlan."""
    try:
        return _read(document)
    except UnreadablePlan:
        raise
    except RecursionError as error:
        raise UnreadablePlan("an expression of the plan is nested too deeply") from error
    except _UNEXPECTED as error:
        raise UnreadablePlan(f"the plan has an unexpected form: {type(error).__name__}") from error


def _read(document: Document) -> PlanLineage:
    index = ref(document.root)
    if index is None or not 0 <= index < len(document.plans):
        raise UnreadablePlan("the plan has no root")
    evaluation = Evaluation(document=document)
    outputs = [
        output for command in _commands(document, document.plans[index]) for output in _write(evaluation, command)
    ]
    return PlanLineage(
        outputs=tuple(outputs),
        inputs=tuple(
            MergedDataset(namespace=namespace, name=name, schema=tuple(schema.items()))
            for (namespace, name), schema in evaluation.datasets.items()
        ),
        exact=bool(outputs) and not evaluation.unknowns,
        unknown=tuple(sorted(evaluation.unknowns.items())),
    )


def _commands(document: Document, root: Node) -> Iterable[Node]:
    """The commands of a plan: its root, or those of a union, below a WITH clause."""
    if kind(root) in {"Union", "WithCTE", "CommandResult"}:
        below = [ref(each) for name in ("children", "plan") for each in _list(root.get(name))]
        for index in below:
            if index is not None and index < len(document.plans):
                yield from _commands(document, document.plans[index])
    else:
        yield root


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _write(evaluation: Evaluation, command: Node) -> list[MergedDataset]:
    """What a command writes; nothing for one that moves no data."""
    name = kind(command)
    if name in _MERGES:
        return [_MERGES[name](evaluation, command)]
    rule = _WRITES.get(name)
    query = ref(command.get("query"))
    if rule is None or query is None:
        if query is not None:
            evaluation.unknown(name)
        return []
    if kind(command.get("sink")) == "ForeachBatchSink":
        return []
    found = evaluation.plan(query)
    place = next((place for field in rule.split() for place in places_of(_fact(evaluation, command, field))), NO_PLACE)
    return [_output(place, _named(evaluation, command, found), found.rows)]


def _fact(evaluation: Evaluation, command: Node, field: str) -> Any:
    """A field of a command; of one that is a plan, the relation behind its aliases."""
    value = command.get(field)
    for _ in range(8):
        index = ref(value)
        if index is None:
            return value
        plan = evaluation.document.plans[index]
        value = plan.get("child") if kind(plan) in {"SubqueryAlias", "View", "Project"} else dict(plan)
    return value


def _named(evaluation: Evaluation, command: Node, found: Evaluated) -> list[Column]:
    """The columns of a write, named as the table does: by position, or by their own names in any order and case."""
    table = _fact(evaluation, command, "table")
    names = [str(each.get("name", "")) for each in nodes(table.get("output"))] if isinstance(table, dict) else []
    if command.get("isByName"):
        spelled = {name.lower(): name for name in names}
        names = [spelled.get(each.name.lower(), each.name) for each in found.columns]
    if len(names) != len(found.columns):
        return list(found.columns)
    return [
        Column(id=each.id, name=name, type=each.type, flow=each.flow)
        for each, name in zip(found.columns, names, strict=True)
    ]


_WRITES: Mapping[str, str] = {
    "InsertIntoHadoopFsRelationCommand": "outputPath",
    "InsertIntoHiveTable": "table",
    "InsertIntoHiveDirCommand": "storage",
    "InsertIntoDataSourceDirCommand": "storage",
    "InsertIntoDataSourceCommand": "logicalRelation",
    "SaveIntoDataSourceCommand": "options",
    "CreateDataSourceTableAsSelectCommand": "made table",
    "CreateHiveTableAsSelectCommand": "made tableDesc",
    "CreateDeltaTableCommand": "made table",
    "WriteIntoDelta": "deltaLog",
    "CreateTableAsSelect": "made",
    "ReplaceTableAsSelect": "made",
    "AppendData": "table",
    "OverwriteByExpression": "table",
    "OverwritePartitionsDynamic": "table",
    "DynamicPartitionOverwriteDelta": "table deltaTable",
    "DeltaDynamicPartitionOverwriteCommand": "deltaTable table",
    "AppendDelta": "table",
    "OverwriteDelta": "table",
    "ReplaceData": "table",
    "WriteDelta": "table",
    "WriteToMicroBatchDataSource": "table relation",
    "WriteToMicroBatchDataSourceV1": "catalogTable sink",
}
"""By command: the fields that show where it writes, the surest first."""


def _output(place: DatasetKey, columns: Iterable[Column], rows: Flow) -> MergedDataset:
    columns = list(columns)
    return MergedDataset(
        namespace=place[0],
        name=place[1],
        fields=tuple((each.name, (OutputField(input_fields=_fields(each.flow)),)) for each in columns if each.flow),
        rows=_fields({source: frozenset(map(_as_condition, steps)) for source, steps in rows.items()}),
        schema=tuple((each.name, each.type) for each in columns),
    )


def _as_condition(step: Step) -> Step:
    return step if not step.direct else decides(FILTER)


def _fields(flow: Flow) -> tuple[InputField, ...]:
    return tuple(
        InputField(
            namespace=source.dataset[0],
            name=source.dataset[1],
            field=source.column,
            transformations=tuple(map(_transformation, sorted(steps))),
        )
        for source, steps in sorted(flow.items())
    )


def _transformation(step: Step) -> Transformation:
    return Transformation(
        type="DIRECT" if step.direct else "INDIRECT", subtype=step.subtype, masking=step.masked or None
    )


def _merge(evaluation: Evaluation, command: Node) -> MergedDataset:
    """Delta's MERGE: the actions of each clause, under its condition and the one of the merge."""
    source, target = evaluation.plan(_required(command, "source")), evaluation.plan(_required(command, "target"))
    known = {**source.by_id, **target.by_id}
    names = {each.id: each.name for each in target.columns}
    rows = [source.rows, *_conditions(evaluation, command, "condition", known, JOIN)]
    given: list[tuple[str, Flow]] = []
    for clauses in ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"):
        for clause in nodes(command.get(clauses)):
            rows += _conditions(evaluation, clause, "condition", known, FILTER)
            actions = list(nodes(clause.get("actions")))
            for place, action in enumerate(actions):
                parts = action.get("targetColNameParts") or list(names.values())[place : place + 1]
                flow = evaluation.flow(action.get("expr") or {}, known, {})
                if parts:
                    given.append((str(parts[0]), flow))
    return _changed(evaluation, command, target, given, united(rows))


def _update(evaluation: Evaluation, command: Node) -> MergedDataset:
    """Delta's UPDATE: an expression for each column of the table, under a condition."""
    target = evaluation.plan(_required(command, "target"))
    flows = [evaluation.flow(each, target.by_id, {}) for each in nodes(command.get("updateExpressions"))]
    rows = united(_conditions(evaluation, command, "condition", target.by_id, FILTER))
    pairs = [(each.name, flow) for each, flow in zip(target.columns, flows, strict=False)]
    return _changed(evaluation, command, target, pairs, rows)


def _delete(evaluation: Evaluation, command: Node) -> MergedDataset:
    target = evaluation.plan(_required(command, "target"))
    rows = united(_conditions(evaluation, command, "condition", target.by_id, FILTER))
    return _changed(evaluation, command, target, [], rows)


def _conditions(
    evaluation: Evaluation, node: Node, name: str, known: Mapping[tuple[int, ...], Flow], subtype: str
) -> list[Flow]:
    return [through(decides(subtype), evaluation.flow(each, known, {})) for each in nodes(node.get(name))]


def _changed(
    evaluation: Evaluation, command: Node, target: Evaluated, given: list[tuple[str, Flow]], rows: Flow
) -> MergedDataset:
    """A table that a statement changes in place: its own columns are no sources, since they stay where they are."""
    place = next(iter(places_of(_fact(evaluation, command, "target"))), NO_PLACE)
    evaluation.datasets.pop(place, None)
    columns = []
    for name, group in groupby(sorted(given, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        flow = _foreign(united(each for _, each in group), place)
        columns.append(Column(id=(), name=name, type="", flow=flow))
    found = _output(place, columns, _foreign(rows, place))
    schema = tuple((each.name, each.type) for each in target.columns)
    return msgspec.structs.replace(found, schema=schema)


def _foreign(flow: Flow, place: DatasetKey) -> Flow:
    return {source: steps for source, steps in flow.items() if source.dataset != place}


def _required(command: Node, name: str) -> int:
    index = ref(command.get(name))
    if index is None:
        raise UnreadablePlan(f"{kind(command)} has no {name}")
    return index


_MERGES: Mapping[str, Callable[[Evaluation, Node], MergedDataset]] = {
    "MergeIntoCommand": _merge,
    "UpdateCommand": _update,
    "DeleteCommand": _delete,
}
"""Statements that change a table in place."""
