"""The schemas of a run's data sets, by asset."""

from collections.abc import Collection

import msgspec

from shared.model import Asset, AssetSchema
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
