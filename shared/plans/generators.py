"""What generators make of each row: of most, anything that their arguments decide; of those whose rows are written out
(the elements of an array that is made on the spot, `stack`) each column, and their number never depends on data.
"""

from collections.abc import Callable, Mapping, Sequence

from shared.plans.evaluated import Context, Evaluated, column_of
from shared.plans.nodes.document import Node, kind, nodes
from shared.plans.nodes.flow import CHANGE, FILTER, NOTHING, Flow, StructureFlow, decides, through, united

FlowOf = Callable[[Node], Flow]

_ONE_ROW = frozenset({"JsonTuple"})


def generated(at: Context) -> Evaluated:
    """The rule of Generate: the columns below, and those that the generator makes."""
    generator, attributes = at.node.get("generator") or {}, list(nodes(at.node.get("generatorOutput")))
    known = at.columns
    flows = _written_out(generator, len(attributes), lambda each: at.evaluation.flow(each, known, at.outer))
    rows = at.rows
    if flows is None:
        flow = united(at.flows("generator"))
        flows = [through(CHANGE, flow)] * len(attributes)
        rows = rows if kind(generator) in _ONE_ROW else united((rows, through(decides(FILTER), flow)))
    made = tuple(column_of(*each) for each in zip(attributes, flows, strict=True))
    return Evaluated(columns=(*at.below[0].columns, *made), rows=rows)


def _written_out(generator: Node, width: int, flow_of: FlowOf) -> list[Flow] | None:
    """The flow of each of `width` columns; None for a generator whose rows come of data."""
    rule = _RULES.get(kind(generator))
    found = rule(generator, width, flow_of) if rule else None
    return found if found is not None and len(found) == width else None


def _stack(generator: Node, width: int, flow_of: FlowOf) -> list[Flow]:
    """Values row by row, after the number of rows."""
    _, *values = nodes(generator.get("children"))
    return [_together(values[place::width], flow_of) for place in range(width)]


def _elements(generator: Node) -> list[Node] | None:
    array = generator.get("child")
    return list(nodes(array.get("children"))) if isinstance(array, dict) and kind(array) == "CreateArray" else None


def _explode(generator: Node, _width: int, flow_of: FlowOf) -> list[Flow] | None:
    elements = _elements(generator)
    return None if elements is None else [_element(elements, flow_of)]


def _numbered(generator: Node, _width: int, flow_of: FlowOf) -> list[Flow] | None:
    """With the place of each element, which no data decides."""
    elements = _elements(generator)
    return None if elements is None else [NOTHING, _element(elements, flow_of)]


def _inline(generator: Node, _width: int, flow_of: FlowOf) -> list[Flow] | None:
    """A column for each field of the elements, which are structures."""
    elements = _elements(generator)
    fields = _fields(elements, flow_of) if elements else None
    return None if fields is None else fields


def _element(elements: Sequence[Node], flow_of: FlowOf) -> Flow:
    whole, fields = _together(elements, flow_of), _fields(elements, flow_of)
    return StructureFlow(whole, fields) if fields and whole else whole


def _fields(elements: Sequence[Node], flow_of: FlowOf) -> list[Flow] | None:
    """The flow of each field of structures that are alike; None where one is no structure made on the spot."""
    if any(kind(each) != "CreateNamedStruct" for each in elements):
        return None
    values = [list(nodes(each.get("children")))[1::2] for each in elements]
    if len({len(each) for each in values}) != 1:
        return None
    return [_together(each, flow_of) for each in zip(*values, strict=True)]


def _together(expressions: Sequence[Node], flow_of: FlowOf) -> Flow:
    return through(CHANGE, united(map(flow_of, expressions)))


_RULES: Mapping[str, Callable[[Node, int, FlowOf], list[Flow] | None]] = {
    "Stack": _stack,
    "Explode": _explode,
    "PosExplode": _numbered,
    "Inline": _inline,
}
