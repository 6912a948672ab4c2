"""The data sets of one run as assets (by identity, by folder, by table name), with their schemas."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

import msgspec
from msgspec.structs import replace

from shared.model import NOTHING_DECLARED, Asset, AssetSchema
from shared.naming.canonical import canonical, is_noise
from shared.naming.matching import underivable_names
from shared.naming.names import Names
from shared.naming.stores.families import Identity, RunEnvironment
from shared.naming.stores.services import split_names
from shared.openlineage.run import MergedDataset, MergedRun
from shared.openlineage.wire import STREAMING
from shared.secrets import without_secrets
from shared.translation.application.context import RunContext
from shared.translation.process.origin import declared_as
from shared.translation.process.union import after, by_asset


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a run's data sets are named: the rules, and the run's environment."""

    names: Names
    environment: RunEnvironment

    @classmethod
    def of(cls, context: RunContext) -> "Place":
        """The place of a run: the rules of names and the environment of its context."""
        return cls(names=context.names, environment=context.facts.environment)

    def identity(self, namespace: str, name: str) -> Identity:
        """The canonical identity of a namespace and name."""
        return canonical(namespace, name, self.environment)

    def asset(self, dataset: MergedDataset) -> Asset:
        """The asset of a data set, with the events' spelling without secrets."""
        length = len(dataset.namespace) + len(dataset.name)
        for namespace, name in dataset.symlinks:
            length += len(namespace) + len(name)
        named = _remembered if length <= _SHORT else _named
        return named(self, dataset.namespace, dataset.name, dataset.symlinks)


_REMEMBERED = 16_384
_SHORT = 2_000
"""Characters. Longer names are not cached: senders must not decide how much memory is used."""


def _named(place: Place, namespace: str, name: str, symlinks: tuple[tuple[str, str], ...]) -> Asset:
    naming = place.names.name(place.identity(namespace, name), symlinks, place.environment)
    best = naming.best
    namespace, name = without_secrets(namespace, name)
    tables = tuple(sorted({table_name(table) for _, table in symlinks}))
    other_keys = (other.key for other in naming.others)
    return Asset(
        type=best.type,
        qualified_name=best.qualified_name,
        namespace=namespace,
        name=name,
        tables=tables,
        also=underivable_names(best.key, other_keys),
    )


_remembered = lru_cache(maxsize=_REMEMBERED)(_named)


_SESSION_CATALOG = "spark_catalog."


def table_name(name: str) -> str:
    """A table's name for comparison: in lower case, without the session catalog."""
    return name.lower().removeprefix(_SESSION_CATALOG)


Spelled = Sequence[tuple[Identity, MergedDataset]]
"""Data sets as a run spells them, with their identities."""


class Datasets(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The data sets that a run names: `inputs` and `outputs` by canonical identity, without noise."""

    place: Place
    inputs: dict[Identity, Asset]
    outputs: dict[Identity, Asset]
    read: Spelled
    written: Spelled
    """All inputs and outputs, noise included, as the run spells them."""
    linked: dict[Identity, Asset]
    """By the symlinks of the run's data sets: table names."""

    @classmethod
    def of(cls, run: MergedRun, context: RunContext) -> "Datasets":
        """From a run and its context."""
        place = Place.of(context)
        spelled_inputs = [(place.identity(dataset.namespace, dataset.name), dataset) for dataset in run.inputs]
        spelled_outputs = [(place.identity(dataset.namespace, dataset.name), dataset) for dataset in run.outputs]
        inputs, outputs = _assets(_sources(run, spelled_inputs, place), place), _assets(spelled_outputs, place)
        linked: dict[Identity, Asset] = {}
        for spelled, assets in ((spelled_inputs, inputs), (spelled_outputs, outputs)):
            for identity, dataset in spelled:
                if dataset.symlinks and (linked_asset := assets.get(identity)):
                    for symlink in dataset.symlinks:
                        linked[place.identity(*symlink)] = linked_asset
        if linked:
            inputs = {identity: linked.get(identity, asset) for identity, asset in inputs.items()}
        return cls(
            place=place, inputs=inputs, outputs=outputs, read=spelled_inputs, written=spelled_outputs, linked=linked
        )

    @cached_property
    def _folders(self) -> dict[tuple[str, str], Asset]:
        """The inputs by namespace and name without a trailing slash; a store's root has an empty name."""
        return {(identity.namespace, identity.name.rstrip("/")): asset for identity, asset in self.inputs.items()}

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        """The distinct lengths of the folders' names, longest first."""
        return tuple(sorted({len(name) for _, name in self._folders}, reverse=True))

    def resolve(self, namespace: str, name: str) -> Asset | None:
        """The asset of a data set in column lineage: one of the run's own, else the nearest input folder above it (a
        glob's inputs are folders, but its columns name files), else a new one; None for noise.
        """
        identity = self.place.identity(namespace, name)
        if is_noise(identity):
            return None
        asset = self.inputs.get(identity) or self.outputs.get(identity) or self.linked.get(identity)
        return asset or self._folder(identity) or self.place.asset(MergedDataset(namespace=namespace, name=name))

    def _folder(self, identity: Identity) -> Asset | None:
        for length in self._lengths:
            if length == 0 or identity.name[length : length + 1] == "/":
                asset = self._folders.get((identity.namespace, identity.name[:length]))
                if asset:
                    return asset
        return None


_DATA_FILE = re.compile(r"/[^/]+\.(?:json|jsonl|ndjson|csv|tsv|txt|text|xml|parquet|orc|avro|gz|bz2|zst|snappy|lz4)$")


def _sources(run: MergedRun, spelled_inputs: Spelled, place: Place) -> Spelled:
    """The inputs with lists of topics split. A stream's files become their folder, even if a batch read one file."""
    streaming = run.processing_type.upper() == STREAMING
    sources: list[tuple[Identity, MergedDataset]] = []
    for spelled in spelled_inputs:
        _, dataset = spelled
        names: Iterable[str] = ()
        if "," in dataset.name:
            names = [name for _, name in split_names(*dataset.key)]
        elif streaming and (file := _DATA_FILE.search(dataset.name)):
            names = (dataset.name[: file.start()],)
        else:
            sources.append(spelled)
        sources += [(place.identity(dataset.namespace, name), replace(dataset, name=name)) for name in names]
    return sources


def _assets(datasets: Spelled, place: Place) -> dict[Identity, Asset]:
    by_identity: dict[Identity, MergedDataset] = {}
    for identity, dataset in datasets:
        if identity not in by_identity:
            by_identity[identity] = dataset
        elif dataset.symlinks:
            symlinks = dict.fromkeys((*by_identity[identity].symlinks, *dataset.symlinks))
            by_identity[identity] = replace(by_identity[identity], symlinks=tuple(symlinks))
    return {identity: place.asset(dataset) for identity, dataset in by_identity.items() if not is_noise(identity)}


SeenSchema = tuple[str, bool, tuple[tuple[str, str], ...]]
"""An asset's qualified name, whether the run wrote it, and its columns with their types."""


def schemas_in(datasets: Datasets) -> tuple[SeenSchema, ...]:
    """The schemas of all data sets of a run but noise; of one that is read and written the written one."""
    schemas = {
        asset.qualified_name: (asset.qualified_name, is_written, dataset.schema)
        for asset, dataset, is_written in _datasets_to_report(datasets)
        if dataset.schema
    }
    return tuple(schemas[name] for name in sorted(schemas))


def seen_schemas(datasets: Datasets, names: Collection[str]) -> tuple[AssetSchema, ...]:
    """The schemas of a run's data sets with these qualified names, and what is declared of them; of one that is read
    and written the written one.
    """
    schemas = (
        AssetSchema(
            qualified_name=asset.qualified_name,
            columns=dataset.schema,
            declared=declared_as(dataset.owners, dataset.description, dataset.tags, dataset.levels),
        )
        for asset, dataset, _ in _datasets_to_report(datasets)
        if asset.qualified_name in names
    )
    return by_asset((schema for schema in schemas if schema.columns or schema.declared is not NOTHING_DECLARED), after)


def _datasets_to_report(datasets: Datasets) -> Iterator[tuple[Asset, MergedDataset, bool]]:
    """The data sets of a run but noise, and whether each is written: first all that are read."""
    sides = ((datasets.read, datasets.inputs, False), (datasets.written, datasets.outputs, True))
    for spelled, assets, is_written in sides:
        for identity, dataset in spelled:
            if asset := assets.get(identity):
                yield asset, dataset, is_written
