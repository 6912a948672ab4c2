"""The part of the JSON Schema of SARIF 2.1.0 (OASIS) that applies to our logs.

Names, types, required keys and bounds are those of the whole schema; parts and keys that we do not write are left out.
"""

from typing import Any


def _object(needed: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": needed.split(),
        "properties": properties,
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
_MESSAGE = _object("text", text=_TEXT)
_PLACE = _object(
    "artifactLocation",
    artifactLocation=_object("", uri={"type": "string", "format": "uri-reference"}),
    region=_object("startLine", startLine={"type": "integer", "minimum": 1}),
)
_RESULT = _object(
    "message",
    ruleId=_TEXT,
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations=_list(_object("", physicalLocation=_PLACE)),
    partialFingerprints={"type": "object", "additionalProperties": _TEXT},
)
_DRIVER = _object(
    "name",
    name=_TEXT,
    rules={**_list(_object("id", id=_TEXT, shortDescription=_MESSAGE)), "uniqueItems": True},
)
_RUN = _object("tool", tool=_object("driver", driver=_DRIVER), results=_list(_RESULT))
SARIF = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    **_object("version runs", **{"$schema": _TEXT, "version": {"enum": ["2.1.0"]}, "runs": _list(_RUN)}),
}
