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

from throughline.local.catalog.catalog import Call, Catalog
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.http.access import check, seen
from throughline.local.catalog.http.account import OWNER
from throughline.local.catalog.http.verb import NOTHING, Verb
from throughline.local.catalog.http.verbs import PURVIEW, VERBS
from throughline.local.catalog.troubles import Does, Trouble, TroubleError

# As on real servers, Atlas' own root accepts basic credentials too; Purview's accepts bearer tokens only.
ATLAS_ROOT = "/api/atlas"
PURVIEW_ROOT = "/datamap/api/atlas"
OLDER_ROOT = "/catalog/api/atlas"
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


def make_app(catalog: Catalog, *, token: str) -> Starlette:
    """Return the application that serves a catalog to clients with this token."""

    def guarded(endpoint: Endpoint, *, basic: bool = False) -> Endpoint:
        async def answer(request: Request) -> Response:
            if not _allowed(request, token, basic=basic):
                return _refused()
            return await endpoint(request)

        return answer

    def v2_routes(*, basic: bool) -> list[Route]:
        return [
            Route(f"/v2/{verb.path}", _endpoint(catalog, verb, token, basic=basic), methods=[verb.method])
            for verb in _specific_first()
        ]

    async def calls(_request: Request) -> Response:
        return JsonResponse(catalog.calls.to_json())

    async def reset_calls(_request: Request) -> Response:
        catalog.calls.reset()
        return JsonResponse(catalog.calls.to_json())

    async def reset(request: Request) -> Response:
        catalog.reset(types=request.query_params.get("types", "").lower() == "true")
        return JsonResponse(catalog.calls.to_json())

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        catalog.store.close()

    return Starlette(
        routes=[
            Mount(PURVIEW_ROOT, routes=v2_routes(basic=False)),
            Mount(OLDER_ROOT, routes=v2_routes(basic=False)),
            *(
                Route(f"/{verb.path}", _endpoint(catalog, verb, token, basic=False), methods=[verb.method])
                for verb in PURVIEW
            ),
            Mount(
                ATLAS_ROOT,
                routes=[
                    *v2_routes(basic=True),
                    # As on real servers, the status needs no credentials: clients wait for it before they log in.
                    Route("/admin/status", _status),
                    Route("/admin/version", guarded(_version, basic=True)),
                ],
            ),
            Route("/admin/calls", guarded(calls)),
            Route("/admin/calls/reset", guarded(reset_calls), methods=["POST"]),
            Route("/admin/reset", guarded(reset), methods=["POST"]),
            *_trouble_routes(catalog, token, guarded),
        ],
        exception_handlers={404: _no_such_path},
        lifespan=lifespan,
    )


def _trouble_routes(catalog: Catalog, token: str, guarded: Callable[[Endpoint], Endpoint]) -> list[Route]:
    async def troubles(_request: Request) -> Response:
        return JsonResponse(catalog.troubles.to_json())

    async def have_troubles(request: Request) -> Response:
        try:
            body = await _body(request)
            catalog.troubles.become([Trouble.of(str(each)) for each in (body or {}).get("troubles", ())])
        except (CatalogError, TroubleError) as error:
            return JsonResponse({"error": str(error)}, status_code=400)
        return JsonResponse(catalog.troubles.to_json())

    async def good_token(_request: Request) -> Response:
        return JsonResponse({"token": catalog.troubles.token(token)})

    return [
        Route("/admin/troubles", guarded(troubles)),
        Route("/admin/troubles", guarded(have_troubles), methods=["POST"]),
        Route("/admin/token", guarded(good_token)),
    ]


def _endpoint(catalog: Catalog, verb: Verb, token: str, *, basic: bool) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        status = 500  # if no answer is made: an unexpected exception
        try:
            good = catalog.troubles.token(token)
            caller = _caller(request, good, basic=basic)
            response = await _answer(catalog, verb, request, caller) if caller else _refused()
            status = response.status_code
        finally:
            catalog.calls.count(verb.name, status, writes=verb.writes)
        return response

    return endpoint


async def _answer(catalog: Catalog, verb: Verb, request: Request, caller: str) -> Response:
    try:
        body = await _body(request)
    except CatalogError as error:
        return JsonResponse(error.to_json(), status_code=error.fault.status)
    except ClientDisconnect:
        return Response(status_code=400)  # it is counted, and never read
    call = Call(path=request.path_params, query=tuple(request.query_params.multi_items()), body=body, caller=caller)
    text = f"{call.query}{orjson.dumps(body).decode()}"
    trouble = catalog.troubles.strike(verb.name, writes=verb.writes, text=text)
    return await _struck(catalog, verb, call, trouble) if trouble else _run(catalog, verb, call)


def _run(catalog: Catalog, verb: Verb, call: Call) -> Response:
    """Run a verb. Nothing is awaited meanwhile, so calls don't interleave."""
    try:
        check(catalog, call, verb=verb.name, writes=verb.writes)
        answer = seen(catalog, call, verb.run(catalog, call))
    except CatalogError as error:
        return JsonResponse(error.to_json(), status_code=error.fault.status)
    return Response(status_code=204) if answer is NOTHING else JsonResponse(answer)


async def _struck(catalog: Catalog, verb: Verb, call: Call, trouble: Trouble) -> Response:
    """Run and answer a call as its trouble demands."""
    how = trouble.how
    if how.slow:
        await asyncio.sleep(trouble.seconds)
    done: Response | None = None
    if how.does is Does.ALL:
        done = _run(catalog, verb, call)
    elif how.does is Does.HALF and isinstance(call.body, dict) and isinstance(call.body.get("entities"), list):
        entities = call.body["entities"]
        part = replace(call, body=call.body | {"entities": entities[: len(entities) // 2]})
        done = _run(catalog, verb, part) if part.body["entities"] else JsonResponse({})
    if how.late:
        await asyncio.sleep(trouble.seconds)
    if done is not None and how.cut:
        return _Cut(done.body)
    if how.status is None:
        return done or _run(catalog, verb, call)
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
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > _LARGEST_BODY:
            raise CatalogError(Fault.TOO_LARGE, _LARGEST_BODY)
    if not parts:
        return None
    try:
        return orjson.loads(parts)
    except orjson.JSONDecodeError as error:
        raise CatalogError(Fault.BAD_REQUEST, f"the body is not JSON: {error}") from error


def _allowed(request: Request, token: str, *, basic: bool) -> bool:
    return _caller(request, token, basic=basic) == OWNER


def _caller(request: Request, token: str, *, basic: bool) -> str:
    """Return the caller: the owner of the token, or the object id behind it (`TOKEN:ID`); "" without a valid token."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        shown, _, caller = value.strip().partition(":")
        return (caller or OWNER) if hmac.compare_digest(shown.encode(), token.encode()) else ""
    if basic and scheme.lower() == "basic":
        try:
            given = base64.b64decode(value, validate=True)
        except ValueError:  # not base64, or not even ASCII
            return ""
        return OWNER if hmac.compare_digest(given, f"{USER}:{token}".encode()) else ""
    return ""


def _refused() -> Response:
    return HTMLResponse(_NO_CREDENTIALS, status_code=401, headers={"WWW-Authenticate": "Bearer"})


def _specific_first() -> list[Verb]:
    """Put `entity/bulk` before `entity/{place}`: the first route that fits is taken."""
    return sorted(VERBS, key=lambda verb: [part.startswith("{") for part in verb.path.split("/")])


async def _no_such_path(request: Request, _error: Exception) -> Response:
    """Answer an unknown path with the supported verbs: Atlas has more than this catalog."""
    message = f"The local catalog has no {request.method} {request.url.path}."
    return JsonResponse({"error": message, "verbs": [verb.name for verb in (*VERBS, *PURVIEW)]}, status_code=404)


async def _status(_request: Request) -> Response:
    return JsonResponse({"Status": "ACTIVE"})


async def _version(_request: Request) -> Response:
    return JsonResponse({"Description": "Throughline's local catalog", "Name": "throughline-catalog", "Version": "2"})
