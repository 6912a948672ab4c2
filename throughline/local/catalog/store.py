"""The catalog's data: entities, relationships and clients' type definitions.

All of it is in memory, where it is read, and in an SQLite file, if there is one: a transaction is written to the file
as it ends. One thread (the server's event loop) uses a store, and one store a file.
"""

import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson

Json = dict[str, Any]

MEMORY = ":memory:"
ROOT = "local"
"""The root of an account's collections."""
_LAYOUT = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (kind TEXT, key TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, key));
"""
_PUT = "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body"


def now() -> int:
    """Return the time in Atlas' form: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class NameTakenError(Exception):
    """Another entity of this type, not deleted, has this qualified name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A stored entity. `body` holds `attributes` (none null, no relationships), labels and custom attributes."""

    guid: str
    type: str
    qualified_name: str | None
    status: str = "ACTIVE"
    created: int
    updated: int
    version: int = 0
    body: Json

    @property
    def active(self) -> bool:
        """Whether the entity has not been deleted."""
        return self.status == "ACTIVE"

    @property
    def collection(self) -> str:
        """The collection that it is in."""
        return str(self.body.get("collectionId", ROOT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A stored relationship between two entities, by their guids; `number`: its place in the order of creation."""

    guid: str
    number: int
    relationship: str
    end1: str
    end2: str
    status: str = "ACTIVE"

    @property
    def active(self) -> bool:
        """Whether the relationship has not been deleted."""
        return self.status == "ACTIVE"


class Store:
    """The catalog's data, in the file of this path too unless it is `:memory:`. Raises `sqlite3.Error` when SQLite
    fails. Writes of entities, relationships and types belong into a `transaction`.
    """

    def __init__(self, path: str = MEMORY) -> None:
        self.typedefs: dict[str, Json] = {}
        self.entities: dict[str, Entity] = {}
        self.edges: dict[str, Edge] = {}
        self._undo: dict[tuple[str, str], Any] = {}
        self._file = None if path == MEMORY else _open(path)
        if self._file is not None:
            self._load(self._file)
        self.index()

    def close(self) -> None:
        """Let the data go."""
        if self._file is not None:
            self._file.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all writes of the block, or none when it raises."""
        self._undo = {}
        try:
            yield
            self._save()
        except BaseException:
            for (table, key), value in self._undo.items():
                if value is None:
                    self._rows(table).pop(key, None)
                else:
                    self._rows(table)[key] = value
            self.index()
            raise

    def named(self, types: Iterable[str], qualified_name: str) -> Entity | None:
        """Return the entity that is not deleted, has one of these types and this qualified name."""
        guids = (self._guids.get((name, qualified_name)) for name in types)
        return next((self.entities[guid] for guid in guids if guid), None)

    def edges_of(self, guid: str, relationship: str = "") -> list[Edge]:
        """Return the relationships of an entity (those of one type, if it is named), deleted or not, oldest first."""
        edges = (self.edges[edge_guid] for edge_guid in self._edges_of.get(guid, ()))
        return sorted((e for e in edges if relationship in {"", e.relationship}), key=lambda edge: edge.number)

    def new_guid(self, type_name: str, qualified_name: str) -> str:  # noqa: ARG002 - for stores that number theirs
        """Return the guid of a new entity of this type and name."""
        return str(uuid.uuid4())

    def put_typedef(self, typedef: Json) -> None:
        """Store a type definition, new or changed."""
        self._put("typedefs", typedef["name"], typedef)

    def put_entity(self, entity: Entity) -> None:
        """Store an entity, new or changed. Raises NameTakenError."""
        stored = self.entities.get(entity.guid)
        name = (entity.type, entity.qualified_name or "")
        if entity.active and self._guids.get(name, entity.guid) != entity.guid:
            raise NameTakenError
        self._put("entities", entity.guid, entity)
        self.has_marks |= bool(entity.body.get("classifications"))
        if stored is not None and stored.active:
            self._guids.pop((stored.type, stored.qualified_name or ""), None)
        if entity.active and entity.qualified_name is not None:
            self._guids[name] = entity.guid

    def drop_entity(self, guid: str) -> None:
        """Delete an entity and all its relationships."""
        for edge in self.edges_of(guid):
            self.end_edge(edge, keep=False)
        entity = self.entities[guid]
        self._put("entities", guid, None)
        self._guids.pop((entity.type, entity.qualified_name or ""), None)

    def add_edge(self, relationship: str, end1: str, end2: str) -> None:
        """Store a new relationship between two entities."""
        self._number += 1
        edge = Edge(guid=str(uuid.uuid4()), number=self._number, relationship=relationship, end1=end1, end2=end2)
        self._put("edges", edge.guid, edge)
        for end in (end1, end2):
            self._edges_of.setdefault(end, {})[edge.guid] = None

    def end_edge(self, edge: Edge, *, keep: bool) -> None:
        """Delete a relationship: mark it as deleted with `keep` (soft deletes), else remove it (hard deletes)."""
        if keep:
            self._put("edges", edge.guid, replace(edge, status="DELETED"))
            return
        self._put("edges", edge.guid, None)
        for end in (edge.end1, edge.end2):
            self._edges_of.get(end, {}).pop(edge.guid, None)

    def clear(self, *, types: bool) -> None:
        """Delete all entities and relationships and, with `types`, all type definitions of clients."""
        with self.transaction():
            for table in ("edges", "entities", *(["typedefs"] if types else [])):
                for key in list(self._rows(table)):
                    self._put(table, key, None)
        self.index()

    def _rows(self, table: str) -> dict[str, Any]:
        rows: dict[str, Any] = getattr(self, table)
        return rows

    def _put(self, table: str, key: str, value: Any) -> None:
        rows = self._rows(table)
        self._undo.setdefault((table, key), rows.get(key))
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value

    def index(self) -> None:
        """Make the indexes of all that is in memory."""
        self._guids = {
            (entity.type, entity.qualified_name): entity.guid
            for entity in self.entities.values()
            if entity.active and entity.qualified_name is not None
        }
        self._edges_of: dict[str, dict[str, None]] = {}
        for edge in self.edges.values():
            for end in (edge.end1, edge.end2):
                self._edges_of.setdefault(end, {})[edge.guid] = None
        self.has_marks = any(entity.body.get("classifications") for entity in self.entities.values())
        self._number = max((edge.number for edge in self.edges.values()), default=0)

    def _save(self) -> None:
        if self._file is None:
            return
        rows = [(kind, key, self._rows(kind).get(key)) for kind, key in self._undo]
        with self._file:  # one transaction
            self._file.executemany(
                "DELETE FROM rows WHERE kind = ? AND key = ?", [row[:2] for row in rows if not row[2]]
            )
            self._file.executemany(_PUT, [(*row[:2], orjson.dumps(row[2]).decode()) for row in rows if row[2]])

    def _load(self, file: sqlite3.Connection) -> None:
        types: dict[str, Any] = {"typedefs": dict, "entities": Entity, "edges": Edge}
        for kind, key, body in file.execute("SELECT kind, key, body FROM rows ORDER BY rowid"):
            self._rows(kind)[key] = types[kind](**orjson.loads(body))


def _open(path: str) -> sqlite3.Connection:
    file = sqlite3.connect(path, timeout=0, check_same_thread=False)
    # Two catalogs with the same file would not see each other's changes.
    file.execute("PRAGMA locking_mode = EXCLUSIVE")
    file.execute("PRAGMA journal_mode = WAL")
    # In WAL mode the data survives the end of the process at any moment, which is enough for a local catalog.
    file.execute("PRAGMA synchronous = NORMAL")
    layout = file.execute("PRAGMA user_version").fetchone()[0]
    if layout not in {0, _LAYOUT}:
        raise sqlite3.DatabaseError(f"the file has layout {layout}, this catalog needs {_LAYOUT}: delete the file")
    file.executescript(f"{_SCHEMA} PRAGMA user_version = {_LAYOUT};")
    return file
