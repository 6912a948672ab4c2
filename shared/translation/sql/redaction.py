"""Redact the literals of a SQL statement, and the secrets in its paths."""

import re
from collections.abc import Iterator

from sqlglot.tokenizer_core import Token, TokenType

from shared.secrets import address_without_secrets
from shared.translation.sql.parsing import tokens_of

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
