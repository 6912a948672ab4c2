"""sqlglot's lineage of a query with the schema: the sources of each column, and the conditions of its rows.

sqlglot's optimizer qualifies the query and finds its scopes, from which both results come. `Expected.columns` and
`rows` follow the scopes' expressions by the rules of docs/concepts/meaning.md. `Expected.leaves` is sqlglot's own
lineage of each column, which does not separate values from the conditions in expressions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp, lineage, parse_one
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope
from sqlglot.schema import MappingSchema

DIALECT = "spark"

Source = tuple[str, str]
"""A table and its column."""


class Sources(NamedTuple):
    """The columns of a value, and the columns of its conditions."""

    values: frozenset[Source] = frozenset()
    conditions: frozenset[Source] = frozenset()

    @property
    def all(self) -> frozenset[Source]:
        """Both."""
        return self.values | self.conditions


NOTHING = Sources()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The columns of a query in order, the conditions of its rows, and sqlglot's own lineage of each column."""

    columns: tuple[Sources, ...]
    rows: frozenset[Source]
    leaves: tuple[frozenset[Source], ...]


def expected(query: str, tables: Mapping[str, Mapping[str, str]]) -> Expected:
    """Read a query over these tables. Raises sqlglot's SqlglotError."""
    schema = MappingSchema({table: dict(columns) for table, columns in tables.items()}, dialect=DIALECT)
    scope = build_scope(qualify(parse_one(query, dialect=DIALECT), dialect=DIALECT, schema=schema))
    if scope is None:
        raise ValueError("not a query")
    columns, rows = Scopes().query(scope)
    leaves = []
    for place in range(len(columns)):
        root = lineage.to_node(place, scope, DIALECT, schema=schema, trim_selects=False)
        leaf_nodes = [node for node in root.walk() if isinstance(node.expression, exp.Table) and not node.downstream]
        leaves.append(
            frozenset((node.expression.name, node.name.rpartition(".")[2].strip('"').lower()) for node in leaf_nodes)
        )
    return Expected(columns=columns, rows=rows, leaves=tuple(leaves))


def united(columns: Iterable[Sources]) -> Sources:
    """All sources of several."""
    column_list = list(columns)
    return Sources(
        frozenset().union(*(sources.values for sources in column_list)),
        frozenset().union(*(sources.conditions for sources in column_list)),
    )


@dataclass(slots=True)
class Scopes:
    """The columns and rows of each scope, read once."""

    _read: dict[int, tuple[tuple[Sources, ...], frozenset[Source]]] = field(default_factory=dict)

    def query(self, scope: Scope) -> tuple[tuple[Sources, ...], frozenset[Source]]:
        """Return the columns of a scope in order, and the conditions of its rows."""
        if id(scope) not in self._read:
            self._read[id(scope)] = self._query(scope)
        return self._read[id(scope)]

    def _query(self, scope: Scope) -> tuple[tuple[Sources, ...], frozenset[Source]]:
        query = _query_of(scope)
        if isinstance(query, exp.SetOperation):
            columns, rows = self._set_operation(query, scope)
        elif isinstance(query, exp.Subquery):
            (inner,) = scope.subquery_scopes
            columns, rows = self.query(inner)
        else:
            columns = tuple(self._sources(selected, scope) for selected in query.selects)
            rows = self._rows(query, scope, columns)
        ordered = query.args.get("order")
        names = [name.lower() for name in query.named_selects]
        for column in ordered.find_all(exp.Column) if ordered else ():
            if not column.table and column.name.lower() in names:
                rows |= columns[names.index(column.name.lower())].all
        return columns, rows

    def _set_operation(self, query: exp.SetOperation, scope: Scope) -> tuple[tuple[Sources, ...], frozenset[Source]]:
        (left_columns, left_rows), (right, right_rows) = (
            self.query(set_operation_scope) for set_operation_scope in scope.set_operation_scopes
        )
        rows = left_rows | right_rows
        columns = tuple(map(united, zip(left_columns, right, strict=True)))
        if query.args.get("distinct") or not isinstance(query, exp.Union):
            rows |= united(columns).all
        return columns if isinstance(query, exp.Union) else left_columns, rows

    def _rows(self, query: exp.Query, scope: Scope, columns: tuple[Sources, ...]) -> frozenset[Source]:
        parts = [query.args.get(name) for name in ("where", "group", "having", "order")]
        parts += [join.args.get("on") for join in query.args.get("joins") or ()]
        rows = united(self._sources(part, scope) for part in parts if part).all
        for _, source in scope.selected_sources.values():
            if isinstance(source, Scope):
                rows |= self.query(source)[1]
        return rows | united(columns).all if query.args.get("distinct") else rows

    def _sources(self, expression: exp.Expr, scope: Scope) -> Sources:
        """Return the sources of an expression in a scope and the scopes around it."""
        if isinstance(expression, exp.Column):
            return self._column(expression, scope)
        if isinstance(expression, exp.Query):
            return self._subquery(expression, scope)
        if isinstance(expression, exp.Exists):
            return Sources(conditions=self._subquery(expression.this, scope).conditions)
        decide = set(map(id, _deciding(expression)))
        give = [
            iter_expression for iter_expression in expression.iter_expressions() if id(iter_expression) not in decide
        ]
        give += _both(expression)
        return united(
            (
                *(self._sources(expression_part, scope) for expression_part in give),
                *(
                    Sources(conditions=self._sources(deciding_part, scope).all)
                    for deciding_part in _deciding(expression)
                ),
            )
        )

    def _subquery(self, query: exp.Expr, scope: Scope) -> Sources:
        inner = query.unnest()
        (subquery,) = (
            subquery_scope for subquery_scope in scope.subquery_scopes if subquery_scope.expression in (inner, query)
        )
        columns, rows = self.query(subquery)
        return united((*columns, Sources(conditions=rows)))

    def _column(self, column: exp.Column, scope: Scope) -> Sources:
        if not column.table:
            return NOTHING  # one of the query's own columns in ORDER BY
        current_scope: Scope | None = scope
        while current_scope and column.table not in current_scope.selected_sources:
            current_scope = current_scope.parent
        if current_scope is None:
            raise ValueError(f"{column.sql()} is of no source")
        _, source = current_scope.selected_sources[column.table]
        if isinstance(source, Scope):
            names = [name.lower() for name in _query_of(source).named_selects]
            return self.query(source)[0][names.index(column.name.lower())]
        return Sources(values=frozenset({(source.name, column.name.lower())}))


def _query_of(scope: Scope) -> exp.Query:
    if not isinstance(scope.expression, exp.Query):
        raise TypeError(f"a scope is no query: {scope.expression.sql()}")
    return scope.expression


def _deciding(expression: exp.Expr) -> list[exp.Expr]:
    """Yield the parts of an expression that are only conditions of its value."""
    if isinstance(expression, exp.Case):
        return [part for part in (expression.this, *(branch.this for branch in expression.args["ifs"])) if part]
    if isinstance(expression, exp.If):
        return [expression.this]
    if isinstance(expression, exp.Window):
        return [*expression.args.get("partition_by", ()), *filter(None, [expression.args.get("order")])]
    if isinstance(expression, exp.Filter):
        return [expression.expression]
    if isinstance(expression, exp.Coalesce):
        return [expression.this, *expression.expressions][:-1]
    if isinstance(expression, exp.Nullif):
        return [expression.this, expression.expression]
    return []


def _both(expression: exp.Expr) -> list[exp.Expr]:
    """Yield the parts of an expression that are conditions and values."""
    if isinstance(expression, exp.Coalesce):
        return _deciding(expression)
    return [expression.this] if isinstance(expression, exp.Nullif) else []
