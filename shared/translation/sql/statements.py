"""Read a SQL text into a `Statement`: for each kind of statement its target, what it reads, its columns' origins."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from shared.model import EdgeKind
from shared.translation.process.union import ALL_ROWS
from shared.translation.sql.model import Statement, StatementColumn, TableRef
from shared.translation.sql.parsing import Parsed, UnreadableError, name_of, nodes, parse, table_ref, tables_read
from shared.translation.sql.queries import Queries
from shared.translation.sql.relations import Origins, QueryRelation, Scope, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementParts:
    """A reader's result. `read`: the nodes that contain the tables read; `own`: the statement changes its target in
    place, so the target is no source.
    """

    kind: str
    target: TableRef | None
    read: tuple[object, ...] = ()
    columns: tuple[tuple[str, Origins], ...] = ()
    rows: frozenset[Source] = frozenset()
    more_sources: tuple[TableRef, ...] = ()
    outputs: tuple[str, ...] = ()
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementContext:
    """A parsed statement with what its readers need."""

    parsed: Parsed
    queries: Queries = field(repr=False)

    def target(self, node: object) -> TableRef:
        """The table that is written. Raises UnreadableError if it is no plain table."""
        table = table_ref(node) if isinstance(node, exp.Table) else None
        if table is None:
            raise UnreadableError
        return table


def _query(context: StatementContext, node: exp.Expr) -> StatementParts:
    output = context.queries.query(node, None)
    columns, outputs = output.relation.columns, _outputs(output.relation)
    return StatementParts(kind="select", target=None, read=(node,), columns=columns, rows=output.rows, outputs=outputs)


def _outputs(relation: QueryRelation) -> tuple[str, ...]:
    """The names of the columns in order; empty unless all are known."""
    names = tuple(name for name, _ in relation.columns)
    return names if all(names) and not relation.is_open else ()


def _create(context: StatementContext, node: exp.Expr) -> StatementParts | None:
    object_kind = str(node.args.get("kind") or "").upper()
    if object_kind not in {"TABLE", "VIEW"}:
        return None
    schema = node.this if isinstance(node.this, exp.Schema) else None
    target = context.target(schema.this if schema else node.this)
    query, clone = node.args.get("expression"), node.args.get("clone")
    if isinstance(clone, exp.Clone):
        return StatementParts(kind="clone", target=target, read=(clone.this,))
    if query is None:
        defined = tuple(definition.name for definition in nodes(schema) if isinstance(definition, exp.ColumnDef))
        is_table = object_kind == "TABLE"
        return StatementParts(kind="create_table", target=target, outputs=defined) if is_table else None
    names = [node_of_name.name for node_of_name in nodes(schema)]
    output = context.queries.query(query, None)
    kind = _view(node) if object_kind == "VIEW" else "rtas" if node.args.get("replace") else "ctas"
    relation = output.relation.renamed(names)
    return StatementParts(
        kind=kind,
        target=target,
        read=(query,),
        columns=relation.columns,
        rows=output.rows,
        outputs=_outputs(relation),
    )


def _view(node: exp.Expr) -> str:
    properties = node.args.get("properties")
    kinds = nodes(properties)
    if any(isinstance(kind, exp.TemporaryProperty) for kind in kinds):
        return "temporary_view"
    return "materialized_view" if any(isinstance(kind, exp.MaterializedProperty) for kind in kinds) else "view"


def _cache(context: StatementContext, node: exp.Expr) -> StatementParts:
    query = node.args.get("expression")
    if query is None:  # CACHE TABLE t reads t
        return StatementParts(kind="cache", target=None, read=(node.this,))
    output = context.queries.query(query, None)
    target = context.target(node.this)
    return StatementParts(kind="cache", target=target, read=(query,), columns=output.relation.columns, rows=output.rows)


def _insert(context: StatementContext, node: exp.Expr) -> StatementParts:
    schema = node.this if isinstance(node.this, exp.Schema) else None
    table = schema.this if schema else node.this
    query = node.args.get("expression") or node.args.get("source")
    output = context.queries.query(query, None)
    if isinstance(table, exp.Directory):
        if not table.name:
            raise UnreadableError
        stored = node.args.get("stored")
        stored_as = name_of(stored.this).lower() if isinstance(stored, exp.FileFormatProperty) else ""
        target = TableRef(path=table.name, format=context.parsed.directory_format or stored_as)
        columns = output.relation.columns  # the files get the query's own names
    else:
        target = context.target(table)
        if schema and not all(isinstance(column_node, exp.Identifier | exp.ColumnDef) for column_node in nodes(schema)):
            raise UnreadableError  # IDENTIFIER('t') looks like a table with a list of columns
        columns = _inserted(schema, output.relation, by_name=bool(node.args.get("by_name")))
        columns += tuple(_static_partitions(table, context.queries))
    return StatementParts(kind="insert", target=target, read=(query,), columns=columns, rows=output.rows)


def _inserted(schema: exp.Schema | None, relation: QueryRelation, *, by_name: bool) -> tuple[tuple[str, Origins], ...]:
    """The inserted columns; none without a list of columns, because values go by position to unnamed ones."""
    if schema:
        return relation.renamed(column_node.name for column_node in nodes(schema)).columns
    return relation.columns if by_name else ()


def _static_partitions(table: object, queries: Queries) -> Iterator[tuple[str, Origins]]:
    partition = table.args.get("partition") if isinstance(table, exp.Table) else None
    for node in nodes(partition):
        if isinstance(node, exp.EQ):
            yield name_of(node.this), queries.origins(node.expression, Scope())


def _update(context: StatementContext, node: exp.Expr) -> StatementParts:
    target = context.target(node.this)
    scope, rows = Scope(), set[Source]()
    context.queries.add(scope, node.this, rows)
    from_ = node.args.get("from_")
    if isinstance(from_, exp.From):
        context.queries.add(scope, from_.this, rows)
    columns = tuple(_assigned(nodes(node), scope, scope, context.queries))
    rows |= context.queries.origins(node.args.get("where"), scope).all
    parts_read = (from_, *nodes(node), node.args.get("where"))
    return StatementParts(
        kind="update", target=target, read=parts_read, columns=columns, rows=frozenset(rows), own=True
    )


def _delete(context: StatementContext, node: exp.Expr) -> StatementParts:
    target = context.target(node.this)
    scope, rows = Scope(), set[Source]()
    context.queries.add(scope, node.this, rows)
    condition = node.args.get("where")
    rows |= context.queries.origins(condition, scope).all
    return StatementParts(kind="delete", target=target, read=(condition,), rows=frozenset(rows), own=True)


def _merge(context: StatementContext, node: exp.Expr) -> StatementParts:
    target, queries = context.target(node.this), context.queries
    joint_scope, source, rows = Scope(), Scope(), set[Source]()
    queries.add(joint_scope, node.this, set())
    queries.add(joint_scope, node.args.get("using"), rows)
    queries.add(source, node.args.get("using"), rows)
    rows |= queries.origins(node.args.get("on"), joint_scope).all
    columns: list[tuple[str, Origins]] = []
    whens = [when for when in nodes(node.args.get("whens")) if isinstance(when, exp.When)]
    for when in whens:
        inserts = not when.args.get("matched") and not when.args.get("source")
        scope = source if inserts else joint_scope  # an inserted row has no values of the target
        rows |= queries.origins(when.args.get("condition"), scope).all
        columns += _merged(when.args.get("then"), joint_scope, scope, queries)
    parts_read = (node.args.get("using"), node.args.get("on"), *whens)
    named = tuple(_by_column(columns).items())
    return StatementParts(kind="merge", target=target, read=parts_read, columns=named, rows=frozenset(rows), own=True)


def _merged(action: object, names: Scope, values: Scope, queries: Queries) -> Iterator[tuple[str, Origins]]:
    """The columns that one WHEN writes; none for a star."""
    if isinstance(action, exp.Update):
        yield from _assigned(nodes(action), names, values, queries)
    elif (
        isinstance(action, exp.Insert)
        and isinstance(action.this, exp.Tuple)
        and isinstance(action.expression, exp.Tuple)
    ):
        for name, value in zip(nodes(action.this), nodes(action.expression), strict=False):
            yield _column_name(name, names), queries.origins(value, values)


def _assigned(sets: Iterable[object], names: Scope, values: Scope, queries: Queries) -> Iterator[tuple[str, Origins]]:
    for assignment in sets:
        if isinstance(assignment, exp.EQ):
            yield _column_name(assignment.this, names), queries.origins(assignment.expression, values)


def _column_name(node: object, scope: Scope) -> str:
    """The assigned column without its table's alias and without a field."""
    while isinstance(node, exp.Dot):
        node = node.this
    if not isinstance(node, exp.Column):
        return node.name if isinstance(node, exp.Identifier) else ""
    parts = [part.name for part in node.parts]
    for length in range(len(parts) - 1, 0, -1):
        if scope.find(parts[:length]):
            return parts[length]
    return parts[0]


def _by_column(columns: Iterable[tuple[str, Origins]]) -> dict[str, Origins]:
    """Merge the assignments of several WHENs: a column is constant only if all write literals."""
    by_column: dict[str, Origins] = {}
    spelled: dict[str, str] = {}
    for name, origins in columns:
        key = spelled.setdefault(name.lower(), name)
        by_column[key] = by_column[key] | origins if key in by_column else origins
    return by_column


def _copy(context: StatementContext, node: exp.Expr) -> StatementParts | None:
    params = [parameter for parameter in nodes(node, "params") if isinstance(parameter, exp.CopyParameter)]
    named = (
        name_of(parameter.args.get("expression")) for parameter in params if parameter.name.upper() == "FILEFORMAT"
    )
    file_format = next(named, "").lower()
    files = nodes(node, "files")
    if not node.args.get("kind") or len(files) != 1:
        return None
    target = context.target(node.this)
    if isinstance(files[0], exp.Literal):
        source = TableRef(path=files[0].name, format=file_format)
        return StatementParts(kind="copy", target=target, more_sources=(source,))
    output = context.queries.query(files[0], None)
    columns = tuple((name, _from_files(origins, file_format)) for name, origins in output.relation.columns)
    paths = tuple(_file(table, file_format) for table in tables_read(node, (files[0],)))
    rows = frozenset((_file(table, file_format), column) for table, column in output.rows)
    return StatementParts(kind="copy", target=target, more_sources=paths, columns=columns, rows=rows)


def _from_files(origins: Origins, file_format: str) -> Origins:
    return Origins(
        direct=frozenset((_file(table, file_format), column) for table, column in origins.direct),
        indirect=frozenset((_file(table, file_format), column) for table, column in origins.indirect),
        constant=origins.constant,
        opaque=frozenset((_file(table, file_format), column) for table, column in origins.opaque),
    )


def _file(table: TableRef, file_format: str) -> TableRef:
    """The file reference of a COPY query, which names files by a text in place of a table."""
    return table if table.path else TableRef(path=table.parts[-1], format=file_format)


def _load(context: StatementContext, node: exp.Expr) -> StatementParts | None:
    path = node.args.get("inpath")
    if not isinstance(path, exp.Literal):
        return None
    return StatementParts(kind="load", target=context.target(node.this), more_sources=(TableRef(path=path.name),))


_Reader: TypeAlias = Callable[[StatementContext, exp.Expr], StatementParts | None]

READERS: tuple[tuple[type[exp.Expr], _Reader], ...] = (
    (exp.Query, _query),
    (exp.Values, _query),
    (exp.Insert, _insert),
    (exp.Merge, _merge),
    (exp.Update, _update),
    (exp.Delete, _delete),
    (exp.Create, _create),
    (exp.Cache, _cache),
    (exp.Copy, _copy),
    (exp.LoadData, _load),
)
"""The first reader whose type matches the tree is used."""


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
    own_key = parts.target.key if parts.target and parts.own else None
    for table in (*parts.more_sources, *read_tables):
        if table.key != own_key:
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
    pairs: dict[tuple[str, EdgeKind, tuple[str, ...], str], StatementColumn] = {}
    for output, kind, table, column, opaque in sorted(_edges(parts)):
        source = sources.get(table.key)
        if source:
            pair = StatementColumn(output=output, kind=kind, source=source, column=column, opaque=opaque)
            pairs.setdefault((output.lower(), kind, source.key, column.lower()), pair)
    return tuple(sorted(pairs.values()))


def _edges(parts: StatementParts) -> Iterator[tuple[str, EdgeKind, TableRef, str, bool]]:
    for name, origins in parts.columns:
        if name:
            yield from ((name, EdgeKind.DIRECT, *source, source in origins.opaque) for source in origins.direct)
            yield from ((name, EdgeKind.INDIRECT, *source, False) for source in origins.indirect)
    yield from ((ALL_ROWS, EdgeKind.INDIRECT, *source, False) for source in parts.rows)
