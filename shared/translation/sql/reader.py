"""Read a SQL text into a `Statement`."""

from collections.abc import Iterable, Iterator, Mapping

from shared.model import EdgeKind
from shared.translation.process.union import ALL_ROWS
from shared.translation.sql.model import Statement, StatementColumn, TableRef
from shared.translation.sql.parsing import parse
from shared.translation.sql.queries import Queries
from shared.translation.sql.statements import READERS, StatementContext, StatementParts
from shared.translation.sql.tables import UnreadableError, tables_read

_MAX_COLUMN_PAIRS = 20_000
"""Pairs of columns. A statement with more gives its tables only."""


def read(sql: str) -> Statement | None:
    """Read a statement; None for texts that are not read (see `read_statement`)."""
    parsed = parse(sql)
    if parsed is None:
        return None
    reader = next((reader for kind, reader in READERS if isinstance(parsed.tree, kind)), None)
    if reader is None:
        return None
    try:
        queries = Queries(common=Queries().common_in(parsed.tree))
        parts = reader(StatementContext(parsed=parsed, queries=queries), parsed.tree)
        return _statement(parts, tables_read(parsed.tree, parts.read)) if parts else None
    except (UnreadableError, RecursionError):
        return None


def _statement(parts: StatementParts, read_tables: Iterable[TableRef]) -> Statement:
    sources: dict[tuple[str, ...], TableRef] = {}
    own = parts.target.key if parts.target and parts.own else None
    for table in (*parts.more_sources, *read_tables):
        if table.key != own:
            sources.setdefault(table.key, table)
    columns = dict(parts.columns)
    return Statement(
        kind=parts.kind,
        target=parts.target,
        sources=tuple(sources.values()),
        columns=_pairs(parts, sources),
        constants=tuple(sorted(name for name, origins in columns.items() if name and origins.constant)),
        outputs=parts.outputs,
    )


def _pairs(parts: StatementParts, sources: Mapping[tuple[str, ...], TableRef]) -> tuple[StatementColumn, ...]:
    """Each pair and kind once, in the first spelling of table and column."""
    count = len(parts.rows) + sum(len(origins.all) for _, origins in parts.columns)
    if count > _MAX_COLUMN_PAIRS:
        return ()
    found: dict[tuple[str, EdgeKind, tuple[str, ...], str], StatementColumn] = {}
    for output, kind, table, column in sorted(_edges(parts)):
        source = sources.get(table.key)
        if source:
            pair = StatementColumn(output=output, kind=kind, source=source, column=column)
            found.setdefault((output.lower(), kind, source.key, column.lower()), pair)
    return tuple(sorted(found.values()))


def _edges(parts: StatementParts) -> Iterator[tuple[str, EdgeKind, TableRef, str]]:
    for name, origins in parts.columns:
        if name:
            yield from ((name, EdgeKind.DIRECT, *source) for source in origins.direct)
            yield from ((name, EdgeKind.INDIRECT, *source) for source in origins.indirect)
    yield from ((ALL_ROWS, EdgeKind.INDIRECT, *source) for source in parts.rows)
