"""A real HTTP server that accepts webhooks as documented by Slack and Teams workflows, and can fail on demand.

Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and
https://docs.slack.dev/reference/block-kit/blocks (text of a header 150 characters, of a section 3,000; 50 blocks).
Teams: https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using (28 KB) and
the schema of Adaptive Cards. It follows the documentation only; it was not compared with the real services.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Judge = Callable[[Any, bytes], list[str]]


def _only(document: Any, required: Mapping[str, type], optional: Mapping[str, type], place: str) -> list[str]:
    if not isinstance(document, dict):
        return [f"{place} is no object"]
    known_types = {**required, **optional}
    return [
        *(f"{place} lacks {key}" for key in required.keys() - document.keys()),
        *(f"{place} has the unknown key {key}" for key in document.keys() - known_types.keys()),
        *(
            f"{place}.{key} is no {known_types[key].__name__}"
            for key, value in document.items()
            if key in known_types and value is not None and not isinstance(value, known_types[key])
        ),
    ]


def _slack_text(text: Any, kinds: set[str], limit: int, place: str) -> list[str]:
    wrong = _only(text, {"type": str, "text": str}, {"emoji": bool, "verbatim": bool}, place)
    if wrong:
        return wrong
    if text["type"] not in kinds or not 1 <= len(text["text"]) <= limit:
        wrong.append(f"{place} has a wrong type or length")
    if text["type"] == "mrkdwn" and ("<" in text["text"] or ">" in text["text"]):
        wrong.append(f"{place} is not escaped")
    return wrong


def judge_slack(document: Any, _raw: bytes) -> list[str]:
    """Return the problems of a body for an incoming webhook of Slack."""
    wrong = _only(document, {"text": str}, {"blocks": list}, "message")
    if wrong:
        return wrong
    blocks = document.get("blocks", [])
    if len(blocks) > 50:
        wrong.append("too many blocks")
    for number, block in enumerate(blocks):
        place = f"blocks[{number}]"
        kind = block.get("type")
        if kind == "header":
            wrong += _slack_text(block.get("text"), {"plain_text"}, 150, place)
        elif kind == "section":
            wrong += _slack_text(block.get("text"), {"plain_text", "mrkdwn"}, 3000, place)
        elif kind == "context":
            elements = block.get("elements")
            if not isinstance(elements, list) or not 1 <= len(elements) <= 10:
                wrong.append(f"{place} has no elements, or too many")
            else:
                wrong += [
                    violation
                    for element in elements
                    for violation in _slack_text(element, {"plain_text", "mrkdwn"}, 3000, place)
                ]
        else:
            wrong.append(f"{place} is of an unknown type")
    return wrong


_SIZES = {"default", "small", "medium", "large", "extraLarge"}
_COLORS = {"default", "dark", "light", "accent", "good", "warning", "attention"}


def judge_teams(document: Any, raw: bytes) -> list[str]:
    """Return the problems of a body for a Teams workflow that posts a card."""
    wrong = _only(document, {"type": str, "attachments": list}, {}, "message")
    if len(raw) > 28 * 1024:
        wrong.append("larger than 28 KB")
    if wrong or document["type"] != "message" or len(document["attachments"]) != 1:
        return wrong or ["no message with one attachment"]
    (attachment,) = document["attachments"]
    wrong = _only(attachment, {"contentType": str, "content": dict}, {"contentUrl": str, "name": str}, "attachment")
    if wrong or attachment["contentType"] != "application/vnd.microsoft.card.adaptive":
        return wrong or ["the attachment is no card"]
    card = attachment["content"]
    wrong = _only(
        card, {"type": str, "version": str, "body": list}, {"$schema": str, "actions": list, "msteams": dict}, "card"
    )
    if wrong or card["type"] != "AdaptiveCard" or card["version"] not in {"1.0", "1.1", "1.2", "1.3", "1.4", "1.5"}:
        return wrong or ["the card has a wrong type or version"]
    for number, element in enumerate(card["body"]):
        place = f"body[{number}]"
        if element.get("type") == "TextBlock":
            style = {"wrap": bool, "size": str, "weight": str, "color": str}
            wrong += _only(element, {"type": str, "text": str}, style, place)
            if element.get("size", "default") not in _SIZES or element.get("color", "default") not in _COLORS:
                wrong.append(f"{place} has an unknown size or colour")
        elif element.get("type") == "FactSet":
            wrong += [
                violation
                for fact in element["facts"]
                for violation in _only(fact, {"title": str, "value": str}, {}, place)
            ]
        else:
            wrong.append(f"{place} is of an unknown type")
    return wrong


@dataclass(slots=True)
class Trouble:
    """A path's failure: a status with headers, after a pause."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0


@dataclass(slots=True)
class WebhookServer:
    """The headers and bodies received on each path. `wrong`: problems of the bodies; `trouble`: failures by path."""

    port: int = 0
    came: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    trouble: dict[str, Trouble] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        """The address of a path."""
        return f"http://127.0.0.1:{self.port}/{path}"

    def bodies(self, path: str) -> list[Any]:
        """Return the bodies that a path accepted."""
        return [json.loads(body) for request_path, _, body in self.came if request_path == path]


JUDGES: dict[str, tuple[Judge, int, bytes]] = {
    "slack": (judge_slack, 200, b"ok"),
    "teams": (judge_teams, 202, b""),
}


@contextmanager
def webhook_server() -> Iterator[WebhookServer]:
    """Run a server on a port of this machine while the context lasts."""
    state = WebhookServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            path = self.path.strip("/")
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            trouble = state.trouble.get(path)
            if trouble:
                state.stopping.wait(trouble.pause)
                with suppress(ConnectionError):  # the sender may have timed out
                    self._answer(trouble.status, b"trouble", trouble.headers)
                return
            judge, status, answer = JUDGES.get(path.partition("/")[0], (lambda *_: [], 204, b""))
            wrong = ["no JSON"] if self.headers["Content-Type"] != "application/json" else judge(json.loads(raw), raw)
            if wrong:
                state.wrong += wrong
                self._answer(400, b"invalid_payload", {})
                return
            state.came.append((path, {key.lower(): value for key, value in self.headers.items()}, raw))
            self._answer(status, answer, {})

        def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) if status != 204 else 0))
            self.end_headers()
            if status != 204:
                self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
