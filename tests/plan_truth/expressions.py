"""Random expressions over columns: values made of cells, and conditions on them.

Conditions are checksums of cells, each with its own salt, so that some row takes each branch of each condition. Where a
null gives way to the next value there are only cells, and `max`, which keeps one cell, takes only plain columns: so
each value edge can occur. Nothing depends on an order of rows that Spark leaves open, so every change has its cause.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

FUNCTION = "glued"
"""A Python function that jobs register: it joins two texts."""


class Column(NamedTuple):
    """A column by its text; `nullable`: null in some rows, `plain`: an unchanged column of a table."""

    text: str
    nullable: bool = True
    plain: bool = True


def made(text: str, *, nullable: bool = False) -> Column:
    """Return the column of an expression."""
    return Column(text, nullable=nullable, plain=False)


def checksum(column: Column, salt: str) -> str:
    """Return a checksum of a cell, which is as good as random."""
    return f"crc32(concat(coalesce({column.text}, ''), '{salt}'))"


def collected(text: str, clause: str = "") -> str:
    """Return all values of a group or window in one text, independent of the order of rows."""
    return f"array_join(array_sort(collect_set({text}){clause}), '')"


@dataclass(slots=True, kw_only=True)
class Expressions:
    """Draws expressions and names."""

    chance: random.Random
    names: int = 0

    def name(self) -> str:
        """Return a unique name."""
        self.names += 1
        return f"n{self.names}"

    def salt(self) -> str:
        """Return a salt that makes a condition independent of others."""
        return str(self.chance.randrange(10_000))

    def condition(self, known_columns: Sequence[Column]) -> str:
        """Return a condition that is true for two rows of three."""
        return f"{checksum(self.chance.choice(known_columns), self.salt())} % 3 > 0"

    def equal(self, first: Sequence[Column], second: Sequence[Column], parts: int) -> str:
        """Return a condition that is true for one of `parts` pairs of rows."""
        salt = self.salt()
        return " = ".join(f"{checksum(self.chance.choice(side), salt)} % {parts}" for side in (first, second))

    def some(self, columns: Sequence[Column], max_columns: int = 4) -> list[Column]:
        """A few values."""
        return [self.value(columns, 2) for _ in range(self.chance.randint(1, max_columns))]

    def summaries(self, known_columns: Sequence[Column]) -> list[Column]:
        """Return one to three values of a group."""
        columns = []
        for _ in range(self.chance.randint(1, 2)):
            filter_clause = f" FILTER (WHERE {self.condition(known_columns)})" if self.chance.random() < 0.3 else ""
            columns.append(made(collected(self.value(known_columns, 1).text, filter_clause)))
        plain = [column for column in known_columns if column.plain]
        if plain:
            columns.append(made(f"{self.chance.choice(('max', 'min'))}({self.chance.choice(plain).text})"))
        return columns

    def windowed(self, columns: Sequence[Column], kept_column: Column) -> Column:
        """Return a value of a window whose order is total for the columns that it takes."""
        argument, partition_column, order = (
            self.value(columns, 1),
            self.chance.choice(columns),
            self.chance.choice(columns),
        )
        partition = f"PARTITION BY {checksum(partition_column, self.salt())} % 2"
        sums = f"{checksum(order, self.salt())} % 1000"
        other_texts = ", ".join(dict.fromkeys(column.text for column in (order, kept_column, argument)))
        frame = self.chance.choice(
            ("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING")
        )
        near = "RANGE BETWEEN 200 PRECEDING AND 50 FOLLOWING"
        of_frame = self.chance.choice(("first_value", "last_value"))
        rank = self.chance.choice(("rank", "dense_rank", "ntile(4)", "row_number")).removesuffix("()")
        rank = rank if rank.endswith(")") else f"{rank}()"
        return self.chance.choice(
            (
                made(f"array_join(array_sort(collect_set({argument.text}) OVER ({partition})), '')"),
                made(f"lag({argument.text}) OVER ({partition} ORDER BY {other_texts})", nullable=True),
                made(f"lead({argument.text}) OVER (ORDER BY {other_texts})", nullable=True),
                made(
                    f"array_join(array_sort(collect_set({argument.text}) "
                    f"OVER ({partition} ORDER BY {other_texts} {frame})), '')"
                ),
                made(f"array_join(array_sort(collect_set({argument.text}) OVER (ORDER BY {sums} {near})), '')"),
                made(f"{of_frame}({argument.text}) OVER ({partition} ORDER BY {other_texts} {frame})", nullable=True),
                made(
                    f"if({rank} OVER ({partition} ORDER BY {other_texts}) % 2 = 0, {argument.text}, 'none')",
                    nullable=True,
                ),
            )
        )

    def value(self, columns: Sequence[Column], depth: int) -> Column:
        """Return a value made of columns, of at most `depth` levels."""
        if depth == 0 or self.chance.random() < 0.3:
            return self.chance.choice(columns)
        x, y = (self.value(columns, depth - 1) for _ in range(2))
        condition, any_null = self.condition(columns), x.nullable or y.nullable
        forms = [
            made(f"concat({x.text}, {y.text})", nullable=any_null),
            made(f"CASE WHEN {condition} THEN {x.text} ELSE {y.text} END", nullable=any_null),
            made(f"if({condition}, {x.text}, {y.text})", nullable=any_null),
            made(f"upper(lower({x.text}))", nullable=x.nullable),
            made(f"nullif({x.text}, 'none')", nullable=x.nullable),
            made(f"named_struct('p', {x.text}, 'q', {y.text}).p", nullable=x.nullable),
            made(f"map('k', {x.text})['k']", nullable=x.nullable),
            made(f"array_join(transform(array({x.text}, {y.text}), e -> concat(e, '-')), '')"),
            made(f"concat_ws('', {x.text}, {y.text})"),
            made(f"{FUNCTION}({x.text}, {y.text})"),
        ]
        cells = [column for column in columns if column.plain and column.text.rpartition(".")[2] in {"a", "b", "c"}]
        if len(cells) > 1:  # when one is null the other may not be
            first, second = (column.text for column in self.chance.sample(cells, 2))
            forms += [
                made(f"coalesce({first}, {second})", nullable=True),
                made(f"nvl({first}, {second})", nullable=True),
                made(f"nvl2({first}, {x.text}, {second})", nullable=True),
            ]
        return self.chance.choice(forms)
