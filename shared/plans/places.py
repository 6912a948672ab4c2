"""Where a plan reads and writes: the data sets of relations, tables, indexes and sinks."""

import re
from collections.abc import Iterator
from typing import Any

from shared.openlineage.run import DatasetKey
from shared.plans.document import Node, kind

_URI = re.compile(r"(?P<scheme>[a-zA-Z][\w+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)")
_LOCAL = frozenset({"file", "dbfs"})

NO_DATASET = frozenset({"LocalRelation", "OneRowRelation", "Range", "CommandResult", "ExternalRDD"})
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
        return
    if isinstance(value, list):
        for each in value:
            yield from places_of(each)
        return
    if not isinstance(value, dict):
        return
    for name in _FACTS:
        if name in value:
            found_here = list(places_of(value[name]))
            if found_here:
                yield from found_here
                return


_FACTS = (
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
)
"""Fields that lead to a location, the surest first."""


def places_of_leaf(leaf: Node) -> tuple[DatasetKey, ...]:
    """The data sets that a leaf of a plan reads: empty where none is known."""
    relation = leaf.get("relation")
    options = relation.get("options") if isinstance(relation, dict) else None
    if isinstance(options, dict) and leaf.get("isStreaming") and "basepath" in options:
        return tuple(places_of(options["basepath"]))
    if kind(relation) == "JDBCRelation":
        return ()
    for name in ("catalogTable", "tableMeta", "relation", "table"):
        found = tuple(dict.fromkeys(places_of(leaf.get(name))))
        if found:
            return found
    return ()
