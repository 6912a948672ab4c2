"""What only the statement tells: tables that no facet names, where the job's SQL does. Pure.

The listener leaves out the target of an UPDATE or DELETE on a path, of 4.1's REPLACE TABLE AS, and the table of a scalar
subquery. A statement is read only when it names a table that the run's events do not, and what it gives is marked as
parsed. It is believed only where it writes what the run writes: the facet often holds another statement of the session,
the one that a cached relation came from. A name becomes a location only where that is certain: it is a path, or the name
of one of the run's own tables.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.model import Asset, Column, ColumnEdge, EdgeKind
from shared.naming import canonical, is_noise
from shared.openlineage import MergedDataset, MergedRun, Operation
from shared.translation.datasets import Datasets, asset_of
from shared.translation.statement import TableRef, read_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The `target` that no event names, with its `asset`; further `inputs`; and column pairs, where they are certain:
    source, its column, the output column, and the kind.
    """

    target: MergedDataset | None = None
    asset: Asset | None = None
    inputs: tuple[Asset, ...] = ()
    columns: tuple[tuple[Asset, str, str, EdgeKind], ...] = ()

    def edges(self, target: Asset) -> tuple[ColumnEdge, ...]:
        """The column pairs as edges into `target`."""
        return tuple(
            sorted(
                ColumnEdge(
                    input=Column(qualified_name=source.qualified_name, column=column),
                    output=Column(qualified_name=target.qualified_name, column=output),
                    kind=kind,
                    parsed=True,
                )
                for source, column, output, kind in self.columns
            )
        )


NOTHING = Recovered()


def recover(run: MergedRun, datasets: Datasets, operation: Operation) -> Recovered:
    """What the run's statement tells beyond its events; NOTHING for most."""
    if not run.statement or not _names_others(run):
        return NOTHING
    statement = read_statement(run.statement)
    if statement is None:
        return NOTHING
    places = _Places.of(run)
    written = places.dataset(statement.target) if statement.target else None
    if written is None:
        return NOTHING
    target = None
    if canonical(*written.key) not in datasets.outputs:
        if datasets.outputs or statement.kind != operation.name:
            return NOTHING
        target = written
    asset = _asset(target) if target else None
    assets = {ref: found for ref in statement.sources if (found := _found(ref, places, datasets))}
    return Recovered(
        target=target if asset else None,
        asset=asset,
        inputs=tuple(sorted(set(assets.values()))),
        columns=tuple(
            (assets[pair.source], pair.column, pair.output, pair.kind)
            for pair in statement.columns
            if pair.source in assets
        ),
    )


_MENTIONED = re.compile(
    r"\b(?:from|join|using|into|update|table|overwrite|directory)\s+(?:(?:table|directory|only)\s+)?"
    r"((?:`[^`]+`|[\w$]+)(?:\s*\.\s*(?:`[^`]+`|[\w$]+))*)",
    re.IGNORECASE,
)
"""Where a statement may name a table. A name too many costs a look at the statement, nothing else."""


def _names_others(run: MergedRun) -> bool:
    """Whether the statement seems to name a table that no event of the run does."""
    known = {_last(name) for dataset in (*run.inputs, *run.outputs) for name in _names(dataset)}
    return any(_last(found[1].replace("`", "")) not in known for found in _MENTIONED.finditer(run.statement))


def _names(dataset: MergedDataset) -> Iterator[str]:
    yield dataset.name
    yield from (name for _, name in dataset.symlinks)


_SEPARATOR = re.compile(r"[./]")


def _last(name: str) -> str:
    """What a table or a folder is called itself, in lower case."""
    return _SEPARATOR.split(name.rstrip("/"))[-1].strip().lower()


def _found(ref: TableRef, places: "_Places", datasets: Datasets) -> Asset | None:
    dataset = places.dataset(ref)
    if dataset is None:
        return None
    own = datasets.resolve(*dataset.key)
    return own or _asset(dataset)


def _asset(dataset: MergedDataset) -> Asset | None:
    identity = canonical(*dataset.key)
    return None if is_noise(identity) else asset_of(*dataset.key, identity, dataset.symlinks)


_DEFAULT = "default"
_SESSION_CATALOG = "spark_catalog"
_LOCATION = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where the run's tables lie, by name (`database.table`, lower case)."""

    tables: dict[str, MergedDataset]
    paths: tuple[str, ...]
    """The namespaces of the run's own paths."""

    @classmethod
    def of(cls, run: MergedRun) -> "_Places":
        datasets = (*run.outputs, *run.inputs)
        tables = {name.lower(): dataset for dataset in reversed(datasets) for _, name in dataset.symlinks}
        return cls(tables=tables, paths=tuple(sorted({dataset.namespace for dataset in datasets})))

    def dataset(self, ref: TableRef) -> MergedDataset | None:
        """The data set that a statement names so; None where it is not certain which."""
        if ref.path:
            return self._at(ref.path)
        parts = ref.parts[1:] if ref.parts[0].lower() == _SESSION_CATALOG and len(ref.parts) > 1 else ref.parts
        if len(parts) == 1:
            parts = (_DEFAULT, *parts)
        name = ".".join(parts).lower()
        return self.tables.get(name) or self.tables.get(f"{_SESSION_CATALOG}.{name}")

    def _at(self, path: str) -> MergedDataset | None:
        found = _LOCATION.fullmatch(path)
        if found:
            authority = found["authority"]
            namespace = f"{found['scheme']}://{authority}" if authority else found["scheme"]
            return MergedDataset(namespace=namespace, name=found["path"])
        spaces = [space for space in self.paths if space in {"file", "dbfs"}] or ["file"]
        return MergedDataset(namespace=spaces[0], name=path) if path.startswith("/") else None
