"""The parsed form of a SQL statement, independent of the parser."""

from dataclasses import dataclass

from shared.model import EdgeKind


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TableRef:
    """A table as written: by `path` and `format` (``delta.`/a/b` ``), or by the `parts` of its name (catalog, database,
    table, as many as are written, in their case). A file without a format (in COPY and LOAD) has an empty one.
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
    """A source column that reaches an output column by its value, or only selects what is written. The output is
    `ALL_ROWS` for row dependencies: filters, joins, groups, orders. `opaque`: only a script may pass its value on.
    """

    output: str
    kind: EdgeKind
    source: TableRef
    column: str
    opaque: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One SQL statement.

    `kind`: one of `KINDS`. `target`: the table it writes; None for a query. `sources`: the tables it reads, each once;
    without the target of a change in place. `columns`: the pairs that are certain without the tables' schemas.
    `constants`: output columns of literals alone. `outputs`: the columns of a query, or of a table or view that is
    created, in order; empty unless all are known.
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
"""`create_table` moves no data; a `temporary_view` or `cache` ends with its session."""
