"""One schema for each asset."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from shared.model import NOTHING_DECLARED, AssetSchema, Contribution, Process
from shared.translation.job.declared import joined_declarations


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
