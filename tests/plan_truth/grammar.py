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
        grouped = self._selected([made(key), *self.summaries(known_columns)], f"FROM {source} GROUP BY {key}")
        number, *values = (column._replace(text=f"s.{column.text}") for column in grouped.columns)
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
        clauses_taken = [clause for clause in clauses if self.chance.random() < 0.7] or clauses[:1]
        return f"MERGE INTO {TARGET} AS t USING ({grouped.text}) AS s ON {condition} {' '.join(clauses_taken)}"

    def _from(self, depth: int) -> tuple[str, list[Column]]:
        subquery, name = self.relation(depth), self.name()
        return f"({subquery.text}) AS {name}", [
            column._replace(text=f"{name}.{column.text}") for column in subquery.columns
        ]

    def _selected(self, columns: Sequence[Column], clause: str) -> Relation:
        names = [self.name() for _ in columns]
        items = ", ".join(f"{column.text} AS {name}" for column, name in zip(columns, names, strict=True))
        named = tuple(column._replace(text=name) for column, name in zip(columns, names, strict=True))
        return Relation(text=f"SELECT {items} {clause}", columns=named)

    def _select(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        clause = f"FROM {source} WHERE {self.condition(columns)}" if self.chance.random() < 0.4 else f"FROM {source}"
        return self._selected(self.some(columns), clause)

    def _distinct(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        relation = self._selected(self.some(columns), f"FROM {source}")
        return Relation(text=relation.text.replace("SELECT", "SELECT DISTINCT", 1), columns=relation.columns)

    def _join(self, depth: int) -> Relation:
        self.joins += 1
        (left_source, first), (right, second) = self._from(depth), self._from(0)
        kind = self.chance.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        return self._selected(
            self.some(first + second), f"FROM {left_source} {kind} {right} ON {self.equal(first, second, 3)}"
        )

    def _semi_join(self, depth: int) -> Relation:
        (left_source, first), (right, second) = self._from(depth), self._from(0)
        kind = self.chance.choice(("LEFT SEMI JOIN", "LEFT ANTI JOIN"))
        return self._selected(self.some(first), f"FROM {left_source} {kind} {right} ON {self.equal(first, second, 40)}")

    def _lateral(self, depth: int) -> Relation:
        self.joins += 1
        (left_source, first), (inner, inner_columns), name = self._from(depth), self._from(0), self.name()
        kind = self.chance.choice(("JOIN", "LEFT JOIN"))
        subquery = self._selected(
            [self.value(first + inner_columns, 1)], f"FROM {inner} WHERE {self.equal(first, inner_columns, 9)}"
        )
        right = [
            column._replace(text=f"{name}.{column.text}", nullable=True, plain=False) for column in subquery.columns
        ]
        clause = f"FROM {left_source} {kind} LATERAL ({subquery.text}) AS {name}" + (
            " ON true" if kind != "JOIN" else ""
        )
        return self._selected([*self.some(first, 2), *right], clause)

    def _aggregate(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        key = self.chance.choice(columns)
        group = self.chance.choice((key.text, f"{checksum(key, self.salt())} % 3"))
        kept_columns = [key] if group == key.text else []
        return self._selected([*kept_columns, *self.summaries(columns)], f"FROM {source} GROUP BY {group}")

    def _grouping_sets(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        keys = self.chance.sample(columns, min(2, len(columns)))
        names = ", ".join(key.text for key in keys)
        group = self.chance.choice((f"ROLLUP ({names})", f"CUBE ({names})", f"GROUPING SETS (({names}), ())"))
        key_columns = [made(key.text, nullable=True) for key in keys]
        return self._selected([*key_columns, *self.summaries(columns)], f"FROM {source} GROUP BY {group}")

    def _pivot(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        group = self.chance.choice((checksum(self.chance.choice(columns), self.salt()) + " % 4", "1"))
        pivot_key = f"{checksum(self.chance.choice(columns), self.salt())} % 3"
        subquery = self._selected([made(group), made(pivot_key), self.value(columns, 1)], f"FROM {source}")
        (_, turned, value), names = subquery.columns, (self.name(), self.name())
        listed = ", ".join(f"{place} AS {name}" for place, name in enumerate(names))
        clause = f"FROM ({subquery.text}) PIVOT ({collected(value.text)} FOR {turned.text} IN ({listed}))"
        return self._selected([made(name, nullable=True) for name in names], clause)

    def _unpivot(self, depth: int) -> Relation:
        subquery = self.relation(depth)
        if len(subquery.columns) < 3:  # one is kept, two are turned
            return self._selected(list(subquery.columns), f"FROM ({subquery.text}) AS {self.name()}")
        kept_column, *turned = subquery.columns[:3]
        name = self.name()
        value = made(f"{name}_v", nullable=any(column.nullable for column in turned))
        listed = ", ".join(column.text for column in turned)
        clause = f"FROM ({subquery.text}) UNPIVOT INCLUDE NULLS ({value.text} FOR {name}_n IN ({listed}))"
        return self._selected([kept_column, value], clause)

    def _window(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        kept_column = self.chance.choice(columns)
        return self._selected([kept_column, self.windowed(columns, kept_column)], f"FROM {source}")

    def _union(self, depth: int) -> Relation:
        left_relation, right = self.relation(depth), self.relation(depth)
        width, operator = (
            min(len(left_relation.columns), len(right.columns)),
            self.chance.choice(("UNION ALL", "UNION")),
        )
        sides = [
            f"SELECT {', '.join(e.text for e in s.columns[:width])} FROM ({s.text}) AS u"
            for s in (left_relation, right)
        ]
        pairs = zip(left_relation.columns, right.columns, strict=False)
        columns = [a._replace(nullable=a.nullable or b.nullable, plain=False) for a, b in pairs]
        return Relation(text=f"{sides[0]} {operator} {sides[1]}", columns=tuple(columns))

    def _except(self, depth: int) -> Relation:
        """Return an EXCEPT whose right side has other cells, or cells of few rows, so that enough rows remain."""
        (source, columns), (other, other_columns) = self._from(depth), self._from(0)
        left_relation = self._selected([self.chance.choice(columns)], f"FROM {source}")
        condition = f"{checksum(other_columns[0], self.salt())} % 5 = 0"
        right = f"SELECT {self.chance.choice(other_columns).text} FROM {other} WHERE {condition}"
        return Relation(text=f"{left_relation.text} EXCEPT {right}", columns=left_relation.columns)

    def _both(self, depth: int) -> Relation:
        """Return a set operation on two parts of one query, which share rows."""
        subquery, name = self.relation(depth), self.name()
        sample = self.chance.sample(subquery.columns, min(2, len(subquery.columns)))
        names = ", ".join(column.text for column in sample)
        operator = self.chance.choice(("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"))
        parts = [f"SELECT {names} FROM {name} WHERE {self.condition(subquery.columns)}" for _ in range(2)]
        return Relation(
            text=f"WITH {name} AS ({subquery.text}) {parts[0]} {operator} {parts[1]}", columns=tuple(sample)
        )

    def _explode(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        name, values = self.name(), [self.value(columns, 1) for _ in range(2)]
        clause = f"FROM {source} LATERAL VIEW explode(array({values[0].text}, {values[1].text})) {name} AS {name}_e"
        new = made(f"{name}_e", nullable=any(column.nullable for column in values))
        return self._selected([*self.chance.sample(columns, 1), new], clause)

    def _exists(self, depth: int) -> Relation:
        (source, columns), (inner, inner_columns) = self._from(depth), self._from(0)
        negation, condition = self.chance.choice(("", "NOT ")), self.condition(inner_columns)
        subquery = f"SELECT 1 FROM {inner} WHERE {self.equal(columns, inner_columns, 40)} AND {condition}"
        return self._selected(self.some(columns), f"FROM {source} WHERE {negation}EXISTS ({subquery})")

    def _in(self, depth: int) -> Relation:
        (source, columns), (inner, inner_columns) = self._from(depth), self._from(0)
        salt, negation = self.salt(), self.chance.choice(("", "NOT "))
        outer_sum, sums = (f"{checksum(self.chance.choice(side), salt)} % 40" for side in (columns, inner_columns))
        return self._selected(
            self.some(columns), f"FROM {source} WHERE {outer_sum} {negation}IN (SELECT {sums} FROM {inner})"
        )

    def _scalar(self, depth: int) -> Relation:
        source, columns = self._from(depth)
        table = self.chance.choice(list(TABLES))
        scalar = f"(SELECT {self.chance.choice(('max', 'min'))}({self.chance.choice(TABLES[table])}) FROM {table})"
        return self._selected([*self.some(columns), made(scalar)], f"FROM {source}")

    def _correlated(self, depth: int) -> Relation:
        """Return a query with a correlated scalar subquery."""
        (source, columns), (inner, inner_columns) = self._from(depth), self._from(0)
        value = collected(self.value(inner_columns, 1).text)
        scalar = made(f"(SELECT {value} FROM {inner} WHERE {self.equal(columns, inner_columns, 9)})", nullable=True)
        return self._selected([*self.some(columns, 2), scalar], f"FROM {source}")

    def _cte(self, depth: int) -> Relation:
        subquery, name, alias = self.relation(depth), self.name(), self.name()
        columns = [column._replace(text=f"{alias}.{column.text}") for column in subquery.columns]
        selection = self._selected(self.some(columns), f"FROM {name} AS {alias}")
        return Relation(text=f"WITH {name} AS ({subquery.text}) {selection.text}", columns=selection.columns)

    def _recursive(self, depth: int) -> Relation:
        """Return a recursive query: in each round a column gets the next one's value, and the last a new value.

        The join is with one row, since more would multiply the rows in each round.
        """
        source, source_columns = self._from(depth)
        table, alias = self.chance.choice(list(TABLES)), self.name()
        other = f"(SELECT max(a) AS a, min(b) AS b, max(c) AS c FROM {table}) AS {alias}"
        other_columns = [made(f"{alias}.{letter}") for letter in "abc"]
        name, width = self.name(), self.chance.randint(2, 7)
        columns = [made(f"{name}.c{place}", nullable=True) for place in range(width)]
        first = ", ".join(self.value(source_columns, 1).text for _ in columns)
        last = made(f"concat_ws('', {columns[0].text}, {self.chance.choice(other_columns).text})")
        recursive_columns = ", ".join(column.text for column in [*columns[1:], last])
        names = ", ".join(f"c{place}" for place in range(width))
        text = (
            f"WITH RECURSIVE {name} (i, {names}) AS (SELECT 0, {first} FROM {source} UNION ALL SELECT {name}.i + 1, "
            f"{recursive_columns} FROM {name} JOIN {other} "
            f"ON {self.equal(columns, other_columns, 2)} WHERE {name}.i < {width + 1}) "
        )
        selection = self._selected(self.chance.sample(columns, min(2, width)), f"FROM {name}")
        return Relation(text=text + selection.text, columns=selection.columns)


def query(seed: int, *, recursion: bool = False) -> str:
    """Return the query of a seed; every tenth one is a MERGE."""
    grammar = Grammar(chance=random.Random(seed), recursion=recursion)
    if seed % _MERGE_EVERY == _MERGE_EVERY - 1:
        return grammar.merge()
    return grammar.relation(grammar.chance.randint(1, _MAX_DEPTH)).text
