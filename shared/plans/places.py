"""Where a plan reads and writes: the data sets of relations, tables, indexes and sinks."""

import re
from collections.abc import Iterator
from typing import Any

from shared.openlineage.run import DatasetKey
from shared.plans.jdbc import source_of, table_name
from shared.plans.nodes.document import Node

_URI = re.compile(r"(?P<scheme>[a-zA-Z][\w+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)")
_LOCAL = frozenset({"file", "dbfs"})

NO_DATASET = frozenset({"LocalRelation", "OneRowRelation", "Range", "CommandResult", "EmptyRelation"})
"""Leaves that read no data set."""


def at_path(text: str) -> DatasetKey | None:
    """The data set at an absolute path, spelled as the listener does; None for a path without a scheme."""
    found = _URI.fullmatch(text)
    if not found:
        return None
    scheme, authority, path = found["scheme"], found["authority"] or "", found["path"].rstrip("/") or "/"
    if scheme in _LOCAL and not authority:
        return scheme, path
    return f"{scheme}://{authority}", path.lstrip("/") or "/"


def places_of(value: Any) -> Iterator[DatasetKey]:
    """The data sets of a relation, table, index, sink or catalog table: of the first fact that names one."""
    if isinstance(value, str):
        found = at_path(value)
        if found:
            yield found
    elif isinstance(value, list):
        for each in value:
            yield from places_of(each)
    elif isinstance(value, dict):
        rule = next((rule for option, rule in _BY_OPTION.items() if option in value), _places_of_facts)
        yield from rule(value)


def _places_of_facts(facts: Node) -> tuple[DatasetKey, ...]:
    for name in _FACTS:
        found = tuple(places_of(facts[name])) if name in facts else ()
        if found:
            return found
    return ()


def _table_by_jdbc(options: Node) -> tuple[DatasetKey, ...]:
    source = source_of(options)
    table = table_name(source.text) if source else None
    return (source.server.table(table),) if source and table else ()


def _topics(options: Node) -> tuple[DatasetKey, ...]:
    """Topics of Kafka by name, at the first of its servers; patterns show none."""
    server = str(options["kafka.bootstrap.servers"]).split(",")[0].strip()
    named = options.get("topic") or options.get("subscribe") or ""
    return tuple((f"kafka://{server}", each.strip()) for each in str(named).split(",") if each.strip())


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
        found = tuple(dict.fromkeys(places_of(leaf[name]))) if name in leaf else ()
        if found:
            return found
    return ()


def columns_of_clone(leaf: Node) -> list[Node]:
    """The columns of the table that a CLONE copies, which no plan has; none for other leaves."""
    source = leaf.get("sourceTable")
    names = source.get("columnNames") if isinstance(source, dict) else None
    return [{"name": str(name)} for name in names] if isinstance(names, list) else []
