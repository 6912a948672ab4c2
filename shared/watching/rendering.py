"""A message in the form that each receiver takes, within its limits, and the signature of a webhook's request.

Slack: "Block Kit" (header: 150 characters of plain text; section: 3,000 characters of mrkdwn; `&`, `<` and `>` are
escaped) in the body of an incoming webhook. Teams: an Adaptive Card as the attachment of a message, as a workflow with
the trigger "When a Teams webhook request is received" takes it; 28 KB in all.

By the signature the receiver recognises the sender. `Throughline-Signature: t=1764000000,v1=HEX`: HMAC-SHA256, by the
shared secret, of the seconds, a dot and the body. A receiver computes it again, compares both in constant time, and
refuses old times.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import msgspec

from shared.texts import visible
from shared.watching.comparing.changes import Severity, column_name
from shared.watching.messages import Message, encoded
from shared.watching.rules import ChannelKind

_MAX_HEADER = 150
_MAX_SECTION = 2900
_MAX_LINES = 20
_MAX_LINE = 300
_MAX_TEAMS_BYTES = 28_000
_MARKS = {Severity.BREAKING: "🔴", Severity.RISKY: "🟠", Severity.HARMLESS: "⚪"}
_STYLES = {Severity.BREAKING: "attention", Severity.RISKY: "warning", Severity.HARMLESS: "default"}


def body(message: Message, kind: ChannelKind) -> bytes:
    """The body of a request to a channel of this kind, which is a webhook's."""
    return _BODIES[kind](message)


def lines(message: Message, limit: int = _MAX_LINES) -> list[str]:
    """The message as lines of text, the title first. `limit`: changes, and names of each kind."""
    owners = [f"Owner: {', '.join(message.owners)}"] if message.owners else []
    return [f"{message.title} ({message.severity})", *_changes(message, limit), *_hit(message, limit), *owners]


def _changes(message: Message, limit: int) -> list[str]:
    return _bounded([change.text for change in message.changes], message.count, limit)


def _hit(message: Message, limit: int) -> list[str]:
    hit = message.hit
    columns = [column_name((column.type, column.qualified_name, column.column)) for column in hit.columns]
    parts = (
        ("columns", columns, hit.column_count),
        ("data sets", [dataset.name for dataset in hit.datasets], hit.dataset_count),
        ("processes", [process.name for process in hit.processes], hit.process_count),
    )
    return [
        f"Downstream {label} ({count:,}): {', '.join(_bounded(names, count, limit))}"
        for label, names, count in parts
        if count
    ]


def _bounded(texts: Sequence[str], count: int, limit: int) -> list[str]:
    lines = [_cut(text, _MAX_LINE) for text in texts[:limit]]
    return [*lines, f"and {count - len(lines):,} more"] if count > len(lines) else lines


def _cut(text: str, limit: int) -> str:
    text_to_show = visible(text)
    return text_to_show if len(text_to_show) <= limit else f"{text_to_show[: limit - 1]}…"


def _slack(message: Message) -> bytes:
    title = f"{_MARKS[message.severity]} {message.title}"
    sections = ([f"• {change}" for change in _changes(message, _MAX_LINES)], _hit(message, _MAX_LINES))
    context = " · ".join(filter(None, (message.severity, message.subject.qualified_name, ", ".join(message.owners))))
    return msgspec.json.encode(
        {
            "text": _mrkdwn([_cut(title, _MAX_HEADER)]),
            "blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": _cut(title, _MAX_HEADER)}},
                *({"type": "section", "text": {"type": "mrkdwn", "text": _mrkdwn(part)}} for part in sections if part),
                {"type": "context", "elements": [{"type": "mrkdwn", "text": _mrkdwn([_cut(context, _MAX_LINE)])}]},
            ],
        }
    )


def _mrkdwn(texts: Iterable[str]) -> str:
    """The lines that fit into a section, escaped so that a name does not become a mention or a link."""
    parts: list[str] = []
    room = _MAX_SECTION
    for text in texts:
        escaped = escape(text, quote=False)
        if len(escaped) >= room:
            parts.append("…")
            break
        parts.append(escaped)
        room -= len(escaped) + 1
    return "\n".join(parts)


def _teams(message: Message) -> bytes:
    limit = _MAX_LINES
    while len(card := _card(message, limit)) > _MAX_TEAMS_BYTES and limit > 1:
        limit //= 2
    return card


def _card(message: Message, limit: int) -> bytes:
    facts = [
        {"title": "Severity", "value": str(message.severity)},
        {"title": "Subject", "value": _plain(_cut(message.subject.qualified_name, _MAX_LINE))},
        *({"title": "Owner", "value": _plain(_cut(", ".join(message.owners), _MAX_LINE))} for _ in message.owners[:1]),
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            _block(_cut(message.title, _MAX_LINE), size="medium", weight="bolder", color=_STYLES[message.severity]),
            *(_block(f"• {line}") for line in _changes(message, limit)),
            *(_block(line) for line in _hit(message, limit)),
            {"type": "FactSet", "facts": facts},
        ],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return msgspec.json.encode({"type": "message", "attachments": [attachment]})


def _block(text: str, **style: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": _plain(text), "wrap": True, **style}


def _plain(text: str) -> str:
    """Text without links in a card's Markdown."""
    return text.replace("](", "] (")


_BODIES: dict[ChannelKind, Callable[[Message], bytes]] = {
    ChannelKind.WEBHOOK: encoded,
    ChannelKind.SLACK: _slack,
    ChannelKind.TEAMS: _teams,
}


SIGNATURE = "Throughline-Signature"
MESSAGE = "Throughline-Message"
"""The header with the message's id: a message may come twice where an answer was lost, with the same id."""
MAX_AGE = 300
"""Seconds after which a receiver refuses a signature."""
_FORM = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def signature(secret: str, body: bytes, seconds: int) -> str:
    """The header's value for this body, sent at this time (seconds since 1970)."""
    digest = hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def verified(secret: str, body: bytes, header: str, now: int) -> bool:
    """Whether a header is the signature of this body, made at most MAX_AGE seconds before or after `now`."""
    parts = _FORM.fullmatch(header)
    if not parts or abs(now - int(parts[1])) > MAX_AGE:
        return False
    return hmac.compare_digest(header, signature(secret, body, int(parts[1])))
