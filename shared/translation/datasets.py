"""The data sets that one run names, as assets: by identity, by the folders they are, and by their tables' names. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.model import Asset
from shared.naming import Identity, canonical, is_noise, name_dataset
from shared.openlineage import MergedDataset, MergedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Datasets:
    """The data sets that a run itself names, by their canonical identity; `outputs` and `inputs` without noise."""

    inputs: dict[Identity, Asset]
    outputs: dict[Identity, Asset]
    folders: dict[tuple[str, str], Asset]
    """The inputs by namespace and name without a slash at its end: a store's root has an empty name."""
    lengths: tuple[int, ...]
    """Of the folders' names, each once, the longest first."""
    linked: dict[Identity, Asset]
    """By the other names that the run's data sets have: a table's in its catalog."""

    @classmethod
    def of(cls, run: MergedRun) -> "Datasets":
        """All that the run names."""
        inputs, outputs = _assets(run.inputs), _assets(run.outputs)
        linked = {
            canonical(*symlink): assets[canonical(*dataset.key)]
            for datasets, assets in ((run.outputs, outputs), (run.inputs, inputs))
            for dataset in datasets
            for symlink in dataset.symlinks
            if canonical(*dataset.key) in assets
        }
        inputs = {identity: linked.get(identity, asset) for identity, asset in inputs.items()}
        folders = {(identity.namespace, identity.name.rstrip("/")): asset for identity, asset in inputs.items()}
        lengths = tuple(sorted({len(name) for _, name in folders}, reverse=True))
        return cls(inputs=inputs, outputs=outputs, folders=folders, lengths=lengths, linked=linked)

    def resolve(self, namespace: str, name: str) -> Asset | None:
        """The asset of a data set that column lineage names: one of the run's own, or the nearest of its inputs that
        holds it (a glob's inputs are folders, while its columns name single files), or a new one; None for noise.
        """
        identity = canonical(namespace, name)
        if is_noise(identity):
            return None
        own = self.inputs.get(identity) or self.outputs.get(identity) or self.linked.get(identity)
        return own or self._folder(identity) or asset_of(namespace, name, identity)

    def _folder(self, identity: Identity) -> Asset | None:
        for length in self.lengths:
            if length == 0 or identity.name[length : length + 1] == "/":
                found = self.folders.get((identity.namespace, identity.name[:length]))
                if found:
                    return found
        return None


def _assets(datasets: Iterable[MergedDataset]) -> dict[Identity, Asset]:
    spellings: dict[Identity, list[MergedDataset]] = {}
    for dataset in datasets:
        identity = canonical(dataset.namespace, dataset.name)
        if not is_noise(identity):
            spellings.setdefault(identity, []).append(dataset)
    return {
        identity: asset_of(
            same[0].namespace, same[0].name, identity, tuple(link for dataset in same for link in dataset.symlinks)
        )
        for identity, same in spellings.items()
    }


def asset_of(namespace: str, name: str, identity: Identity, symlinks: tuple[tuple[str, str], ...] = ()) -> Asset:
    """The asset of a data set, spelled so in the events."""
    best = name_dataset(identity, symlinks).best
    return Asset(type=best.type, qualified_name=best.qualified_name, namespace=namespace, name=name)
