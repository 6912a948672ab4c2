"""The JSON Schema of the rules file, for editors: `python -m shared.governance.rules_file.schema FILE` writes it."""

import json
import sys
from pathlib import Path
from typing import Any

from shared.governance.rules import Demand, OnUnknown
from shared.governance.rules_file.keys import (
    CERTIFIED,
    CLASSIFICATION_NAME,
    MAX_PATTERN,
    MAX_TEXTS,
    TABLES,
    TERM_NAME,
    Kind,
)

_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN}
_NAME = {**_TEXT, "pattern": f"^{CLASSIFICATION_NAME.pattern}$"}


def _many(each: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [each, {"type": "array", "items": each, "minItems": 1, "maxItems": MAX_TEXTS}]}


_KINDS: dict[Kind, dict[str, Any]] = {
    Kind.TEXT: _TEXT,
    Kind.TEXTS: _many(_TEXT),
    Kind.NAME: _NAME,
    Kind.NAMES: _many(_NAME),
    Kind.TERM: {**_TEXT, "pattern": f"^{TERM_NAME.pattern}$"},
    Kind.DATE: {"type": "string", "format": "date"},
    Kind.TIME: {"type": "string"},
    Kind.SPAN: {"type": "string", "pattern": "^\\d{1,6}\\s*[mhd]$"},
    Kind.PERCENT: {"type": "number", "minimum": 0, "maximum": 100},
    Kind.TRUE: {"const": True},
    Kind.UNKNOWN: {"enum": [str(each) for each in OnUnknown]},
    Kind.CERTIFIED: {"const": CERTIFIED},
}


def schema() -> dict[str, Any]:
    """The schema; dates are texts in it, as JSON has them."""
    tables = {
        name: {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {key: {**_KINDS[each.kind], "description": each.meaning} for key, each in keys.items()},
                "required": [key for key, each in keys.items() if each.needed],
                "additionalProperties": False,
                **({"anyOf": [{"required": [str(demand)]} for demand in Demand]} if name == "policy" else {}),
            },
        }
        for name, keys in TABLES.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rules of throughline classify and throughline check",
        "type": "object",
        "properties": {"unknown": _KINDS[Kind.UNKNOWN], "completeness": {"type": "object"}, **tables},
        "additionalProperties": False,
    }


def text() -> str:
    """The schema as the file has it."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
