"""Tables whose cells carry their origin, `[s0.a#17]`: table and column, and a random number.

A world is one set of their rows. Every second world draws only a few numbers, so that it has equal rows.
"""

import random
from typing import TypedDict

TABLES = {f"s{number}": ("a", "b", "c") for number in range(3)}
COLUMNS = tuple(f"{table}.{column}" for table, columns in TABLES.items() for column in columns)
ROWS = 24
_MANY, _FEW = 10_000, 3

Cells = list[str | None]
"""The cells of one column, by row: a fifth is null."""


class World(TypedDict):
    """The cells of each column (`s0.a`), and two other ways to fill each column, one of which changes it alone.

    `numbers`: each number is replaced, so that nulls and equal cells of the column stay so; `cells`: all cells are
    drawn again.
    """

    drawn: dict[str, Cells]
    numbers: dict[str, Cells]
    cells: dict[str, Cells]


def world(number: int) -> World:
    """A world by its number."""
    drawn = {column: _drawn(column, number, "") for column in COLUMNS}
    return World(
        drawn=drawn,
        numbers={column: _renumbered(cells, column, number) for column, cells in drawn.items()},
        cells={column: _drawn(column, number, "again") for column in COLUMNS},
    )


def rows(table: str, number: int) -> list[tuple[str | None, ...]]:
    """Return the rows of a table in a world."""
    drawn = world(number)["drawn"]
    return list(zip(*(drawn[f"{table}.{column}"] for column in TABLES[table]), strict=True))


def _drawn(column: str, number: int, salt: str) -> Cells:
    chance = random.Random(f"{column} {number} {salt}")
    limit = _FEW if number % 2 else _MANY
    return [f"[{column}#{chance.randrange(limit)}]" if chance.random() < 0.8 else None for _ in range(ROWS)]


def _renumbered(cells: Cells, column: str, number: int) -> Cells:
    chance = random.Random(f"{column} {number} renumbered")
    known_cells = sorted({cell for cell in cells if cell})
    other = dict(zip(known_cells, chance.sample(range(_MANY), len(known_cells)), strict=True))
    return [cell and f"[{column}#{other[cell]}]" for cell in cells]
