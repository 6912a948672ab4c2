"""Read a plan: what its command writes and reads, as data sets with column lineage, as merging events gives them."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from shared.openlineage.run import DatasetKey, MergedDataset
from shared.openlineage.run_facets import PlanFacet
from shared.plans.commands import NO_PLACE, ROW_CHANGES, output_at, relation_of
from shared.plans.evaluation import Evaluated, EvaluatedColumn, Evaluation
from shared.plans.nodes.document import (
    NOTHING,
    Document,
    Node,
    UnreadablePlan,
    document_in,
    kind,
    nodes,
    ref,
    renumbered,
    unpack,
)
from shared.plans.places import ReadQuery, places_of, read_nothing
from shared.plans.rules import MADE_BY_CODE, RULES


class PlanLineage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a plan shows. `outputs` have column lineage; one at NO_PLACE is the listener's only output.

    `exact`: every part of the plan is known, so that there is nothing else. `unknown`: how often each part stands in
    the plan that no rule knows. `rows_from`: where rows come from that no data set has. `table_change`: DROP or
    TRUNCATE, and the table's name in its catalog, as `default.t`; empty for other plans.
    """

    outputs: tuple[MergedDataset, ...] = ()
    inputs: tuple[MergedDataset, ...] = ()
    exact: bool = False
    unknown: tuple[tuple[str, int], ...] = ()
    rows_from: tuple[str, ...] = ()
    table_change: tuple[str, str] = ("", "")


def read_plan(facet: PlanFacet, read_query: ReadQuery = read_nothing) -> PlanLineage:
    """The lineage of the plan in a facet; `read_query` reads the texts of its JDBC queries. Raises UnreadablePlan."""
    text = unpack(facet)
    kept_lineage = _remembered(renumbered(text), read_query) if len(text) <= _SHORT else None
    return kept_lineage or read_document(text, read_query)


_UNEXPECTED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a document of another form than the jar's may cause: it costs the plan, never the run."""


def read_document(text: bytes, read_query: ReadQuery = read_nothing) -> PlanLineage:
    """The lineage of the plan whose document has this text. Raises UnreadablePlan."""
    try:
        return _read(document_in(text), read_query)
    except UnreadablePlan:
        raise
    except RecursionError as error:
        raise UnreadablePlan("an expression of the plan is nested too deeply") from error
    except _UNEXPECTED as error:
        raise UnreadablePlan(f"the plan has an unexpected form: {type(error).__name__}") from error


_SHORT, _FEW = 4_000, 300
"""Bytes of a plan, and columns and sources of its lineage. Others are not cached: senders must not decide how much
memory is used.
"""


@lru_cache(maxsize=512)
def _remembered(text: bytes, read_query: ReadQuery) -> PlanLineage | None:
    """As `read_document`; None for a lineage that is too large to keep. Most queries are executed again and again: by
    each batch of a stream, each run of a job.
    """
    lineage = read_document(text, read_query)
    datasets = (*lineage.outputs, *lineage.inputs)
    size = sum(len(dataset.schema) + len(dataset.rows) for dataset in datasets)
    fields = (field for dataset in datasets for _, outputs in dataset.fields for field in outputs)
    return lineage if size + sum(len(field.input_fields or ()) for field in fields) <= _FEW else None


def _read(document: Document, read_query: ReadQuery) -> PlanLineage:
    index = ref(document.root)
    if index is None:
        raise UnreadablePlan("the plan has no root")
    evaluation = Evaluation(document=document, rules=RULES, read_query=read_query)
    outputs = [output for command in _commands(evaluation, index) for output in _write(evaluation, command)]
    return PlanLineage(
        outputs=tuple(outputs),
        inputs=tuple(
            MergedDataset(namespace=namespace, name=name, schema=tuple(schema.items()))
            for (namespace, name), schema in evaluation.datasets.items()
        ),
        exact=bool(outputs) and not evaluation.unknowns,
        unknown=tuple(sorted(evaluation.unknowns.items())),
        rows_from=tuple(sorted(_rows_from(document, evaluation))),
        table_change=_table_change(evaluation, index),
    )


_ROWS_FROM = {
    "LocalRelation": "made on the driver (createDataFrame, VALUES, a list)",
    "Range": "numbers that Spark made (range)",
    "CommandResult": "the result of a command",
}


def _rows_from(document: Document, evaluation: Evaluation) -> set[str]:
    """Where rows come from that no data set has, as the end of the sentence `its rows are`."""
    by_code = {MADE_BY_CODE} & evaluation.unknowns.keys()
    return by_code | {_ROWS_FROM[name] for name in map(kind, document.plans) if name in _ROWS_FROM}


def _commands(evaluation: Evaluation, index: int) -> Iterator[Node]:
    """The commands of a plan: its root, or those of a union, below a WITH clause."""
    waiting, visited = [index], set[int]()
    while waiting:
        current = waiting.pop()
        if current in visited:
            continue
        visited.add(current)
        node = evaluation.node(current)
        if kind(node) == "WithCTE":
            for definition in _refs(node.get("cteDefs")):
                evaluation.plan(definition)
            waiting += _refs(node.get("plan"))
        elif kind(node) == "Union":
            waiting += reversed(_refs(node.get("children")))
        else:
            yield node


def _refs(value: Any) -> list[int]:
    references = (ref(element) for element in (value if isinstance(value, list) else (value,)))
    return [index for index in references if index is not None]


def _write(evaluation: Evaluation, command: Node) -> list[MergedDataset]:
    """What a command writes; nothing for one that moves no data."""
    name = kind(command)
    if name in ROW_CHANGES:
        return [ROW_CHANGES[name](evaluation, command)]
    if name == "LoadDataCommand":
        return [_load(evaluation, command)]
    rule = _WRITES.get(name)
    query = ref(command.get("query"))
    if rule is None or query is None:
        if query is not None:
            evaluation.unknown(name)
        return []
    if kind(command.get("sink")) == "ForeachBatchSink":
        return []
    evaluated = evaluation.plan(query)
    columns = [*_named(evaluation, command, evaluated), *_generated(evaluation, command)]
    output = output_at(_place(evaluation, command, rule), columns, evaluated.rows)
    return [replace(output, tables=_made_table(evaluation, command))]


def _made_table(evaluation: Evaluation, command: Node) -> tuple[str, ...]:
    """The name of the table that a command makes: the plan has it also where the table was dropped before its place was
    looked up.
    """
    name = ref(command.get("name"))
    identifier = evaluation.node(name).get("identifier") or {} if name is not None else {}
    parts = (*(identifier.get("namespace") or ()), identifier.get("name"))
    return (".".join(map(str, parts)),) if all(parts) else ()


def _table_change(evaluation: Evaluation, index: int) -> tuple[str, str]:
    """What a plan's root does to a table as a whole. The document does not tell the TRUNCATE of a partition apart."""
    command = evaluation.node(index)
    state = _CHANGES.get(kind(command), "")
    if not state or command.get("isView"):
        return "", ""
    child = ref(command.get("child"))
    identifier = evaluation.node(child).get("identifier") or {} if child is not None else {}
    table = command.get("tableName") or {}
    parts = (*(identifier.get("namespace") or ()), identifier.get("name"), table.get("database"), table.get("table"))
    return state, ".".join(str(part) for part in parts if part)


def _generated(evaluation: Evaluation, command: Node) -> tuple[EvaluatedColumn, ...]:
    """The columns that a Delta table computes itself from those that are written: a plan over them."""
    generated = command.get("generated")
    if generated is True:
        evaluation.unknown("generated columns")
    plan = ref(generated)
    return evaluation.plan(plan).columns if plan is not None else ()


def _place(evaluation: Evaluation, command: Node, fields: str) -> DatasetKey:
    """The first place that these fields show."""
    places = (place for field in fields.split() for place in places_of(relation_of(evaluation, command, field)))
    return next(places, NO_PLACE)


def _load(evaluation: Evaluation, command: Node) -> MergedDataset:
    """Files moved into a table. The plan has neither's columns."""
    for place in places_of(command.get("path")):
        evaluation.datasets.setdefault(place, {})
    evaluation.unknown("columns of loaded files")
    return output_at(_place(evaluation, command, "made table"), (), NOTHING)


def _named(evaluation: Evaluation, command: Node, evaluated: Evaluated) -> list[EvaluatedColumn]:
    """The columns of a write, named as the table does: by position, or by their own names in any order and case."""
    table = relation_of(evaluation, command, "table")
    attributes = nodes(table.get("output")) if isinstance(table, dict) else ()
    names = [str(attribute.get("name", "")) for attribute in attributes]
    if command.get("isByName"):
        spelled = {name.lower(): name for name in names}
        names = [spelled.get(column.name.lower(), column.name) for column in evaluated.columns]
    if len(names) != len(evaluated.columns):
        return list(evaluated.columns)
    return [replace(column, name=name) for column, name in zip(evaluated.columns, names, strict=True)]


_CHANGES: Mapping[str, str] = {
    "DropTable": "DROP",
    "DropTableCommand": "DROP",
    "TruncateTable": "TRUNCATE",
    "TruncateTableCommand": "TRUNCATE",
}

_WRITES: Mapping[str, str] = {
    "InsertIntoHadoopFsRelationCommand": "outputPath",
    "InsertIntoHiveTable": "table",
    "InsertIntoHiveDirCommand": "storage",
    "InsertIntoDataSourceDirCommand": "storage",
    "InsertIntoDataSourceCommand": "logicalRelation",
    "SaveIntoDataSourceCommand": "options",
    "CreateDataSourceTableAsSelectCommand": "made location table",
    "CreateHiveTableAsSelectCommand": "made location tableDesc",
    "OptimizedCreateHiveTableAsSelectCommand": "made location tableDesc",
    "SaveAsV1TableCommand": "made location tableDesc",
    "CreateDeltaTableCommand": "made location table",
    "WriteIntoDelta": "deltaLog",
    "CreateTableAsSelect": "made location",
    "ReplaceTableAsSelect": "made location",
    "AppendData": "table",
    "OverwriteByExpression": "table",
    "OverwritePartitionsDynamic": "table",
    "DynamicPartitionOverwriteDelta": "table deltaTable",
    "DeltaDynamicPartitionOverwriteCommand": "deltaTable table",
    "AppendDelta": "table",
    "OverwriteDelta": "table",
    "ReplaceData": "table",
    "WriteDelta": "table",
    "WriteToDataSourceV2": "relation",
    "ReplaceIcebergData": "table",
    "WriteIcebergDelta": "table",
    "WriteToMicroBatchDataSource": "table relation",
    "WriteToMicroBatchDataSourceV1": "catalogTable sink",
}
"""By command: the fields that show where it writes, the surest first."""
