"""What the Purview-ADB lineage accelerator leaves in a catalog, written with Atlas' interface as its code writes it.

Names of types, qualified names and attributes: `DatabricksToPurviewParser.cs`, `PurviewIngestion.cs` and
`Custom_Types.json` of its version 2.3.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from shared.catalog.port import AssetKey
from tests.support.foreign import Call

PROCESS, PLACEHOLDER = "databricks_process", "purview_custom_connector_generic_entity_with_columns"
TASK = "databricks://adb-1.2.azuredatabricks.net/jobs/7/tasks/load"
_STRING = {"typeName": "string", "isOptional": True, "cardinality": "SINGLE"}
_TYPES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    PROCESS: ("Process", ("columnMapping", "sparkPlan")),
    PLACEHOLDER: ("DataSet", ("purview_qualifiedName", "original_source")),
}


def add_types(call: Call) -> None:
    """Create those of the types that are missing."""
    present_types = {
        entity_def["name"] for entity_def in call("GET types/typedefs?type=entity", None).json()["entityDefs"]
    }
    definitions = [
        {
            "category": "ENTITY",
            "name": name,
            "superTypes": [super_type],
            "attributeDefs": [{"name": attribute, **_STRING} for attribute in attributes],
        }
        for name, (super_type, attributes) in _TYPES.items()
        if name not in present_types
    ]
    if definitions:
        call("POST types/typedefs", {"entityDefs": definitions}).raise_for_status()


def name_of(inputs: Iterable[AssetKey], output: AssetKey) -> str:
    """The qualified name of a process: two digests below its task."""
    sources = ",".join(sorted(name.lower() for _, name in inputs))
    digests = (hashlib.md5(text.encode()).hexdigest().upper() for text in (sources, output[1]))  # noqa: S324 - theirs
    return f"{TASK}/processes/{'->'.join(digests)}"


def mapping(*pairs: tuple[AssetKey, AssetKey, Mapping[str, str]]) -> str:
    """Its `columnMapping`: by pair of data sets the sink of each source column."""
    return json.dumps(
        [
            {
                "DatasetMapping": {"Source": source[1], "Sink": sink[1]},
                "ColumnMapping": [{"Source": column, "Sink": target} for column, target in columns.items()],
            }
            for source, sink, columns in pairs
        ]
    )


def plant_placeholder(call: Call, name: str) -> AssetKey:
    """Create the entity for a data set that its search did not find."""
    add_types(call)
    last = name.rstrip("/").rpartition("/")[2]
    attributes = {"qualifiedName": name.lower(), "name": last, "description": f"Data Assets {last}"}
    call("POST entity/bulk", {"entities": [{"typeName": PLACEHOLDER, "guid": "-1", "attributes": attributes}]})
    return PLACEHOLDER, name.lower()


def plant_process(
    call: Call, inputs: Iterable[AssetKey], output: AssetKey, columns: str = "[]", *, name: str = ""
) -> str:
    """Create a process over data sets that exist; returns its qualified name."""
    add_types(call)
    sources = list(inputs)

    def references(keys: Iterable[AssetKey]) -> list[dict[str, Any]]:
        return [{"typeName": kind, "uniqueAttributes": {"qualifiedName": called}} for kind, called in keys]

    qualified_name = name or name_of(sources, output)
    attributes = {
        "qualifiedName": qualified_name,
        "name": f"/Shared/load{output[1]}",
        "columnMapping": columns,
        "sparkPlan": "{}",
        "inputs": references(sources),
        "outputs": references([output]),
    }
    entity = {"typeName": PROCESS, "guid": "-1", "attributes": attributes}
    call("POST entity/bulk", {"entities": [entity]}).raise_for_status()
    return qualified_name
