"""Where a plan reads and writes: the data sets of relations, tables, indexes and sinks, and those behind JDBC.

JDBC's are spelled as the listener does. The text of a query is read by a function that the caller gives, so that plans
need no SQL parser.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from shared.openlineage.run import DatasetKey
from shared.plans.nodes.document import Node

TableName = tuple[str, ...]
"""The parts of a table's name, as written."""


class QueryColumn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A column of a query, with the columns that give its value (`direct`) and those that only decide (`indirect`)."""

    direct: tuple[tuple[TableName, str], ...] = ()
    indirect: tuple[tuple[TableName, str], ...] = ()


class QueryFlow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a query reads: its tables, its columns in order, and the columns that decide about rows.

    `passed` is the table of which it has all columns under their own names; then `columns` is empty. `certain`: nothing
    is left out.
    """

    tables: tuple[TableName, ...] = ()
    columns: tuple[QueryColumn, ...] = ()
    rows: tuple[tuple[TableName, str], ...] = ()
    passed: TableName | None = None
    certain: bool = False


ReadQuery = Callable[[str, str], QueryFlow | None]
"""Reads what stands behind FROM, in a dialect of sqlglot; None for a text that it can't read."""


def read_nothing(_text: str, _dialect: str) -> QueryFlow | None:
    """Reads no query: of a plan with one only the tables are known."""
    return None


class Server(NamedTuple):
    """A database server's namespace, the database in it, and the dialect of its SQL."""

    namespace: str
    database: str
    dialect: str

    def table(self, name: TableName) -> DatasetKey:
        """The data set of a table; a name that begins with the database is complete."""
        complete = not self.database or (len(name) > 1 and name[0] == self.database)
        return self.namespace, ".".join(name if complete else (self.database, *name))


class _Kind(NamedTuple):
    """How a kind of server is spelled: its scheme, the port if none is given, and its dialect."""

    scheme: str
    port: str
    dialect: str


_KINDS: Mapping[str, _Kind] = {
    "postgresql": _Kind("postgres", "5432", "postgres"),
    "mysql": _Kind("mysql", "3306", "mysql"),
    "mariadb": _Kind("mariadb", "", "mysql"),
    "sqlserver": _Kind("sqlserver", "", "tsql"),
    "oracle": _Kind("oracle", "1521", "oracle"),
    "redshift": _Kind("redshift", "", "redshift"),
    "trino": _Kind("trino", "", "trino"),
    "clickhouse": _Kind("clickhouse", "", "clickhouse"),
}
"""By the first word of the address behind `jdbc:`. Others are not known: their names would be guesses."""

_ADDRESS = re.compile(
    r"jdbc:(?P<kind>\w+):(?:(?:thin|oci):@)?(?://)?(?P<host>\[[\w:]+\]|[\w.-]+)(?:\\(?P<instance>\w+))?"
    r"(?::(?P<port>\d+))?(?:[/:](?P<database>[\w.$-]+))?(?P<rest>[/?;&].*)?",
    re.IGNORECASE | re.DOTALL,
)
_DATABASE = re.compile(r";\s*database(?:name)?\s*=\s*([^;]+)", re.IGNORECASE)
_PORT = re.compile(r";\s*port(?:number)?\s*=\s*(\d+)", re.IGNORECASE)
_NAME = re.compile(r'(?:[\w$#]+|"[^"]+"|`[^`]+`|\[[^\]]+\])(?:\.(?:[\w$#]+|"[^"]+"|`[^`]+`|\[[^\]]+\]))*')


def server_of(url: str) -> Server | None:
    """The server of a JDBC address; None for one of another kind, or with several hosts."""
    address = _ADDRESS.fullmatch(url)
    kind = _KINDS.get(address["kind"].lower()) if address else None
    if not address or not kind:
        return None
    properties = address["rest"] or ""
    port = address["port"] or next(iter(_PORT.findall(properties)), kind.port)
    database = address["database"] or next(iter(_DATABASE.findall(properties)), "")
    namespace = f"{kind.scheme}://{address['host'].lower()}{f':{port}' if port else ''}"
    namespace += f"/{address['instance']}" if address["instance"] else ""
    return Server(namespace=namespace, database=database, dialect=kind.dialect)


def table_name(text: str) -> TableName | None:
    """A table's name in parts; None for a text that is a query."""
    return tuple(text.strip().split(".")) if _NAME.fullmatch(text.strip()) else None


class JdbcSource(NamedTuple):
    """A server, and the name of a table there or a query of several."""

    server: Server
    text: str


def source_of(options: Node) -> JdbcSource | None:
    """What the options of a JDBC read or write name; None for an unknown server."""
    server = server_of(str(options.get("url", "")))
    texts: Iterable[object] = (options.get(name) for name in ("tableOrQuery", "dbtable", "table", "query"))
    text = next((str(text) for text in texts if text), "")
    return JdbcSource(server=server, text=text) if server and text else None


_URI = re.compile(r"(?P<scheme>[a-zA-Z][\w+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)")
_LOCAL = frozenset({"file", "dbfs"})

NO_DATASET = frozenset({"LocalRelation", "OneRowRelation", "Range", "CommandResult", "EmptyRelation"})
"""Leaves that read no data set."""


def at_path(text: str) -> DatasetKey | None:
    """The data set at an absolute path, spelled as the listener does; None for a path without a scheme."""
    uri = _URI.fullmatch(text)
    if not uri:
        return None
    scheme, authority, path = uri["scheme"], uri["authority"] or "", uri["path"].rstrip("/") or "/"
    if scheme in _LOCAL and not authority:
        return scheme, path
    return f"{scheme}://{authority}", path.lstrip("/") or "/"


def places_of(value: Any) -> Iterator[DatasetKey]:
    """The data sets of a relation, table, index, sink or catalog table: of the first fact that names one."""
    if isinstance(value, str):
        place = at_path(value)
        if place:
            yield place
    elif isinstance(value, list):
        for element in value:
            yield from places_of(element)
    elif isinstance(value, dict):
        for option, rule in _BY_OPTION.items():
            if option in value:
                yield from rule(value)
                return
        yield from _places_of_facts(value)


def _places_of_facts(facts: Node) -> tuple[DatasetKey, ...]:
    for name in _FACTS:
        if name in facts and (places := tuple(places_of(facts[name]))):
            return places
    return ()


def _table_by_jdbc(options: Node) -> tuple[DatasetKey, ...]:
    source = source_of(options)
    table = table_name(source.text) if source else None
    return (source.server.table(table),) if source and table else ()


def _topics(options: Node) -> tuple[DatasetKey, ...]:
    """Topics of Kafka by name, at the first of its servers; patterns show none."""
    server = str(options["kafka.bootstrap.servers"]).split(",")[0].strip()
    named = options.get("topic") or options.get("subscribe") or ""
    return tuple((f"kafka://{server}", topic.strip()) for topic in str(named).split(",") if topic.strip())


_BY_OPTION = {"url": _table_by_jdbc, "kafka.bootstrap.servers": _topics}
"""What shows a place by several options at once."""

_FACTS = (
    "jdbc",
    "basepath",
    "storage",
    "locationUri",
    "location",
    "paths",
    "path",
    "inner",
    "table",
    "relation",
    "log",
    "catalogTable",
    "desc",
    "options",
)
"""Fields that lead to a location, the surest first."""


def places_of_leaf(leaf: Node) -> tuple[DatasetKey, ...]:
    """The data sets that a leaf of a plan reads: empty where none is known."""
    relation = leaf.get("relation")
    options = relation.get("options") if isinstance(relation, dict) else None
    if isinstance(options, dict) and leaf.get("isStreaming") and "basepath" in options:
        return tuple(places_of(options["basepath"]))
    for name in ("catalogTable", "tableMeta", "relation", "table", "sourceTable", "scan", "options"):
        if name in leaf and (places := tuple(dict.fromkeys(places_of(leaf[name])))):
            return places
    return ()


def columns_of_clone(leaf: Node) -> list[Node]:
    """The columns of the table that a CLONE copies, which no plan has; none for other leaves."""
    source = leaf.get("sourceTable")
    names = source.get("columnNames") if isinstance(source, dict) else None
    return [{"name": str(name)} for name in names] if isinstance(names, list) else []
