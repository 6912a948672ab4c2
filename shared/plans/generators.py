"""What generators make of each row: of most, anything that their arguments decide; of those whose rows are written out
(the elements of an array that is made on the spot, `stack`) each column, and their number never depends on data.
"""

from collections.abc import Callable, Mapping, Sequence

from shared.plans.evaluated import Evaluated, column_of
from shared.plans.evaluation import Context
from shared.plans.nodes.document import Node, kind, nodes
from shared.plans.nodes.flow import (
    CHANGE,
    FILTER,
    NOTHING,
    ArrayFlow,
    Flow,
    StructureFlow,
    decides,
    joined,
    through,
    united,
)


def generated(context: Context) -> Evaluated:
    """The rule of Generate: the columns below, and those that the generator makes."""
    generator, attributes = context.node.get("generator") or {}, list(nodes(context.node.get("generatorOutput")))
    flows = _columns(context, generator, len(attributes))
    rows = context.rows
    if not _is_written_out(generator):
        rows = united((rows, through(decides(FILTER), united(context.flows("generator")))))
    columns = tuple(
        column_of(attribute, through(CHANGE, flow)) for attribute, flow in zip(attributes, flows, strict=True)
    )
    return Evaluated(columns=(*context.below[0].columns, *columns), rows=rows)


def _is_written_out(generator: Node) -> bool:
    """Whether data never decides the number of rows."""
    return kind(generator) in {"Stack", "JsonTuple"} or kind(generator.get("child")) == "CreateArray"


def _columns(context: Context, generator: Node, width: int) -> Sequence[Flow]:
    """The flow of each of `width` columns."""
    name, array = kind(generator), generator.get("child")
    flows: Sequence[Flow] = ()
    if name == "Stack":  # values row by row, after the number of rows
        _, *values = map(context.flow, nodes(generator.get("children")))
        flows = [joined(values[place::width]) for place in range(width)]
    elif name in _OF_ELEMENTS and isinstance(array, dict):
        flow = context.flow(array)
        flows = _OF_ELEMENTS[name](flow.element) if isinstance(flow, ArrayFlow) else ()
    return flows if len(flows) == width else [united(context.flows("generator"))] * width


_OF_ELEMENTS: Mapping[str, Callable[[Flow], Sequence[Flow]]] = {
    "Explode": lambda element: (element,),
    "PosExplode": lambda element: (NOTHING, element),  # no data decides the places
    "Inline": lambda element: element.fields if isinstance(element, StructureFlow) else (),
}
"""What generators make of the elements of an array."""
