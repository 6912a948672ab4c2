"""The local catalog in this process, behind the ports that the functions use: the same store as over HTTP, without a
server.

Deletes are hard. The types are those of Purview; a classification is defined when it is first named.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.routing import compile_path

from shared.atlas.columns import PART_TYPES, SCHEMA_TYPE, column_rule
from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.atlas.annotations import AtlasClassifications, AtlasTerms
from shared.catalog.atlas.answers import process_of
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused
from throughline.local.catalog.errors import CatalogError
from throughline.local.catalog.http.verbs import NOTHING, Call, Catalog, Verb, run, verbs_by_path
from throughline.local.catalog.store import Entity, Store

_ENDPOINT = "memory://catalog"
_ROUTES = [(verb, compile_path(f"/{verb.path}")[0]) for verb in verbs_by_path()]
_UNTYPED = "unknown"
"""How a column without a type is written: no catalog tells it from a column of a type of this name."""


class NumberedStore(Store):
    """A store whose guids are numbers, so that a history is the same each time."""

    def __init__(self) -> None:
        self._numbers = count(1)
        super().__init__()

    def new_guid(self, type_name: str, qualified_name: str) -> str:  # noqa: ARG002 - the store's, whatever they are
        """As the store says."""
        return str(UUID(int=next(self._numbers)))


@dataclass(frozen=True, slots=True)
class _Answer:
    body: Any


class InProcessClient(SteadyAtlasClient):
    """A client that runs the verbs of a catalog itself, one call at a time."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(_ENDPOINT, StaticToken(""))
        self.catalog = catalog
        self._turn = threading.Lock()

    def _call(self, method: str, url: str, params: Any = None, json: Any = None) -> _Answer:
        path, _, query = url.removeprefix(_ENDPOINT).partition("?")
        verb, parameters = _route(method, path)
        pairs = [*parse_qsl(query), *_pairs(params or {})]
        try:
            with self._turn:
                answer = run(self.catalog, verb, Call(path=parameters, query=tuple(pairs), body=json))
        except CatalogError as error:
            fault = error.fault
            raise CatalogRefused(status=fault.status, code=fault.code, detail=str(error)) from error
        return _Answer(None if answer is NOTHING else answer)


@cache
def _route(method: str, path: str) -> tuple[Verb, dict[str, str]]:
    """The verb of a path, and the parameters in it."""
    matches = ((verb, pattern.match(path)) for verb, pattern in _ROUTES if verb.method == method)
    return next((verb, match.groupdict()) for verb, match in matches if match)


def _pairs(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in parameters.items():
        for item in value if isinstance(value, list) else [value]:
            yield name, str(item)


class MemoryCatalog(AtlasCatalog):
    """The catalog port over a store in this process; `writes` counts the calls that wrote."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or NumberedStore()
        self._local = Catalog(self.store, soft=False)
        self.client = InProcessClient(self._local)
        super().__init__(self.client)
        self.writes = 0

    def define(self, types: Mapping[str, str]) -> None:
        """Define these types, each with its super type and a `columnMapping`, as a catalog of others has them."""
        mapping = {"name": "columnMapping", "typeName": "string", "isOptional": True}
        definitions = [
            {"name": name, "superTypes": [super_type], "attributeDefs": [mapping] if super_type == "Process" else []}
            for name, super_type in types.items()
        ]
        self._local.typedefs.create({"entityDefs": definitions})

    @property
    def assets(self) -> dict[AssetKey, AssetEntity]:
        """All data sets as they were written, their columns sorted by name: a catalog keeps no order of columns."""
        return {
            (entity.type, entity.qualified_name or ""): self._asset(entity)
            for entity in self._entities("DataSet")
            if entity.type not in PART_TYPES
        }

    @property
    def processes(self) -> dict[str, ProcessEntity]:
        """All processes, by qualified name."""
        full = partial(self._local.views.full, is_bare=False)
        return {entity.qualified_name or "": process_of(full(entity)) for entity in self._entities("Process")}

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        """As the port says."""
        self.writes += 1
        return super().create_assets(assets)

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        """As the port says."""
        writes = self.writes
        is_changed = super().describe_placeholder(asset, bare=bare)
        self.writes = writes + is_changed
        return is_changed

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        """As the port says."""
        self.writes += 1
        return super().write_processes(processes, guids)

    def delete_process(self, qualified_name: str) -> None:
        """As the port says."""
        self.writes += 1
        super().delete_process(qualified_name)

    def remove(self, guids: Sequence[str]) -> None:
        """As the port says."""
        self.writes += 1
        super().remove(guids)

    def _entities(self, super_type: str) -> list[Entity]:
        types = self._local.typedefs
        entities = list(self.store.entities.values())
        return [entity for entity in entities if super_type in types.entity_type(entity.type).supers]

    def _asset(self, entity: Entity) -> AssetEntity:
        rule, body = column_rule(entity.type), entity.body
        columns = sorted((column["name"], column[rule.type_in]) for column in self._columns(entity.guid))
        return AssetEntity(
            type=entity.type,
            qualified_name=entity.qualified_name or "",
            attributes=tuple((name, text) for name, text in body["attributes"].items() if name != "qualifiedName"),
            columns=tuple((name, "" if kind == _UNTYPED else kind) for name, kind in columns),
            properties=tuple(body["customAttributes"].items()) if "customAttributes" in body else None,
        )

    def _columns(self, holder: str) -> Iterator[dict[str, str]]:
        """The attributes of the columns of a data set or its schema."""
        ends = (edge.end2 if edge.end1 == holder else edge.end1 for edge in self.store.edges_of(holder))
        for part in (self.store.entities[guid] for guid in ends):
            if part.type == SCHEMA_TYPE:
                yield from self._columns(part.guid)
            elif part.type in PART_TYPES:
                yield part.body["attributes"]


class MemoryClassifications(AtlasClassifications):
    """The port of classifications of a catalog in this process; `writes` counts the calls that wrote."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        super().__init__(catalog.client)
        self._define = catalog.client.catalog.typedefs.create
        self.writes = 0

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """As the port says."""
        self._begin(name)
        super().attach(name, guids)

    def detach(self, name: str, guid: str) -> None:
        """As the port says."""
        self._begin(name)
        super().detach(name, guid)

    def _begin(self, name: str) -> None:
        self.writes += 1
        with suppress(CatalogError):  # it exists
            self._define({"classificationDefs": [{"name": name}]})


class MemoryTerms(AtlasTerms):
    """The port of terms of a catalog in this process, with one empty glossary; `writes` as above."""

    def __init__(self, catalog: MemoryCatalog, glossary: str = "Glossary") -> None:
        super().__init__(catalog.client)
        if glossary:
            super().create_glossary(glossary)
        self.writes = 0

    def create_glossary(self, name: str) -> None:
        """As the port says."""
        self.writes += 1
        super().create_glossary(name)

    def create_terms(self, glossary: str, names: Sequence[str]) -> None:
        """As the port says."""
        self.writes += 1
        super().create_terms(glossary, names)

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """As the port says."""
        self.writes += 1
        super().attach(name, guids)

    def detach(self, name: str, guid: str) -> None:
        """As the port says."""
        self.writes += 1
        super().detach(name, guid)
