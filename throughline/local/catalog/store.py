"""The catalog's data: entities, relationships, clients' type definitions and counts of calls.

All of it is in memory, where it is read, and in an SQLite file, if there is one: a transaction is written to the file
as it ends. One thread (the server's event loop) uses a store; WAL lets other programs read its file at the same time.
"""

import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson

Json = dict[str, Any]
Calls = Counter[tuple[str, int, bool]]
"""Numbers of calls by verb, by status, and by whether the verb writes."""

MEMORY = ":memory:"
_LAYOUT = 1
_COLUMNS = {
    "typedefs": "name, body",
    "entities": "guid, type, qualified_name, status, created, updated, version, body",
    "edges": "guid, number, relationship, end1, end2, status",
}
"""The columns of each table, its key first."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS typedefs (name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entities (
    guid TEXT PRIMARY KEY, type TEXT NOT NULL, qualified_name TEXT, status TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL
);
DROP INDEX IF EXISTS entities_by_name;
CREATE TABLE IF NOT EXISTS edges (
    number INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT NOT NULL UNIQUE, relationship TEXT NOT NULL,
    end1 TEXT NOT NULL, end2 TEXT NOT NULL, status TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS calls (
    verb TEXT NOT NULL, outcome INTEGER NOT NULL, writes INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (verb, outcome)
) WITHOUT ROWID;
"""


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
        self.calls: Calls = Counter()
        self._undo: dict[tuple[str, str], Any] = {}
        self._file = None if path == MEMORY else _open(path)
        if self._file is not None:
            self._load(self._file)
        self._index()

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
            self._index()
            raise

    def named(self, types: Iterable[str], qualified_name: str) -> Entity | None:
        """Return the entity that is not deleted, has one of these types and this qualified name."""
        guids = (self._guids.get((name, qualified_name)) for name in types)
        return next((self.entities[guid] for guid in guids if guid), None)

    def edges_of(self, guid: str, relationship: str = "") -> list[Edge]:
        """Return the relationships of an entity (those of one type, if it is named), deleted or not, oldest first."""
        edges = (self.edges[edge_guid] for edge_guid in self._edges_of.get(guid, ()))
        return sorted((e for e in edges if relationship in {"", e.relationship}), key=lambda edge: edge.number)

    def count(self) -> int:
        """Return the number of entities that are not deleted."""
        return sum(entity.active for entity in self.entities.values())

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
        self._index()

    def count_call(self, verb: str, status: int, *, writes: bool) -> None:
        """Count one call. `writes`: the verb creates, changes or deletes, even if it failed."""
        self.calls[verb, status, writes] += 1
        if self._file is not None:
            statement = "INSERT INTO calls VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1"
            self._file.execute(statement, (verb, status, int(writes)))

    def forget_calls(self) -> None:
        """Set all counts to zero."""
        self.calls.clear()
        if self._file is not None:
            self._file.execute("DELETE FROM calls")

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

    def _index(self) -> None:
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
        if self._file is None or not self._undo:
            return
        self._file.execute("BEGIN IMMEDIATE")
        try:
            for table, key in self._undo:
                value = self._rows(table).get(key)
                self._file.execute(*(_removal(table, key) if value is None else _upsert(table, value)))
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")

    def _load(self, file: sqlite3.Connection) -> None:
        self.typedefs = {name: orjson.loads(body) for name, body in file.execute("SELECT name, body FROM typedefs")}
        for table, row_type in (("entities", Entity), ("edges", Edge)):
            # S608: our own text.
            for row in file.execute(f"SELECT {_COLUMNS[table]} FROM {table} ORDER BY rowid"):  # noqa: S608
                cells = dict(zip(_COLUMNS[table].split(", "), row, strict=True))
                if "body" in cells:
                    cells["body"] = orjson.loads(cells["body"])
                self._rows(table)[row[0]] = row_type(**cells)
        rows = file.execute("SELECT verb, outcome, writes, count FROM calls")
        self.calls.update({(verb, status, bool(writes)): count for verb, status, writes, count in rows})


def _open(path: str) -> sqlite3.Connection:
    # Autocommit: the store begins and ends the transactions.
    file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    file.execute("PRAGMA journal_mode = WAL")
    # In WAL mode the data survives the end of the process at any moment, which is enough for a local catalog.
    file.execute("PRAGMA synchronous = NORMAL")
    layout = file.execute("PRAGMA user_version").fetchone()[0]
    if layout not in {0, _LAYOUT}:
        raise sqlite3.DatabaseError(f"the file has layout {layout}, this catalog needs {_LAYOUT}: name a new file")
    file.executescript(_SCHEMA)
    file.execute(f"PRAGMA user_version = {_LAYOUT}")
    return file


def _upsert(table: str, value: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that stores a row, and its values."""
    columns = _COLUMNS[table].split(", ")
    cells = (value["name"], value) if table == "typedefs" else [getattr(value, column) for column in columns]
    values = tuple(orjson.dumps(cell).decode() if isinstance(cell, dict) else cell for cell in cells)
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
    # S608: names of tables and columns, and placeholders.
    statement = f"INSERT INTO {table} ({_COLUMNS[table]}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
    return f"{statement} ON CONFLICT ({columns[0]}) DO UPDATE SET {changes}", values


def _removal(table: str, key: str) -> tuple[str, tuple[Any, ...]]:
    return f"DELETE FROM {table} WHERE {_COLUMNS[table].partition(',')[0]} = ?", (key,)  # noqa: S608 - as above
