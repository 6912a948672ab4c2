"""Random queries and MERGE statements over the tables of `cells`, built of operations that keep the origins."""

# ruff: noqa: S608 - the texts are from this grammar, and run on our own tables

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.plan_truth.cells import TABLES
from tests.plan_truth.expressions import Column, Expressions, checksum, collected, made

TARGET = "target_of_merge"
"""The table that a MERGE changes; each run fills it with new rows whose cells have no origin."""
_MAX_DEPTH = 3
_MERGE_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A query and its columns."""

    text: str
    columns: tuple[Column, ...]


@dataclass(slots=True, kw_only=True)
class Grammar(Expressions):
    """Builds one query from a seed; `recursion`: also recursive ones, for Spark 4.1."""

    recursion: bool = False
    joins: int = 0

    def relation(self, depth: int) -> Relation:
        """Return a query over tables (depth 0) or over other queries."""
        if depth == 0:
            table = self.chance.choice(list(TABLES))
            return Relation(text=f"SELECT * FROM {table}", columns=tuple(map(Column, TABLES[table])))
        forms: list[Callable[[int], Relation]] = [
            self._select, self._aggregate, self._grouping_sets, self._window, self._window, self._union, self._except,
            self._both, self._explode, self._exists, self._in, self._semi_join, self._cte, self._unpivot, self._pivot,
            self._scalar, self._correlated, self._distinct,
        ]  # fmt: skip
        if self.joins < 2:  # each join multiplies the rows by eight
            forms += [self._join] * 4 + [self._lateral] * 2
        if self.recursion:
            forms += [self._recursive] * 3
        return self.chance.choice(forms)(depth - 1)

    def merge(self) -> str:
        """Return a MERGE of a query with one row for each number of `k`."""
        source, known_columns = self._from(self.chance.randint(0, 1))
        key = f"{checksum(self.chance.choice(known_columns), self.salt())} % 12"
        given = self._selected([made(key), *self.summaries(known_columns)], f"FROM {source} GROUP BY {key}")
        number, *values = (column._replace(text=f"s.{column.text}") for column in given.columns)
        condition = f"t.k = {number.text}" + (f" AND {self.condition(values)}" if self.chance.random() < 0.3 else "")
        kept_column = Column(f"t.{self.chance.choice('abc')}")
        updates = [f"t.a = {self.value(values, 1).text}", f"t.b = concat_ws('', {kept_column.text}, {values[0].text})"]
        inserted = [self.value(values, 1).text for _ in "bc"]
        clauses = [
            f"WHEN MATCHED AND {self.condition([*values, kept_column])} THEN UPDATE SET {', '.join(updates)}",
            f"WHEN MATCHED AND {self.condition(values)} THEN DELETE",
            f"WHEN NOT MATCHED AND {self.condition(values)} THEN INSERT (b, c) VALUES ({', '.join(inserted)})",
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET t.c = 'left'",
        ]
        chosen = [clause for clause in clauses if self.chance.random() < 0.7] or clauses[:1]
        return f"MERGE INTO {TARGET} AS t USING ({given.text}) AS s ON {condition} {' '.join(chosen)}"

    def _from(self, depth: int) -> tuple[str, list[Column]]:
        below, name = self.relation(depth), self.name()
        return f"({below.text}) AS {name}", [column._replace(text=f"{name}.{column.text}") for column in below.columns]

    def _selected(self, columns: Sequence[Column], clause: str) -> Relation:
        names = [self.name() for _ in columns]
        items = ", ".join(f"{column.text} AS {name}" for column, name in zip(columns, names, strict=True))
        named = tuple(column._replace(text=name) for column, name in zip(columns, names, strict=True))
        return Relation(text=f"SELECT {items} {clause}", columns=named)

    def _select(self, depth: int) -> Relation:
        source, known = self._from(depth)
        clause = f"FROM {source} WHERE {self.condition(known)}" if self.chance.random() < 0.4 else f"FROM {source}"
        return self._selected(self.some(known), clause)

    def _distinct(self, depth: int) -> Relation:
        source, known = self._from(depth)
        relation = self._selected(self.some(known), f"FROM {source}")
        return Relation(text=relation.text.replace("SELECT", "SELECT DISTINCT", 1), columns=relation.columns)

    def _join(self, depth: int) -> Relation:
        self.joins += 1
        (left, first), (right, second) = self._from(depth), self._from(0)
        kind = self.chance.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        return self._selected(
            self.some(first + second), f"FROM {left} {kind} {right} ON {self.equal(first, second, 3)}"
        )

    def _semi_join(self, depth: int) -> Relation:
        (left, first), (right, second) = self._from(depth), self._from(0)
        kind = self.chance.choice(("LEFT SEMI JOIN", "LEFT ANTI JOIN"))
        return self._selected(self.some(first), f"FROM {left} {kind} {right} ON {self.equal(first, second, 40)}")

    def _lateral(self, depth: int) -> Relation:
        self.joins += 1
        (left, first), (inner, within), name = self._from(depth), self._from(0), self.name()
        kind = self.chance.choice(("JOIN", "LEFT JOIN"))
        below = self._selected([self.value(first + within, 1)], f"FROM {inner} WHERE {self.equal(first, within, 9)}")
        right = [column._replace(text=f"{name}.{column.text}", nullable=True, plain=False) for column in below.columns]
        clause = f"FROM {left} {kind} LATERAL ({below.text}) AS {name}" + (" ON true" if kind != "JOIN" else "")
        return self._selected([*self.some(first, 2), *right], clause)

    def _aggregate(self, depth: int) -> Relation:
        source, known = self._from(depth)
        key = self.chance.choice(known)
        group = self.chance.choice((key.text, f"{checksum(key, self.salt())} % 3"))
        kept_columns = [key] if group == key.text else []
        return self._selected([*kept_columns, *self.summaries(known)], f"FROM {source} GROUP BY {group}")

    def _grouping_sets(self, depth: int) -> Relation:
        source, known = self._from(depth)
        keys = self.chance.sample(known, min(2, len(known)))
        names = ", ".join(key.text for key in keys)
        group = self.chance.choice((f"ROLLUP ({names})", f"CUBE ({names})", f"GROUPING SETS (({names}), ())"))
        kept = [made(key.text, nullable=True) for key in keys]
        return self._selected([*kept, *self.summaries(known)], f"FROM {source} GROUP BY {group}")

    def _pivot(self, depth: int) -> Relation:
        source, known = self._from(depth)
        group = self.chance.choice((checksum(self.chance.choice(known), self.salt()) + " % 4", "1"))
        by = f"{checksum(self.chance.choice(known), self.salt())} % 3"
        below = self._selected([made(group), made(by), self.value(known, 1)], f"FROM {source}")
        (_, turned, value), names = below.columns, (self.name(), self.name())
        listed = ", ".join(f"{place} AS {name}" for place, name in enumerate(names))
        clause = f"FROM ({below.text}) PIVOT ({collected(value.text)} FOR {turned.text} IN ({listed}))"
        return self._selected([made(name, nullable=True) for name in names], clause)

    def _unpivot(self, depth: int) -> Relation:
        below = self.relation(depth)
        if len(below.columns) < 3:  # one is kept, two are turned
            return self._selected(list(below.columns), f"FROM ({below.text}) AS {self.name()}")
        kept, *turned = below.columns[:3]
        name = self.name()
        value = made(f"{name}_v", nullable=any(column.nullable for column in turned))
        listed = ", ".join(column.text for column in turned)
        clause = f"FROM ({below.text}) UNPIVOT INCLUDE NULLS ({value.text} FOR {name}_n IN ({listed}))"
        return self._selected([kept, value], clause)

    def _window(self, depth: int) -> Relation:
        source, known = self._from(depth)
        kept = self.chance.choice(known)
        return self._selected([kept, self.windowed(known, kept)], f"FROM {source}")

    def _union(self, depth: int) -> Relation:
        left, right = self.relation(depth), self.relation(depth)
        width, how = min(len(left.columns), len(right.columns)), self.chance.choice(("UNION ALL", "UNION"))
        sides = [f"SELECT {', '.join(e.text for e in s.columns[:width])} FROM ({s.text}) AS u" for s in (left, right)]
        pairs = zip(left.columns, right.columns, strict=False)
        columns = [a._replace(nullable=a.nullable or b.nullable, plain=False) for a, b in pairs]
        return Relation(text=f"{sides[0]} {how} {sides[1]}", columns=tuple(columns))

    def _except(self, depth: int) -> Relation:
        """Return an EXCEPT whose right side has other cells, or cells of few rows, so that enough rows remain."""
        (source, known), (other, other_columns) = self._from(depth), self._from(0)
        left = self._selected([self.chance.choice(known)], f"FROM {source}")
        condition = f"{checksum(other_columns[0], self.salt())} % 5 = 0"
        right = f"SELECT {self.chance.choice(other_columns).text} FROM {other} WHERE {condition}"
        return Relation(text=f"{left.text} EXCEPT {right}", columns=left.columns)

    def _both(self, depth: int) -> Relation:
        """Return a set operation on two parts of one query, which share rows."""
        below, name = self.relation(depth), self.name()
        chosen = self.chance.sample(below.columns, min(2, len(below.columns)))
        names = ", ".join(column.text for column in chosen)
        how = self.chance.choice(("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"))
        parts = [f"SELECT {names} FROM {name} WHERE {self.condition(below.columns)}" for _ in range(2)]
        return Relation(text=f"WITH {name} AS ({below.text}) {parts[0]} {how} {parts[1]}", columns=tuple(chosen))

    def _explode(self, depth: int) -> Relation:
        source, known = self._from(depth)
        name, values = self.name(), [self.value(known, 1) for _ in range(2)]
        clause = f"FROM {source} LATERAL VIEW explode(array({values[0].text}, {values[1].text})) {name} AS {name}_e"
        new = made(f"{name}_e", nullable=any(column.nullable for column in values))
        return self._selected([*self.chance.sample(known, 1), new], clause)

    def _exists(self, depth: int) -> Relation:
        (source, known), (inner, within) = self._from(depth), self._from(0)
        how, more = self.chance.choice(("", "NOT ")), self.condition(within)
        found = f"SELECT 1 FROM {inner} WHERE {self.equal(known, within, 40)} AND {more}"
        return self._selected(self.some(known), f"FROM {source} WHERE {how}EXISTS ({found})")

    def _in(self, depth: int) -> Relation:
        (source, known), (inner, within) = self._from(depth), self._from(0)
        salt, how = self.salt(), self.chance.choice(("", "NOT "))
        outer_sum, sums = (f"{checksum(self.chance.choice(side), salt)} % 40" for side in (known, within))
        return self._selected(self.some(known), f"FROM {source} WHERE {outer_sum} {how}IN (SELECT {sums} FROM {inner})")

    def _scalar(self, depth: int) -> Relation:
        source, known = self._from(depth)
        table = self.chance.choice(list(TABLES))
        taken = f"(SELECT {self.chance.choice(('max', 'min'))}({self.chance.choice(TABLES[table])}) FROM {table})"
        return self._selected([*self.some(known), made(taken)], f"FROM {source}")

    def _correlated(self, depth: int) -> Relation:
        """Return a query with a correlated scalar subquery."""
        (source, known), (inner, within) = self._from(depth), self._from(0)
        value = collected(self.value(within, 1).text)
        taken = made(f"(SELECT {value} FROM {inner} WHERE {self.equal(known, within, 9)})", nullable=True)
        return self._selected([*self.some(known, 2), taken], f"FROM {source}")

    def _cte(self, depth: int) -> Relation:
        below, name, made_ = self.relation(depth), self.name(), self.name()
        known = [column._replace(text=f"{made_}.{column.text}") for column in below.columns]
        chosen = self._selected(self.some(known), f"FROM {name} AS {made_}")
        return Relation(text=f"WITH {name} AS ({below.text}) {chosen.text}", columns=chosen.columns)

    def _recursive(self, depth: int) -> Relation:
        """Return a recursive query: in each round a column gets the next one's value, and the last a new value.

        The join is with one row, since more would multiply the rows in each round.
        """
        source, known = self._from(depth)
        table, met = self.chance.choice(list(TABLES)), self.name()
        other = f"(SELECT max(a) AS a, min(b) AS b, max(c) AS c FROM {table}) AS {met}"
        others = [made(f"{met}.{each}") for each in "abc"]
        name, width = self.name(), self.chance.randint(2, 7)
        columns = [made(f"{name}.c{place}", nullable=True) for place in range(width)]
        first = ", ".join(self.value(known, 1).text for _ in columns)
        last = made(f"concat_ws('', {columns[0].text}, {self.chance.choice(others).text})")
        again = ", ".join(column.text for column in [*columns[1:], last])
        names = ", ".join(f"c{place}" for place in range(width))
        text = (
            f"WITH RECURSIVE {name} (i, {names}) AS (SELECT 0, {first} FROM {source} UNION ALL SELECT {name}.i + 1, "
            f"{again} FROM {name} JOIN {other} ON {self.equal(columns, others, 2)} WHERE {name}.i < {width + 1}) "
        )
        chosen = self._selected(self.chance.sample(columns, min(2, width)), f"FROM {name}")
        return Relation(text=text + chosen.text, columns=chosen.columns)


def query(seed: int, *, recursion: bool = False) -> str:
    """Return the query of a seed; every tenth one is a MERGE."""
    grammar = Grammar(chance=random.Random(seed), recursion=recursion)
    if seed % _MERGE_EVERY == _MERGE_EVERY - 1:
        return grammar.merge()
    return grammar.relation(grammar.chance.randint(1, _MAX_DEPTH)).text
