"""POST /api/v1/lineage/batch: an array of OpenLineage events, with one answer for each."""

import azure.functions as func

from shared.bootstrap_receiver import receiver
from shared.errors import Refused
from shared.ingest.receiver import note_refusal
from shared.ingest.responses import Answer, batch_kept, refused


def main(req: func.HttpRequest) -> func.HttpResponse:
    """Always a 200 for an array: the body says which events failed, also where storage did not answer."""
    parts = receiver()
    body = req.get_body()
    try:
        receipt = parts.receive_batch(body, encoding=req.headers.get("Content-Encoding", ""))
    except Refused as refusal:
        note_refusal(parts.storage, body, refusal)
        return _http(refused(refusal))
    return _http(batch_kept(receipt))


def _http(answer: Answer) -> func.HttpResponse:
    return func.HttpResponse(answer.body, status_code=answer.status, mimetype=answer.kind, headers=dict(answer.headers))
