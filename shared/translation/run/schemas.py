"""The schemas of a run's data sets, by asset."""

from collections.abc import Collection, Iterator

from shared.model import NOTHING_DECLARED, Asset, AssetSchema
from shared.openlineage.run import MergedDataset
from shared.translation.job.declared import declared_as
from shared.translation.process.schemas import after, by_asset
from shared.translation.run.datasets import Datasets

SeenSchema = tuple[str, bool, tuple[tuple[str, str], ...]]
"""An asset's qualified name, whether the run wrote it, and its columns with their types."""


def schemas_in(datasets: Datasets) -> tuple[SeenSchema, ...]:
    """The schemas of all data sets of a run but noise; of one that is read and written the written one."""
    found = {
        asset.qualified_name: (asset.qualified_name, written, dataset.schema)
        for asset, dataset, written in _named(datasets)
        if dataset.schema
    }
    return tuple(found[name] for name in sorted(found))


def seen_schemas(datasets: Datasets, names: Collection[str]) -> tuple[AssetSchema, ...]:
    """The schemas of a run's data sets with these qualified names, and what is declared of them; of one that is read
    and written the written one.
    """
    seen = (
        AssetSchema(
            qualified_name=asset.qualified_name,
            columns=dataset.schema,
            declared=declared_as(dataset.owners, dataset.description, dataset.tags),
        )
        for asset, dataset, _ in _named(datasets)
        if asset.qualified_name in names
    )
    return by_asset((each for each in seen if each.columns or each.declared is not NOTHING_DECLARED), after)


def _named(datasets: Datasets) -> Iterator[tuple[Asset, MergedDataset, bool]]:
    """The data sets of a run but noise, and whether each is written: first all that are read."""
    both = ((datasets.read, datasets.inputs, False), (datasets.written, datasets.outputs, True))
    for spelled, assets, written in both:
        for identity, dataset in spelled:
            if asset := assets.get(identity):
                yield asset, dataset, written
