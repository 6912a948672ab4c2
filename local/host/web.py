"""The host's HTTP side: the functions' routes and two pages about the host itself, as one ASGI application.

A function gets the body only when the request has a Content-Length; a chunked one arrives empty, as in Azure
(https://github.com/Azure/azure-functions-host/issues/4926). Keys are not checked, as in Microsoft's local tools.
"""

import os
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from local.host.routes import Route, find_route
from local.host.worker import Worker

_MIB = 1 << 20


class TooLargeError(Exception):
    """The body is longer than the limit."""


class Web:
    """The ASGI application: `pages` are the host's own, by path."""

    def __init__(
        self, worker: Worker, routes: tuple[Route, ...], pages: dict[str, Callable[[], dict[str, Any]]]
    ) -> None:
        self._worker, self._routes, self._pages = worker, routes, pages
        # The real host's setting, and its default of 100 MiB.
        self._limit = int(os.environ.get("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT", str(100 * _MIB)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        page = self._pages.get(request.url.path)
        if page is not None and request.method == "GET":
            return JSONResponse(page())
        found = find_route(self._routes, request.method, request.scope["path"])
        if found is None:
            return PlainTextResponse("", 404)
        try:
            body = await self._body(request)
        except TooLargeError:
            return PlainTextResponse("", 413, {"connection": "close"})
        route, parameters = found
        outcome = await self._worker.invoke(route.function, self._datum(request, parameters, body), {})
        if outcome.error:
            return PlainTextResponse("", 500)
        answered = outcome.returned or next((value for _, value in outcome.outputs if value.type == "http"), None)
        return Response(status_code=204) if answered is None else _response(answered)

    async def _body(self, request: Request) -> bytes:
        length = request.headers.get("content-length")
        if length is not None and int(length) > self._limit:
            raise TooLargeError
        pieces, size = [], 0
        async for piece in request.stream():
            size += len(piece)
            if size > self._limit:
                raise TooLargeError
            if length is not None:  # a chunked body is read to keep the connection in step, and lost
                pieces.append(piece)
        return b"".join(pieces)

    def _datum(self, request: Request, parameters: dict[str, str], body: bytes) -> Any:
        datum = self._worker.datum

        def strings(values: dict[str, list[str]]) -> dict[str, Any]:
            return {name: datum(",".join(several), "string") for name, several in values.items()}

        return datum(
            {
                "method": datum(request.method, "string"),
                "url": datum(str(request.url), "string"),
                "headers": strings({name: request.headers.getlist(name) for name in request.headers}),
                "query": strings({name: request.query_params.getlist(name) for name in request.query_params}),
                "params": strings({name: [value] for name, value in parameters.items()}),
                "body": datum(body, "bytes"),
            },
            "http",
        )


def _response(answered: Any) -> Response:
    """Make the response of what a function returned: an HttpResponse or a string."""
    if answered.type == "string":
        return PlainTextResponse(answered.value)
    value = answered.value
    response = Response(value["body"].value, int(value["status_code"].value))
    for name, text in value["headers"].items():
        if name.lower() != "content-length":  # set from the body
            response.headers[name] = text.value
    for cookie in value["cookies"] or ():
        for morsel in cookie.values():
            response.raw_headers.append((b"set-cookie", morsel.OutputString().encode("latin-1")))
    return response
