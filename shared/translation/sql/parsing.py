"""Parse SQL with sqlglot, within limits, including Spark syntax that sqlglot lacks; access its loosely typed trees."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Dialect, exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

MAX_STATEMENT_LENGTH = 200_000
"""Characters. Longer statements are not parsed."""
_MAX_TOKENS = 30_000
_MAX_DEPTH = 40
"""Nested parentheses, brackets and CASEs. People write up to ten; sqlglot parses some of them repeatedly."""

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # its warnings quote statements, which may hold personal data

_SPARK = Databricks()
"""A superset of Spark SQL (COPY INTO, QUALIFY)."""

_READ = frozenset({"SELECT", "WITH", "FROM", "(", "VALUES", "INSERT", "MERGE", "UPDATE", "DELETE", "CREATE", "REPLACE"})
_READ |= {"COPY", "LOAD", "CACHE"}
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
    if not tokens or len(tokens) > _MAX_TOKENS or tokens[0].text.upper() not in _READ or not _fits(tokens):
        return None
    spelled, directory_format = _as_sqlglot_spells(tokens)
    try:
        trees = dialect.parser().parse(spelled, sql)
    except (SqlglotError, RecursionError):
        return None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # sqlglot's own faults on broken statements
        return None
    found = [tree for tree in trees if isinstance(tree, exp.Expr)]
    return Parsed(tree=found[0], directory_format=directory_format) if len(found) == 1 else None


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
    head, rest = tokens[:start], tokens[start:]
    path, rest = (rest[:1], rest[1:]) if rest and rest[0].token_type == TokenType.STRING else ([], rest)
    if len(rest) < 2 or rest[0].token_type != TokenType.USING:  # noqa: PLR2004 - USING and its format
        return tokens, ""
    directory_format, rest = rest[1].text.lower(), rest[2:]
    if rest and rest[0].text.upper() == "OPTIONS":
        end = next((place for place, token in enumerate(rest) if token.token_type == TokenType.R_PAREN), len(rest))
        options = [token for token in rest[1:end] if token.token_type not in {TokenType.EQ, TokenType.COMMA}]
        named = (
            value for name, value in zip(options[1::2], options[2::2], strict=False) if name.text.lower() == "path"
        )
        path, rest = path or list(named)[:1], rest[end + 1 :]
    return [*head, *path, *rest], directory_format


def nodes(node: object, key: str = "expressions") -> list[exp.Expr]:
    """The nodes of a list argument; a single node counts as a list of one."""
    found = node.args.get(key) if isinstance(node, exp.Expr) else None
    listed = found if isinstance(found, list) else [found]
    return [each for each in listed if isinstance(each, exp.Expr)]


def name_of(node: object) -> str:
    """The name of a node, or an empty text."""
    return node.name if isinstance(node, exp.Expr) else ""
