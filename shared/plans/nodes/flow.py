"""How values flow: from columns of data sets to a column, step by step.

The words are those of OpenLineage's column lineage facet 1-2-0.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shared.openlineage.run import DatasetKey

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL = "JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"
_STRENGTH = {IDENTITY: 0, TRANSFORMATION: 1, AGGREGATION: 2}


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
DECIDES = FlowStep(direct=False, subtype=CONDITIONAL)
IN_WINDOW = FlowStep(direct=False, subtype=WINDOW)


def decides(subtype: str) -> FlowStep:
    """A step of a condition: JOIN, FILTER, GROUP_BY or SORT."""
    return FlowStep(direct=False, subtype=subtype)


Flow = Mapping[FlowSource, frozenset[FlowStep]]
"""All sources of a column, or of all rows, with their steps."""

NOTHING: Flow = MappingProxyType({})


class StructureFlow(dict[FlowSource, frozenset[FlowStep]]):
    """The flow of a structure that the plan makes, with the flow of each of its fields."""

    def __init__(self, whole: Flow, fields: Sequence[Flow]) -> None:
        super().__init__(whole)
        self.fields = tuple(fields)


def after(step: FlowStep, before: FlowStep) -> FlowStep:
    """Two steps as one: `before`, then `step`."""
    if before is COPY:
        return step
    if step is COPY:
        return before
    masked = step.masked or before.masked
    if not step.direct:
        return FlowStep(direct=False, subtype=step.subtype, masked=masked)
    if not before.direct:
        return FlowStep(direct=False, subtype=before.subtype, masked=masked)
    subtype = max(step.subtype, before.subtype, key=_STRENGTH.__getitem__)
    return FlowStep(direct=True, subtype=subtype, masked=masked)


def through(step: FlowStep, flow: Flow) -> Flow:
    """A flow after one more step."""
    if step is COPY or not flow:
        return flow
    return {source: frozenset([after(step, each) for each in steps]) for source, steps in flow.items()}


def united(flows: Iterable[Flow]) -> Flow:
    """All sources of several flows."""
    distinct = [flow for flow in flows if flow]
    if len(distinct) < 2:  # noqa: PLR2004 - nothing to unite
        return distinct[0] if distinct else NOTHING
    found = dict(distinct[0])
    for flow in distinct[1:]:
        for source, steps in flow.items():
            found[source] = found[source] | steps if source in found else steps
    return found
