"""The schemas of a run's data sets, by asset."""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from shared.model import Asset, AssetSchema, Contribution, Process
from shared.translation.run.datasets import Datasets


class SeenSchema(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A data set's columns and types in a run; `written` if the run wrote it."""

    asset: Asset
    columns: tuple[tuple[str, str], ...]
    written: bool


def schemas_in(datasets: Datasets) -> tuple[SeenSchema, ...]:
    """The schemas of all data sets of a run but noise; of one that is read and written the written one."""
    found: dict[str, SeenSchema] = {}
    both = ((datasets.read, datasets.inputs, False), (datasets.written, datasets.outputs, True))
    for spelled, assets, written in both:
        for identity, dataset in spelled:
            asset = assets.get(identity) if dataset.schema else None
            if asset:
                found[asset.qualified_name] = SeenSchema(asset=asset, columns=dataset.schema, written=written)
    return tuple(found[name] for name in sorted(found))


def seen_schemas(datasets: Datasets, names: Collection[str]) -> tuple[AssetSchema, ...]:
    """The schemas of a run's data sets with these qualified names; of one that is read and written the written one."""
    found: dict[str, AssetSchema] = {}
    for spelled, assets in ((datasets.read, datasets.inputs), (datasets.written, datasets.outputs)):
        for identity, dataset in spelled:
            asset = assets.get(identity) if dataset.schema else None
            if asset and asset.qualified_name in names:
                found[asset.qualified_name] = AssetSchema(qualified_name=asset.qualified_name, columns=dataset.schema)
    return tuple([found[name] for name in sorted(found)])


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
