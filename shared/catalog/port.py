"""The catalog port: what Throughline asks of Purview or Atlas, and no more.

Every method raises CatalogUnavailable when the catalog does not answer or asks to come back later, and CatalogRefused
when it will not take what was sent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shared.atlas.entities import AssetEntity, ProcessEntity

AssetKey = tuple[str, str]
"""Type and qualified name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity as people look at it: a data set or a process in a lineage graph."""

    guid: str
    type: str
    qualified_name: str
    name: str
    attributes: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it in the catalog: its type and qualified name."""
        return self.type, self.qualified_name

    @property
    def is_process(self) -> bool:
        """Whether it stands between data sets."""
        return "columnMapping" in self.attributes or self.type == "azure_synapse_operation"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAsset:
    """A data set that is there; `placed`: it bears our mark, so no scan has found it, and nobody made it their own."""

    guid: str
    placed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """An asset that we placed, and the guids of all that it is linked to but its own columns: processes that use it,
    terms. `parts` are those of what is to go with it, and would not by itself: its schema.
    """

    guid: str
    links: frozenset[str]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A part of the lineage: nodes by guid, and edges as pairs of guids, in the direction of the data."""

    base: str
    nodes: Mapping[str, Node]
    edges: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldProcess:
    """A process as the catalog holds it now."""

    guid: str
    entity: ProcessEntity


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection of Purview: the `name` that calls use, the one that is `shown`, and the name of its parent."""

    name: str
    shown: str
    parent: str = ""


class Catalog(Protocol):
    """Finding, writing and reading entities."""

    def find(self, keys: Iterable[AssetKey]) -> dict[AssetKey, str]:
        """The guids of those assets that exist, by exact name: few calls for many. Types that it does not have hold
        none.
        """

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        """As `find`, and which of them are our own placeholders."""

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        """Create these assets, with their columns, in one call: the guids of those that the catalog took, as its answer
        tells.
        """

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        """Write the description of an asset that we placed, and its columns where some are given: those that are not
        among them go. Where none are given they stay, unless it is to be `bare`. False, and nothing written, when it is
        not there, is not ours (any more), or has all this.
        """

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        """Create or update these processes; `guids` knows every input and output.

        The guids of those that the catalog took, as its answer tells, by qualified name: one that loses an input or
        output may get a new guid.
        """

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:
        """How many calls `write_processes` makes of these at most, one after the other. Asks nothing."""

    def may_still_land(self) -> bool:
        """Whether a try of what this thread has just written or deleted may still take effect though that went well in
        the end: the answer to it was lost. Asks nothing.
        """

    def read_process(self, type: str, qualified_name: str) -> ProcessEntity | None:  # noqa: A002 - the catalog's word
        """A process as the catalog holds it now, None when it is not there."""

    def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
        """Those of these processes of ours that are there, by qualified name: few calls for many, and not by search."""

    def ours(self) -> Iterator[Node]:
        """Every process that has a name of ours, and every data set that we placed (`Node.is_process` tells which).

        By search, page by page: behind the writes by a moment, and whoever removes some of them collects all first.
        """

    def delete_process(self, type: str, qualified_name: str) -> None:  # noqa: A002 - the catalog's word
        """Remove a process; nothing happens when it is not there."""

    def placeholders(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Placeholder]:
        """Those of these assets that we placed and nobody has made their own since: they still bear our mark."""

    def remove(self, guids: Sequence[str]) -> None:
        """Remove these entities in one call; those that are not there are passed over."""

    def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
        """Data sets whose names or qualified names hold all the words of the text, whatever their capitals. Behind the
        writes by a moment; whoever needs to be sure reads what was found by name.
        """

    def search_all(self, texts: Sequence[str]) -> dict[str, tuple[Node, ...]] | None:
        """All that `search` finds for each of these texts (which have words), in one call. None where that is more than
        a call gives: ask for fewer, or one by one.
        """

    def lineage(self, guid: str, *, direction: str, depth: int) -> Graph:
        """The lineage around an entity; `direction` is INPUT, OUTPUT or BOTH, `depth` counts data sets."""


class Types(Protocol):
    """The type definitions of a catalog, in Atlas' form (each with its `category`)."""

    def held(self) -> Sequence[Mapping[str, Any]]:
        """All that are there."""

    def create(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Create these, all or none; refused where one of them is there."""

    def update(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Put these in the place of those of the same names, all or none."""


class Account(Protocol):
    """What a Purview account has beside its entities."""

    @property
    def host(self) -> str:
        """The address of the account."""

    def caller(self) -> Mapping[str, str]:
        """Who we are to the account, as our token claims: object id (`oid`), tenant (`tid`), application or name; as
        far as it tells.
        """

    def collections(self) -> Sequence[Collection]:
        """All collections in which we have any role."""

    def policy(self, collection: str) -> dict[str, Any]:
        """The metadata policy of a collection (by its name): for its administrators alone."""

    def put_policy(self, policy: dict[str, Any]) -> None:
        """Replace a policy by this one, which was made of the one that is there."""
