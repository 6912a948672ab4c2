"""Helpers for tests of jobs on scanned data sets."""

from collections.abc import Iterator, Sequence

from shared.storage.memory import MemoryStorage
from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source
from tests.support.publish_world import fold
from tests.support.scanned import NAMES, WORKSPACE, Scanned


def _named(scanned_asset: Scanned, **facets: object) -> Json:
    if scanned_asset.symlink:
        namespace, name = scanned_asset.symlink
        facets["symlinks"] = {"identifiers": [{"namespace": namespace, "name": name, "type": "TABLE"}]}
    return dataset(scanned_asset.name, scanned_asset.namespace, **facets)


def jobs(data: Sequence[Scanned]) -> Iterator[tuple[Scanned, Scanned, bytes]]:
    """Return a job from each data set of the first half to its counterpart in the second half, and the reverse."""
    half = len(data) // 2
    for index, input_asset in enumerate(data):
        output_asset = data[(index + half) % len(data)]
        columns = lineage({"x": [source(input_asset.name, "x", IDENTITY, namespace=input_asset.namespace)]})
        yield (
            input_asset,
            output_asset,
            packed(
                body(
                    run=f"run {index}",
                    application=f"application {index}",
                    app_name=f"{WORKSPACE}.job{index}",
                    inputs=[_named(input_asset)],
                    outputs=[_named(output_asset, columnLineage=columns)],
                )
            ),
        )


def deliver_all(storage: MemoryStorage, bodies: Sequence[bytes]) -> None:
    fold(storage, *bodies, names=NAMES)
