"""The host's HTTP side: the functions' routes, the extension's webhook and pages about the host, as one ASGI app.

A function gets the body only when the request has a Content-Length; a chunked one arrives empty, as in Azure
(https://github.com/Azure/azure-functions-host/issues/4926).
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from throughline.local.host.http import webhook
from throughline.local.host.http.keys import Keys
from throughline.local.host.http.routes import Route, find_route
from throughline.local.host.logs import logger
from throughline.local.host.storage import StorageError
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum, HttpAnswer


class Web:
    """The ASGI application.

    `pages` are the host's own pages by path; `put` receives the webhook's blobs, if there is a blob trigger.
    """

    def __init__(
        self,
        worker: WorkerProcess,
        routes: tuple[Route, ...],
        *,
        pages: Mapping[str, Callable[[], Awaitable[dict[str, Any]]]],
        keys: Keys,
        put: webhook.Put | None,
    ) -> None:
        self._worker, self._routes, self._pages = worker, routes, pages
        self._keys, self._put = keys, put
        self._has_homepage = os.environ.get("AzureWebJobsDisableHomepage", "").lower() != "true"  # noqa: SIM112 -- as there

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except StorageError as error:
            logger.warning("storage: %s; the request is refused, its sender tries again", error)
            response = PlainTextResponse("", 500)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        page = self._pages.get(request.url.path)
        if page is not None and request.method == "GET":
            return JSONResponse(await page())
        if request.url.path == "/" and request.method == "GET" and self._has_homepage:
            return PlainTextResponse("Your Functions host is up and running.")
        if request.url.path == webhook.PATH and request.method == "POST" and self._put is not None:
            return await self._hook(request, self._put)
        route_match = find_route(self._routes, request.method, request.scope["path"])
        if route_match is None:
            return PlainTextResponse("", 404)
        route, parameters = route_match
        data = route.function.trigger.data
        if not self._keys.open_function(route.function.name, data.get("authLevel", "function"), _key(request)):
            return PlainTextResponse("", 401)
        # A chunked body is read, to keep the connection usable, and dropped.
        body = await request.body()
        body = body if "content-length" in request.headers else b""
        outcome = await self._worker.invoke(route.function, _datum(request, parameters, body), {})
        if outcome.error:
            return PlainTextResponse("", 500)
        return Response(status_code=204) if outcome.answer is None else _response(outcome.answer)

    async def _hook(self, request: Request, put: webhook.Put) -> Response:
        event_type = request.headers.get(webhook.EVENT_TYPE, "")
        function_id = request.query_params.get("functionName", "")
        status, content = await webhook.answer(event_type, function_id, await request.body(), put)
        return JSONResponse(content, status) if content else Response(status_code=status)


def _key(request: Request) -> str:
    return request.headers.get("x-functions-key") or request.query_params.get("code", "")


def _datum(request: Request, parameters: dict[str, str], body: bytes) -> Datum:
    def strings(values: dict[str, list[str]]) -> dict[str, Datum]:
        return {name: Datum(",".join(several), "string") for name, several in values.items()}

    return Datum(
        {
            "method": Datum(request.method, "string"),
            "url": Datum(str(request.url), "string"),
            "headers": strings({name: request.headers.getlist(name) for name in request.headers}),
            "query": strings({name: request.query_params.getlist(name) for name in request.query_params}),
            "params": strings({name: [value] for name, value in parameters.items()}),
            "body": Datum(body, "bytes"),
        },
        "http",
    )


def _response(answer: HttpAnswer) -> Response:
    """Return the response, chunked: the real host sends no Content-Length with a function's answer."""
    response = Response(answer.body, answer.status)
    del response.headers["content-length"]
    for name, text in answer.headers:
        if name.lower() != "content-length":
            response.headers[name] = text
    return response
