"""One schema for each asset."""

from collections.abc import Iterable, Mapping

import msgspec

from shared.model import AssetSchema, Contribution, Process


def renamed(schemas: Iterable[AssetSchema], names: Mapping[str, str]) -> tuple[AssetSchema, ...]:
    """The schemas with assets renamed (old to new qualified name)."""
    return one_each(
        msgspec.structs.replace(each, qualified_name=names[each.qualified_name])
        if each.qualified_name in names
        else each
        for each in schemas
    )


def one_each(schemas: Iterable[AssetSchema]) -> tuple[AssetSchema, ...]:
    """One schema for each asset if their age is unknown: the widest."""
    found: dict[str, AssetSchema] = {}
    for each in schemas:
        known = found.get(each.qualified_name)
        found[each.qualified_name] = each if known is None else max(known, each, key=_width)
    return tuple(found[name] for name in sorted(found))


def _width(schema: AssetSchema) -> tuple[int, tuple[tuple[str, str], ...]]:
    return len(schema.columns), schema.columns


def latest(contributions: Iterable[Contribution]) -> tuple[AssetSchema, ...]:
    """One schema for each asset: the one seen last."""
    found: dict[str, AssetSchema] = {}
    for one in sorted(contributions, key=lambda each: (each.seen.last, each.seen.first, each.content.schemas)):
        found |= {each.qualified_name: each for each in one.content.schemas}
    return tuple(found[name] for name in sorted(found))


def of_those(schemas: Iterable[AssetSchema], process: Process) -> tuple[AssetSchema, ...]:
    """The schemas of the process's inputs and outputs."""
    names = {asset.qualified_name for asset in (*process.inputs, *process.outputs)}
    return tuple(each for each in schemas if each.qualified_name in names)
