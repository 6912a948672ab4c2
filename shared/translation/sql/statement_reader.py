"""What only a job's statement tells: the tables and columns of a SQL text, and the text without its literals. Pure.

The parser is sqlglot. To import it costs about as long as to read a thousand events, so it is imported when the first
statement is read.
"""

from functools import lru_cache

from shared.translation.sql.model import KINDS, Statement, StatementColumn, TableRef

__all__ = ["KINDS", "Statement", "StatementColumn", "TableRef", "read_statement", "redact"]


def read_statement(sql: str, *, default_catalog: str = "", default_database: str = "") -> Statement | None:
    """What the statement reads and writes; None for what is not read.

    Not read are: what is no single statement or no SQL, templates (`{{ … }}`, `${…}`), statements that move no data
    (`KINDS` has those that are read), several INSERTs from one FROM, pipes (`|>`), targets that are no plain name
    (`IDENTIFIER(…)`), and texts beyond the bounds in `parsing.py`. It never raises. Names of one part get the default
    database, names of two parts the default catalog, where these are given.
    """
    if len(sql) > _MAX_CACHED:
        return _read.__wrapped__(sql, default_catalog, default_database)
    return _read(sql, default_catalog, default_database)


_MAX_CACHED = 20_000
"""Characters. A job repeats its statements for ever; what is longer is read each time, for memory's sake."""


@lru_cache(maxsize=512)
def _read(sql: str, default_catalog: str, default_database: str) -> Statement | None:
    from shared.translation.sql.reader import read  # noqa: PLC0415 - costs a third of a second

    return read(sql, (default_catalog, default_database))


def redact(sql: str, *, readable: bool = False) -> str:
    """The statement without its literals, each replaced by `?`, and without its comments. `readable`: each replaced by
    a literal of its kind that says nothing, so that `read_statement` reads from it what it read before.

    Names stay, as do NULL, TRUE and FALSE. What the tokenizer does not understand or what is too long becomes an empty
    text: rather nothing than somebody's data. It never raises.
    """
    from shared.translation.sql.redaction import redacted  # noqa: PLC0415 - costs a third of a second

    return redacted(sql, readable=readable)
