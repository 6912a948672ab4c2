"""GET and HEAD: the lineage page, and the API that reads lineage. Its app signs people in; it writes nothing.

The answer to HEAD is that to GET: the host's server sends no body of it (Kestrel ignores it, as
`HttpProtocol.HandleNonBodyResponseWrite` in https://github.com/dotnet/aspnetcore).
"""

import azure.functions as func

from shared.bootstrap_lineage import lineage_service
from shared.serving.requests import Request


def main(req: func.HttpRequest) -> func.HttpResponse:
    """The answer of the service: at any path, because a namespace in it may have slashes."""
    headers = {name.lower(): value for name, value in req.headers.items()}
    path = req.route_params.get("path", "").replace("%2F", "/").replace("%2f", "/")  # the host decodes all else
    answer = lineage_service().answer(Request(path=path, query=req.params, headers=headers))
    kind = answer.headers.get("Content-Type")
    return func.HttpResponse(answer.body, status_code=answer.status, mimetype=kind, headers=dict(answer.headers))
