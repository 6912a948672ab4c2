"""Remove secrets from texts for logs and spans: texts of users and catalogs may hold addresses with passwords."""

import re

from shared.secrets import address_without_secrets

_LONGEST = 1000
_HIDDEN = "…"
_SUSPICIOUS = re.compile(r"[@?=:]|bearer|basic", re.IGNORECASE)
_WORD = re.compile(r"[^\s'\"`<>()\[\]]+")
_ADDRESS = re.compile(r"://|@|[?;&,]|jdbc:", re.IGNORECASE)
_SCHEME = re.compile(r"\b(bearer|basic|sharedkey\w*)\s+[\w.~+/:=\-]{6,}", re.IGNORECASE)
_NAMED = re.compile(
    r"([\w.\-]{0,40}(?:passw(?:or)?d|pwd|secret|token|credential|(?:api|access|account|function|private)[\-_.]?key|signature|\bsig)"
    r"[\w.\-]{0,40}['\"]?\s*[=:]\s*)(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&)\]}]+)",
    re.IGNORECASE,
)


def cleaned(text: str) -> str:
    """A text fit for telemetry: without secrets, and of bounded length."""
    return text_without_secrets(text)[:_LONGEST]


def text_without_secrets(text: str) -> str:
    """The text without secrets in addresses, in pairs such as `password=…` or `token: …`, and in the values of
    `Authorization` headers.
    """
    if not _SUSPICIOUS.search(text):
        return text
    text = _NAMED.sub(rf"\1{_HIDDEN}", _SCHEME.sub(rf"\1 {_HIDDEN}", text))
    return _WORD.sub(lambda found: _without(found[0]), text)


def _without(word: str) -> str:
    return address_without_secrets(word) if _ADDRESS.search(word) else word
