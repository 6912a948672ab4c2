"""Scripts of several statements, and the statements in them that change a table without moving data."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from shared.translation.sql.model import TableRef
from shared.translation.sql.parsing import UnreadableError, nodes, table_ref, tokens_of

_ALTERS = frozenset({"ALTER", "DROP"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Alteration:
    """DROP, or ALTER … DROP, RENAME or TYPE. `verb`: drop, rename or retype; `column`: empty for the whole table."""

    verb: str
    table: TableRef
    column: str = ""


def statements_of(script: str) -> tuple[str, ...] | None:
    """The statements between semicolons; None for a text that is too long or can't be tokenized."""
    tokens = tokens_of(script)
    if tokens is None:
        return None
    ends = [token.start for token in tokens if token.token_type == TokenType.SEMICOLON]
    starts = [0, *(end + 1 for end in ends)]
    pieces = (script[start:end].strip() for start, end in zip(starts, [*ends, len(script)], strict=True))
    return tuple(piece for piece in pieces if tokens_of(piece))


def alterations(statement: str) -> tuple[Alteration, ...] | None:
    """What a DROP or an ALTER takes from a table; None for one that can't be read. Empty for all other statements."""
    tokens = tokens_of(statement)
    if not tokens or tokens[0].text.upper() not in _ALTERS:
        return ()
    try:
        tree: exp.Expr = exp.maybe_parse(statement, dialect="databricks")
        return None if isinstance(tree, exp.Command) else tuple(_altered(tree))
    except (SqlglotError, UnreadableError, RecursionError):
        return None


def _altered(tree: exp.Expr) -> Iterator[Alteration]:
    if isinstance(tree, exp.Drop) and str(tree.args.get("kind")).upper() in {"TABLE", "VIEW"}:
        for table in nodes(tree, "tables"):
            yield Alteration(verb="drop", table=_table(table))
    if isinstance(tree, exp.Alter):
        for action in nodes(tree, "actions"):
            for verb, column in _actions(action):
                yield Alteration(verb=verb, table=_table(tree.this), column=column)


def _actions(action: exp.Expr) -> Iterator[tuple[str, str]]:
    """What an action does to which column; an empty name is the table's."""
    if isinstance(action, exp.AlterRename):
        yield "rename", ""
    elif isinstance(action, exp.RenameColumn):
        yield "rename", action.this.name
    elif isinstance(action, exp.AlterColumn) and action.args.get("dtype"):
        yield "retype", action.this.name
    elif isinstance(action, exp.Drop) and "COLUMN" in str(action.args.get("kind")).upper():
        yield from (("drop", identifier.name) for identifier in action.find_all(exp.Identifier))


def _table(node: object) -> TableRef:
    table = table_ref(node) if isinstance(node, exp.Table) else None
    if table is None:
        raise UnreadableError
    return table
