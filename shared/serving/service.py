"""Answer requests: the page, and the API with its headers, conditions, compression and errors.

The OpenAPI document of the API is written from its routes and the types of its answers.
"""

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from shared.lineage.questions import Differences, differences
from shared.serving import answers
from shared.serving.marquez import namespace_of
from shared.serving.requests import AS_OF, COMPARE_WITH, Parameter, RefusedRequestError, Request, Response, not_found
from shared.serving.routes import COMPARE, COMPARED, DAYS, OPENAPI, ROUTES, route_of
from shared.serving.shelf import NotPublishedError, NotReadableError, Shelf
from shared.serving.view import LineageView, compared_view

_REFERENCE = "#/components/schemas/{name}"


class Error(msgspec.Struct, frozen=True):
    """Why there is no answer: the status, and a sentence that says what to do."""

    code: int
    message: str


@cache
def openapi() -> bytes:
    """As JSON, OpenAPI 3.1."""
    operations = [(route.path, route.meaning, (*route.parameters, AS_OF), route.answer) for route in ROUTES]
    operations.append((DAYS, "The days that `as_of` knows", (), answers.Days))
    operations.append((COMPARE, "What changed between two days", COMPARED, Differences))
    types = [Error, *(answer for *_, answer in operations)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    failure = schemas[0]
    paths = {
        f"/api/v1/{path}": _operation(path, meaning, parameters, schema, failure)
        for (path, meaning, parameters, _), schema in zip(operations, schemas[1:], strict=True)
    }
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Throughline's lineage",
            "version": "1",
            "description": "Read only, as Marquez' API; below /api/v1/throughline/ is what that has no words for.",
        },
        "paths": {**paths, f"/api/v1/{OPENAPI}": _described()},
        "components": {"schemas": components},
    }
    return msgspec.json.encode(document, order="deterministic")


def _described() -> dict[str, Any]:
    answer = {"description": "This document", "content": {"application/json": {"schema": {"type": "object"}}}}
    return {"get": {"operationId": "openapi", "responses": {"200": answer}}}


def _operation(
    path: str, meaning: str, parameters: Iterable[Parameter], schema: dict[str, Any], failure: dict[str, Any]
) -> dict[str, Any]:
    names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    in_path = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    error = {"content": {"application/json": {"schema": failure}}}
    return {
        "get": {
            "operationId": path.replace("/", "_").replace("{", "").replace("}", ""),
            "summary": meaning,
            "parameters": [*in_path, *map(_parameter, parameters)],
            "responses": {
                "200": {"description": meaning, "content": {"application/json": {"schema": schema}}},
                "304": {"description": "The answer that the client has is the same"},
                "400": {"description": "A parameter is missing, wrong, or out of its bounds", **error},
                "404": {"description": "What is asked for is not there; the message has the nearest names", **error},
                "503": {"description": "No document could be read yet", **error},
            },
        }
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schemas: dict[str, dict[str, Any]] = {
        "number": {"type": "integer", "minimum": parameter.least, "maximum": parameter.largest},
        "flag": {"type": "boolean"},
        "day": {"type": "string", "format": "date"},
        "choice": {"type": "string", "enum": list(parameter.choices)},
        "text": {"type": "string", "minLength": 1, "maxLength": parameter.largest},
    }
    schema = schemas[parameter.kind]
    if parameter.default:
        schema["default"] = msgspec.json.decode(parameter.default)
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.meaning,
        "required": parameter.required,
        "schema": schema,
    }


API = "api/v1/"
HEADERS: Mapping[str, str] = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every answer. The page's own policy is in the page."""
PROBLEM = "Throughline-Problem"
"""The header that says why an answer is of an older document than the newest."""
_SMALL = 1024
_LEVEL = 4
_WAIT = {"Retry-After": "30"}


class LineageService:
    """Answers from the documents of a shelf. `version` stands for the code: answers of another version differ."""

    def __init__(self, shelf: Shelf, version: str = "") -> None:
        self._shelf, self._version = shelf, version

    def answer(self, request: Request) -> Response:
        """The answer to a GET request. Never raises for what a client or the storage does."""
        try:
            return self._compressed(request, self._answered(request))
        except RefusedRequestError as error:
            return self._error(request, error.status, str(error))
        except NotPublishedError as error:
            return self._error(request, HTTPStatus.NOT_FOUND, str(error))
        except NotReadableError as error:
            return self._error(request, HTTPStatus.SERVICE_UNAVAILABLE, str(error), _WAIT)

    def _answered(self, request: Request) -> Response:
        path_below = _below_api(request)
        if not path_below:
            view = self._page_view(request)
            if is_known(request, etag := self._etag(view.name)):
                return self._unchanged(etag, view.problem)
            return self._ok(view.page, "text/html; charset=utf-8", etag, view.problem)
        path = path_below.removeprefix("v1/")
        if path == path_below:
            raise not_found(f"there is nothing at /{request.path}: the page is at /, the API below /{API}")
        if path == OPENAPI:
            return self._ok(openapi(), "application/json", self._etag(OPENAPI))
        if path == DAYS:
            newest = self._shelf.newest()
            return self._json(answers.Days(newest=newest.name, days=self._shelf.days()), self._etag(newest.name))
        if path == COMPARE:
            return self._compared(request)
        return self._of_document(request, path)

    def _of_document(self, request: Request, path: str) -> Response:
        view = self._view(request)
        match = route_of(path, lambda: view.namespaces)
        if match is None:
            raise not_found(f"the API has no /{API}{path}: /{API}{OPENAPI} lists what it has")
        route, names = match
        arguments = {
            parameter.argument or parameter.name: parameter.value(request.query) for parameter in route.parameters
        }
        if is_known(request, etag := self._etag(view.name)):
            return self._unchanged(etag, view.problem)
        if "namespace" in names:
            names["namespace"] = namespace_of(view, names["namespace"])
        return self._json(route.run(view, **arguments, **names), etag, view.problem)

    def _view(self, request: Request) -> LineageView:
        day = AS_OF.value(request.query)
        return self._shelf.newest() if day is None else self._shelf.of(day)

    def _page_view(self, request: Request) -> LineageView:
        """The document of the page: with `compare` one of two days, on which the page marks the changes since."""
        view, day = self._view(request), COMPARE_WITH.value(request.query)
        return view if day is None else compared_view(self._shelf.of(day), view, day)

    def _compared(self, request: Request) -> Response:
        first_day, last_day = (parameter.value(request.query) for parameter in COMPARED)
        earlier_view = self._shelf.of(first_day)
        later_view = self._shelf.newest() if last_day is None else self._shelf.of(last_day)
        problem = earlier_view.problem or later_view.problem
        if is_known(request, etag := self._etag(f"{earlier_view.name} {later_view.name}")):
            return self._unchanged(etag, problem)
        return self._json(differences(earlier_view.document, later_view.document), etag, problem)

    def _etag(self, name: str) -> str:
        """Stands for a document and this code. With the address, which has the parameters, it stands for an answer."""
        digest = hashlib.sha256(f"{name} {self._version}".encode()).hexdigest()[:32]
        return f'W/"{digest}"'

    def _headers(self, problem: str = "") -> dict[str, str]:
        problem = " ".join((problem or self._shelf.problem).split()).encode("ascii", "replace").decode()
        return {**HEADERS, PROBLEM: problem} if problem else dict(HEADERS)

    def _ok(self, body: bytes, kind: str, etag: str, problem: str = "") -> Response:
        headers = {"Content-Type": kind, "ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
        return Response(status=HTTPStatus.OK, body=body, headers={**self._headers(problem), **headers})

    def _json(self, value: msgspec.Struct, etag: str, problem: str = "") -> Response:
        return self._ok(msgspec.json.encode(value), "application/json", etag, problem)

    def _unchanged(self, etag: str, problem: str) -> Response:
        headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
        return Response(status=HTTPStatus.NOT_MODIFIED, headers={**self._headers(problem), **headers})

    def _error(
        self, request: Request, status: HTTPStatus, message: str, further_headers: Mapping[str, str] | None = None
    ) -> Response:
        """An error as Marquez writes one; a sentence where the page was asked for."""
        body, kind = msgspec.json.encode({"code": int(status), "message": message}), "application/json"
        if not _below_api(request):
            body, kind = f"{message}\n".encode(), "text/plain; charset=utf-8"
        headers = {"Content-Type": kind, "Cache-Control": "no-store", **(further_headers or {})}
        return Response(status=status, body=body, headers={**self._headers(), **headers})

    @staticmethod
    def _compressed(request: Request, response: Response) -> Response:
        if len(response.body) < _SMALL or "gzip" not in request.headers.get("accept-encoding", ""):
            return response
        body = gzip.compress(response.body, _LEVEL, mtime=0)
        return Response(status=response.status, body=body, headers={**response.headers, "Content-Encoding": "gzip"})


def _below_api(request: Request) -> str:
    """The path below `api/`; empty for the page."""
    return request.path.strip("/").removeprefix("api").lstrip("/")


def is_known(request: Request, etag: str) -> bool:
    """Whether the client has this answer already."""
    tags = (tag.strip() for tag in request.headers.get("if-none-match", "").split(","))
    return any(tag in {etag, "*"} for tag in tags)
