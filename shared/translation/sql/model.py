"""What a statement says: frozen values without any trace of the parser."""

from dataclasses import dataclass

from shared.model import EdgeKind


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TableRef:
    """A table as the statement writes it: by `path` and `format` (``delta.`/a/b` ``), or by the `parts` of its name.

    Parts are in the order catalog, database, table, as many as are written, in their own case. A file that the
    statement names without a format (in COPY and LOAD) has an empty one.
    """

    path: str = ""
    format: str = ""
    parts: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for two spellings of one table: Spark folds the case of names, never that of paths."""
        return ("", self.path) if self.path else tuple(part.lower() for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class StatementColumn:
    """A source's column that reaches the output column: by its value, or only by deciding what is written.

    The output is `ALL_ROWS` for what decides about rows: filters, joins, groups, orders.
    """

    output: str
    kind: EdgeKind
    source: TableRef
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One SQL statement.

    `kind` is one of `KINDS`. `target` is what it writes; None for a plain query. `sources` are the tables that it
    reads, each once, without its target where it changes that in place. `columns` holds only what is
    certain without knowing the tables' columns; `constants` are the output columns that are made of literals alone.
    `outputs` are a plain query's columns in their order; empty where not all of them are known.
    """

    kind: str
    target: TableRef | None
    sources: tuple[TableRef, ...] = ()
    columns: tuple[StatementColumn, ...] = ()
    constants: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


KINDS: tuple[str, ...] = (
    "select",
    "insert",
    "merge",
    "update",
    "delete",
    "ctas",
    "rtas",
    "create_table",
    "clone",
    "view",
    "materialized_view",
    "temporary_view",
    "cache",
    "copy",
    "load",
)
"""`create_table` moves no data; `temporary_view` and `cache` name something that lives no longer than the session."""
