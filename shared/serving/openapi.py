"""The OpenAPI document of the API, written from its routes and the types of its answers."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from shared.serving import answers
from shared.serving.requests import AS_OF, Parameter
from shared.serving.routes import COMPARE, COMPARED, DAYS, OPENAPI, ROUTES

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
    operations.append((COMPARE, "What changed between two days", COMPARED, answers.Comparison))
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
