"""Answer 201 with the request as JSON."""

import json

import azure.functions as func


async def main(req: func.HttpRequest) -> func.HttpResponse:
    request_facts = {
        "method": req.method,
        "body": req.get_body().decode(),
        "header": req.headers.get("X-Sample"),
        "query": dict(req.params),
        "url": req.url,
    }
    return func.HttpResponse(
        json.dumps(request_facts),
        status_code=201,
        headers={"X-Answer": "yes"},
        mimetype="application/json",
    )
