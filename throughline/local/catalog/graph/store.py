"""The catalog's data: one SQLite file in WAL mode, or memory.

One thread (the server's event loop) uses the one connection, so write transactions never overlap; WAL lets other
programs read the file at the same time.
"""

import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

_LAYOUT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS typedefs (name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entities (
    guid TEXT PRIMARY KEY, type TEXT NOT NULL, qualified_name TEXT, status TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS entities_by_name ON entities (qualified_name, type) WHERE status = 'ACTIVE';
CREATE INDEX IF NOT EXISTS entities_by_type ON entities (type, status);
CREATE TABLE IF NOT EXISTS edges (
    number INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT NOT NULL UNIQUE, relationship TEXT NOT NULL,
    end1 TEXT NOT NULL, end2 TEXT NOT NULL, status TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS edges_by_end1 ON edges (end1, relationship);
CREATE INDEX IF NOT EXISTS edges_by_end2 ON edges (end2, relationship);
CREATE TABLE IF NOT EXISTS calls (
    verb TEXT NOT NULL, outcome INTEGER NOT NULL, writes INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (verb, outcome)
) WITHOUT ROWID;
"""
_WORDS = "coalesce(qualified_name, '') || char(1) || coalesce(json_extract(body, '$.attributes.name'), '')"
_NAMES = f"""
CREATE TEMP TABLE names (guid TEXT PRIMARY KEY, words TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO names SELECT guid, {_WORDS} FROM entities;
CREATE TEMP TRIGGER named AFTER INSERT ON main.entities BEGIN
    INSERT INTO names SELECT guid, {_WORDS} FROM entities WHERE guid = NEW.guid; END;
CREATE TEMP TRIGGER renamed AFTER UPDATE ON main.entities BEGIN
    UPDATE names SET words = (SELECT {_WORDS} FROM entities WHERE guid = NEW.guid) WHERE guid = NEW.guid; END;
CREATE TEMP TRIGGER unnamed AFTER DELETE ON main.entities BEGIN DELETE FROM names WHERE guid = OLD.guid; END;
"""  # noqa: S608 - all of it is text of ours
"""The texts that keywords are searched in. In memory, since extracting them from all bodies in each search is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A stored entity. `body` holds `attributes` (none null, no relationships), labels and custom attributes."""

    guid: str
    type_name: str
    qualified_name: str | None
    status: str
    created: int
    updated: int
    version: int
    body: Json

    @property
    def active(self) -> bool:
        """Whether the entity has not been deleted."""
        return self.status == "ACTIVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A stored relationship between two entities, by their guids."""

    guid: str
    relationship: str
    end1: str
    end2: str
    status: str

    @property
    def active(self) -> bool:
        """Whether the relationship has not been deleted."""
        return self.status == "ACTIVE"


_ENTITY = "guid, type, qualified_name, status, created, updated, version, body"
_EDGE = "guid, relationship, end1, end2, status"
# SQLite allows 32,766 parameters in a statement; fewer keep statements small.
_MANY = 500


class Store:
    """The catalog's data in the file of this path, or in `:memory:`. Raises `sqlite3.Error` when SQLite fails."""

    def __init__(self, path: str) -> None:
        # Autocommit: this class begins and ends the transactions.
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        # In WAL mode the data survives the end of the process at any moment, which is enough for a local catalog.
        self._db.execute("PRAGMA synchronous = NORMAL")
        layout = self._db.execute("PRAGMA user_version").fetchone()[0]
        if layout not in {0, _LAYOUT}:
            raise sqlite3.DatabaseError(f"the file has layout {layout}, this catalog needs {_LAYOUT}: name a new file")
        self._db.executescript(_SCHEMA)
        self._db.execute(f"PRAGMA user_version = {_LAYOUT}")
        self._db.executescript(_NAMES)

    def close(self) -> None:
        """Let the data go."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes of the block, or none when it raises."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # -- type definitions that clients added or changed

    def typedefs(self) -> list[Json]:
        """Return all stored type definitions."""
        return [orjson.loads(body) for (body,) in self._db.execute("SELECT body FROM typedefs ORDER BY name")]

    def put_typedef(self, typedef: Json) -> None:
        """Store a type definition, new or changed."""
        self._db.execute("INSERT OR REPLACE INTO typedefs VALUES (?, ?)", (typedef["name"], orjson.dumps(typedef)))

    def drop_typedef(self, name: str) -> None:
        """Delete a type definition."""
        self._db.execute("DELETE FROM typedefs WHERE name = ?", (name,))

    # -- entities

    def entity(self, guid: str) -> Entity | None:
        """Return the entity of this guid, deleted or not."""
        return self.entities((guid,)).get(guid)

    def entities(self, guids: Iterable[str]) -> dict[str, Entity]:
        """Return the entities of these guids, deleted or not; unknown guids are left out."""
        wanted = list(dict.fromkeys(guids))
        found: dict[str, Entity] = {}
        for start in range(0, len(wanted), _MANY):
            part = wanted[start : start + _MANY]
            for entity in self.select(f"guid IN ({_places(part)})", part):
                found[entity.guid] = entity
        return found

    def named(self, types: Sequence[str], qualified_name: str) -> Entity | None:
        """Return the entity that is not deleted, has one of these types and this qualified name."""
        where = f"qualified_name = ? AND type IN ({_places(types)}) AND status = 'ACTIVE'"
        return next(self.select(where, [qualified_name, *types]), None)

    def select(self, where: str, values: Sequence[Any], *, limit: int = -1, offset: int = 0) -> Iterator[Entity]:
        """Return the entities that meet an SQL condition (our own text, the client's values), oldest first."""
        # S608: `where` is our own text, each value a parameter.
        query = f"SELECT {_ENTITY} FROM entities WHERE {where} ORDER BY rowid LIMIT ? OFFSET ?"  # noqa: S608
        for row in self._db.execute(query, [*values, limit, offset]).fetchall():
            yield Entity(
                guid=row[0],
                type_name=row[1],
                qualified_name=row[2],
                status=row[3],
                created=row[4],
                updated=row[5],
                version=row[6],
                body=orjson.loads(row[7]),
            )

    def count(self, where: str, values: Sequence[Any] = ()) -> int:
        """Return the number of entities that meet an SQL condition (our own text)."""
        # S608: as in `select`.
        row = self._db.execute(f"SELECT COUNT(*) FROM entities WHERE {where}", values).fetchone()  # noqa: S608
        return int(row[0])

    def put_entity(self, entity: Entity) -> None:
        """Store an entity, new or changed. Error: `sqlite3.IntegrityError` when its name is taken."""
        self._db.execute(
            f"INSERT INTO entities ({_ENTITY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (guid) DO UPDATE SET "  # noqa: S608 (no values in the text)
            "qualified_name = excluded.qualified_name, status = excluded.status, updated = excluded.updated, "
            "version = excluded.version, body = excluded.body",
            (
                entity.guid,
                entity.type_name,
                entity.qualified_name,
                entity.status,
                entity.created,
                entity.updated,
                entity.version,
                orjson.dumps(entity.body).decode(),
            ),
        )

    def drop_entity(self, guid: str) -> None:
        """Delete an entity and all its relationships."""
        self._db.execute("DELETE FROM edges WHERE end1 = ? OR end2 = ?", (guid, guid))
        self._db.execute("DELETE FROM entities WHERE guid = ?", (guid,))

    # -- relationships

    def edges(self, guids: Iterable[str]) -> list[Edge]:
        """Return all relationships of these entities, deleted or not, oldest first."""
        wanted = list(dict.fromkeys(guids))
        rows: set[tuple[Any, ...]] = set()
        for start in range(0, len(wanted), _MANY):
            part = wanted[start : start + _MANY]
            for end in ("end1", "end2"):
                # S608: the text has only column names and placeholders.
                query = f"SELECT number, {_EDGE} FROM edges WHERE {end} IN ({_places(part)})"  # noqa: S608
                rows.update(self._db.execute(query, part))
        return [Edge(guid=row[1], relationship=row[2], end1=row[3], end2=row[4], status=row[5]) for row in sorted(rows)]

    def add_edge(self, relationship: str, end1: str, end2: str) -> None:
        """Store a new relationship between two entities."""
        self._db.execute(
            "INSERT INTO edges (guid, relationship, end1, end2, status) VALUES (?, ?, ?, ?, 'ACTIVE')",
            (str(uuid.uuid4()), relationship, end1, end2),
        )

    def end_edge(self, guid: str, *, keep: bool) -> None:
        """Delete a relationship: mark it as deleted with `keep` (soft deletes), else remove it (hard deletes)."""
        if keep:
            self._db.execute("UPDATE edges SET status = 'DELETED' WHERE guid = ?", (guid,))
        else:
            self._db.execute("DELETE FROM edges WHERE guid = ?", (guid,))

    def clear(self, *, types: bool) -> None:
        """Delete all entities and relationships and, with `types`, all type definitions of clients."""
        with self.transaction():
            self._db.execute("DELETE FROM edges")
            self._db.execute("DELETE FROM entities")
            if types:
                self._db.execute("DELETE FROM typedefs")

    # -- calls

    def count_call(self, verb: str, outcome: int, *, writes: bool) -> None:
        """Count one call."""
        self._db.execute(
            "INSERT INTO calls VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
            (verb, outcome, int(writes)),
        )

    def calls(self) -> list[tuple[str, int, bool, int]]:
        """Return all counts: verb, status of the answer, whether it writes, number."""
        rows = self._db.execute("SELECT verb, outcome, writes, count FROM calls ORDER BY verb, outcome")
        return [(verb, outcome, bool(writes), count) for verb, outcome, writes, count in rows]

    def forget_calls(self) -> None:
        """Reset all counts."""
        self._db.execute("DELETE FROM calls")


def _places(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
