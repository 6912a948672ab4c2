"""The golden entities of a scenario: those of one capture whole, and of the others only what differs.

`tests/golden/entities/SCENARIO.json` has `entities`, those of the scenario's last capture by name, and `differences`:
captures with a JSON merge patch (RFC 7396) each, which makes their entities of these. A capture that no difference
names has the same entities.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.golden import GOLDEN

ENTITIES = GOLDEN / "entities"

Document = dict[str, Any]
"""A JSON object without null: `assets` and `processes` by qualified name."""


def scenario_file(scenario: str) -> Path:
    """Return the path of a scenario's golden entities."""
    return ENTITIES / f"{scenario}.json"


def text_of(content: Mapping[str, Any]) -> str:
    """Return the text of a scenario's file, which depends on its content alone."""
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def condensed(documents: Mapping[str, Document]) -> Document:
    """Return the content of a scenario's file from the documents of its captures: those that agree share a patch.

    Raises ValueError when a document has a null, which a merge patch cannot set.
    """
    entities = documents[max(documents)]
    captures_by_patch: dict[str, list[str]] = {}
    for capture, document in sorted(documents.items()):
        _refuse_null(document)
        if not _same(document, entities):
            captures_by_patch.setdefault(text_of(merge_patch(entities, document)), []).append(capture)
    return {
        "entities": entities,
        "differences": [
            {"captures": captures, "patch": json.loads(patch)} for patch, captures in captures_by_patch.items()
        ],
    }


def expanded(content: Mapping[str, Any], *, capture: str) -> Document:
    """Return the document of one capture from the content of its scenario's file."""
    patches = [difference["patch"] for difference in content["differences"] if capture in difference["captures"]]
    document: Document = content["entities"]
    for patch in patches:
        document = patched(document, patch)
    return document


def merge_patch(source: Mapping[str, Any], target: Mapping[str, Any]) -> Document:
    """Return the smallest merge patch that makes `target` of `source`."""
    patch: Document = {key: None for key in source if key not in target}
    for key, value in target.items():
        if key not in source:
            patch[key] = value
        elif not _same(source[key], value):
            both_objects = isinstance(source[key], dict) and isinstance(value, dict)
            patch[key] = merge_patch(source[key], value) if both_objects else value
    return patch


def patched(source: Mapping[str, Any], patch: Mapping[str, Any]) -> Document:
    """Return an object with a merge patch applied (RFC 7396, section 2)."""
    target = dict(source)
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            member = source.get(key)
            target[key] = patched(member if isinstance(member, dict) else {}, value)
        else:
            target[key] = value
    return target


def _same(first: object, second: object) -> bool:
    """Compare as JSON: Python takes 1 and true for equal."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _refuse_null(value: object) -> None:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        if member is None:
            raise ValueError("a golden document has a null, which a merge patch would take for a deletion")
        _refuse_null(member)
