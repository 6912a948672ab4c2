"""A catalog made of its parts, and one call to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from throughline.local.catalog.calls import Calls
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.entities import Writer
from throughline.local.catalog.graph.store import Entity, Store
from throughline.local.catalog.graph.views import Views
from throughline.local.catalog.http.account import OWNER, Account
from throughline.local.catalog.troubles import Troubles
from throughline.local.catalog.typedefs import Typedefs


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: its path parameters, its query in order, its JSON body (None without one), and its caller."""

    path: Mapping[str, str]
    query: tuple[tuple[str, str], ...]
    body: Any
    caller: str = OWNER

    @property
    def collection(self) -> str:
        """Return the collection that it writes into, if it names one: in the query or, in older calls, in the path."""
        return self.get("collectionId") or self.path.get("collection", "")

    def all(self, name: str) -> list[str]:
        """Return all values of a query parameter."""
        return [value for key, value in self.query if key == name]

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return next(iter(self.all(name)), default)

    def flag(self, name: str) -> bool:
        """Return a query parameter that is true or false; pyapacheatlas writes True and False."""
        return self.get(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        """Return a query parameter that is a whole number. Error: 400-00-029."""
        try:
            return int(self.get(name) or default)
        except ValueError as error:
            raise CatalogError(Fault.BAD_REQUEST, f"{name} is a whole number, not {self.get(name)}") from error


class Catalog:
    """The stored entities, their types, the counts of calls, and the injected failures.

    `soft`: deletes mark entities and keep them. `plain`: only the types of an Atlas without further models are built
    in, not Purview's.
    """

    def __init__(self, store: Store, *, soft: bool, plain: bool = False, troubles: Troubles | None = None) -> None:
        self._soft = soft
        self.troubles = troubles or Troubles()
        self.store = store
        self.calls = Calls(store)
        self.account = Account()
        self.typedefs = Typedefs(store, plain=plain)

    @property
    def views(self) -> Views:
        """The reader of stored entities."""
        return Views(self.store, self.typedefs.registry)

    @property
    def writer(self) -> Writer:
        """The writer of entities."""
        return self.writer_into("")

    def writer_into(self, collection: str, *, business: str = "ignore") -> Writer:
        """Return a writer that moves the written entities into a collection, if one is given.

        `business`: how it treats business attributes of existing entities (see Writer).
        """
        return Writer(
            self.store, self.typedefs.registry, soft=self._soft, collection=collection, business=business or "ignore"
        )

    def reset(self, *, types: bool) -> None:
        """Delete all entities and, with `types`, all type definitions that are not built in."""
        self.store.clear(types=types)
        self.account.reset()
        self.typedefs.reload()

    def by_guid(self, guid: str) -> Entity:
        """Return an entity, deleted or not. Error: 404-00-005."""
        entity = self.store.entity(guid)
        if entity is None:
            raise CatalogError(Fault.UNKNOWN_GUID, guid)
        return entity

    def by_name(self, type_name: str, name: str) -> Entity:
        """Return an entity of a type, or a sub type, that is not deleted. Errors: 400-00-014, 404-00-009."""
        entity = self.find(type_name, name)
        if entity is None:
            raise CatalogError(Fault.UNKNOWN_NAME, type_name, f"qualifiedName={name}")
        return entity

    def find(self, type_name: str, name: str) -> Entity | None:
        """Return an entity as `by_name` does, or None when there is none. Error: 400-00-014."""
        return self.store.named(self.typedefs.registry.entity_type(type_name).subs, name)
