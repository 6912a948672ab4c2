"""Helpers for tests of jobs on scanned data sets."""

from collections.abc import Iterator, Sequence

from shared.storage.memory import MemoryStorage
from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source
from tests.support.publish_world import fold
from tests.support.scanned import NAMES, WORKSPACE, Scanned


def _named(each: Scanned, **facets: object) -> Json:
    if each.symlink:
        namespace, name = each.symlink
        facets["symlinks"] = {"identifiers": [{"namespace": namespace, "name": name, "type": "TABLE"}]}
    return dataset(each.name, each.namespace, **facets)


def jobs(data: Sequence[Scanned]) -> Iterator[tuple[Scanned, Scanned, bytes]]:
    """Return a job from each data set of the first half to its counterpart in the second half, and the reverse."""
    half = len(data) // 2
    for index, read in enumerate(data):
        written = data[(index + half) % len(data)]
        columns = lineage({"x": [source(read.name, "x", IDENTITY, namespace=read.namespace)]})
        yield (
            read,
            written,
            packed(
                body(
                    run=f"run {index}",
                    application=f"application {index}",
                    app_name=f"{WORKSPACE}.job{index}",
                    inputs=[_named(read)],
                    outputs=[_named(written, columnLineage=columns)],
                )
            ),
        )


def settle_all(storage: MemoryStorage, bodies: Sequence[bytes]) -> None:
    fold(storage, *bodies, names=NAMES)
