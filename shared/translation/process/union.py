"""The union of contents of one process, and of its parts: one schema for each asset."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from shared.model import NOTHING_DECLARED, OPAQUE, Asset, AssetSchema, ColumnEdge, Contribution, EdgeKind, Process
from shared.translation.process.origin import joined, joined_declarations

ALL_ROWS = ""
"""The output column of an edge that concerns every row."""

MAX_EXPRESSIONS = 4
"""Of an edge: jobs that make a column in different ways."""


def union(contents: Sequence[Process]) -> Process:
    """The union of several contents of one process (at least one, all with the same qualified name)."""
    if len(contents) == 1:
        return contents[0]
    inputs = assets(asset for content in contents for asset in content.inputs)
    reported = {
        asset.qualified_name
        for content in contents
        for asset in content.inputs
        if asset.qualified_name not in content.parsed
    }
    columns = union_edges(edge for content in contents for edge in content.columns)
    reached = {edge.output for edge in columns if edge.kind == EdgeKind.DIRECT}
    return Process(
        qualified_name=contents[0].qualified_name,
        name=min(content.name for content in contents),
        operations=tuple(sorted({operation for content in contents for operation in content.operations})),
        inputs=inputs,
        outputs=assets(asset for content in contents for asset in content.outputs),
        columns=columns,
        end_not_seen=all(content.end_not_seen for content in contents),
        generic_identity=any(content.generic_identity for content in contents),
        sourceless=tuple(sorted({column for content in contents for column in content.sourceless} - reached)),
        parsed=tuple(asset.qualified_name for asset in inputs if asset.qualified_name not in reported),
        batch_inputs=_batch_inputs(contents),
        unresolved_tables=tuple(sorted({each for content in contents for each in content.unresolved_tables})),
        schemas=one_each(each for content in contents for each in content.schemas),
        origin=joined(content.origin for content in contents),
        exact=all(content.exact for content in contents),
    )


def assets(named: Iterable[Asset]) -> tuple[Asset, ...]:
    """Each asset once, sorted; of several spellings the first."""
    known: dict[tuple[str, str], Asset] = {}
    for asset in named:
        key = (asset.qualified_name, asset.type)
        one = known.get(key)
        if one is None:
            known[key] = asset
        elif one != asset:
            known[key] = replace(
                min(one, asset),
                tables=tuple(sorted({*one.tables, *asset.tables})),
                also=tuple(sorted({*one.also, *asset.also})),
            )
    return tuple(sorted(known.values()))


def sources(process: Process) -> tuple[Asset, ...]:
    """All inputs of the process, those of enclosing batches included."""
    return assets((*process.inputs, *process.batch_inputs)) if process.batch_inputs else process.inputs


def _batch_inputs(contents: Iterable[Process]) -> tuple[Asset, ...]:
    """The inputs of the batches that enclose these writes. Concurrent streams enclose each other's writes by chance, so
    inputs common to all count; if there are none, all inputs.
    """
    known = [content.batch_inputs for content in contents if content.batch_inputs]
    names = [{asset.qualified_name for asset in read} for read in known]
    common = set.intersection(*names) if names else set()
    return assets(asset for read in known for asset in read if not common or asset.qualified_name in common)


def union_edges(edges: Iterable[ColumnEdge]) -> tuple[ColumnEdge, ...]:
    """The edges sorted, one for each pair of columns and kind: masked if all are, with all their steps, and the first
    MAX_EXPRESSIONS of their expressions. Reported edges go before parsed ones. An exact edge goes before an opaque one,
    but a mask does not: beside it the plain value may arrive.
    """
    found: list[ColumnEdge] = []
    for edge in sorted(edges):  # equal input, output and kind are adjacent
        one = found[-1] if found else None
        if one is None or edge.output != one.output or edge.input != one.input or edge.kind != one.kind:
            found.append(edge)
        elif one.parsed != edge.parsed:
            found[-1] = edge if one.parsed else one
        elif one != edge:
            found[-1] = _both(one, edge)
    return tuple(found)


def _both(one: ColumnEdge, other: ColumnEdge) -> ColumnEdge:
    steps = {*one.how, *other.how}
    if OPAQUE in steps and OPAQUE not in max(one, other, key=_says).how:
        steps.remove(OPAQUE)
    expressions = one.expressions
    if other.expressions and other.expressions != expressions:
        expressions = tuple(sorted({*expressions, *other.expressions}))[:MAX_EXPRESSIONS]
    return replace(
        one,
        masked=one.masked and other.masked,
        how=tuple(sorted(steps)),
        expressions=expressions,
    )


def _says(edge: ColumnEdge) -> tuple[bool, bool]:
    """How much an edge says of the plain value: of two edges the one that says more decides what both are. It says
    nothing (opaque and masked), that it arrives masked only, that it may arrive (opaque), that it arrives.
    """
    return not edge.masked, OPAQUE not in edge.how


def renamed(schemas: Iterable[AssetSchema], names: Mapping[str, str]) -> tuple[AssetSchema, ...]:
    """The schemas with assets renamed (old to new qualified name)."""
    return one_each(
        msgspec.structs.replace(each, qualified_name=names[each.qualified_name])
        if each.qualified_name in names
        else each
        for each in schemas
    )


def one_each(schemas: Iterable[AssetSchema]) -> tuple[AssetSchema, ...]:
    """One schema for each asset, by qualified name. As it is unknown which schema is newer, it is the one with the most
    columns, with the declarations of all.
    """
    return by_asset(schemas, _joined)


def by_asset(
    schemas: Iterable[AssetSchema], both: Callable[[AssetSchema, AssetSchema], AssetSchema]
) -> tuple[AssetSchema, ...]:
    """One schema for each asset, by qualified name; `both` makes one of a schema and an earlier one."""
    found: dict[str, AssetSchema] = {}
    for each in schemas:
        known = found.get(each.qualified_name)
        found[each.qualified_name] = both(each, known) if known else each
    return tuple([found[name] for name in sorted(found)])


def _joined(one: AssetSchema, other: AssetSchema) -> AssetSchema:
    wider = max(one, other, key=_width)
    if one.declared == other.declared:
        return wider
    return msgspec.structs.replace(wider, declared=joined_declarations((one.declared, other.declared)))


def after(each: AssetSchema, earlier: AssetSchema) -> AssetSchema:
    """A schema that was seen later than another one of its asset: it has what it says nothing of from that."""
    if each.columns and earlier.declared == NOTHING_DECLARED:
        return each
    declared = each.declared | earlier.declared
    return msgspec.structs.replace(each, columns=each.columns or earlier.columns, declared=declared)


def _width(schema: AssetSchema) -> tuple[int, tuple[tuple[str, str], ...]]:
    return len(schema.columns), schema.columns


def latest(contributions: Iterable[Contribution]) -> tuple[AssetSchema, ...]:
    """One schema for each asset: the one seen last."""
    ordered = sorted(contributions, key=lambda each: (each.seen.last, each.seen.first, each.content.schemas))
    return by_asset((schema for each in ordered for schema in each.content.schemas), after)


def of_those(schemas: Iterable[AssetSchema], process: Process) -> tuple[AssetSchema, ...]:
    """The schemas of the process's inputs and outputs."""
    names = {asset.qualified_name for asset in (*process.inputs, *process.outputs)}
    return tuple(each for each in schemas if each.qualified_name in names)
