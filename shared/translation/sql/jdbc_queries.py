"""Read what a JDBC query takes from the tables of its database."""

from functools import lru_cache

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from shared.plans.places import QueryColumn, QueryFlow
from shared.translation.sql.model import TableRef
from shared.translation.sql.parsing import nodes, parse
from shared.translation.sql.queries import Queries
from shared.translation.sql.relations import Origins, QueryRelation, Source
from shared.translation.sql.tables import UnreadableError, tables_read

_NOT_EVALUATED = (exp.Pivot, exp.Lateral, exp.Unnest, exp.Connect, exp.MatchRecognize)
_MASKS = (exp.Count, exp.MD5, exp.SHA, exp.SHA2)
"""Functions that show a value only through a mask, which the origins of a column do not distinguish."""


@lru_cache(maxsize=256)
def read_from(text: str, dialect: str) -> QueryFlow | None:
    """Read what stands behind FROM: a query in parentheses with an alias. `?` stands for a literal.

    None for a text that can't be parsed, or has more than a query. Never raises.
    """
    try:
        statement = f"SELECT * FROM {text.replace('?', _LITERAL)}"  # noqa: S608 - it is parsed, never run
        parsed = parse(statement, Dialect.get_or_raise(dialect))
        return _read(parsed.tree) if parsed and isinstance(parsed.tree, exp.Query) else None
    except (SqlglotError, UnreadableError, RecursionError, ValueError):
        return None


_LITERAL = "'0'"


def _read(tree: exp.Expr) -> QueryFlow:
    queries = Queries()
    output = queries.query(tree, None)
    passed = _passed(output.relation)
    known = not output.relation.is_open
    return QueryFlow(
        tables=tuple(dict.fromkeys(each.parts for each in tables_read(tree, (tree,)))),
        columns=tuple(_column(origins) for _, origins in output.relation.columns) if known else (),
        rows=_sources(output.rows),
        passed=passed.parts if passed else None,
        certain=not queries.doubts and bool(known or passed) and not any(_is_doubtful(each) for each in tree.walk()),
    )


def _is_doubtful(node: exp.Expr) -> bool:
    """Whether a clause has effects on rows or masks that the evaluation does not show."""
    if isinstance(node, exp.Select):
        listed = (each for clause in ("group", "order") for each in nodes(node.args.get(clause)))
        return bool(node.args.get("distinct")) or any(map(_is_by_place, listed))
    if isinstance(node, exp.SetOperation):
        return bool(node.args.get("distinct"))
    if isinstance(node, exp.Join):
        return node.method == "NATURAL"
    if isinstance(node, _MASKS):
        return node.find(exp.Column) is not None
    return isinstance(node, _NOT_EVALUATED)


def _is_by_place(node: exp.Expr) -> bool:
    """Whether this names an output column by its number, which is not known any more."""
    return isinstance(node.this if isinstance(node, exp.Ordered) else node, exp.Literal)


def _passed(relation: QueryRelation | None) -> TableRef | None:
    """The table of which a relation has all columns, and nothing else."""
    while relation is not None and not relation.columns and not relation.hidden:
        if relation.table:
            return relation.table
        relation = relation.through
    return None


def _column(origins: Origins) -> QueryColumn:
    return QueryColumn(direct=_sources(origins.direct), indirect=_sources(origins.indirect))


def _sources(sources: frozenset[Source]) -> tuple[tuple[tuple[str, ...], str], ...]:
    return tuple(sorted((table.parts, column) for table, column in sources if column.upper() not in _OF_NO_TABLE))


_OF_NO_TABLE = frozenset({"ROWNUM", "LEVEL", "SYSDATE", "SYSTIMESTAMP", "USER"})
"""What Oracle spells as columns."""
