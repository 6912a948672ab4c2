"""Table references in a tree, and all tables that it reads."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from shared.translation.sql.model import TableRef
from shared.translation.sql.parsing import nodes

_FORMATS = frozenset({"avro", "binaryfile", "csv", "delta", "hudi", "iceberg", "json", "orc", "parquet", "text", "xml"})
"""Formats that may precede a path in place of a database (Spark's "SQL on files")."""


class UnreadableError(Exception):
    """A table of the statement has a computed name, so the statement is not read."""


def table_ref(table: exp.Table) -> TableRef | None:
    """The table's reference; None for a table function, which reads no table.

    Raises UnreadableError for a name that is computed.
    """
    if isinstance(table.this, exp.Func):
        if table.this.name.upper() == "IDENTIFIER":
            raise UnreadableError
        return None
    if not all(isinstance(part, exp.Identifier) and part.name for part in table.parts):
        raise UnreadableError
    parts = tuple(part.name for part in table.parts)
    if len(parts) > 1 and parts[-2].lower() in _FORMATS and any(mark in parts[-1] for mark in "/:.\\"):
        return TableRef(path=parts[-1], format=parts[-2].lower())
    return TableRef(parts=parts)


def cte_name(table: exp.Table) -> str:
    """The name in lower case by which a table may be a common table expression; empty if it can't."""
    return "" if table.args.get("db") else table.name.lower()


def ctes_of(node: exp.Expr) -> Iterator[exp.CTE]:
    """The common table expressions that a query defines, in order."""
    yield from (cte for cte in nodes(node.args.get("with_")) if isinstance(cte, exp.CTE))


def is_recursive(node: exp.Expr) -> bool:
    """Whether the common table expressions may be recursive."""
    with_ = node.args.get("with_")
    return isinstance(with_, exp.With) and bool(with_.args.get("recursive"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommonTable:
    """A common table expression: its body, and the others it sees."""

    body: exp.Expr
    sees: Mapping[str, "_CommonTable"]


def _names(node: exp.Expr, outer: Mapping[str, _CommonTable]) -> Mapping[str, _CommonTable]:
    names = outer
    for cte in ctes_of(node):
        more = dict(names)
        more[cte.alias.lower()] = _CommonTable(body=cte.this, sees=more if is_recursive(node) else names)
        names = more
    return names


def tables_read(statement: exp.Expr, nodes: Iterable[object]) -> Iterator[TableRef]:
    """All tables below these nodes of the statement, in the order and number of their mentions.

    A common table expression counts by what it reads, and only if it is read. Raises UnreadableError.
    """
    visited: set[int] = set()
    start = _names(statement, {})
    stack: list[tuple[object, Mapping[str, _CommonTable]]] = [(node, start) for node in nodes][::-1]
    while stack:
        node, outer = stack.pop()
        if not isinstance(node, exp.Expr) or isinstance(node, exp.Hint):
            continue
        names = _names(node, outer)
        if isinstance(node, exp.Table):
            common = names.get(cte_name(node))
            ref = None if common else table_ref(node)
            if ref:
                yield ref
            if common and id(common) not in visited:
                visited.add(id(common))
                stack.append((common.body, common.sees))
        children = [child for child in node.iter_expressions() if not isinstance(child, exp.With)]
        stack.extend((child, names) for child in reversed(children))
