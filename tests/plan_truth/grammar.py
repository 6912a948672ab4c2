"""Random queries over traced tables, whose cells carry their origin, built of what keeps the origins.

A cell is `[s0.a#17]`: its table and column, and a random number. Conditions are checksums of cells with a salt of their
own, so that each branch of each condition is met by some row. Only cells stand where a null lets the next value
through, and `max`, which keeps one cell, takes only plain columns: each value edge can be met.
"""

# ruff: noqa: S608 - the texts are of this grammar, and run on tables of our own

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

TABLES = {f"s{number}": ("a", "b", "c") for number in range(3)}
ROWS = 24
_MAX_DEPTH = 3
_MAX_COLUMNS = 4


class Column(NamedTuple):
    """A column by its text; `nullable`: it is null in some rows, `plain`: a column of a table as it is."""

    text: str
    nullable: bool = True
    plain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A query and its columns."""

    text: str
    columns: tuple[Column, ...]


def rows(table: str, seed: int) -> list[tuple[str | None, ...]]:
    """The rows of a table: a fifth of its cells is null."""
    chance = random.Random(f"{table} {seed}")
    return [
        tuple(
            f"[{table}.{column}#{chance.randrange(10_000)}]" if chance.random() < 0.8 else None
            for column in TABLES[table]
        )
        for _ in range(ROWS)
    ]


@dataclass(slots=True)
class Grammar:
    """Builds one query from a seed."""

    chance: random.Random
    names: int = field(default=0)
    joins: int = field(default=0)

    def query(self) -> str:
        """A query of up to three levels."""
        return self.relation(self.chance.randint(1, _MAX_DEPTH)).text

    def relation(self, depth: int) -> Relation:
        """A query over tables (depth 0) or over other queries."""
        if depth == 0:
            table = self.chance.choice(list(TABLES))
            return Relation(text=f"SELECT * FROM {table}", columns=tuple(map(Column, TABLES[table])))
        forms: list[Callable[[int], Relation]] = [
            self._select, self._aggregate, self._rollup, self._window, self._union, self._except, self._explode,
            self._exists, self._in, self._cte, self._unpivot, self._scalar, self._distinct,
        ]  # fmt: skip
        if self.joins < 2:  # each join multiplies the rows by eight
            forms += [self._join] * 4
        return self.chance.choice(forms)(depth - 1)

    def _name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def _from(self, depth: int) -> tuple[str, list[Column]]:
        below, name = self.relation(depth), self._name()
        return f"({below.text}) AS {name}", [each._replace(text=f"{name}.{each.text}") for each in below.columns]

    def _selected(self, columns: list[Column], clause: str) -> Relation:
        names = [self._name() for _ in columns]
        items = ", ".join(f"{each.text} AS {name}" for each, name in zip(columns, names, strict=True))
        made = tuple(each._replace(text=name) for each, name in zip(columns, names, strict=True))
        return Relation(text=f"SELECT {items} {clause}", columns=made)

    def _some(self, known: list[Column]) -> list[Column]:
        return [self._expression(known, 2) for _ in range(self.chance.randint(1, _MAX_COLUMNS))]

    def _select(self, depth: int) -> Relation:
        source, known = self._from(depth)
        clause = f"FROM {source} WHERE {self._condition(known)}" if self.chance.random() < 0.4 else f"FROM {source}"
        return self._selected(self._some(known), clause)

    def _distinct(self, depth: int) -> Relation:
        source, known = self._from(depth)
        made = self._selected(self._some(known), f"FROM {source}")
        return Relation(text=made.text.replace("SELECT", "SELECT DISTINCT", 1), columns=made.columns)

    def _join(self, depth: int) -> Relation:
        self.joins += 1
        (left, first), (right, second) = self._from(depth), self._from(0)
        kind = self.chance.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        salt = self._salt()
        condition = " = ".join(f"{_sum(self.chance.choice(side), salt)} % 3" for side in (first, second))
        return self._selected(self._some(first + second), f"FROM {left} {kind} {right} ON {condition}")

    def _aggregate(self, depth: int) -> Relation:
        source, known = self._from(depth)
        key = self.chance.choice(known)
        group = self.chance.choice((key.text, f"{_sum(key, self._salt())} % 3"))
        kept = [key] if group == key.text else []
        return self._selected([*kept, *self._summaries(known)], f"FROM {source} GROUP BY {group}")

    def _rollup(self, depth: int) -> Relation:
        source, known = self._from(depth)
        keys = self.chance.sample(known, min(2, len(known)))
        group = f"{self.chance.choice(('ROLLUP', 'CUBE'))} ({', '.join(each.text for each in keys)})"
        kept = [each._replace(nullable=True, plain=False) for each in keys]
        return self._selected([*kept, *self._summaries(known)], f"FROM {source} GROUP BY {group}")

    def _summaries(self, known: list[Column]) -> list[Column]:
        found = []
        for _ in range(self.chance.randint(1, 2)):
            of = self._expression(known, 1)
            kept = f" FILTER (WHERE {self._condition(known)})" if self.chance.random() < 0.3 else ""
            found.append(Column(f"array_join(collect_set({of.text}){kept}, '')", nullable=False, plain=False))
        plain = [each for each in known if each.plain]
        if plain:
            function = self.chance.choice(("max", "min", "first"))
            found.append(Column(f"{function}({self.chance.choice(plain).text})", nullable=False, plain=False))
        return found

    def _window(self, depth: int) -> Relation:
        source, known = self._from(depth)
        of, by, order = self._expression(known, 1), self.chance.choice(known), self.chance.choice(known)
        partition = f"PARTITION BY {_sum(by, self._salt())} % 2"
        text = self.chance.choice(
            (
                f"array_join(collect_set({of.text}) OVER ({partition}), '')",
                f"lag({of.text}) OVER ({partition} ORDER BY {order.text})",
                f"lead({of.text}) OVER (ORDER BY {order.text})",
            )
        )
        made = Column(text, nullable=not text.startswith("array"), plain=False)
        return self._selected([self.chance.choice(known), made], f"FROM {source}")

    def _union(self, depth: int) -> Relation:
        left, right = self.relation(depth), self.relation(depth)
        width, how = min(len(left.columns), len(right.columns)), self.chance.choice(("UNION ALL", "UNION"))
        sides = [f"SELECT {', '.join(e.text for e in s.columns[:width])} FROM ({s.text}) AS u" for s in (left, right)]
        pairs = zip(left.columns, right.columns, strict=False)
        made = [a._replace(nullable=a.nullable or b.nullable, plain=False) for a, b in pairs]
        return Relation(text=f"{sides[0]} {how} {sides[1]}", columns=tuple(made))

    def _except(self, depth: int) -> Relation:
        """The right side has other cells, or cells of few rows: enough of the left side is left."""
        (source, known), (other, others) = self._from(depth), self._from(0)
        left = self._selected([self.chance.choice(known)], f"FROM {source}")
        right = f"SELECT {self.chance.choice(others).text} FROM {other} WHERE {_sum(others[0], self._salt())} % 5 = 0"
        return Relation(text=f"{left.text} EXCEPT {right}", columns=left.columns)

    def _explode(self, depth: int) -> Relation:
        source, known = self._from(depth)
        name, made = self._name(), [self._expression(known, 1) for _ in range(2)]
        clause = f"FROM {source} LATERAL VIEW explode(array({made[0].text}, {made[1].text})) {name} AS {name}_e"
        nullable = any(each.nullable for each in made)
        new = Column(f"{name}_e", nullable=nullable, plain=False)
        return self._selected([*self.chance.sample(known, 1), new], clause)

    def _unpivot(self, depth: int) -> Relation:
        below = self.relation(depth)
        if len(below.columns) < 3:  # one is kept, two are turned
            return self._selected(list(below.columns), f"FROM ({below.text}) AS {self._name()}")
        kept, *turned = below.columns[:3]
        name = self._name()
        value = Column(f"{name}_v", nullable=any(each.nullable for each in turned), plain=False)
        listed = ", ".join(each.text for each in turned)
        clause = f"FROM ({below.text}) UNPIVOT INCLUDE NULLS ({value.text} FOR {name}_n IN ({listed}))"
        return self._selected([kept, value], clause)

    def _exists(self, depth: int) -> Relation:
        (source, known), (inner, within) = self._from(depth), self._from(0)
        salt = self._salt()
        outer_sum, inner_sum = (f"{_sum(self.chance.choice(side), salt)} % 3" for side in (known, within))
        how = self.chance.choice(("", "NOT "))
        within_rows = f"SELECT 1 FROM {inner} WHERE {outer_sum} = {inner_sum} AND {inner_sum} > 0"
        clause = f"FROM {source} WHERE {how}EXISTS ({within_rows})"
        return self._selected(self._some(known), clause)

    def _in(self, depth: int) -> Relation:
        (source, known), (inner, within) = self._from(depth), self._from(0)
        sums = [f"{_sum(self.chance.choice(side), self._salt())} % 3" for side in (known, within)]
        clause = f"FROM {source} WHERE {sums[0]} IN (SELECT {sums[1]} FROM {inner})"
        return self._selected(self._some(known), clause)

    def _scalar(self, depth: int) -> Relation:
        source, known = self._from(depth)
        table = self.chance.choice(list(TABLES))
        taken = f"(SELECT {self.chance.choice(('max', 'min'))}({self.chance.choice(TABLES[table])}) FROM {table})"
        return self._selected([*self._some(known), Column(taken, nullable=False, plain=False)], f"FROM {source}")

    def _cte(self, depth: int) -> Relation:
        below, name, made = self.relation(depth), self._name(), self._name()
        known = [each._replace(text=f"{made}.{each.text}") for each in below.columns]
        chosen = self._selected(self._some(known), f"FROM {name} AS {made}")
        return Relation(text=f"WITH {name} AS ({below.text}) {chosen.text}", columns=chosen.columns)

    def _salt(self) -> str:
        return str(self.chance.randrange(10_000))

    def _condition(self, known: list[Column]) -> str:
        return f"{_sum(self.chance.choice(known), self._salt())} % 3 > 0"

    def _expression(self, known: list[Column], depth: int) -> Column:
        """A value made of columns; of `depth` levels at most."""
        if depth == 0 or self.chance.random() < 0.3:
            return self.chance.choice(known)
        x, y = (self._expression(known, depth - 1) for _ in range(2))
        condition = self._condition(known)
        any_null = Column("", nullable=x.nullable or y.nullable, plain=False)
        forms = [
            any_null._replace(text=f"concat({x.text}, {y.text})"),
            any_null._replace(text=f"CASE WHEN {condition} THEN {x.text} ELSE {y.text} END"),
            any_null._replace(text=f"if({condition}, {x.text}, {y.text})"),
            Column(f"upper(lower({x.text}))", nullable=x.nullable, plain=False),
            Column(f"nullif({x.text}, 'none')", nullable=x.nullable, plain=False),
            Column(f"named_struct('p', {x.text}, 'q', {y.text}).p", nullable=x.nullable, plain=False),
            Column(f"map('k', {x.text})['k']", nullable=x.nullable, plain=False),
            Column(
                f"array_join(transform(array({x.text}, {y.text}), e -> concat(e, '-')), '')",
                nullable=False,
                plain=False,
            ),
            Column(f"concat_ws('', {x.text}, {y.text})", nullable=False, plain=False),
        ]
        cells = [each for each in known if each.plain and each.text.rpartition(".")[2] in {"a", "b", "c"}]
        if len(cells) > 1:
            first, second = (
                each.text for each in self.chance.sample(cells, 2)
            )  # where one is null the other need not be
            forms += [
                Column(f"coalesce({first}, {second})", nullable=True, plain=False),
                Column(f"nvl({first}, {second})", nullable=True, plain=False),
                Column(f"nvl2({first}, {x.text}, {second})", nullable=True, plain=False),
            ]
        return self.chance.choice(forms)


def _sum(column: Column, salt: str) -> str:
    """A checksum of a cell, as good as random."""
    return f"crc32(concat(coalesce({column.text}, ''), '{salt}'))"


def query(seed: int) -> str:
    """The query of a seed."""
    return Grammar(chance=random.Random(seed)).query()
