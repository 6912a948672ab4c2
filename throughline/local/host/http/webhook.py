"""The blob extension's webhook, to which Event Grid posts: `/runtime/webhooks/blobs?functionName=Host.Functions.NAME`.

Format: https://learn.microsoft.com/azure/event-grid/event-schema-blob-storage and, for the handshake,
https://learn.microsoft.com/azure/event-grid/webhook-event-delivery. The answers are those of the extension's
HttpRequestProcessor (azure-sdk-for-net).
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote, urlsplit

PATH = "/runtime/webhooks/blobs"
EVENT_TYPE = "aeg-event-type"

Put = Callable[[str, str, str, str], Awaitable[None]]
"""Queues a version of a blob: function id, container, name, ETag in quotes."""


async def answer(event_type: str, function_id: str, body: bytes, put: Put) -> tuple[int, dict[str, str]]:
    """Return the status and the JSON object (empty: no body) that answer one post. Raises the errors of `put`.

    `event_type` is the header aeg-event-type.
    """
    kind = event_type.lower()
    if kind not in {"subscriptionvalidation", "notification"}:
        return 400, {}
    try:
        events = json.loads(body)
        if kind == "subscriptionvalidation":
            return 200, {"validationResponse": events[0]["data"]["validationCode"]}
        versions = [_version(event) for event in events]
    except (ValueError, LookupError, TypeError):
        return 400, {}
    for container, name, etag in versions:
        await put(function_id, container, name, etag)
    return 202, {}


def _version(event: Any) -> tuple[str, str, str]:
    """Return container, name and ETag (in quotes) of the blob that an event reports, by its address in Azurite."""
    data = event["data"]
    _account, container, name = unquote(urlsplit(data["url"]).path).lstrip("/").split("/", 2)
    return container, name, f'"{data["eTag"]}"'
