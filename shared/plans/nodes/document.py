"""The document of a plan, format 1, as throughline-plan.jar writes it (spark_listener/).

`plans` holds each logical plan once, as an object of its class `k` and its fields; where a plan is a field's value,
`{"ref": index}` stands. Expressions nest. `x` is an expression id: a number and the index of its JVM in `jvm`.
"""

import base64
import zlib
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

import msgspec

from shared.errors import Refused
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


def unpack(facet: PlanFacet) -> Document:
    """The document in a facet that has one. Raises UnreadablePlan."""
    if facet.format != FORMAT:
        raise UnreadablePlan(f"the plan has format {facet.format}, and this version reads {FORMAT}")
    try:
        compressed = base64.b64decode(facet.plan or "", validate=True)
        unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = unzip.decompress(compressed, MAX_BYTES)
        if unzip.unconsumed_tail:
            raise UnreadablePlan(f"the plan is larger than {MAX_BYTES:,} bytes")
        return _decode(text)
    except (ValueError, zlib.error, msgspec.DecodeError) as error:  # base64 and UTF-8 raise ValueErrors
        raise UnreadablePlan(f"the plan is damaged: {error}") from error
    except RecursionError as error:
        raise UnreadablePlan("an expression of the plan is nested too deeply") from error


def kind(node: object) -> str:
    """The class of a node; empty for what is none."""
    return str(node.get("k", "")) if isinstance(node, dict) else ""


Id = tuple[int, ...]
"""An expression id: a number and the index of its JVM."""


def id_of(node: Node) -> Id | None:
    """The id of a named expression; of a common expression (Spark 4) one number, as no column's."""
    named, common = node.get("x"), node.get("id")
    if isinstance(named, list):
        return tuple(named)
    return (int(common.get("id", -1)),) if isinstance(common, dict) else None


def ref(value: object) -> int | None:
    """The index to which a value refers."""
    index = value.get("ref") if isinstance(value, dict) else None
    return index if isinstance(index, int) else None


def nodes(value: object) -> Iterator[Node]:
    """The nodes in a field's value: itself, or those in lists."""
    if isinstance(value, dict):
        if "k" in value:
            yield value
    elif isinstance(value, list | tuple):
        for element in value:
            yield from nodes(element)


def children(plan: Node) -> tuple[int, ...]:
    """The plans to which a plan's own fields refer; those inside its expressions are subqueries.

    By the names of the fields, so that the order of an object's fields has no meaning: `left` is before `right`,
    `anchor` before `recursion`, and `cteDefs` before the `plan` that refers to them.
    """
    references = [
        (name, index)
        for name, value in plan.items()
        for element in (value if isinstance(value, list) else (value,))
        if isinstance(element, dict) and (index := ref(element)) is not None
    ]
    if len(references) > 1:
        references.sort(key=_field)
    return tuple([index for _, index in references])


_field = itemgetter(0)
