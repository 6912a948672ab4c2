"""The document of a plan, format 1, as throughline-plan.jar writes it (spark_listener/).

`plans` holds each logical plan once, as an object of its class `k` and its fields; where a plan is a field's value,
`{"ref": index}` stands. Expressions nest. `x` is an expression id: a number and the index of its JVM in `jvm`.

Values flow from columns of data sets to a column, step by step. The words for it are those of OpenLineage's column
lineage facet 1-2-0, and OPAQUE.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from shared.errors import Refused
from shared.model import OPAQUE
from shared.openlineage.run import DatasetKey
from shared.openlineage.run_facets import PlanFacet

MAX_BYTES = 20 * 1024 * 1024
"""Of an unpacked document: the jar's own limit."""

Node = Mapping[str, Any]
"""A plan, an expression, or another object of a plan: its class `k` and its fields."""

FORMAT = 1


class UnreadablePlan(Refused):
    """A plan that cannot be read: its bytes are damaged, too large or too deep, or of another format."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The plan of an earlier execution, by the columns that it gave."""

    output: tuple[dict[str, Any], ...] = ()
    plan: dict[str, Any] = msgspec.field(default_factory=dict)


class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All plans of one execution; `root` refers to the first."""

    root: dict[str, Any]
    plans: tuple[dict[str, Any], ...]
    frames: tuple[Frame, ...] = ()


_decode = msgspec.json.Decoder(Document).decode


def unpack(facet: PlanFacet) -> bytes:
    """The text of the document in a facet that has one. Raises UnreadablePlan."""
    if facet.format != FORMAT:
        raise UnreadablePlan(f"the plan has format {facet.format}, and this version reads {FORMAT}")
    try:
        compressed = base64.b64decode(facet.plan or "", validate=True)
        unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = unzip.decompress(compressed, MAX_BYTES)
    except (ValueError, zlib.error) as error:  # base64 raises ValueErrors
        raise UnreadablePlan(f"the plan is damaged: {error}") from error
    if unzip.unconsumed_tail:
        raise UnreadablePlan(f"the plan is larger than {MAX_BYTES:,} bytes")
    return text


_ID = re.compile(rb'"x":\[\d+,\d+\]')
_JVMS = re.compile(rb',"jvm":\["[\w",-]*"\]\}\Z')


def renumbered(text: bytes) -> bytes:
    """A document with other expression ids: numbered from the start, without their JVMs. So those of two executions of
    one query are equal. The document of a recursive query, where ids stand in another field too, is returned as it is.
    """
    if b'"outputAttrIds"' in text:
        return text
    ids: dict[bytes, bytes] = {}
    return _ID.sub(lambda match: ids.setdefault(match[0], b'"x":[%d,0]' % len(ids)), _JVMS.sub(b"}", text))


def document_in(text: bytes) -> Document:
    """The document with this text. Raises UnreadablePlan, or RecursionError for an expression that is nested too deeply
    for the decoder.
    """
    try:
        return _decode(text)
    except (ValueError, msgspec.DecodeError) as error:  # UTF-8 raises ValueErrors
        raise UnreadablePlan(f"the plan is damaged: {error}") from error


def kind(node: object) -> str:
    """The class of a node; empty for what is none."""
    return str(node.get("k", "")) if isinstance(node, dict) else ""


Id = tuple[int, ...]
"""An expression id: a number and the index of its JVM."""


def id_of(node: Node) -> Id | None:
    """The id of a named expression; of a common expression (Spark 4) one number, as no column's."""
    named = node.get("x")
    if isinstance(named, list):
        return tuple(named)
    common = node.get("id")
    return (int(common.get("id", -1)),) if isinstance(common, dict) else None


def ref(value: object) -> int | None:
    """The index to which a value refers."""
    index = value.get("ref") if isinstance(value, dict) else None
    return index if isinstance(index, int) else None


def nodes(value: object) -> Sequence[Node]:
    """The nodes in a field's value: itself, or those in lists."""
    if isinstance(value, dict):
        return (value,) if "k" in value else ()
    if isinstance(value, (list, tuple)):
        return [node for element in value for node in nodes(element)]
    return ()


def children(plan: Node) -> tuple[int, ...]:
    """The plans to which a plan's own fields refer; those inside its expressions are subqueries.

    By the names of the fields, so that the order of an object's fields has no meaning: `left` is before `right`,
    `anchor` before `recursion`, and `cteDefs` before the `plan` that refers to them.
    """
    references = [
        (name, index)
        for name, value in plan.items()
        for element in (value if isinstance(value, list) else (value,))
        if isinstance(element, dict) and "ref" in element and (index := ref(element)) is not None
    ]
    if len(references) > 1:
        references.sort(key=_field)
    return tuple([index for _, index in references])


_field = itemgetter(0)


IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL = "JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"
_STRENGTH = {IDENTITY: 0, TRANSFORMATION: 1, AGGREGATION: 2, OPAQUE: 3}


class FlowSource(msgspec.Struct, frozen=True, order=True, gc=False):
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
    if earlier is COPY or earlier is step:
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
