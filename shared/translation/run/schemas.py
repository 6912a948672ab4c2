"""The schemas of a run's data sets, by asset."""

from collections.abc import Collection

import msgspec

from shared.model import NOTHING_DECLARED, Asset, AssetSchema
from shared.translation.job.declared import declared_as
from shared.translation.process.schemas import after
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
    """The schemas of a run's data sets with these qualified names, and what is declared of them; of one that is read
    and written the written one.
    """
    found: dict[str, AssetSchema] = {}
    for spelled, assets in ((datasets.read, datasets.inputs), (datasets.written, datasets.outputs)):
        for identity, dataset in spelled:
            declared = declared_as(dataset.owners, dataset.description, dataset.tags)
            asset = assets.get(identity) if dataset.schema or declared is not NOTHING_DECLARED else None
            if asset and asset.qualified_name in names:
                seen = AssetSchema(qualified_name=asset.qualified_name, columns=dataset.schema, declared=declared)
                known = found.get(asset.qualified_name)
                found[asset.qualified_name] = after(seen, known) if known else seen
    return tuple([found[name] for name in sorted(found)])
