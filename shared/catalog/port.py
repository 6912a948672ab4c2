"""The catalog port: all calls that Throughline makes to Purview or Atlas.

Every method raises CatalogUnavailable when the catalog does not answer or throttles, and CatalogRefused when it
rejects the request. Calls take a bounded number of things: `batches` splits them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.atlas.types import TypeAction, TypeChange, type_changes
from shared.completeness import CatalogDocumentation

AssetKey = tuple[str, str]
"""Type and qualified name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A data set or process in a lineage graph."""

    guid: str
    type: str
    qualified_name: str
    name: str
    attributes: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        """Its identity in the catalog: type and qualified name."""
        return self.type, self.qualified_name

    @property
    def is_process(self) -> bool:
        """Whether it is a process."""
        return "columnMapping" in self.attributes or self.type == "azure_synapse_operation"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAsset:
    """A data set in the catalog; `placed`: it is a placeholder."""

    guid: str
    placed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """A placeholder; `links`: the guids of processes that use it, terms and the like; `parts`: the guids of what are
    deleted with it (its schema).
    """

    guid: str
    links: frozenset[str]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldProcess:
    """A process in the catalog."""

    guid: str
    entity: ProcessEntity


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLinks:
    """The guids of the processes that read a data set (`readers`) and that write it (`writers`), ours among them."""

    readers: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ForeignAsset:
    """A data set at an end of a foreign process; `name` is the one for people."""

    type: str
    qualified_name: str
    name: str

    @property
    def key(self) -> AssetKey:
        """Its identity in the catalog."""
        return self.type, self.qualified_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignProcess:
    """A process that another program wrote to the catalog. `columns`: the pairs of its `columnMapping`, if it has one:
    an input and an output column, each with the qualified name of its data set.
    """

    type: str
    qualified_name: str
    name: str
    inputs: tuple[ForeignAsset, ...]
    outputs: tuple[ForeignAsset, ...]
    columns: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection of Purview: its `name` in calls, its display name (`shown`), and the name of its parent."""

    name: str
    shown: str
    parent: str = ""


class Catalog(Protocol):
    """Look up, write and read entities."""

    def find(self, keys: Iterable[AssetKey]) -> dict[AssetKey, str]:
        """The guids of the assets that exist, by exact name, many in a call. An unknown type has no assets."""

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        """As `find`, and which of them are placeholders."""

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        """Create these assets with their columns in one call: the guids of those in the catalog's answer."""

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        """Update description and columns of a placeholder; other columns are removed. Without columns the present ones
        stay, unless `bare`. False, and nothing written, if it is missing, no placeholder (any more), or up to date.
        """

    def up_to_date(
        self, assets: Sequence[AssetEntity], *, bare: frozenset[AssetKey] = frozenset()
    ) -> frozenset[AssetKey]:
        """Those of these assets for which `describe_placeholder` would write nothing; many in a call."""

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        """Create or update these processes; `guids` holds every input and output.

        Returns the guids of those in the catalog's answer, by qualified name. A process that loses an input or output
        may get a new guid.
        """

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:
        """The most sequential calls that `write_processes` makes for these. Makes no call."""

    def may_still_land(self) -> bool:
        """Whether a try of this thread's last write or deletion may still take effect, although that succeeded: its
        answer was lost. Makes no call.
        """

    def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
        """The existing ones of these processes by qualified name, many in a call, not by search."""

    def ours(self) -> Iterator[Node]:
        """All processes with our names, and all placeholders (`Node.is_process` distinguishes them).

        By search, page by page: the index lags behind writes. Collect all before deleting any.
        """

    def delete_process(self, qualified_name: str) -> None:
        """Delete a process, if it exists."""

    def placeholders(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Placeholder]:
        """The placeholders among these assets: created by us, and not edited by a person since."""

    def remove(self, guids: Sequence[str]) -> None:
        """Delete these entities, many in a call; missing ones are ignored."""

    def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
        """Data sets whose names or qualified names contain all words of the text, ignoring case. The index lags behind
        writes; read results by name to be sure.
        """

    def search_all(self, texts: Sequence[str]) -> dict[str, tuple[Node, ...]] | None:
        """All results of `search` for each of these non-empty texts in one call; None if they do not fit in one."""

    def process_links(self, keys: Iterable[AssetKey]) -> dict[AssetKey, ProcessLinks]:
        """The processes around those of these data sets that exist, by exact name, many in a call."""

    def process_names(self, guids: Iterable[str]) -> frozenset[str]:
        """The qualified names of the existing ones of these processes that are ours, many in a call."""

    def foreign_processes(self, guids: Iterable[str]) -> dict[str, ForeignProcess]:
        """The existing ones of these processes that are not ours, by guid, many in a call."""

    def changed_processes(self, since: datetime) -> frozenset[str] | None:
        """The guids of processes that are not ours and were written since then; None if these are too many to list.

        By search, whose index lags behind writes. A deleted process may be missing.
        """


class Documents(Protocol):
    """What a catalog holds of data sets for people."""

    def documentation(self, keys: Iterable[AssetKey]) -> Iterator[tuple[AssetKey, CatalogDocumentation]]:
        """The documentation of those of these data sets that exist, many in a call, in any order."""


class Types(Protocol):
    """The type definitions of a catalog, as Atlas' JSON (each with its `category`)."""

    def held(self) -> Sequence[Mapping[str, Any]]:
        """All definitions."""

    def create(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Create these, all or none; refused if one of them exists."""

    def update(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Replace the definitions of the same names, all or none."""


class Account(Protocol):
    """Collections, policies and identity of a Purview account."""

    @property
    def host(self) -> str:
        """The address of the account."""

    def caller(self) -> Mapping[str, str]:
        """The claims of our token: object id (`oid`), tenant (`tid`), application or name, as far as present."""

    def collections(self) -> Sequence[Collection]:
        """All collections in which the caller has a role."""

    def policy(self, collection: str) -> dict[str, Any]:
        """The metadata policy of a collection (by its name); only its administrators may read it."""

    def put_policy(self, policy: dict[str, Any]) -> None:
        """Replace a policy by a changed copy of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """An entity, of any type, and the names of the classifications attached to it (not of those that propagate to it).
    `placed`: it is a placeholder.
    """

    guid: str
    names: frozenset[str]
    placed: bool = False


class Classifications(Protocol):
    """Classifications of entities: data sets and their columns."""

    def classified(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Classified]:
        """The existing ones of these entities, by exact name, many in a call."""

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """Attach a classification to entities that do not have it, in one call, so that it does not propagate."""

    def detach(self, name: str, guid: str) -> None:
        """Take a classification away from an entity, if it is attached to it."""


class Terms(Classifications, Protocol):
    """Glossary terms of entities, by the same calls: a term's name is TERM@GLOSSARY, in which neither part has an `@`.

    The catalog does not refuse a term that an entity has already.
    """

    def glossaries(self) -> Mapping[str, frozenset[str]]:
        """The names of the terms of each glossary, without the glossary, by its name."""

    def create_glossary(self, name: str) -> None:
        """Create a glossary; refused if it exists."""

    def create_terms(self, glossary: str, names: Sequence[str]) -> None:
        """Create terms in a glossary that exists, all or none; refused if one of them exists."""


_T = TypeVar("_T")
_Answer = TypeVar("_Answer")

MOST_GUIDS = 100
"""Guids in one address, 4 KB: gateways cut off or refuse addresses from 8 KiB on."""


def calls_for_guids(guids: int) -> int:
    """The calls that so many guids take."""
    return -(-guids // MOST_GUIDS)


def batches(things: Iterable[_T], limit: int, weigh: Callable[[_T], int] = lambda _: 1) -> Iterator[Sequence[_T]]:
    """Split into batches whose weights sum up to `limit` or less; a thing that is heavier is alone."""
    batch: list[_T] = []
    weight = 0
    for thing in things:
        heavy = weigh(thing)
        if batch and weight + heavy > limit:
            yield batch
            batch, weight = [], 0
        batch.append(thing)
        weight += heavy
    if batch:
        yield batch


def halved(things: Sequence[_T], ask: Callable[[Sequence[_T]], _Answer | None]) -> Iterator[_Answer]:
    """Ask for things in one call; where the answer is None, for each half of them. Of one thing it is never None."""
    answer = ask(things)
    if answer is not None:
        yield answer
        return
    middle = len(things) // 2
    for half in (things[:middle], things[middle:]):
        yield from halved(half, ask)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The `changes` that were needed, and those that are `left`: types of others that differ, or changes that the
    catalog did not keep.
    """

    changes: Sequence[TypeChange]
    left: Sequence[TypeChange]

    @property
    def is_whole(self) -> bool:
        """Whether all changes that are left are to types of others."""
        return all(change.action is TypeAction.DIFFERS for change in self.left)


def apply_types(types: Types, rules: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> Applied:
    """Create the missing types, with those that the user's `rules` name, and add missing attributes to our own types;
    others are left alone. Safe to repeat. Raises as the port does.
    """
    changes = type_changes(types.held(), rules)
    for action, act in ((TypeAction.CREATE, types.create), (TypeAction.UPDATE, types.update)):
        definitions = [change.definition for change in changes if change.action is action and change.definition]
        if definitions:
            act(definitions)
    return Applied(changes=changes, left=type_changes(types.held(), rules) if changes else ())
