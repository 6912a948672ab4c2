"""The flow of an expression: which columns it takes, and what each of them does. One table of rules by class."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

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
_NO_COLUMN = frozenset({"Literal", "TypedNullLiteral", "BoundReference", "SimplePythonFunction"})
_DEFINED = frozenset({"CommonExpressionRef", "NamedLambdaVariable"})
_COUNTS = frozenset({"Count", "CountIf", "ApproxCountDistinct", "HyperLogLogPlusPlus"})
_TYPED = frozenset({"ComplexTypedAggregateExpression", "SimpleTypedAggregateExpression"})
"""Aggregators of typed Datasets: code that is given whole objects."""
_SUBQUERIES = frozenset({"ScalarSubquery", "LateralSubquery", "ListQuery", "Exists", "DynamicPruningSubquery"})
IGNORED_FIELDS = frozenset({"mode", "inputTypesForMerging", "sameOrderExpressions", "resultAttribute"})


def flow_of(node: Node, columns: Columns, plans: Subqueries, outer: Columns) -> Flow:
    """Everything that an expression takes from `columns`, and by OuterReference from `outer`.

    Works on a stack, because a sum of 500 columns is nested 500 levels deep. Steps are associative, so each column that
    is met takes all steps of its way at once.
    """
    collector, whole_scope = Collector(plans), _Whole(plans, outer)
    waiting: list[tuple[Node, FlowStep, Columns]] = [(node, COPY, columns)]
    while waiting:
        expression, step, flows = waiting.pop()
        name = kind(expression)
        if name == "AttributeReference":
            collector.add(_column(expression, flows, plans, outer), step)
        elif name in _NO_COLUMN:
            continue
        elif name in _DEFINED:
            collector.add(flows.get(id_of(expression) or (), NOTHING), step)
        elif name == "With":  # Spark 4: what stands in `child` more than once is defined beside it
            common = {
                id_of(definition) or (): flow_of(definition["child"], flows, plans, outer)
                for definition in nodes(expression.get("defs"))
            }
            waiting.append((expression["child"], step, {**flows, **common}))
        elif name in TAKERS and (part := Scope(flows, whole_scope).parts(expression)) is not None:
            collector.add(part, step)
        elif "replacement" in expression:  # Spark replaces it by this: its own arguments stand there too
            waiting.append((expression["replacement"], after(step, CHANGE), flows))
        elif name in _SUBQUERIES:
            for flow in _subquery(expression, flows, plans, outer):
                collector.add(flow, step)
        else:
            rule = _RULES.get(name, _arguments)
            waiting += [(part, after(step, own_step), flows) for part, own_step in rule(expression)]
    return collector.flow


class Collector:
    """Adds up flows, each after a step."""

    def __init__(self, plans: Subqueries) -> None:
        self._plans = plans
        self._met: dict[tuple[int, FlowStep], Flow] = {}  # keeps the flows, so that their ids stay theirs

    def add(self, flow: Flow, step: FlowStep) -> None:
        """Add a flow after a step, once."""
        if flow and (id(flow), step) not in self._met:
            self._plans.spend(len(flow))
            self._met[id(flow), step] = flow

    @property
    def flow(self) -> Flow:
        """All that was added."""
        return united(through(step, flow) for (_, step), flow in self._met.items())


def _column(node: Node, columns: Columns, plans: Subqueries, outer: Columns) -> Flow:
    flow = columns.get(id_of(node) or ())
    if flow is None:
        flow = outer.get(id_of(node) or ())
    if flow is None:
        plans.unknown("a column without a source")
    return flow or NOTHING


class _Whole:
    """Gives the flows of whole expressions of one plan."""

    def __init__(self, plans: Subqueries, outer: Columns) -> None:
        self._plans = plans
        self._outer = outer

    def __call__(self, node: Node, columns: Columns) -> Flow:
        return flow_of(node, columns, self._plans, self._outer)

    def arguments(self, node: Node) -> Parts:
        return _RULES.get(kind(node), _arguments)(node)

    def spend(self, amount: int) -> None:
        self._plans.spend(amount)


def flow_with_parts(node: Node, columns: Columns, plans: Subqueries, outer: Columns) -> Flow:
    """As `flow_of`; of a structure or an array also the flows of its parts, where they are known."""
    value = node.get("child") if kind(node) == "Alias" else node
    if isinstance(value, dict) and kind(value) == "AttributeReference":  # most are, and need no stack
        flow = _column(value, columns, plans, outer)
        plans.spend(len(flow))
        return flow
    return Scope(columns, _Whole(plans, outer)).flow(node)


def _subquery(node: Node, columns: Columns, plans: Subqueries, outer: Columns) -> tuple[Flow, ...]:
    index = ref(node.get("plan"))
    if index is None:
        plans.unknown(kind(node))
        return ()
    values, rows = plans.subquery(index, {**outer, **columns})
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
