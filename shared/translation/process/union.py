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
        unresolved_tables=tuple(sorted({table for content in contents for table in content.unresolved_tables})),
        schemas=one_each(schema for content in contents for schema in content.schemas),
        origin=joined(content.origin for content in contents),
        exact=all(content.exact for content in contents),
    )


def assets(named: Iterable[Asset]) -> tuple[Asset, ...]:
    """Each asset once, sorted; of several spellings the first."""
    by_key: dict[tuple[str, str], Asset] = {}
    for asset in named:
        key = (asset.qualified_name, asset.type)
        first = by_key.get(key)
        if first is None:
            by_key[key] = asset
        elif first != asset:
            by_key[key] = replace(
                min(first, asset),
                tables=tuple(sorted({*first.tables, *asset.tables})),
                also=tuple(sorted({*first.also, *asset.also})),
            )
    return tuple(sorted(by_key.values()))


def sources(process: Process) -> tuple[Asset, ...]:
    """All inputs of the process, those of enclosing batches included."""
    return assets((*process.inputs, *process.batch_inputs)) if process.batch_inputs else process.inputs


def _batch_inputs(contents: Iterable[Process]) -> tuple[Asset, ...]:
    """The inputs of the batches that enclose these writes. Concurrent streams enclose each other's writes by chance, so
    inputs common to all count; if there are none, all inputs.
    """
    batches = [content.batch_inputs for content in contents if content.batch_inputs]
    names = [{asset.qualified_name for asset in batch} for batch in batches]
    common = set.intersection(*names) if names else set()
    return assets(asset for batch in batches for asset in batch if not common or asset.qualified_name in common)


def union_edges(edges: Iterable[ColumnEdge]) -> tuple[ColumnEdge, ...]:
    """The edges sorted, one for each pair of columns and kind: masked if all are, with all their steps, and the first
    MAX_EXPRESSIONS of their expressions. Reported edges go before parsed ones. An exact edge goes before an opaque one,
    but a mask does not: beside it the plain value may arrive.
    """
    united: list[ColumnEdge] = []
    for edge in sorted(edges):  # equal input, output and kind are adjacent
        previous = united[-1] if united else None
        if (
            previous is None
            or edge.output != previous.output
            or edge.input != previous.input
            or edge.kind != previous.kind
        ):
            united.append(edge)
        elif previous.parsed != edge.parsed:
            united[-1] = edge if previous.parsed else previous
        elif previous != edge:
            united[-1] = _both(previous, edge)
    return tuple(united)


def _both(edge: ColumnEdge, other: ColumnEdge) -> ColumnEdge:
    steps = {*edge.how, *other.how}
    if OPAQUE in steps and OPAQUE not in max(edge, other, key=_says).how:
        steps.remove(OPAQUE)
    expressions = edge.expressions
    if other.expressions and other.expressions != expressions:
        expressions = tuple(sorted({*expressions, *other.expressions}))[:MAX_EXPRESSIONS]
    return replace(
        edge,
        masked=edge.masked and other.masked,
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
        msgspec.structs.replace(schema, qualified_name=names[schema.qualified_name])
        if schema.qualified_name in names
        else schema
        for schema in schemas
    )


def one_each(schemas: Iterable[AssetSchema]) -> tuple[AssetSchema, ...]:
    """One schema for each asset, by qualified name. As it is unknown which schema is newer, it is the one with the most
    columns, with the declarations of all.
    """
    return by_asset(schemas, _joined)


def by_asset(
    schemas: Iterable[AssetSchema], join: Callable[[AssetSchema, AssetSchema], AssetSchema]
) -> tuple[AssetSchema, ...]:
    """One schema for each asset, by qualified name; `join` makes one of a schema and an earlier one."""
    by_name: dict[str, AssetSchema] = {}
    for schema in schemas:
        earlier = by_name.get(schema.qualified_name)
        by_name[schema.qualified_name] = join(schema, earlier) if earlier else schema
    return tuple([by_name[name] for name in sorted(by_name)])


def _joined(schema: AssetSchema, other: AssetSchema) -> AssetSchema:
    wider = max(schema, other, key=_width)
    if schema.declared == other.declared:
        return wider
    return msgspec.structs.replace(wider, declared=joined_declarations((schema.declared, other.declared)))


def after(schema: AssetSchema, earlier: AssetSchema) -> AssetSchema:
    """A schema that was seen later than another one of its asset: it has what it says nothing of from that."""
    if schema.columns and earlier.declared == NOTHING_DECLARED:
        return schema
    declared = schema.declared | earlier.declared
    return msgspec.structs.replace(schema, columns=schema.columns or earlier.columns, declared=declared)


def _width(schema: AssetSchema) -> tuple[int, tuple[tuple[str, str], ...]]:
    return len(schema.columns), schema.columns


def latest(contributions: Iterable[Contribution]) -> tuple[AssetSchema, ...]:
    """One schema for each asset: the one seen last."""
    ordered = sorted(
        contributions,
        key=lambda contribution: (contribution.seen.last, contribution.seen.first, contribution.content.schemas),
    )
    return by_asset((schema for contribution in ordered for schema in contribution.content.schemas), after)


def of_those(schemas: Iterable[AssetSchema], process: Process) -> tuple[AssetSchema, ...]:
    """The schemas of the process's inputs and outputs."""
    names = {asset.qualified_name for asset in (*process.inputs, *process.outputs)}
    return tuple(schema for schema in schemas if schema.qualified_name in names)
