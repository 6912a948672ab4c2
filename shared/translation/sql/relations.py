"""What a query's FROM offers, and to which table a column's name belongs.

Nothing is known of the tables' columns, so a name belongs to a table for certain in few cases only: it is qualified, or
there is only one table whose columns are not known. Names that Spark would find ambiguous do not occur in statements
that ran, and the events that bring statements are of such.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.translation.sql.model import TableRef

Source = tuple[TableRef, str]
"""A table and the name of one of its columns, as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """Where a value comes from; `constant` when it is made of literals alone."""

    direct: frozenset[Source] = frozenset()
    indirect: frozenset[Source] = frozenset()
    constant: bool = False

    @property
    def all(self) -> frozenset[Source]:
        """What the value depends on in any way."""
        return self.direct | self.indirect


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRelation:
    """What stands in FROM.

    `columns` are those known by name (empty for a nameless one), in order; all of them when the relation is not open.
    In an open one other names are columns of `table`, or of `through` unless hidden there, or nobody knows.
    """

    columns: tuple[tuple[str, Origins], ...] = ()
    is_open: bool = False
    table: TableRef | None = None
    through: "QueryRelation | None" = None
    hidden: frozenset[str] = frozenset()
    by_name: dict[str, Origins | None] = field(init=False, repr=False, compare=False)
    """By folded name; None where two columns have it."""

    def __post_init__(self) -> None:
        by_name: dict[str, Origins | None] = {}
        for name, origins in self.columns:
            if name:
                by_name[name.lower()] = None if name.lower() in by_name else origins
        object.__setattr__(self, "by_name", by_name)

    def look(self, name: str) -> Origins | None:
        """The origins of the column of this name, if the relation has it; None when they are not certain."""
        folded = name.lower()
        if folded in self.by_name:
            return self.by_name[folded]
        if folded in self.hidden:
            return None
        if self.table:
            return Origins(direct=frozenset({(self.table, name)}))
        return self.through.look(name) if self.through else None

    def renamed(self, names: Iterable[str]) -> "QueryRelation":
        """With an alias's list of columns, by position."""
        listed = tuple(names)
        if not listed:
            return self
        if self.is_open or len(listed) != len(self.columns):
            return OPAQUE
        return QueryRelation(
            columns=tuple((name, column[1]) for name, column in zip(listed, self.columns, strict=True))
        )


OPAQUE = QueryRelation(is_open=True)
"""Of which nothing is known: a pivot, a table function, columns renamed by position."""


@dataclass(slots=True, kw_only=True)
class Scope:
    """The relations of one query, by their names; `outer` is that of the query around a correlated one."""

    outer: "Scope | None" = None
    entries: list[tuple[tuple[str, ...], QueryRelation]] = field(default_factory=list)
    joined: dict[str, QueryRelation] = field(default_factory=dict)
    """By the columns of USING: the side whose value they carry."""
    aliases: dict[str, Origins] = field(default_factory=dict)
    """The columns that the query's list has named so far."""

    def add(self, names: Iterable[str], relation: QueryRelation) -> None:
        """A relation by its alias, or by the parts of its name."""
        self.entries.append((tuple(name.lower() for name in names), relation))

    @property
    def relations(self) -> list[QueryRelation]:
        """In the order of FROM."""
        return [relation for _, relation in self.entries]

    def find(self, names: Iterable[str]) -> QueryRelation | None:
        """The relation that a qualifier means."""
        folded = tuple(name.lower() for name in names)
        found = [relation for known, relation in self.entries if folded and known[-len(folded) :] == folded]
        return found[0] if len(found) == 1 else None

    def resolve(self, parts: tuple[str, ...]) -> Origins | None:
        """The origins of a name with all its qualifiers; what follows the column's own part are fields of it."""
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
            found = named[0].look(name) if len(named) == 1 else None
        elif folded in self.joined:
            found = self.joined[folded].look(name)
        elif len(unknown) == 1 and not (self.outer and self.outer.may_have(folded)):
            found = unknown[0].look(name)
        elif not unknown and folded in self.aliases:
            return self.aliases[folded]
        else:
            return self.outer._unqualified(name) if self.outer and not unknown else None  # noqa: SLF001 - its own kind
        alias = self.aliases.get(folded)
        return found if named or alias is None or alias == found else None

    def may_have(self, folded: str) -> bool:
        """Whether a name could be one of this query's columns, or of those around it."""
        here = any(relation.is_open or folded in relation.by_name for relation in self.relations)
        return here or (self.outer is not None and self.outer.may_have(folded))
