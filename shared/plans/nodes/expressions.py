"""The flow of an expression: which columns it takes, and what each of them does. One table of rules by class."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from shared.plans.nodes.document import (
    CHANGE,
    COPY,
    COUNTED,
    DECIDES,
    IN_CODE,
    IN_WINDOW,
    MASK,
    NOTHING,
    SUMMARY,
    Flow,
    FlowStep,
    Node,
    after,
    id_of,
    kind,
    nodes,
    ref,
    through,
    united,
)
from shared.plans.nodes.parts import TAKERS, Columns, Parts, Scope


class Subqueries(Protocol):
    """Evaluates the plan of a subquery."""

    def subquery(self, index: int, outer: Columns) -> tuple[list[Flow], Flow]:
        """The flows of its columns and of its rows; `outer` are the columns that it may name by OuterReference."""

    def unknown(self, problem: str) -> None:
        """Count something that no rule knows."""

    def spend(self, amount: int) -> None:
        """Count work: the sources that are copied. Raises UnreadablePlan for a plan that takes too much."""


_MASKS = frozenset({"Sha1", "Sha2", "Md5", "Crc32", "XxHash64", "Murmur3Hash", "HiveHash", "Mask"})
_RANKS = frozenset({"Rank", "DenseRank", "PercentRank"})
_DEFINED = frozenset({"CommonExpressionRef", "NamedLambdaVariable"})
_COUNTS = frozenset({"Count", "CountIf", "ApproxCountDistinct", "HyperLogLogPlusPlus"})
_TYPED = frozenset({"ComplexTypedAggregateExpression", "SimpleTypedAggregateExpression"})
"""Aggregators of typed Datasets: code that is given whole objects."""
_SUBQUERIES = frozenset({"ScalarSubquery", "LateralSubquery", "ListQuery", "Exists", "DynamicPruningSubquery"})
IGNORED_FIELDS = frozenset({"mode", "inputTypesForMerging", "sameOrderExpressions", "resultAttribute"})


class Expressions(msgspec.Struct, frozen=True, kw_only=True):
    """Gives the flows of a plan's expressions, of the columns that they may name. `plans` evaluates their subqueries;
    `outer`: the columns that they may name by OuterReference.
    """

    plans: Subqueries
    outer: Columns

    def __call__(self, node: Node, columns: Columns) -> Flow:
        """Everything that an expression takes from `columns`, and by OuterReference from `outer`.

        Works on a stack, because a sum of 500 columns is nested 500 levels deep. Steps are associative, so each column
        that is met takes all steps of its way at once.
        """
        met: dict[tuple[int, FlowStep], Flow] = {}  # keeps the flows, so that their ids stay theirs
        waiting: list[tuple[Node, FlowStep, Columns]] = [(node, COPY, columns)]
        while waiting:
            expression, step, flows = waiting.pop()
            name = kind(expression)
            taken_flows: tuple[Flow, ...] = ()
            if name == "AttributeReference":
                taken_flows = (self._column(expression, flows),)
            elif name in _DEFINED:
                taken_flows = (flows.get(id_of(expression) or (), NOTHING),)
            elif name == "With":
                waiting.append((expression["child"], step, self._defined(expression, flows)))
            elif name in TAKERS and (part := Scope(flows, self).parts(expression)) is not None:
                taken_flows = (part,)
            elif "replacement" in expression:  # Spark replaces it by this: its own arguments stand there too
                waiting.append((expression["replacement"], after(step, CHANGE), flows))
            elif name in _SUBQUERIES:
                taken_flows = self._subquery(expression, flows)
            else:
                waiting += [(part, after(step, own_step), flows) for part, own_step in self.arguments(expression)]
            for flow in taken_flows:
                if flow and (id(flow), step) not in met:
                    self.spend(len(flow))
                    met[id(flow), step] = flow
        return united(through(step, flow) for (_, step), flow in met.items())

    def with_parts(self, node: Node, columns: Columns) -> Flow:
        """The flow of an expression; of a structure or an array also the flows of its parts, where they are known."""
        child = node.get("child") if kind(node) == "Alias" else None
        value = child if isinstance(child, dict) else node
        if kind(value) == "AttributeReference":  # most are, and need no stack
            flow = self._column(value, columns)
            self.spend(len(flow))
            return flow
        return Scope(columns, self).flow(value)

    def arguments(self, node: Node) -> Parts:
        """The arguments of an expression."""
        return _RULES.get(kind(node), _arguments)(node)

    def spend(self, amount: int) -> None:
        """Count work. Raises UnreadablePlan for a plan that takes too much."""
        self.plans.spend(amount)

    def _column(self, node: Node, columns: Columns) -> Flow:
        number = id_of(node) or ()
        flow = columns.get(number)
        if flow is None:
            flow = self.outer.get(number)
        if flow is None:
            self.plans.unknown("a column without a source")
        return flow or NOTHING

    def _defined(self, node: Node, columns: Columns) -> Columns:
        """The columns, and what stands in the child more than once, which Spark 4 defines beside it."""
        return {**columns, **{id_of(part) or (): self(part["child"], columns) for part in nodes(node.get("defs"))}}

    def _subquery(self, node: Node, columns: Columns) -> tuple[Flow, ...]:
        index = ref(node.get("plan"))
        if index is None:
            self.plans.unknown(kind(node))
            return ()
        values, rows = self.plans.subquery(index, {**self.outer, **columns})
        return (*(() if kind(node) == "Exists" else values), through(DECIDES, rows))


def parts(value: Any, step: FlowStep) -> Parts:
    """The expressions in a field's value, each with this step."""
    return [(node, step) for node in nodes(value)]


def _arguments(node: Node) -> Parts:
    """Of most expressions: all fields that are expressions are arguments, and the value is made of them."""
    step = MASK if kind(node) in _MASKS else CHANGE
    return [
        (argument, step)
        for name, value in node.items()
        if not isinstance(value, str) and name not in IGNORED_FIELDS
        for argument in nodes(value)
    ]


def _case(node: Node) -> Parts:
    case_parts = parts(node.get("elseValue"), CHANGE)
    for branch in node.get("branches", ()):
        if isinstance(branch, list) and len(branch) == 2:  # noqa: PLR2004 - condition and value
            case_parts += [*parts(branch[0], DECIDES), *parts(branch[1], CHANGE)]
    return case_parts


def _coalesce(node: Node) -> Parts:
    values = nodes(node.get("children"))
    return [*((value, CHANGE) for value in values), *((value, DECIDES) for value in values[:-1])]


def _aggregate(node: Node) -> Parts:
    function = node.get("aggregateFunction")
    name = kind(function)
    aggregate_parts = parts(node.get("filter"), DECIDES)
    if name == "PivotFirst" and isinstance(function, dict):
        return [
            *aggregate_parts,
            *parts(function.get("pivotColumn"), DECIDES),
            *parts(function.get("valueColumn"), SUMMARY),
        ]
    if name in {"MaxBy", "MinBy"} and isinstance(function, dict):
        return [
            *aggregate_parts,
            *parts(function.get("valueExpr"), SUMMARY),
            *parts(function.get("orderingExpr"), DECIDES),
        ]
    step = COUNTED if name in _COUNTS else IN_CODE if name in _TYPED else SUMMARY
    arguments = dict(function) if isinstance(function, dict) else {}
    aggregate_parts += parts(arguments.pop("orderExpressions", None), DECIDES)
    return [*aggregate_parts, *((argument, step) for argument, _ in _arguments(arguments))]


def _window(node: Node) -> Parts:
    function, specification = node.get("windowFunction"), node.get("windowSpec") or {}
    step = IN_WINDOW if kind(function) in _RANKS else CHANGE
    return [
        *parts(function, step),
        *parts(specification.get("partitionSpec"), IN_WINDOW),
        *parts(specification.get("orderSpec"), IN_WINDOW),
    ]


def _filter(node: Node) -> Parts:
    """Of `filter(array, x -> …)`: the elements are kept, and they and the function decide which."""
    elements, function = node.get("argument"), node.get("function")
    return [*parts(elements, CHANGE), *parts(elements, DECIDES), *parts(function, DECIDES)]


def _window_of_time(node: Node) -> Parts:
    """Of an end of a window of time: Spark computes it by cases of the time, which alone it is made of."""
    times: list[Node] = []
    waiting = list(nodes(node.get("child")))
    while waiting:
        window = waiting.pop()
        if kind(window) == kind(node):
            times += nodes(window.get("child"))
        else:
            waiting += [child for value in window.values() for child in nodes(value)]
    return parts(times or node.get("child"), CHANGE)


def _child(node: Node) -> Parts:
    return parts(node.get("child"), COPY)


_RULES: Mapping[str, Callable[[Node], Parts]] = {
    **dict.fromkeys(("Literal", "TypedNullLiteral", "BoundReference", "SimplePythonFunction"), lambda _: []),
    "Alias": _child,
    "OuterReference": lambda node: parts(node.get("e"), COPY),
    "SortOrder": _child,
    "SQLScalarFunction": _child,  # its body: the arguments stand in it where it uses them
    "CaseWhen": _case,
    "If": lambda node: [
        *parts(node.get("predicate"), DECIDES),
        *parts(node.get("trueValue"), CHANGE),
        *parts(node.get("falseValue"), CHANGE),
    ],
    "Coalesce": _coalesce,
    "AggregateExpression": _aggregate,
    "WindowExpression": _window,
    "PreciseTimestampConversion": _window_of_time,
    "ArrayFilter": _filter,
    "MapFilter": _filter,
    "LambdaFunction": lambda node: parts(node.get("function"), COPY),
}
