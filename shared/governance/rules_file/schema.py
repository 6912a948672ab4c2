"""The JSON Schema of the rules file, for editors: `python -m shared.governance.rules_file.schema FILE` writes it."""

import json
import sys
from pathlib import Path
from typing import Any

from shared.governance.rules import Demand
from shared.governance.rules_file.keys import FILE_NAME, ON_UNKNOWN, TABLES, UNKNOWN
from shared.rules_file.keys import TEXT


def schema() -> dict[str, Any]:
    """The schema; dates are texts in it, as JSON has them."""
    tables = {
        name: {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {key: {**each.kind.schema, "description": each.meaning} for key, each in keys.items()},
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
        "properties": {
            FILE_NAME: dict(TEXT.schema),
            UNKNOWN: dict(ON_UNKNOWN.schema),
            "completeness": {"type": "object"},
            **tables,
        },
        "additionalProperties": False,
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
