"""Evaluate the plans of a document, each once, from the leaves up: the flow of their columns, and of their rows."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from shared.openlineage.run import DatasetKey
from shared.plans.nodes.document import (
    CHANGE,
    COPY,
    DECIDES,
    FILTER,
    NOTHING,
    Document,
    Flow,
    FlowSource,
    FlowStep,
    Id,
    Node,
    UnreadablePlan,
    children,
    decides,
    id_of,
    kind,
    nodes,
    ref,
    through,
    united,
)
from shared.plans.nodes.expressions import Expressions
from shared.plans.nodes.parts import Columns
from shared.plans.nodes.texts import Text, Texts, text_of
from shared.plans.places import (
    NO_DATASET,
    JdbcSource,
    QueryFlow,
    ReadQuery,
    TableName,
    columns_of_clone,
    places_of_leaf,
    read_nothing,
    source_of,
    table_name,
)


class EvaluatedColumn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A column of a plan's output; `text`: what it is made of, None for what another column of its name is."""

    id: Id
    name: str
    type: str
    flow: Flow
    text: Text | None = None


class Evaluated(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A plan's columns, and what decides about its rows."""

    columns: tuple[EvaluatedColumn, ...] = ()
    rows: Flow = NOTHING

    @cached_property
    def by_id(self) -> dict[Id, Flow]:
        """The flows of the columns."""
        return {column.id: column.flow for column in self.columns}

    @cached_property
    def texts(self) -> dict[Id, Text]:
        """What the columns are made of."""
        return {column.id: column.text for column in self.columns if column.text}


def column_of(attribute: Node, flow: Flow, text: Text | None = None) -> EvaluatedColumn:
    """A column by its attribute."""
    name, type_ = str(attribute.get("name", "")), str(attribute.get("t", ""))
    return EvaluatedColumn(id=id_of(attribute) or (), name=name, type=type_, flow=flow, text=text)


MAX_PLANS = 200_000
MAX_SUBQUERIES = 2_000
MAX_WORK = 10_000_000
"""Sources copied: some seconds. A plan of 450 columns takes a few thousand."""
_WORK_OF_A_PLAN = 50
"""What evaluating one plan takes, apart from its columns: as long as copying so many sources."""


@dataclass(slots=True)
class Evaluation:
    """Evaluates the plans of one document by rules for their classes; `datasets` are all that its leaves read,
    `unknowns` what no rule knows, `ctes` the queries of WITH clauses by their numbers.
    """

    document: Document
    rules: Mapping[str, "Rule"]
    read_query: ReadQuery = read_nothing
    datasets: dict[DatasetKey, dict[str, str]] = field(default_factory=dict)
    unknowns: Counter[str] = field(default_factory=Counter)
    ctes: dict[int, Evaluated] = field(default_factory=dict)
    _subqueries: int = 0
    _work: int = 0
    _open: set[int] = field(default_factory=set)

    def plan(self, index: int, outer: Columns | None = None) -> Evaluated:
        """One plan with all below it. Raises UnreadablePlan for references that lead nowhere or in a circle."""
        expressions = Expressions(plans=self, outer=outer or {})
        evaluated: dict[int, Evaluated] = {}
        waiting = [index]
        entered: dict[int, tuple[int, ...]] = {}
        while waiting:
            current = waiting[-1]
            if current in evaluated:
                waiting.pop()
                continue
            node = self.node(current)
            needed = entered[current] if current in entered else children(node)
            missing = [child for child in needed if child not in evaluated]
            if not missing:
                result = evaluated[current] = self._evaluate(node, [evaluated[child] for child in needed], expressions)
                self.spend(_WORK_OF_A_PLAN + len(result.columns) + len(result.rows))
                waiting.pop()
                continue
            if current in entered:
                raise UnreadablePlan("a plan refers to itself")
            entered[current] = needed
            if len(waiting) > MAX_PLANS:
                raise UnreadablePlan("the plan is too large")
            waiting.extend(reversed(missing))
        return evaluated[index]

    def subquery(self, index: int, outer: Columns) -> tuple[list[Flow], Flow]:
        """The columns and rows of a subquery's plan."""
        self._subqueries += 1
        if self._subqueries > MAX_SUBQUERIES:
            raise UnreadablePlan(f"the plan has more than {MAX_SUBQUERIES:,} subqueries")
        evaluated = self.plan(index, outer)
        return [column.flow for column in evaluated.columns], evaluated.rows

    def unknown(self, problem: str) -> None:
        """Count something that no rule knows."""
        self.unknowns[problem] += 1

    def spend(self, amount: int) -> None:
        """Count work. Raises UnreadablePlan for a plan that takes too much."""
        self._work += amount
        if self._work > MAX_WORK:
            raise UnreadablePlan("the plan takes too much work: its columns or subqueries multiply")

    def node(self, index: int) -> Node:
        """A plan as it stands in the document. Raises UnreadablePlan."""
        if not 0 <= index < len(self.document.plans):
            raise UnreadablePlan(f"the plan refers to a plan {index} that it does not have")
        return self.document.plans[index]

    def _evaluate(self, node: Node, children_evaluated: Sequence[Evaluated], expressions: Expressions) -> Evaluated:
        rule = self.rules.get(kind(node))
        if rule:
            return rule(Context(evaluation=self, node=node, below=children_evaluated, expressions=expressions))
        if not children_evaluated:
            return self._leaf(node)
        self.unknown(kind(node))
        return children_evaluated[0]

    def _leaf(self, node: Node) -> Evaluated:
        """A relation: its columns are those of the data sets that it reads."""
        output = [*nodes(node.get("output")), *nodes(node.get("dataCols")), *nodes(node.get("partitionCols"))]
        output += columns_of_clone(node)
        query = _jdbc_query(node)
        if query:
            return self._queried(query, output)
        places = places_of_leaf(node) if kind(node) not in NO_DATASET else ()
        if not places and kind(node) not in NO_DATASET:
            self.unknown(f"{kind(node)} without a place")
        columns = tuple([column_of(attribute, _copies(places, attribute)) for attribute in output])
        types = {column.name: column.type for column in columns}
        for place in places:
            self.datasets.setdefault(place, {}).update(types)
        return Evaluated(columns=columns)

    def _queried(self, query: JdbcSource, output: Sequence[Node]) -> Evaluated:
        """The rows of a query that a database ran."""
        query_flow = self.read_query(query.text, query.server.dialect)
        columns = _columns_of_query(query, query_flow, output) if query_flow else None
        if not query_flow or not query_flow.certain or columns is None:
            self.unknown("a JDBC query")
        for table in query_flow.tables if query_flow else ():
            self.datasets.setdefault(query.server.table(table), {})
        if not query_flow or columns is None:
            return Evaluated(columns=tuple(column_of(attribute, NOTHING) for attribute in output))
        pairs = zip(output, columns, strict=True)
        rows = _taken(query, query_flow.rows, decides(FILTER))
        return Evaluated(columns=tuple(column_of(attribute, flow) for attribute, flow in pairs), rows=rows)

    def of_frame(self, leaf: Node) -> Evaluated | None:
        """The plan behind a leaf that holds rows of an earlier execution; None where the document does not show it."""
        index = self._frame(leaf)
        if index is None or index in self._open:
            return None
        self._open.add(index)
        evaluated = self.plan(index)
        self._open.discard(index)
        by_id, texts = evaluated.by_id, evaluated.texts
        columns = [
            column_of(attribute, by_id.get(id_of(attribute) or (), NOTHING), texts.get(id_of(attribute) or ()))
            for attribute in nodes(leaf.get("output"))
        ]
        return Evaluated(columns=tuple(columns), rows=evaluated.rows)

    def _frame(self, leaf: Node) -> int | None:
        """The only plan whose columns have the ids of the leaf's. Frames pass on ids: a filtered frame has those of the
        frame before it, and then nothing says which of the two this is.
        """
        ids = {id_of(attribute) for attribute in nodes(leaf.get("output"))}
        plans = {
            ref(frame.plan) for frame in self.document.frames if {id_of(attribute) for attribute in frame.output} == ids
        }
        return plans.pop() if ids and len(plans) == 1 else None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A plan, and what its rule may use: the plans `below`, and what gives the flows of its expressions."""

    evaluation: Evaluation
    node: Node
    below: Sequence[Evaluated]
    expressions: Expressions

    @property
    def columns(self) -> Columns:
        """All columns of the plans below."""
        if len(self.below) == 1:
            return self.below[0].by_id
        flows: dict[Id, Flow] = {}
        for plan in self.below:
            flows.update(plan.by_id)
        return flows

    @property
    def texts(self) -> Texts:
        """What all columns of the plans below are made of."""
        if len(self.below) == 1:
            return self.below[0].texts
        texts: dict[Id, Text] = {}
        for plan in self.below:
            texts.update(plan.texts)
        return texts

    @property
    def rows(self) -> Flow:
        """What decides about the rows of the plans below."""
        return united(plan.rows for plan in self.below)

    def flow(self, node: Node) -> Flow:
        """The flow of an expression, with its parts where they are known."""
        return self.expressions.with_parts(node, self.columns)

    def flows(self, name: str, step: FlowStep = COPY, columns: Columns | None = None) -> list[Flow]:
        """The flows of the expressions in a field, each after `step`."""
        flows = self.columns if columns is None else columns
        return [through(step, self.expressions(node, flows)) for node in nodes(self.node.get(name))]

    def condition(self, name: str, subtype: str) -> Flow:
        """The columns that the expressions in the field `name` use as conditions on rows, each marked with `subtype`
        (a join, a filter …).
        """
        return united(self.flows(name, decides(subtype)))

    def named(self, name: str) -> tuple[EvaluatedColumn, ...]:
        """The named expressions in a field as columns."""
        flows, texts = self.columns, self.texts
        return tuple(
            [
                column_of(node, self.expressions.with_parts(node, flows), _text(node, texts))
                for node in nodes(self.node.get(name))
            ]
        )

    def output(self, name: str, flow: Flow) -> tuple[EvaluatedColumn, ...]:
        """The attributes in a field, each with the same flow."""
        return tuple([column_of(node, flow) for node in nodes(self.node.get(name))])


Rule = Callable[[Context], Evaluated]
"""From a plan and the evaluated plans below it to its columns and rows."""


def _text(node: Node, texts: Texts) -> Text | None:
    """What a named expression is made of."""
    if kind(node) == "AttributeReference":
        return texts.get(id_of(node) or ()) if texts else None
    return text_of(node, texts)


_COPIED = frozenset({COPY})


def _copies(places: Sequence[DatasetKey], attribute: Node) -> Flow:
    """The column of this name in each of the data sets."""
    name = str(attribute.get("name", ""))
    return {FlowSource(place, name): _COPIED for place in places}


def _jdbc_query(leaf: Node) -> JdbcSource | None:
    """The query of a leaf that reads one by JDBC; None for other leaves, and for tables."""
    for name in ("relation", "table"):
        facts = leaf.get(name)
        options = facts.get("jdbc") if isinstance(facts, dict) else None
        if options and (source := source_of(options)) and table_name(source.text) is None:
            return source
    return None


def _columns_of_query(query: JdbcSource, query_flow: QueryFlow, output: Sequence[Node]) -> list[Flow] | None:
    """The flow of each column, by position, or by name where the query has all columns of a table."""
    if query_flow.passed is not None:
        return [_taken(query, ((query_flow.passed, str(attribute.get("name", ""))),), COPY) for attribute in output]
    if len(query_flow.columns) != len(output):
        return None
    return [
        united((_taken(query, column.direct, CHANGE), _taken(query, column.indirect, DECIDES)))
        for column in query_flow.columns
    ]


def _taken(query: JdbcSource, sources: Sequence[tuple[TableName, str]], step: FlowStep) -> Flow:
    return {FlowSource(query.server.table(table), column): frozenset({step}) for table, column in sources}
