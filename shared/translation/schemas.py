"""The columns that a run saw its data sets have, by the assets that they are. Pure."""

import msgspec

from shared.model import Asset
from shared.openlineage import MergedRun
from shared.translation.application import Around
from shared.translation.datasets import Datasets


class SeenSchema(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The columns of a data set, each with its type, as a run saw them; `written` when the run wrote it."""

    asset: Asset
    columns: tuple[tuple[str, str], ...]
    written: bool


def schemas_in(run: MergedRun, around: Around) -> tuple[SeenSchema, ...]:
    """The schemas that a run tells, without those of noise; of a data set that is read and written the written one."""
    datasets = Datasets.of(run, around)
    found: dict[str, SeenSchema] = {}
    for named, assets, written in ((run.inputs, datasets.inputs, False), (run.outputs, datasets.outputs, True)):
        for dataset in named:
            asset = assets.get(datasets.place.identity(*dataset.key))
            if asset and dataset.schema:
                found[asset.qualified_name] = SeenSchema(asset=asset, columns=dataset.schema, written=written)
    return tuple(found[name] for name in sorted(found))
