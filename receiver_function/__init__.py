"""POST /api/v1/lineage: one OpenLineage event, answered with a 2xx only when it is safely stored."""

import json
from typing import Any

import azure.functions as func

from shared.bootstrap import receiver
from shared.errors import Refused, StorageUnavailable
from shared.pipeline import note_refusal, receive


def main(req: func.HttpRequest) -> func.HttpResponse:
    """Never a 204 nor a redirect: the Java client fails on the first and loses the event on the second."""
    parts = receiver()
    body = req.get_body()
    try:
        receipt = receive(
            parts.storage,
            body,
            encoding=req.headers.get("Content-Encoding", ""),
            most_bytes=parts.max_body_bytes,
            selection=parts.selection,
            telemetry=parts.telemetry,
        )
    except Refused as refusal:
        note_refusal(parts.storage, body, refusal)
        problem = {"type": "about:blank", "title": refusal.title, "status": refusal.status, "detail": refusal.detail}
        return _answer(refusal.status, problem | ({"field": refusal.field} if refusal.field else {}))
    except StorageUnavailable as error:
        problem = {
            "type": "about:blank",
            "title": "Storage is away, send it again",
            "status": 503,
            "detail": str(error),
        }
        return _answer(503, problem, {"Retry-After": "1"})
    outcome = {"status": "ignored", "reason": receipt.ignored} if receipt.ignored else {"status": "kept"}
    return _answer(201, {**outcome, "run": receipt.run_id, "event": receipt.digest})


def _answer(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> func.HttpResponse:
    kind = "application/json" if status < 400 else "application/problem+json"  # noqa: PLR2004 - HTTP's own number
    return func.HttpResponse(json.dumps(body), status_code=status, mimetype=kind, headers=headers)
