"""The catalog over HTTP: paths, credentials, JSON, and counting. The verbs themselves are in `verbs`."""

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.http.troubles import Does, Trouble, TroubleError, Troubles
from throughline.local.catalog.http.verbs import NOTHING, PURVIEW, VERBS, Call, Catalog, Verb, run
from throughline.local.catalog.purview import OWNER

# As on real servers, Atlas' own root accepts basic credentials too; Purview's accepts bearer tokens only.
ATLAS_ROOT = "/api/atlas"
PURVIEW_ROOTS = ("/datamap/api/atlas", "/catalog/api/atlas")
USER = "admin"

_LARGEST_BODY = 64 * 1024 * 1024
_NO_CREDENTIALS = (
    "<html><body><h1>401 Unauthorized</h1><p>Send the header <code>Authorization: Bearer TOKEN</code> with the "
    "catalog's token.</p></body></html>"
)

Endpoint = Callable[[Request], Awaitable[Response]]


class JsonResponse(Response):
    """A JSON answer, in Atlas' media type."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write the answer's body."""
        return orjson.dumps(content)


def make_app(catalog: Catalog, troubles: Troubles, *, token: str) -> Starlette:
    """Return the application that serves a catalog to clients with this token."""

    def route(verb: Verb, prefix: str, *, basic: bool = False) -> Route:
        return Route(
            f"{prefix}/{verb.path}", _endpoint(catalog, troubles, verb, token, basic=basic), methods=[verb.method]
        )

    def v2_routes(*, basic: bool) -> list[Route]:
        # `entity/bulk` before `entity/{place}`: the first route that fits is taken.
        verbs = sorted(VERBS, key=lambda verb: [part.startswith("{") for part in verb.path.split("/")])
        return [route(verb, "/v2", basic=basic) for verb in verbs]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        catalog.store.close()

    return Starlette(
        routes=[
            *(Mount(root, routes=v2_routes(basic=False)) for root in PURVIEW_ROOTS),
            *(route(verb, "") for verb in PURVIEW),
            # As on real servers, the status needs no credentials: clients wait for it before they log in.
            Mount(ATLAS_ROOT, routes=[*v2_routes(basic=True), Route("/admin/status", _status)]),
            *_admin_routes(catalog, troubles, token),
        ],
        exception_handlers={404: _no_such_path},
        lifespan=lifespan,
    )


def _admin_routes(catalog: Catalog, troubles: Troubles, token: str) -> list[Route]:
    """Return the routes of the catalog's own administration, which Atlas does not have."""

    async def reset_calls(_request: Request) -> Any:
        catalog.store.forget_calls()
        return catalog.calls()

    async def reset(request: Request) -> Any:
        catalog.reset(types=request.query_params.get("types", "").lower() == "true")
        return catalog.calls()

    async def set_troubles(request: Request) -> Any:
        body = await _body(request) or {}
        troubles.become([Trouble.of(str(text)) for text in body.get("troubles", ())])
        return troubles.to_json()

    def always(answer: Callable[[], Any]) -> Callable[[Request], Awaitable[Any]]:
        async def respond(_request: Request) -> Any:
            return answer()

        return respond

    def route(method: str, path: str, respond: Callable[[Request], Awaitable[Any]]) -> Route:
        async def endpoint(request: Request) -> Response:
            if _caller(request, token, basic=False) != OWNER:
                return _refused()
            try:
                return JsonResponse(await respond(request))
            except (CatalogError, TroubleError) as error:
                return JsonResponse({"error": str(error)}, status_code=400)

        return Route(path, endpoint, methods=[method])

    return [
        route("GET", "/admin/calls", always(catalog.calls)),
        route("POST", "/admin/calls/reset", reset_calls),
        route("POST", "/admin/reset", reset),
        route("GET", "/admin/troubles", always(troubles.to_json)),
        route("POST", "/admin/troubles", set_troubles),
        route("GET", "/admin/token", always(lambda: {"token": troubles.token(token)})),
    ]


def _endpoint(catalog: Catalog, troubles: Troubles, verb: Verb, token: str, *, basic: bool) -> Endpoint:
    async def answer(request: Request, caller: str) -> Response:
        try:
            body = await _body(request)
        except CatalogError as error:
            return JsonResponse(error.to_json(), status_code=error.fault.status)
        except ClientDisconnect:
            return Response(status_code=400)  # it is counted, and never read
        call = Call(path=request.path_params, query=tuple(request.query_params.multi_items()), body=body, caller=caller)
        text = f"{call.query}{orjson.dumps(body).decode()}"
        trouble = troubles.strike(verb.name, writes=verb.writes, text=text)
        return await _struck(catalog, verb, call, trouble) if trouble else _run(catalog, verb, call)

    async def endpoint(request: Request) -> Response:
        status = 500  # if no answer is made: an unexpected exception
        try:
            caller = _caller(request, troubles.token(token), basic=basic)
            response = await answer(request, caller) if caller else _refused()
            status = response.status_code
        finally:
            catalog.store.count_call(verb.name, status, writes=verb.writes)
        return response

    return endpoint


def _run(catalog: Catalog, verb: Verb, call: Call) -> Response:
    """Run a verb. Nothing is awaited meanwhile, so calls don't interleave."""
    try:
        answer = run(catalog, verb, call)
    except CatalogError as error:
        return JsonResponse(error.to_json(), status_code=error.fault.status)
    return Response(status_code=204) if answer is NOTHING else JsonResponse(answer)


async def _struck(catalog: Catalog, verb: Verb, call: Call, trouble: Trouble) -> Response:
    """Run and answer a call as its trouble demands."""
    how = trouble.how
    if how.slow:
        await asyncio.sleep(trouble.seconds)
    response: Response | None = None
    if how.does is Does.ALL:
        response = _run(catalog, verb, call)
    elif how.does is Does.HALF and isinstance(call.body, dict) and isinstance(call.body.get("entities"), list):
        entities = call.body["entities"]
        part = replace(call, body=call.body | {"entities": entities[: len(entities) // 2]})
        response = _run(catalog, verb, part) if part.body["entities"] else JsonResponse({})
    if how.late:
        await asyncio.sleep(trouble.seconds)
    if response is not None and how.cut:
        return _Cut(response.body)
    if how.status is None:
        return response or _run(catalog, verb, call)
    if trouble.kind == "expire":
        return _refused()
    headers = {"Retry-After": f"{trouble.after:g}"} if trouble.kind == "throttle" else {}
    answer = {"errorCode": f"ATLAS-{how.status}-00-001", "errorMessage": f"Injected failure: {trouble}"}
    return JsonResponse(answer, status_code=how.status, headers=headers)


class _Cut(Response):
    """An answer whose connection ends after half of it."""

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        """Announce the whole length, and send half of it."""
        length = str(len(self.body) + 2).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": bytes(self.body)[: len(self.body) // 2]})


async def _body(request: Request) -> Any:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_BODY:
            raise CatalogError(Fault.TOO_LARGE, _LARGEST_BODY)
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError as error:
        raise CatalogError(Fault.BAD_REQUEST, f"the body is not JSON: {error}") from error


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


def _refused() -> Response:
    return HTMLResponse(_NO_CREDENTIALS, status_code=401, headers={"WWW-Authenticate": "Bearer"})


async def _no_such_path(request: Request, _error: Exception) -> Response:
    """Answer an unknown path with the supported verbs: Atlas has more than this catalog."""
    message = f"The local catalog has no {request.method} {request.url.path}."
    return JsonResponse({"error": message, "verbs": [verb.name for verb in (*VERBS, *PURVIEW)]}, status_code=404)


async def _status(_request: Request) -> Response:
    return JsonResponse({"Status": "ACTIVE"})
