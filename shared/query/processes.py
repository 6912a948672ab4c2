"""Two sources of lineage: the catalog, as people see it there, and the record, which needs no catalog."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from shared.atlas.entities import PROCESS_TYPE, column_pairs
from shared.catalog.port import Catalog, Node
from shared.errors import ThroughlineError
from shared.model import Asset, EdgeKind, Process
from shared.publishing.context import PublishOptions
from shared.reading.processes import on_found_assets, recorded
from shared.storage.port import Storage
from shared.texts.suggestion import suggestion

_SEARCHED = 50


class UnknownError(ThroughlineError, LookupError):
    """No data set has this name."""


class AmbiguousError(ThroughlineError, LookupError):
    """Several data sets match; the message lists them."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Dataset:
    """A data set by type and qualified name, with its short name."""

    qualified_name: str
    type: str
    name: str

    @property
    def typed_name(self) -> str:
        """Type and qualified name, which no other data set has."""
        return f"{self.type} {self.qualified_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A process with its inputs and outputs. `columns` are pairs of an input and an output column, each with the
    qualified name of its data set.
    """

    name: str
    qualified_name: str
    type: str
    description: str
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]
    columns: tuple[tuple[tuple[str, str], tuple[str, str]], ...]


class Source(Protocol):
    """A source of lineage."""

    def find(self, text: str) -> Dataset:
        """The data set of this name, end of a path, or qualified name. Raises UnknownError and AmbiguousError, and what
        the catalog or the storage raises.
        """

    def around(self, dataset: Dataset, direction: str, depth: int) -> Sequence[Link]:
        """The processes up to `depth` data sets `upstream` or `downstream` of it; there may be more."""


def one_of(found: Iterable[Dataset], text: str, others: Iterable[str] = ()) -> Dataset:
    """The first that fits alone: by type and qualified name, by qualified name, by the end of one, by name, or as the
    only one. An error suggests names among `others`.
    """
    known = sorted(set(found))
    for fits in (
        [each for each in known if each.typed_name == text],
        [each for each in known if each.qualified_name == text],
        [each for each in known if each.qualified_name.rstrip("/").endswith(f"/{text.strip('/')}")],
        [each for each in known if each.name == text],
        known,
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            by_name = len({each.qualified_name for each in fits}) == len(fits)
            texts = [each.qualified_name if by_name else f'"{each.typed_name}"' for each in fits]
            names = "\n".join(f"  {each}" for each in texts)
            raise AmbiguousError(f"{len(fits)} data sets match {text!r}; use one of these names:\n{names}")
    raise UnknownError(f"no data set is called {text!r}.{suggestion(text, others)}")


class InCatalog:
    """Lineage in the catalog. Raises CatalogUnavailable and CatalogRefused."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, text: str) -> Dataset:
        """As the protocol says, by the catalog's search, whose index follows writes after a moment.

        Of data sets with the same qualified name it is the only one with lineage: a placeholder stays under its earlier
        type until `verify --fix` removes it.
        """
        found = {_dataset(node) for node in self._catalog.search(text, limit=_SEARCHED)}
        name = text.partition(" ")[2]
        typed = map(_dataset, self._catalog.search(name, limit=_SEARCHED) if name else ())
        found |= {each for each in typed if each.typed_name == text}
        same = Counter(each.qualified_name for each in found)
        unused = {each for each in found if same[each.qualified_name] > 1 and not self._has_lineage(each)}
        return one_of(found - unused or found, text)

    def _has_lineage(self, dataset: Dataset) -> bool:
        key = (dataset.type, dataset.qualified_name)
        guid = self._catalog.find([key]).get(key)
        return guid is not None and bool(self._catalog.lineage(guid, direction="BOTH", depth=1).edges)

    def around(self, dataset: Dataset, direction: str, depth: int) -> Sequence[Link]:
        """As the protocol says."""
        key = (dataset.type, dataset.qualified_name)
        guid = self._catalog.find([key]).get(key)
        if guid is None:
            raise UnknownError(f"the catalog has no {dataset.type} {dataset.qualified_name}")
        graph = self._catalog.lineage(guid, direction="INPUT" if direction == "upstream" else "OUTPUT", depth=depth)

        def ends(process: str, *, inputs: bool) -> tuple[Dataset, ...]:
            guids = (edge[0] if inputs else edge[1] for edge in graph.edges if edge[int(inputs)] == process)
            return tuple(sorted(_dataset(graph.nodes[each]) for each in guids if each in graph.nodes))

        return [
            Link(
                name=node.name,
                qualified_name=node.qualified_name,
                type=node.type,
                description=str(node.attributes.get("description") or ""),
                inputs=ends(guid, inputs=True),
                outputs=ends(guid, inputs=False),
                columns=column_pairs(node.attributes.get("columnMapping")),
            )
            for guid, node in sorted(graph.nodes.items(), key=lambda item: item[1].qualified_name)
            if node.is_process
        ]


def _dataset(node: Node) -> Dataset:
    return Dataset(qualified_name=node.qualified_name, type=node.type, name=node.name)


class OnRecord:
    """Lineage on record, under the names of the assets that the catalog was found to have: also what is not published
    yet, and columns beyond the catalog's limit. `with_indirect` adds the columns that only filter, join or sort. Read
    once, by the first question. Raises StorageUnavailable.
    """

    def __init__(self, storage: Storage, how: PublishOptions, *, with_indirect: bool = False) -> None:
        self._storage = storage
        self._how = how
        self._with_indirect = with_indirect

    @cached_property
    def _links(self) -> tuple[Link, ...]:
        named = (on_found_assets(self._storage, process) for process, _ in recorded(self._storage, self._how))
        return tuple(self._link(process) for process in named if process)

    def _link(self, process: Process) -> Link:
        return Link(
            name=process.name,
            qualified_name=process.qualified_name,
            type=PROCESS_TYPE,
            description=f"Operations: {', '.join(process.operations)}.",
            inputs=tuple(map(_of_asset, process.inputs)),
            outputs=tuple(map(_of_asset, process.outputs)),
            columns=tuple(sorted(self._columns(process))),
        )

    def _columns(self, process: Process) -> set[tuple[tuple[str, str], tuple[str, str]]]:
        return {
            ((edge.input.qualified_name, edge.input.column), (edge.output.qualified_name, edge.output.column))
            for edge in process.columns
            if self._with_indirect or edge.kind is EdgeKind.DIRECT
        }

    def find(self, text: str) -> Dataset:
        """As the protocol says."""
        words = text.lower().split()
        known = {each for link in self._links for each in (*link.inputs, *link.outputs)}
        found = (
            each
            for each in known
            if each.typed_name == text or all(word in each.qualified_name.lower() for word in words)
        )
        return one_of(found, text, (each.qualified_name for each in known))

    def around(self, dataset: Dataset, direction: str, depth: int) -> Sequence[Link]:  # noqa: ARG002 - all processes are read
        """As the protocol says: all processes."""
        return self._links


def _of_asset(asset: Asset) -> Dataset:
    name = asset.qualified_name.rstrip("/").rpartition("/")[2] or asset.qualified_name
    return Dataset(qualified_name=asset.qualified_name, type=asset.type, name=name)
