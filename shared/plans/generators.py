"""What generators make of each row: of most, anything that their arguments decide; of those whose rows are written out
(the elements of an array that is made on the spot, `stack`) each column, and their number never depends on data.
"""

from collections.abc import Callable, Mapping, Sequence

from shared.plans.evaluated import Evaluated, column_of
from shared.plans.evaluation import Context
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
    array, rule, found = generator.get("child"), _OF_ELEMENTS.get(kind(generator)), None
    if kind(generator) == "Stack":  # values row by row, after the number of rows
        _, *values = nodes(generator.get("children"))
        found = [_together(values[place::width], flow_of) for place in range(width)]
    elif rule and isinstance(array, dict) and kind(array) == "CreateArray":
        found = rule(list(nodes(array.get("children"))), flow_of)
    return found if found is not None and len(found) == width else None


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


_OF_ELEMENTS: Mapping[str, Callable[[Sequence[Node], FlowOf], list[Flow] | None]] = {
    "Explode": lambda elements, flow_of: [_element(elements, flow_of)],
    "PosExplode": lambda elements, flow_of: [NOTHING, _element(elements, flow_of)],  # no data decides the places
    "Inline": _fields,  # a column for each field of the structures
}
"""What generators make of the elements of an array that is made on the spot."""
