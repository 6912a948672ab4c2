"""A statement's text -> what it says."""

from collections.abc import Iterable, Iterator, Mapping

from shared.model import EdgeKind
from shared.translation.run.columns import ALL_ROWS
from shared.translation.sql.model import Statement, StatementColumn, TableRef
from shared.translation.sql.parsing import parse
from shared.translation.sql.queries import Queries, with_common
from shared.translation.sql.statements import READERS, StatementContext, StatementParts
from shared.translation.sql.tables import Defaults, UnreadableError, tables_read

_MOST_COLUMNS = 20_000
"""Pairs of columns; beyond, a statement gives its tables only."""


def read(sql: str, defaults: Defaults) -> Statement | None:
    """What the text says; None for what is not read (`read_statement` lists it)."""
    parsed = parse(sql)
    if parsed is None:
        return None
    reader = next((reader for kind, reader in READERS if isinstance(parsed.tree, kind)), None)
    if reader is None:
        return None
    try:
        common = with_common(parsed.tree, {}, defaults)
        reading = StatementContext(parsed=parsed, defaults=defaults, queries=Queries(common=common, defaults=defaults))
        said = reader(reading, parsed.tree)
        return _statement(said, tables_read(parsed.tree, said.read, defaults)) if said else None
    except (UnreadableError, RecursionError):
        return None


def _statement(said: StatementParts, read_tables: Iterable[TableRef]) -> Statement:
    sources: dict[tuple[str, ...], TableRef] = {}
    own = said.target.key if said.target and said.own else None
    for table in (*said.more_sources, *read_tables):
        if table.key != own:
            sources.setdefault(table.key, table)
    columns = dict(said.columns)
    return Statement(
        kind=said.kind,
        target=said.target,
        sources=tuple(sources.values()),
        columns=_pairs(said, sources),
        constants=tuple(sorted(name for name, origins in columns.items() if name and origins.constant)),
        outputs=said.outputs,
    )


def _pairs(said: StatementParts, sources: Mapping[tuple[str, ...], TableRef]) -> tuple[StatementColumn, ...]:
    """Each pair and kind once, by the first spelling of the table and of the column."""
    count = len(said.rows) + sum(len(origins.all) for _, origins in said.columns)
    if count > _MOST_COLUMNS:
        return ()
    found: dict[tuple[str, EdgeKind, tuple[str, ...], str], StatementColumn] = {}
    for output, kind, table, column in sorted(_edges(said)):
        source = sources.get(table.key)
        if source:
            pair = StatementColumn(output=output, kind=kind, source=source, column=column)
            found.setdefault((output.lower(), kind, source.key, column.lower()), pair)
    return tuple(sorted(found.values()))


def _edges(said: StatementParts) -> Iterator[tuple[str, EdgeKind, TableRef, str]]:
    for name, origins in said.columns:
        if name:
            yield from ((name, EdgeKind.DIRECT, *source) for source in origins.direct)
            yield from ((name, EdgeKind.INDIRECT, *source) for source in origins.indirect)
    yield from ((ALL_ROWS, EdgeKind.INDIRECT, *source) for source in said.rows)
