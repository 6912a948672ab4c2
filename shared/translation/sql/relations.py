"""Resolve column names among the relations of a query's FROM: of expressions, and of a SELECT list's stars.

Tables' columns are unknown, so a name is resolved only if it is qualified, or if just one relation has unknown
columns. Names that Spark finds ambiguous do not occur: the statements have run.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from sqlglot import exp

from shared.translation.sql.model import TableRef
from shared.translation.sql.parsing import nodes

Source = tuple[TableRef, str]
"""A table and the name of one of its columns, as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """The sources of a value; `constant` if it is made of literals alone. `opaque`: the direct ones that only code may
    pass on (TRANSFORM … USING), so that they are an upper bound.
    """

    direct: frozenset[Source] = frozenset()
    indirect: frozenset[Source] = frozenset()
    constant: bool = False
    opaque: frozenset[Source] = frozenset()

    @property
    def all(self) -> frozenset[Source]:
        """Direct and indirect sources."""
        return self.direct | self.indirect

    @property
    def exact(self) -> frozenset[Source]:
        """The direct sources that reach the value for certain."""
        return self.direct - self.opaque

    def __or__(self, other: "Origins") -> "Origins":
        return Origins(
            direct=self.direct | other.direct,
            indirect=self.indirect | other.indirect,
            constant=self.constant and other.constant,
            opaque=(self.opaque | other.opaque) - self.exact - other.exact,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRelation:
    """A relation in FROM.

    `columns`: the known ones in order, unnamed ones with an empty name; all columns unless the relation `is_open`. In
    an open one other names are columns of `table`, or of `through` unless `hidden`, or unknown.
    """

    columns: tuple[tuple[str, Origins], ...] = ()
    is_open: bool = False
    table: TableRef | None = None
    through: "QueryRelation | None" = None
    hidden: frozenset[str] = frozenset()
    by_name: dict[str, Origins | None] = field(init=False, repr=False, compare=False)
    """By name in lower case; None if two columns have it."""

    def __post_init__(self) -> None:
        by_name: dict[str, Origins | None] = {}
        for name, origins in self.columns:
            if name:
                by_name[name.lower()] = None if name.lower() in by_name else origins
        object.__setattr__(self, "by_name", by_name)

    def look(self, name: str) -> Origins | None:
        """The origins of the column of this name; None if there is none, or if they are uncertain."""
        folded = name.lower()
        if folded in self.by_name:
            return self.by_name[folded]
        if folded in self.hidden:
            return None
        if self.table:
            return Origins(direct=frozenset({(self.table, name)}))
        return self.through.look(name) if self.through else None

    def renamed(self, names: Iterable[str]) -> "QueryRelation":
        """The relation with new column names, by position."""
        listed = tuple(names)
        if not listed:
            return self
        if self.is_open or len(listed) != len(self.columns):
            return OPAQUE
        return QueryRelation(
            columns=tuple((name, column[1]) for name, column in zip(listed, self.columns, strict=True))
        )


OPAQUE = QueryRelation(is_open=True)
"""A relation of unknown columns: a pivot, a table function, unknown columns renamed by position."""


@dataclass(slots=True, kw_only=True)
class Scope:
    """The relations of one query by name; `outer` is the enclosing scope of a correlated query."""

    outer: "Scope | None" = None
    entries: list[tuple[tuple[str, ...], QueryRelation]] = field(default_factory=list)
    joined: dict[str, QueryRelation] = field(default_factory=dict)
    """By column of USING: the side that gives its value."""
    aliases: dict[str, Origins] = field(default_factory=dict)
    """The columns named so far by the SELECT list."""
    doubts: list[str] = field(default_factory=list)
    """The names that were not resolved."""

    def add(self, names: Iterable[str], relation: QueryRelation) -> None:
        """Add a relation by its alias, or by the parts of its name."""
        self.entries.append((tuple(name.lower() for name in names), relation))

    @property
    def relations(self) -> list[QueryRelation]:
        """All relations in the order of FROM."""
        return [relation for _, relation in self.entries]

    def find(self, names: Iterable[str]) -> QueryRelation | None:
        """The relation of a qualifier; None if there is none, or several."""
        folded = tuple(name.lower() for name in names)
        relations = [relation for name, relation in self.entries if folded and name[-len(folded) :] == folded]
        return relations[0] if len(relations) == 1 else None

    def resolve(self, parts: tuple[str, ...]) -> Origins | None:
        """The origins of a qualified name; parts after the column's are its fields. None if they are uncertain."""
        origins = self._resolved(parts)
        if origins is None:
            self.doubts.append(parts[-1])
        return origins

    def _resolved(self, parts: tuple[str, ...]) -> Origins | None:
        scope: Scope | None = self
        while scope:
            for length in range(len(parts) - 1, 0, -1):
                relation = scope.find(parts[:length])
                if relation:
                    return relation.look(parts[length])
            scope = scope.outer
        return self._unqualified(parts[0])

    def _unqualified(self, name: str) -> Origins | None:
        folded = name.lower()
        named = [relation for relation in self.relations if folded in relation.by_name]
        unknown = [relation for relation in self.relations if relation.is_open]
        if named:
            origins = named[0].look(name) if len(named) == 1 else None
        elif folded in self.joined:
            origins = self.joined[folded].look(name)
        elif len(unknown) == 1 and not (self.outer and self.outer.may_have(folded)):
            origins = unknown[0].look(name)
        elif not unknown and folded in self.aliases:
            return self.aliases[folded]
        else:
            return self.outer._unqualified(name) if self.outer and not unknown else None  # noqa: SLF001 - its own kind
        alias = self.aliases.get(folded)
        return origins if named or alias is None or alias == origins else None

    def may_have(self, folded: str) -> bool:
        """Whether a name could be a column of this query or of an enclosing one."""
        is_possible = any(relation.is_open or folded in relation.by_name for relation in self.relations)
        return is_possible or (self.outer is not None and self.outer.may_have(folded))


Evaluate = Callable[[exp.Expr, Scope], tuple[list[Origins], frozenset[Source]]]
"""Evaluates a query inside an expression in the enclosing scope: its columns, and its row dependencies."""

_CONSTANT = (
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.HexString,
    exp.RawString,
    exp.National,
    exp.Interval,
    exp.IntervalSpan,
    exp.Cast,
    exp.Neg,
    exp.Paren,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
)
"""Nodes that keep an expression of literals constant. Functions do not: `current_date()` is no constant."""

_NO_VALUE = (exp.Identifier, exp.Var, exp.DataType, exp.Hint)


def origins_of(node: object, scope: Scope, evaluate: Evaluate) -> Origins:
    """The origins of an expression: direct ones give its value, indirect ones only select it (conditions of CASE and
    IF, a window's partitions and order, filters of queries inside).
    """
    direct: set[Source] = set()
    indirect: set[Source] = set()
    exact: set[Source] = set()
    constant = isinstance(node, exp.Expr)
    stack: list[tuple[object, bool]] = [(node, True)]
    while stack:
        part, gives_value = stack.pop()
        if not isinstance(part, exp.Expr) or isinstance(part, _NO_VALUE):
            continue
        value_origins: list[Origins] | None = None
        if isinstance(part, exp.Column):
            resolved = _column(part, scope)
            constant = constant and resolved is not None and resolved.constant
            value_origins = [resolved] if resolved else []
        elif isinstance(part, exp.Query):
            constant = False
            value_origins, rows = evaluate(part, scope)
            indirect |= rows
        elif isinstance(part, exp.QueryTransform):
            constant = False
            value_origins = [_through_code(part, scope, evaluate)]
        if value_origins is None:
            constant = constant and isinstance(part, _CONSTANT)
            stack += _parts(part, gives_value)
            continue
        for origins in value_origins:
            (direct if gives_value else indirect).update(origins.direct)
            indirect |= origins.indirect
            if gives_value:
                exact |= origins.exact
    return Origins(
        direct=frozenset(direct),
        indirect=frozenset(indirect - direct),
        constant=constant,
        opaque=frozenset(direct - exact),
    )


def _through_code(node: exp.QueryTransform, scope: Scope, evaluate: Evaluate) -> Origins:
    """The origins of each column that a script makes: all that it is given, of which it may pass on any."""
    inputs: list[Origins] = []
    for item in nodes(node):
        star = star_of(item, scope)
        inputs += [origins for _, origins in star.expanded or ()] if star else [origins_of(item, scope, evaluate)]
    united = reduce(or_, inputs, Origins())
    return Origins(direct=united.direct, indirect=united.indirect, opaque=united.direct)


def _column(node: exp.Column, scope: Scope) -> Origins | None:
    if isinstance(node.this, exp.Star):
        return None
    parts = tuple(part.name for part in node.parts if isinstance(part, exp.Identifier))
    unquoted_default = parts[0].upper() == "DEFAULT" and len(parts) == 1 if parts else True
    return None if unquoted_default else scope.resolve(parts)


def _parts(node: exp.Expr, gives_value: bool) -> list[tuple[object, bool]]:
    """A node's child expressions, and whether each gives the value or only selects it."""
    args = node.args
    if isinstance(node, exp.Exists):
        return [(child, False) for child in node.iter_expressions()]
    if isinstance(node, exp.Case):
        branches = [branch for branch in nodes(node, "ifs") if isinstance(branch, exp.If)]
        values = [(branch.args.get("true"), gives_value) for branch in branches]
        return [
            *values,
            (args.get("default"), gives_value),
            (node.this, False),
            *((branch.this, False) for branch in branches),
        ]
    if isinstance(node, exp.If):
        return [(node.this, False), (args.get("true"), gives_value), (args.get("false"), gives_value)]
    if isinstance(node, exp.Window | exp.Filter):
        return [(child, gives_value and child is node.this) for child in node.iter_expressions()]
    return [(child, gives_value) for child in node.iter_expressions()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Star:
    """`*` or `t.*`: its relation if just one, the excluded columns (`hidden`), all columns if known (`expanded`)."""

    relation: QueryRelation | None = None
    hidden: frozenset[str] = frozenset()
    expanded: list[tuple[str, Origins]] | None = None


def star_of(item: object, scope: Scope) -> Star | None:
    """An item as a star; None for an expression."""
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        relation_found = scope.find(part.name for part in item.parts[:-1])
        star, relations = item.this, [relation_found] if relation_found else []
    elif isinstance(item, exp.Star):
        star, relations = item, scope.relations
    else:
        return None
    hidden_names = frozenset(
        part.alias_or_name.lower() for key in ("except_", "replace", "rename") for part in nodes(star, key)
    )
    changed = bool(star.args.get("replace") or star.args.get("rename"))
    is_certain = relations and not changed and not any(relation.is_open for relation in relations)
    return Star(
        relation=relations[0] if len(relations) == 1 else None,
        hidden=hidden_names,
        expanded=[
            column for relation in relations for column in relation.columns if column[0].lower() not in hidden_names
        ]
        if is_certain
        else None,
    )


_OF_A_SCRIPT = ("key", "value")
"""The columns of TRANSFORM without AS: what a script writes before and after the first tab (Spark's SQL reference)."""


def named_parts(item: object) -> Iterator[tuple[str, object]]:
    """The column names of an item (empty if Spark generates one), each with its expression."""
    if isinstance(item, exp.Alias):
        yield item.alias, item.this
    elif isinstance(item, exp.Aliases):
        yield from ((name.name, item.this) for name in nodes(item))
    elif isinstance(item, exp.Column):
        yield item.name, item
    elif isinstance(item, exp.Dot):
        yield item.expression.name if isinstance(item.expression, exp.Identifier) else "", item
    elif isinstance(item, exp.QueryTransform):
        names = [column.name for column in nodes(item.args.get("schema"))]
        yield from ((name, item) for name in names or _OF_A_SCRIPT)
    else:
        yield "", item
