"""POST /api/v1/lineage/batch: an array of OpenLineage events, each answered for itself."""

import json
from typing import Any

import azure.functions as func

from shared.bootstrap import receiver
from shared.errors import Refused
from shared.pipeline import note_refusal, receive_batch


def main(req: func.HttpRequest) -> func.HttpResponse:
    """200 whatever became of the single events, as the specification has it: the body says which failed, and why."""
    parts = receiver()
    body = req.get_body()
    try:
        receipt = receive_batch(
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
        return _answer(refusal.status, problem, "application/problem+json")
    return _answer(200, receipt.document, "application/json")


def _answer(status: int, document: dict[str, Any], kind: str) -> func.HttpResponse:
    return func.HttpResponse(json.dumps(document), status_code=status, mimetype=kind)
