"""Entry points of the SQL room: read a statement, redact a statement.

Importing sqlglot takes as long as decoding a thousand events, so it is imported with the first statement.
"""

from functools import lru_cache

from shared.translation.sql.model import Statement


def read_statement(sql: str) -> Statement | None:
    """Read what a SQL statement reads and writes; None if it is not read. Never raises.

    Not read are: texts that are not one SQL statement, templates (`{{ … }}`, `${…}`), statements that move no data
    (`model.KINDS` lists the others), several INSERTs from one FROM, pipes (`|>`), computed targets (`IDENTIFIER(…)`),
    and texts beyond the limits in `parsing`.
    """
    return (_read if len(sql) <= _MAX_CACHED else _read.__wrapped__)(sql)


_MAX_CACHED = 20_000
"""Characters. Jobs repeat their statements, so results are cached; longer statements are read each time."""


@lru_cache(maxsize=512)
def _read(sql: str) -> Statement | None:
    from shared.translation.sql.statements import read  # noqa: PLC0415 - costs a third of a second

    return read(sql)


def redact(sql: str, *, readable: bool = False) -> str:
    """The statement without comments and with `?` for each literal. `readable`: with neutral literals of the same kind,
    so that `read_statement` gives the same result. Never raises.

    Names, NULL, TRUE and FALSE stay. A text that is too long or can't be tokenized becomes empty, so no data leaks.
    """
    from shared.translation.sql.parsing import redacted  # noqa: PLC0415 - costs a third of a second

    return redacted(sql, readable=readable)
