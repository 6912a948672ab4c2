"""The group of managed attributes that Purview's portal shows on a process: where its job runs. Pure.

Managed attributes are Purview's name for Atlas' business metadata. Its built-in type of processes takes no further
attributes, and its portal shows managed attributes, but not a user's properties (`customAttributes`).
"""

import json
from typing import Any

from shared.atlas.entities import ORIGIN_WORDS, PROCESS_TYPE
from shared.atlas.types import attribute_definition

MANAGED = "Throughline"
"""The name of the group."""

_LONGEST = "500"


def managed_attributes() -> dict[str, Any]:
    """The definition of the group, in Atlas' form."""
    options = {"applicableEntityTypes": json.dumps([PROCESS_TYPE]), "maxStrLength": _LONGEST}
    further = {"isIndexable": True, "options": options}
    return {
        "category": "BUSINESS_METADATA",
        "name": MANAGED,
        "description": "Where the job of a Throughline process is at home",
        "typeVersion": "1.0",
        "attributeDefs": [attribute_definition(name) | further for name in ORIGIN_WORDS],
    }
