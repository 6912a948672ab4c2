"""The flow of structures and arrays by their parts: a field, also of an array's elements, has its own sources.

The parts of a table's column are not known: where an expression takes one of those, the whole column counts.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from shared.plans.nodes.document import (
    CHANGE,
    DECIDES,
    NOTHING,
    ArrayFlow,
    Flow,
    FlowStep,
    Id,
    Node,
    StructureFlow,
    decided,
    id_of,
    joined,
    kind,
    nodes,
    through,
    united,
)

Columns = Mapping[Id, Flow]
"""The columns that an expression may name."""

Parts = list[tuple[Node, FlowStep]]
"""The arguments of an expression, each with what the expression does to it."""

_MAX_DEPTH = 60
"""Expressions within expressions. Deeper ones count as a whole."""
_WORK = 20
"""What looking at one expression takes: as long as copying so many sources."""


class Whole(Protocol):
    """Gives the flows of whole expressions."""

    def __call__(self, node: Node, columns: Columns) -> Flow:
        """The flow of an expression without its parts."""

    def arguments(self, node: Node) -> Parts:
        """The arguments of an expression."""

    def spend(self, amount: int) -> None:
        """Count work. Raises UnreadablePlan for a plan that takes too much."""


class Scope(Struct, frozen=True):
    """The columns that an expression may name, what gives whole flows, and how deep the expression lies."""

    columns: Columns
    whole: Whole
    depth: int = 0

    def parts(self, node: object) -> Flow | None:
        """The flow of an expression whose parts, or which as a part, are known; else None."""
        if not isinstance(node, dict) or self.depth >= _MAX_DEPTH:
            return None
        self.whole.spend(_WORK)
        rule = _RULES.get(kind(node))
        if rule is None and "replacement" not in node:
            return None
        inner = Scope(self.columns, self.whole, self.depth + 1)
        return rule(node, inner) if rule else inner.parts(node["replacement"])

    def flow(self, node: Node) -> Flow:
        """The flow of an expression, with its parts where they are known."""
        parts = self.parts(node)
        return self.whole(node, self.columns) if parts is None else parts

    def flows(self, value: object) -> list[Flow]:
        """The flows of the expressions in a field's value."""
        return [self.flow(node) for node in nodes(value)]

    def called(self, function: object, *arguments: Flow) -> Flow:
        """What a lambda function makes of its first arguments; further ones, as an element's place, have no source."""
        for node in nodes(function):
            variables = [id_of(variable) or () for variable in nodes(node.get("arguments"))]
            bound = {**dict.fromkeys(variables, NOTHING), **dict(zip(variables, arguments, strict=False))}
            inner = replace(self, columns={**self.columns, **bound})
            return joined(inner.flows(node.get("function")))
        return NOTHING


Rule = Callable[[Node, Scope], Flow | None]


def _element(flow: Flow) -> Flow:
    return flow.element if isinstance(flow, ArrayFlow) else flow


def _field_of(flow: Flow, place: int) -> Flow:
    fields = flow.fields if isinstance(flow, StructureFlow) else ()
    return through(CHANGE, fields[place] if 0 <= place < len(fields) else flow)


def _column(node: Node, scope: Scope) -> Flow | None:
    flow = scope.columns.get(id_of(node) or ())
    return flow if isinstance(flow, StructureFlow | ArrayFlow) else None


def _with(node: Node, scope: Scope) -> Flow | None:
    """What stands more than once in the child is defined beside it."""
    definitions = nodes(node.get("defs"))
    common = {id_of(part) or (): flow for part in definitions for flow in scope.flows(part.get("child"))}
    return replace(scope, columns={**scope.columns, **common}).parts(node.get("child"))


def _structure(node: Node, scope: Scope) -> Flow:
    fields = scope.flows(nodes(node.get("children"))[1::2])
    return StructureFlow(through(CHANGE, united(fields)), fields)


def _array(node: Node, scope: Scope) -> Flow:
    element = through(CHANGE, joined(scope.flows(node.get("children"))))
    return ArrayFlow(element, element)


def _zipped(node: Node, scope: Scope) -> Flow:
    arrays = scope.flows(node.get("children"))
    union = through(CHANGE, united(arrays))
    return ArrayFlow(union, StructureFlow(union, [_element(array) for array in arrays]))


def _field(node: Node, scope: Scope) -> Flow | None:
    base = scope.parts(node.get("child"))
    return None if base is None else _field_of(base, int(node.get("ordinal", 0)))


def _field_of_elements(node: Node, scope: Scope) -> Flow | None:
    base = scope.parts(node.get("child"))
    if base is None:
        return None
    field = _field_of(_element(base), int(node.get("ordinal", 0)))
    return ArrayFlow(field, field)


def _item(node: Node, scope: Scope) -> Flow | None:
    """An element by its place, which decides nothing where it is a number."""
    base = scope.parts(node.get("child") or node.get("left"))
    if base is None:
        return None
    places = scope.flows(node.get("ordinal") or node.get("right"))
    return joined((through(CHANGE, _element(base)), *(through(CHANGE, place) for place in places)))


def _made(node: Node, scope: Scope) -> Flow | None:
    """An element made of each one, or of each pair; None where it has no source."""
    arrays = [flow for name in ("argument", "left", "right") for flow in scope.flows(node.get(name))]
    element = through(CHANGE, scope.called(node.get("function"), *map(_element, arrays)))
    return ArrayFlow(element, element) if element else None


def _filtered(node: Node, scope: Scope) -> Flow | None:
    base = scope.parts(node.get("argument"))
    if base is None:
        return None
    return decided(through(CHANGE, base), through(DECIDES, scope.called(node.get("function"), _element(base))))


def _tested(node: Node, scope: Scope) -> Flow | None:
    base = scope.parts(node.get("argument"))
    return None if base is None else through(CHANGE, scope.called(node.get("function"), _element(base)))


def _folded(node: Node, scope: Scope) -> Flow | None:
    base = scope.parts(node.get("argument"))
    if base is None:
        return None
    zero = joined(scope.flows(node.get("zero")))
    merged = joined((zero, scope.called(node.get("merge"), zero, _element(base))))
    return through(CHANGE, scope.called(node.get("finish"), merged))


def _flattened(node: Node, scope: Scope) -> Flow | None:
    base = scope.parts(node.get("child"))
    return None if base is None else through(CHANGE, _element(base))


def _passed(node: Node, scope: Scope) -> Flow | None:
    """One of the arguments, or elements of all, as the other arguments decide."""
    arguments = scope.whole.arguments(node)
    flows = {id(part): scope.parts(part) for part, step in arguments if step.direct}
    if all(flow is None for flow in flows.values()):
        return None
    values: list[Flow] = []
    conditions: list[Flow] = []
    for part, step in arguments:
        flow = flows.get(id(part)) if step.direct else None
        flow = scope.whole(part, scope.columns) if flow is None else flow
        (values if step.direct else conditions).append(through(step, flow))
    return decided(joined(values), united(conditions))


def _compared(flow: Flow) -> Flow:
    """A structure that was chosen by its order: the other fields decide about each one."""
    if not isinstance(flow, StructureFlow):
        return flow
    keys = [united(key for key in flow.fields if key is not field) for field in flow.fields]
    pairs = zip(flow.fields, keys, strict=True)
    return StructureFlow(flow, [decided(field, through(DECIDES, dict(key))) for field, key in pairs])


def _sorted(node: Node, scope: Scope) -> Flow | None:
    """The same elements in another order, that of a function of two of them, or of themselves."""
    base = scope.parts(node.get("base") or node.get("argument"))
    if base is None:
        return None
    element = _element(base)
    if "function" in node:
        order = through(DECIDES, dict(scope.called(node["function"], element, element)))
        element = decided(element, order) if isinstance(element, StructureFlow) else element
    else:
        element = _compared(element)
    return through(CHANGE, ArrayFlow(base, element))


def _aggregated(node: Node, scope: Scope) -> Flow | None:
    name = kind(node.get("aggregateFunction"))
    value = _passed(node, scope) if name in _OF_ONE_ROW or name in _OF_ALL_ROWS else None
    if value is None:
        return None
    if name in _OF_ALL_ROWS:
        return ArrayFlow(value, value)
    return _compared(value) if name in _COMPARING else value


_OF_ALL_ROWS = frozenset({"CollectList", "CollectSet"})
_COMPARING = frozenset({"Max", "Min"})
_OF_ONE_ROW = _COMPARING | {"First", "Last", "AnyValue", "MaxBy", "MinBy"}

TAKERS: Mapping[str, Rule] = {
    "GetStructField": _field,
    "GetArrayStructFields": _field_of_elements,
    "GetArrayItem": _item,
    "ElementAt": _item,
    "Get": _item,
    "ArrayTransform": _made,
    "ArrayFilter": _filtered,
    "ArrayExists": _tested,
    "ArrayForAll": _tested,
    "ArrayAggregate": _folded,
    "ZipWith": _made,
}
"""Expressions of which not even the whole has all sources of their arguments."""

_PASSING = (
    "Coalesce If CaseWhen Concat ArrayUnion ArrayIntersect ArrayExcept ArrayRemove ArrayAppend ArrayPrepend "
    "ArrayInsert Slice Reverse ArrayDistinct Shuffle ArrayCompact Cast AnsiCast UpCast WindowExpression Lead Lag "
    "NthValue KnownNotNull KnownNullable Alias"
)
_RULES: Mapping[str, Rule] = {
    **TAKERS,
    **dict.fromkeys(("AttributeReference", "NamedLambdaVariable", "CommonExpressionRef"), _column),
    "With": _with,
    **dict.fromkeys(_PASSING.split(), _passed),
    "CreateNamedStruct": _structure,
    "CreateArray": _array,
    "ArraysZip": _zipped,
    "Flatten": _flattened,
    **dict.fromkeys(("SortArray", "ArraySort"), _sorted),
    "AggregateExpression": _aggregated,
}
