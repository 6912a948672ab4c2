"""The group of managed attributes that Purview's portal shows on a process: where its job is at home. Pure.

Purview calls Atlas' business metadata so. Its built-in type of processes takes no further attributes, and its portal
does not show a user's properties (`customAttributes`); it shows these.
"""

import json
from typing import Any

from shared.atlas.entities import ORIGIN_WORDS, PROCESS_TYPE

MANAGED = "Throughline"
"""The name of the group."""

_LONGEST = "500"


def managed_attributes() -> dict[str, Any]:
    """The definition of the group, in Atlas' form."""
    return {
        "category": "BUSINESS_METADATA",
        "name": MANAGED,
        "description": "Where the job of a Throughline process is at home",
        "typeVersion": "1.0",
        "attributeDefs": [_attribute(name) for name in ORIGIN_WORDS],
    }


def _attribute(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "typeName": "string",
        "isOptional": True,
        "cardinality": "SINGLE",
        "valuesMinCount": 0,
        "valuesMaxCount": 1,
        "isUnique": False,
        "isIndexable": True,
        "options": {"applicableEntityTypes": json.dumps([PROCESS_TYPE]), "maxStrLength": _LONGEST},
    }
