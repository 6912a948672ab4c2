"""The catalog over HTTP: paths, credentials, JSON, and counting. The verbs themselves are in `verbs`."""

import base64
import hmac
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route

from throughline.local.catalog.errors import CatalogError
from throughline.local.catalog.http.verbs import NOTHING, PURVIEW, VERBS, Call, Catalog, Verb, run, verbs_by_path
from throughline.local.catalog.purview import OWNER

# As on real servers, Atlas' own root accepts basic credentials too; Purview's accepts bearer tokens only.
ATLAS_ROOT = "/api/atlas"
PURVIEW_ROOTS = ("/datamap/api/atlas", "/catalog/api/atlas")
USER = "admin"

_NO_CREDENTIALS = (
    "<html><body><h1>401 Unauthorized</h1><p>Send the header <code>Authorization: Bearer TOKEN</code> with the "
    "catalog's token.</p></body></html>"
)

AdminPage = Callable[[Mapping[str, str], Any], Any]
"""Takes the query and the JSON body of a call, returns the answer; ValueError: the call is wrong."""


class CatalogApp:
    """The application that serves a catalog to clients with this token. Tests override `answer` to let calls fail."""

    def __init__(self, catalog: Catalog, *, token: str) -> None:
        self.catalog = catalog
        self._token = token

    @property
    def token(self) -> str:
        """The token that clients send."""
        return self._token

    def asgi(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                *(Mount(root, routes=self._v2_routes(basic=False)) for root in PURVIEW_ROOTS),
                *(self._route(verb, "") for verb in PURVIEW),
                # As on real servers, the status needs no credentials: clients wait for it before they log in.
                Mount(ATLAS_ROOT, routes=[*self._v2_routes(basic=True), Route("/admin/status", _status)]),
                *(self._admin_route(*page) for page in self.admin_pages()),
            ],
            exception_handlers={404: _no_such_path},
            lifespan=self._lifespan,
        )

    async def answer(self, verb: Verb, call: Call) -> Response:
        """Answer a call with valid credentials."""
        return self.run(verb, call)

    def run(self, verb: Verb, call: Call) -> Response:
        """Run a verb. Nothing is awaited meanwhile, so calls don't interleave."""
        try:
            answer = run(self.catalog, verb, call)
        except CatalogError as error:
            return JSONResponse(error.to_json(), status_code=error.fault.status)
        return Response(status_code=204) if answer is NOTHING else JSONResponse(answer)

    def admin_pages(self) -> Iterable[tuple[str, str, AdminPage]]:
        """Yield method, path and function of the catalog's own administration, which Atlas does not have."""

        def reset_calls(_query: Mapping[str, str], _body: Any) -> Any:
            self.catalog.calls_by_outcome.clear()
            return self.catalog.calls()

        def reset(query: Mapping[str, str], _body: Any) -> Any:
            self.catalog.reset(types=query.get("types", "").lower() == "true")
            return self.catalog.calls()

        yield "GET", "/admin/calls", lambda _query, _body: self.catalog.calls()
        yield "POST", "/admin/calls/reset", reset_calls
        yield "POST", "/admin/reset", reset

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        yield
        self.catalog.store.close()

    def _v2_routes(self, *, basic: bool) -> list[Route]:
        return [self._route(verb, "/v2", basic=basic) for verb in verbs_by_path()]

    def _route(self, verb: Verb, prefix: str, *, basic: bool = False) -> Route:
        async def endpoint(request: Request) -> Response:
            status = 500  # if no answer is made: an unexpected exception
            try:
                response = await self._endpoint(request, verb, basic=basic)
                status = response.status_code
            finally:
                self.catalog.calls_by_outcome[verb.name, status, verb.writes] += 1
            return response

        return Route(f"{prefix}/{verb.path}", endpoint, methods=[verb.method])

    async def _endpoint(self, request: Request, verb: Verb, *, basic: bool) -> Response:
        caller = _caller(request, self.token, basic=basic)
        if not caller:
            return refused()
        try:
            body = await _body(request)
        except ClientDisconnect:
            return Response(status_code=400)  # it is counted, and never read
        query = tuple(request.query_params.multi_items())
        return await self.answer(verb, Call(path=request.path_params, query=query, body=body, caller=caller))

    def _admin_route(self, method: str, path: str, page: AdminPage) -> Route:
        async def endpoint(request: Request) -> Response:
            if _caller(request, self._token, basic=False) != OWNER:
                return refused()
            try:
                return JSONResponse(page(request.query_params, await _body(request)))
            except ValueError as error:
                return JSONResponse({"error": str(error)}, status_code=400)

        return Route(path, endpoint, methods=[method])


async def _body(request: Request) -> Any:
    body = await request.body()
    return orjson.loads(body) if body else None


def _caller(request: Request, token: str, *, basic: bool) -> str:
    """Return the caller: the owner of the token, or the object id behind it (`TOKEN:ID`); "" without a valid token."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        secret, _, caller = credentials.strip().partition(":")
        return (caller or OWNER) if hmac.compare_digest(secret.encode(), token.encode()) else ""
    if basic and scheme.lower() == "basic":
        try:
            pair = base64.b64decode(credentials, validate=True)
        except ValueError:  # not base64, or not even ASCII
            return ""
        return OWNER if hmac.compare_digest(pair, f"{USER}:{token}".encode()) else ""
    return ""


def refused() -> Response:
    """Return the answer to a call without valid credentials."""
    return HTMLResponse(_NO_CREDENTIALS, status_code=401, headers={"WWW-Authenticate": "Bearer"})


async def _no_such_path(request: Request, _error: Exception) -> Response:
    """Answer an unknown path with the supported verbs: Atlas has more than this catalog."""
    message = f"The local catalog has no {request.method} {request.url.path}."
    return JSONResponse({"error": message, "verbs": [verb.name for verb in (*VERBS, *PURVIEW)]}, status_code=404)


async def _status(_request: Request) -> Response:
    return JSONResponse({"Status": "ACTIVE"})
