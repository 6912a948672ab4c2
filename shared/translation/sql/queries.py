"""The source columns of queries: SELECT, set operations and VALUES, as far as they are certain; also behind JDBC."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from shared.plans.places import QueryColumn, QueryFlow
from shared.translation.sql.model import TableRef
from shared.translation.sql.parsing import (
    UnreadableError,
    cte_name,
    ctes_of,
    is_recursive,
    nodes,
    parse,
    table_ref,
    tables_read,
)
from shared.translation.sql.relations import (
    OPAQUE,
    Origins,
    QueryRelation,
    Scope,
    Source,
    Star,
    named_parts,
    origins_of,
    star_of,
)

_ABOUT_ROWS = ("where", "having", "qualify", "group", "order", "sort", "cluster", "distribute")
"""Clauses with row dependencies."""

_BY_PLACE = (exp.Group, exp.Order, exp.Sort)
"""Clauses in which a number means an output column."""

_GENERATED = ("pos", "col", "key", "value")
"""Default column names of explode and posexplode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOutput:
    """A query's columns, and its row dependencies (`rows`)."""

    relation: QueryRelation = OPAQUE
    rows: frozenset[Source] = frozenset()


Common = Mapping[str, QueryOutput]
"""The visible common table expressions, by name in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """Evaluates queries that see the same common table expressions.

    `doubts` collects what is left out because it is uncertain: names that are not resolved, and clauses that are not
    evaluated.
    """

    common: Common = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def common_in(self, node: exp.Expr) -> Common:
        """The common table expressions that are visible inside a node: the outer ones and its own."""
        common = dict(self.common)
        for cte in ctes_of(node):
            if is_recursive(node):
                common[cte.alias.lower()] = QueryOutput()  # a recursive reference adds no sources
                self.doubts.append("a recursive query")
            output = Queries(common=common, doubts=self.doubts).query(cte.this, None)
            relation = output.relation.renamed(cte.alias_column_names)
            common[cte.alias.lower()] = QueryOutput(relation=relation, rows=output.rows)
        return common

    def query(self, node: object, outer: Scope | None) -> QueryOutput:
        """Evaluate a query; `outer` is the enclosing scope of a correlated one."""
        if not isinstance(node, exp.Expr):
            return QueryOutput()
        inside = Queries(common=self.common_in(node), doubts=self.doubts)
        if isinstance(node, exp.Select):
            return inside._select(node, outer)
        if isinstance(node, exp.SetOperation):
            return inside._set_operation(node, outer)
        if isinstance(node, exp.Subquery):
            output = inside.query(node.this, outer)
            return QueryOutput(relation=output.relation, rows=output.rows | inside._about_rows(node, _scope_of(output)))
        if isinstance(node, exp.Values):
            return QueryOutput(relation=inside._values(node, outer))
        if isinstance(node, exp.Table):
            scope, rows = Scope(outer=outer, doubts=self.doubts), set[Source]()
            inside.add(scope, node, rows)
            return QueryOutput(relation=_one(scope.relations), rows=frozenset(rows))
        return QueryOutput()

    def origins(self, node: object, scope: Scope) -> Origins:
        """The origins of an expression."""
        return origins_of(node, scope, self._evaluate)

    def _evaluate(self, node: exp.Expr, scope: Scope) -> tuple[list[Origins], frozenset[Source]]:
        output = self.query(node, scope)
        return [origins for _, origins in output.relation.columns], output.rows

    def _select(self, node: exp.Select, outer: Scope | None) -> QueryOutput:
        scope, rows = Scope(outer=outer, doubts=self.doubts), set[Source]()
        from_ = node.args.get("from_")
        if isinstance(from_, exp.From):
            self.add(scope, from_.this, rows)
        self._joins(scope, node, rows)
        for lateral in nodes(node, "laterals"):
            self.add(scope, lateral, rows)
        relation = self._columns(node, scope)
        return QueryOutput(relation=relation, rows=frozenset(rows | self._about_rows(node, scope, relation)))

    def _about_rows(self, node: exp.Expr, scope: Scope, output: QueryRelation | None = None) -> frozenset[Source]:
        rows: set[Source] = set()
        for clause in _ABOUT_ROWS:
            part = node.args.get(clause)
            if isinstance(part, _BY_PLACE):
                rows.update(*(self._by_place(node, output or _one(scope.relations)) for node in nodes(part)))
            rows |= self.origins(part, scope).all
        return frozenset(rows)

    @staticmethod
    def _by_place(node: object, output: QueryRelation) -> frozenset[Source]:
        """The sources of a column number in GROUP BY or ORDER BY."""
        number = node.this if isinstance(node, exp.Ordered) else node
        if isinstance(number, exp.Literal) and number.is_int and not output.is_open:
            place = int(number.name) - 1
            if 0 <= place < len(output.columns):
                return output.columns[place][1].all
        return frozenset()

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None) -> QueryOutput:
        branches: list[exp.SetOperation] = []
        first: object = node
        while isinstance(first, exp.SetOperation) and (first is node or not first.args.get("with_")):
            branches.append(first)  # the first branch is nested the deepest: a thousand UNIONs are as deep
            first = first.this
        output = self.query(first, outer)
        for branch in reversed(branches):
            output = self._combined(branch, output, self.query(branch.args.get("expression"), outer))
        return QueryOutput(relation=output.relation, rows=output.rows | self._about_rows(node, _scope_of(output)))

    @staticmethod
    def _combined(node: exp.SetOperation, output: QueryOutput, other: QueryOutput) -> QueryOutput:
        """Add a branch: in a union both give values, in other operations the second has row dependencies only."""
        left_relation, right = output.relation, other.relation
        rows = output.rows | other.rows
        if not isinstance(node, exp.Union):
            decides = frozenset(source for _, origins in right.columns for source in origins.all)
            return QueryOutput(relation=left_relation, rows=rows | decides)
        if (
            left_relation.is_open
            or right.is_open
            or node.args.get("by_name")
            or len(left_relation.columns) != len(right.columns)
        ):
            return QueryOutput(rows=rows)
        columns = tuple((name, a | b) for (name, a), (_, b) in zip(left_relation.columns, right.columns, strict=True))
        return QueryOutput(relation=QueryRelation(columns=columns), rows=rows)

    def _values(self, node: exp.Values, outer: Scope | None) -> QueryRelation:
        scope = Scope(outer=outer, doubts=self.doubts)
        rows = [nodes(row) if isinstance(row, exp.Tuple) else [row] for row in nodes(node)]
        if not rows or len({len(row) for row in rows}) != 1:
            return OPAQUE
        cells = [[self.origins(cell, scope) for cell in row] for row in rows]
        columns = (reduce(or_, column) for column in zip(*cells, strict=True))
        return QueryRelation(columns=tuple((f"col{place}", origins) for place, origins in enumerate(columns, start=1)))

    def add(self, scope: Scope, node: object, rows: set[Source]) -> None:
        """Add an item of FROM, JOIN or LATERAL to the scope, and its row dependencies to `rows`."""
        if isinstance(node, exp.Table):
            self._add_table(scope, node, rows)
            self._joins(scope, node, rows)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.alias:
            self.add(scope, node.this, rows)  # parentheses around joins
        elif isinstance(node, exp.Subquery | exp.Values):
            output = self.query(node, None)
            rows |= output.rows
            scope.add(_alias(node), _seen(node, output.relation))
        elif isinstance(node, exp.Lateral):
            scope.add(_alias(node), self._lateral(node, scope, rows))
        elif isinstance(node, exp.Stream):
            self.add(scope, node.this, rows)
        else:
            scope.add((), OPAQUE)

    def _add_table(self, scope: Scope, node: exp.Table, rows: set[Source]) -> None:
        alias = _alias(node)
        common = self.common.get(cte_name(node))
        ref = None if common else table_ref(node)
        if common:
            rows |= common.rows
            relation, names = common.relation, [node.name]
        elif ref:
            relation, names = QueryRelation(table=ref, is_open=True), list(ref.parts or (ref.format, ref.path))
        else:
            relation, names = OPAQUE, []
        scope.add(alias or names, _seen(node, relation))

    def _lateral(self, node: exp.Lateral, scope: Scope, rows: set[Source]) -> QueryRelation:
        if isinstance(node.this, exp.Subquery):
            output = self.query(node.this, scope)
            rows |= output.rows
            return _seen(node, output.relation)
        if not isinstance(node.this, exp.Explode):  # Posexplode and the outer ones are kinds of it
            return OPAQUE
        origins = self.origins(node.this, scope)
        return QueryRelation(columns=tuple((name, origins) for name in node.alias_column_names or _GENERATED))

    def _joins(self, scope: Scope, node: exp.Expr, rows: set[Source]) -> None:
        for join in nodes(node, "joins"):
            if not isinstance(join, exp.Join):
                continue
            left_relations = scope.relations
            self.add(scope, join.this, rows)
            rows |= self.origins(join.args.get("on"), scope).all
            if join.method == "NATURAL":
                scope.joined.clear()
                scope.add((), OPAQUE)
            for name in (column.name for column in nodes(join, "using")):
                sides = [_one(left_relations), scope.relations[-1]]
                rows.update(*(origins.all for side in sides if (origins := side.look(name))))
                if join.side in {"", "LEFT"}:
                    scope.joined.setdefault(name.lower(), sides[0])
            if join.kind in {"SEMI", "ANTI"}:  # only the left side goes on
                del scope.entries[len(left_relations) :]

    def _columns(self, node: exp.Select, scope: Scope) -> QueryRelation:
        columns: list[tuple[str, Origins]] = []
        stars: list[Star] = []
        for item in nodes(node):
            star = star_of(item, scope)
            if star and star.expanded is not None and not scope.joined:
                columns += star.expanded
            elif star:
                stars.append(star)
            else:
                for name, part in named_parts(item):
                    columns.append((name, self.origins(part, scope)))
                    if isinstance(item, exp.Alias | exp.Aliases) and name:
                        scope.aliases.setdefault(name.lower(), columns[-1][1])
        if not stars:
            return QueryRelation(columns=tuple(columns))
        star_of_all = stars[0] if len(stars) == 1 else Star()
        return QueryRelation(
            columns=tuple(columns), is_open=True, through=star_of_all.relation, hidden=star_of_all.hidden
        )


def _alias(node: exp.Expr) -> tuple[str, ...]:
    pivots = nodes(node, "pivots")
    alias = next((pivot.alias for pivot in reversed(pivots) if pivot.alias), "") or node.alias
    return (alias,) if alias else ()


def _seen(node: exp.Expr, relation: QueryRelation) -> QueryRelation:
    """The relation as the query sees it: opaque if pivoted, else with the alias's column names."""
    return OPAQUE if node.args.get("pivots") else relation.renamed(node.alias_column_names)


def _scope_of(output: QueryOutput) -> Scope:
    """The scope of ORDER BY after a set operation: the output's columns."""
    scope = Scope()
    scope.add((), output.relation)
    return scope


def _one(relations: list[QueryRelation]) -> QueryRelation:
    return relations[0] if len(relations) == 1 else OPAQUE


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
    is_closed = not output.relation.is_open
    return QueryFlow(
        tables=tuple(dict.fromkeys(table.parts for table in tables_read(tree, (tree,)))),
        columns=tuple(_column(origins) for _, origins in output.relation.columns) if is_closed else (),
        rows=_sources(output.rows),
        passed=passed.parts if passed else None,
        certain=not queries.doubts
        and bool(is_closed or passed)
        and not any(_is_doubtful(node) for node in tree.walk()),
    )


def _is_doubtful(node: exp.Expr) -> bool:
    """Whether a clause has effects on rows or masks that the evaluation does not show."""
    if isinstance(node, exp.Select):
        listed = (part for clause in ("group", "order") for part in nodes(node.args.get(clause)))
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
