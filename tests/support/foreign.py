"""Lineage of other programs, planted in a catalog with Atlas' interface: reports of Power BI, copies of Data Factory.

The names of types are those of Purview; each has the attributes that lineage needs.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import requests

from shared.catalog.port import AssetKey

Call = Callable[[str, Any], requests.Response]
"""Makes a call such as `POST entity/bulk` with a body."""
WORKSPACE = "https://app.powerbi.com/groups/sales"
TYPES: Mapping[str, str] = {
    "powerbi_report": "DataSet",
    "powerbi_dashboard": "DataSet",
    "powerbi_report_process": "Process",
    "powerbi_dashboard_process": "Process",
    "adf_copy_activity": "Process",
}
_MAPPING = {"name": "columnMapping", "typeName": "string", "isOptional": True, "cardinality": "SINGLE"}


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
            "attributeDefs": [_MAPPING] if super_type == "Process" else [],
        }
        for name, super_type in TYPES.items()
        if name not in present_types
    ]
    if definitions:
        call("POST types/typedefs", {"entityDefs": definitions}).raise_for_status()


def plant(
    call: Call,
    *,
    inputs: Iterable[AssetKey],
    output: AssetKey,
    process_type: str,
    names: Iterable[str],
    mapping: str = "[]",
) -> None:
    """Write processes of these names that read data sets which exist, each with an output of its own, or with the one
    `output` if that exists already. An output's qualified name may have `{name}` in it.
    """
    add_types(call)
    entities: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        key = output[0], output[1].format(name=name)
        report = {
            "typeName": key[0],
            "guid": f"-{2 * number + 1}",
            "attributes": {"qualifiedName": key[1], "name": name},
        }
        process = {
            "typeName": process_type,
            "guid": f"-{2 * number + 2}",
            "attributes": {
                "qualifiedName": f"{key[1]}#{process_type}",
                "name": name,
                "columnMapping": mapping.replace("{output}", key[1]),
                "inputs": [
                    {"typeName": kind, "uniqueAttributes": {"qualifiedName": qualified_name}}
                    for kind, qualified_name in inputs
                ],
                "outputs": [{"typeName": key[0], "guid": report["guid"]}],
            },
        }
        entities += [report, process]
    call("POST entity/bulk", {"entities": entities}).raise_for_status()


def plant_reports(call: Call, source: AssetKey, *names: str, column: str = "", total: str = "Total") -> None:
    """Write reports of Power BI that read a data set; with a `column`, their column `total` is made of it."""
    pairs = [{"Source": column, "Sink": total}] if column else []
    mapping = [{"DatasetMapping": {"Source": source[1], "Sink": "{output}"}, "ColumnMapping": pairs}]
    plant(
        call,
        inputs=[source],
        output=("powerbi_report", f"{WORKSPACE}/reports/{{name}}"),
        process_type="powerbi_report_process",
        names=names,
        mapping=json.dumps(mapping),
    )
