"""Parse SQL with sqlglot, within limits, including Spark syntax that sqlglot lacks; access its loosely typed trees.

Of a tree: the tables that it reads. Of a text: the same without literals, and without the secrets in its paths.

Of a script: its statements, and those of them that change a table without moving data.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import Dialect, exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from shared.secrets import address_without_secrets
from shared.translation.sql.model import TableRef

MAX_STATEMENT_LENGTH = 200_000
"""Characters. Longer statements are not parsed."""
_MAX_TOKENS = 30_000
_MAX_DEPTH = 40
"""Nested parentheses, brackets and CASEs. People write up to ten; sqlglot parses some of them repeatedly."""

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # its warnings quote statements, which may hold personal data

_SPARK = Databricks()
"""A superset of Spark SQL (COPY INTO, QUALIFY)."""

_FIRST_WORDS = frozenset(
    {"SELECT", "WITH", "FROM", "(", "VALUES", "INSERT", "MERGE", "UPDATE", "DELETE", "CREATE", "REPLACE"}
)
_FIRST_WORDS |= {"COPY", "LOAD", "CACHE"}
"""First words of statements that may move data; others are not parsed."""

_OPENS = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE})
_CLOSES = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END})
_NOT_READ = frozenset({TokenType.L_BRACE, TokenType.BLOCK_START, TokenType.PIPE_GT})
"""Braces occur in templates only; sqlglot misreads pipes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The tree, and the format in INSERT OVERWRITE DIRECTORY … USING."""

    tree: exp.Expr
    directory_format: str = ""


def tokens_of(sql: str, dialect: Dialect = _SPARK) -> list[Token] | None:
    """The text's tokens; None if it is too long or invalid."""
    if len(sql) > MAX_STATEMENT_LENGTH:
        return None
    try:
        return list(dialect.tokenize(sql))
    except SqlglotError:
        return None


def parse(sql: str, dialect: Dialect = _SPARK) -> Parsed | None:
    """Parse a single statement; None for any other text."""
    tokens = tokens_of(sql, dialect)
    if not tokens or len(tokens) > _MAX_TOKENS or tokens[0].text.upper() not in _FIRST_WORDS or not _fits(tokens):
        return None
    spelled, directory_format = _as_sqlglot_spells(tokens)
    try:
        trees = dialect.parser().parse(spelled, sql)
    except (SqlglotError, RecursionError):
        return None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # sqlglot's own faults on broken statements
        return None
    expressions = [tree for tree in trees if isinstance(tree, exp.Expr)]
    return Parsed(tree=expressions[0], directory_format=directory_format) if len(expressions) == 1 else None


def _fits(tokens: Sequence[Token]) -> bool:
    depth = 0
    for token in tokens:
        if token.token_type in _OPENS:
            depth += 1
            if depth > _MAX_DEPTH:
                return False
        elif token.token_type in _CLOSES:
            depth -= 1
        elif token.token_type in _NOT_READ:
            return False
    return True


def _as_sqlglot_spells(tokens: list[Token]) -> tuple[list[Token], str]:
    """The statement in a spelling that sqlglot knows, and the directory's format."""
    words = [token.text.upper() for token in tokens[:6]]
    if words[0] == "REPLACE":
        return [Token(TokenType.CREATE, "CREATE"), Token(TokenType.OR, "OR"), *tokens], ""
    if words[:4] == ["MERGE", "WITH", "SCHEMA", "EVOLUTION"]:
        return [tokens[0], *tokens[4:]], ""
    if words[0] == "INSERT" and "DIRECTORY" in words:
        return _without_using(tokens, words.index("DIRECTORY") + 1)
    return tokens, ""


def _without_using(tokens: list[Token], start: int) -> tuple[list[Token], str]:
    """INSERT OVERWRITE DIRECTORY ['path'] USING format [OPTIONS (path 'path', …)] without the part after the path."""
    head, remaining = tokens[:start], tokens[start:]
    path, remaining = (
        (remaining[:1], remaining[1:]) if remaining and remaining[0].token_type == TokenType.STRING else ([], remaining)
    )
    if len(remaining) < 2 or remaining[0].token_type != TokenType.USING:  # noqa: PLR2004 - USING and its format
        return tokens, ""
    directory_format, remaining = remaining[1].text.lower(), remaining[2:]
    if remaining and remaining[0].text.upper() == "OPTIONS":
        end = next(
            (place for place, token in enumerate(remaining) if token.token_type == TokenType.R_PAREN), len(remaining)
        )
        options = [token for token in remaining[1:end] if token.token_type not in {TokenType.EQ, TokenType.COMMA}]
        named = (
            value for name, value in zip(options[1::2], options[2::2], strict=False) if name.text.lower() == "path"
        )
        path, remaining = path or list(named)[:1], remaining[end + 1 :]
    return [*head, *path, *remaining], directory_format


def nodes(node: object, key: str = "expressions") -> list[exp.Expr]:
    """The nodes of a list argument; a single node counts as a list of one."""
    value = node.args.get(key) if isinstance(node, exp.Expr) else None
    listed = value if isinstance(value, list) else [value]
    return [element for element in listed if isinstance(element, exp.Expr)]


def name_of(node: object) -> str:
    """The name of a node, or an empty text."""
    return node.name if isinstance(node, exp.Expr) else ""


_FORMATS = frozenset({"avro", "binaryfile", "csv", "delta", "hudi", "iceberg", "json", "orc", "parquet", "text", "xml"})
"""Formats that may precede a path in place of a database (Spark's "SQL on files")."""


class UnreadableError(Exception):
    """A table of the statement has a computed name, so the statement is not read."""


def table_ref(table: exp.Table) -> TableRef | None:
    """The table's reference; None for a table function, which reads no table.

    Raises UnreadableError for a name that is computed.
    """
    if isinstance(table.this, exp.Func):
        if table.this.name.upper() == "IDENTIFIER":
            raise UnreadableError
        return None
    if not all(isinstance(part, exp.Identifier) and part.name for part in table.parts):
        raise UnreadableError
    parts = tuple(part.name for part in table.parts)
    if len(parts) > 1 and parts[-2].lower() in _FORMATS and any(mark in parts[-1] for mark in "/:.\\"):
        return TableRef(path=parts[-1], format=parts[-2].lower())
    return TableRef(parts=parts)


def cte_name(table: exp.Table) -> str:
    """The name in lower case by which a table may be a common table expression; empty if it can't."""
    return "" if table.args.get("db") else table.name.lower()


def ctes_of(node: exp.Expr) -> Iterator[exp.CTE]:
    """The common table expressions that a query defines, in order."""
    yield from (cte for cte in nodes(node.args.get("with_")) if isinstance(cte, exp.CTE))


def is_recursive(node: exp.Expr) -> bool:
    """Whether the common table expressions may be recursive."""
    with_ = node.args.get("with_")
    return isinstance(with_, exp.With) and bool(with_.args.get("recursive"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommonTable:
    """A common table expression: its body, and the others it sees."""

    body: exp.Expr
    sees: Mapping[str, "_CommonTable"]


def _names(node: exp.Expr, outer: Mapping[str, _CommonTable]) -> Mapping[str, _CommonTable]:
    names = outer
    for cte in ctes_of(node):
        extended = dict(names)
        extended[cte.alias.lower()] = _CommonTable(body=cte.this, sees=extended if is_recursive(node) else names)
        names = extended
    return names


def tables_read(statement: exp.Expr, nodes: Iterable[object]) -> Iterator[TableRef]:
    """All tables below these nodes of the statement, in the order and number of their mentions.

    A common table expression counts by what it reads, and only if it is read. Raises UnreadableError.
    """
    visited: set[int] = set()
    start = _names(statement, {})
    stack: list[tuple[object, Mapping[str, _CommonTable]]] = [(node, start) for node in nodes][::-1]
    while stack:
        node, outer = stack.pop()
        if not isinstance(node, exp.Expr) or isinstance(node, exp.Hint):
            continue
        names = _names(node, outer)
        if isinstance(node, exp.Table):
            common = names.get(cte_name(node))
            ref = None if common else table_ref(node)
            if ref:
                yield ref
            if common and id(common) not in visited:
                visited.add(id(common))
                stack.append((common.body, common.sees))
        children = [child for child in node.iter_expressions() if not isinstance(child, exp.With)]
        stack.extend((child, names) for child in reversed(children))


PLACEHOLDER = "?"
_TEXT, _NUMBER = "'?'", "0"
"""Placeholders of the same kinds, for texts that must stay readable as SQL."""

_LITERALS = frozenset(
    {
        TokenType.STRING,
        TokenType.NUMBER,
        TokenType.BIT_STRING,
        TokenType.HEX_STRING,
        TokenType.BYTE_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.NATIONAL_RAW_STRING,
        TokenType.RAW_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.UNICODE_STRING,
    }
)

_CONTINUED_COMMENT = re.compile(r"--[^\n]*\\\r?\n")
"""A backslash at the end of the line continues a comment in Spark; the tokenizer reads the next line as SQL."""


def redacted(sql: str, *, readable: bool = False) -> str:
    """The text with `?` for each literal and without comments; empty if it can't be tokenized.

    `readable`: with `'?'` for texts and `0` for numbers, so that it stays a valid statement.
    """
    tokens = None if _CONTINUED_COMMENT.search(sql) else tokens_of(sql)
    return "".join(_pieces(sql, tokens, readable=readable)).strip() if tokens else ""


def _pieces(sql: str, tokens: list[Token], *, readable: bool) -> Iterator[str]:
    end = 0
    for token in tokens:
        if token.start < end or token.token_type == TokenType.HINT:
            continue  # several tokens share a text, as `10L` is a number and its type; a hint is one comment
        gap = sql[end : token.start]
        yield gap if not gap.strip() else " "  # other gaps are comments, or a command's text
        text = sql[token.start : token.end + 1]
        if token.token_type not in _LITERALS and not _may_hold_a_literal(token, text):
            yield _name(text) if token.token_type == TokenType.IDENTIFIER else text
        elif not readable:
            yield PLACEHOLDER
        else:
            yield _NUMBER if token.token_type == TokenType.NUMBER or text[:1].isdigit() else _TEXT
        end = token.end + 1


def _name(text: str) -> str:
    """A name in backticks, which may be the path of a table: without user, password and signature."""
    return f"{text[0]}{address_without_secrets(text[1:-1])}{text[-1]}" if "/" in text else text


def _may_hold_a_literal(token: Token, text: str) -> bool:
    """Whether the token has quotes or starts with a digit, and is no name in backticks."""
    return token.token_type != TokenType.IDENTIFIER and (text[:1].isdigit() or "'" in text or '"' in text)


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
