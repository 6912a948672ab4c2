"""How values flow: from columns of data sets to a column, step by step.

The words are those of OpenLineage's column lineage facet 1-2-0, and OPAQUE.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shared.model import OPAQUE
from shared.openlineage.run import DatasetKey

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL = "JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"
_STRENGTH = {IDENTITY: 0, TRANSFORMATION: 1, AGGREGATION: 2, OPAQUE: 3}


class FlowSource(NamedTuple):
    """A column of a data set."""

    dataset: DatasetKey
    column: str


class FlowStep(NamedTuple):
    """One way in which a source acts: by its value (`direct`) or only by deciding; `masked`: through a mask only."""

    direct: bool
    subtype: str
    masked: bool = False


COPY = FlowStep(direct=True, subtype=IDENTITY)
CHANGE = FlowStep(direct=True, subtype=TRANSFORMATION)
MASK = FlowStep(direct=True, subtype=TRANSFORMATION, masked=True)
SUMMARY = FlowStep(direct=True, subtype=AGGREGATION)
COUNTED = FlowStep(direct=True, subtype=AGGREGATION, masked=True)
IN_CODE = FlowStep(direct=True, subtype=OPAQUE)
DECIDES = FlowStep(direct=False, subtype=CONDITIONAL)
IN_WINDOW = FlowStep(direct=False, subtype=WINDOW)


def decides(subtype: str) -> FlowStep:
    """A step of a condition: JOIN, FILTER, GROUP_BY or SORT."""
    return FlowStep(direct=False, subtype=subtype)


Flow = Mapping[FlowSource, frozenset[FlowStep]]
"""All sources of a column, or of all rows, with their steps."""

NOTHING: Flow = MappingProxyType({})


class StructureFlow(dict[FlowSource, frozenset[FlowStep]]):
    """The flow of a structure, with the flow of each of its fields."""

    def __init__(self, flow: Flow, fields: Sequence[Flow]) -> None:
        super().__init__(flow)
        self.fields = tuple(fields)


class ArrayFlow(dict[FlowSource, frozenset[FlowStep]]):
    """The flow of an array, with that of its elements. The elements of a map are structures of a key and a value."""

    def __init__(self, flow: Flow, element: Flow) -> None:
        super().__init__(flow)
        self.element = element


def after(step: FlowStep, earlier: FlowStep) -> FlowStep:
    """Two steps as one: `earlier`, then `step`. A value that went through code is opaque from then on. Code may undo a
    mask before it (decrypt); a mask after it is one.
    """
    if earlier is COPY:
        return step
    if step is COPY:
        return earlier
    masked = step.masked or (earlier.masked and step.subtype != OPAQUE)
    if not step.direct:
        return FlowStep(direct=False, subtype=step.subtype, masked=masked)
    if not earlier.direct:
        return FlowStep(direct=False, subtype=earlier.subtype, masked=masked)
    subtype = max(step.subtype, earlier.subtype, key=_STRENGTH.__getitem__)
    return FlowStep(direct=True, subtype=subtype, masked=masked)


def through(step: FlowStep, flow: Flow) -> Flow:
    """A flow after one more step; its parts too."""
    if step is COPY or not flow:
        return flow
    changed_flow = {source: frozenset([after(step, earlier) for earlier in steps]) for source, steps in flow.items()}
    if isinstance(flow, StructureFlow):
        return StructureFlow(changed_flow, [through(step, field) for field in flow.fields])
    return ArrayFlow(changed_flow, through(step, flow.element)) if isinstance(flow, ArrayFlow) else changed_flow


def united(flows: Iterable[Flow]) -> Flow:
    """All sources of several flows. The parts of several flows are lost."""
    distinct = [flow for flow in flows if flow]
    if len(distinct) < 2:  # noqa: PLR2004 - nothing to unite
        return distinct[0] if distinct else NOTHING
    union = dict(distinct[0])
    for flow in distinct[1:]:
        for source, steps in flow.items():
            union[source] = union[source] | steps if source in union else steps
    return union


def joined(flows: Iterable[Flow]) -> Flow:
    """All sources of several values of one type, of which a column has one or the other, with their parts."""
    values = [flow for flow in flows if flow]
    if len(values) < 2:  # noqa: PLR2004 - nothing to join
        return values[0] if values else NOTHING
    union = united(values)
    structures = [flow for flow in values if isinstance(flow, StructureFlow)]
    if any(isinstance(flow, ArrayFlow) for flow in values):
        return ArrayFlow(union, joined(flow.element if isinstance(flow, ArrayFlow) else flow for flow in values))
    if len({len(flow.fields) for flow in structures}) != 1:
        return union
    fields = [
        joined(flow.fields[place] if isinstance(flow, StructureFlow) else flow for flow in values)
        for place in range(len(structures[0].fields))
    ]
    return StructureFlow(union, fields)


def decided(flow: Flow, condition: Flow) -> Flow:
    """A flow of which each part is decided by another flow, whose steps are those of conditions."""
    if not condition:
        return flow
    union = united((flow, condition))
    if isinstance(flow, StructureFlow):
        return StructureFlow(union, [decided(field, condition) for field in flow.fields])
    return ArrayFlow(union, decided(flow.element, condition)) if isinstance(flow, ArrayFlow) else union
