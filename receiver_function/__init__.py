"""POST /api/v1/lineage: one OpenLineage event, answered with a 2xx only when it is safely stored.

POST /api/v1/lineage/batch: an array of events. Always a 200 for an array: the body says which events failed.
"""

from pathlib import Path

import azure.functions as func

from shared.bootstrap_receiver import receiver
from shared.errors import Refused, StorageUnavailable
from shared.ingest.receiver import Answer, batch_kept, kept, no_such_path, note_refusal, own_event, refused, retry_later
from shared.versions import ORIGIN_HEADER, PACKAGE_FILE, PACKAGE_HEADER

_FILE = Path(__file__).parents[1] / PACKAGE_FILE
_PACKAGE = {PACKAGE_HEADER: _FILE.read_text(encoding="ascii")} if _FILE.is_file() else {}
"""Names the package that answers; empty where the functions run from a checkout."""


def main(req: func.HttpRequest) -> func.HttpResponse:
    """Never a 204 nor a redirect: the Java client fails on the first and loses the event on the second."""
    parts, path = receiver(), req.route_params.get("batch", "").lower()
    body, encoding = req.get_body(), req.headers.get("Content-Encoding", "")
    if req.headers.get(ORIGIN_HEADER) == parts.origin:
        return _http(own_event())
    try:
        if path == "batch":
            return _http(batch_kept(parts.receive_batch(body, encoding=encoding)))
        if path:
            return _http(no_such_path())
        return _http(kept(parts.receive(body, encoding=encoding)))
    except Refused as refusal:
        note_refusal(parts.storage, body, refusal)
        return _http(refused(refusal))
    except StorageUnavailable as error:
        return _http(retry_later(error))


def _http(answer: Answer) -> func.HttpResponse:
    headers = {**answer.headers, **_PACKAGE}
    return func.HttpResponse(answer.body, status_code=answer.status, mimetype=answer.kind, headers=headers)
