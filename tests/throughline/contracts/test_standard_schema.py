"""Every key of the Open Data Contract Standard, with the standard's own example of its value, is read without a
complaint.

The JSON Schema is the one that the standard's package ships. The example files of the standard were read by hand: they
are not copied here.
"""

import json
from functools import reduce
from importlib.resources import files
from operator import getitem
from typing import Any

import pytest

from throughline.contracts.reading import parse_contract

SCHEMA: Any = json.loads((files("open_data_contract_standard") / "schema.json").read_text())
DEEPEST = 7
"""Properties have properties."""
VALUES: dict[str | None, Any] = {"string": "x", "number": 1, "integer": 1, "boolean": True, "object": {}, None: "x"}


def referred(node: Any) -> Any:
    """What a node refers to, as often as that refers to something again."""
    return referred(reduce(getitem, node["$ref"].removeprefix("#/").split("/"), SCHEMA)) if "$ref" in node else node


def keys(node: Any, depth: int) -> dict[str, Any]:
    """All keys of an object, with those of the parts that it is made of."""
    branches = [*node.get("allOf", ()), *node.get("oneOf", ()), *node.get("anyOf", ()), node.get("then", {})]
    parts = [keys(referred(part), depth) for part in branches if part]
    own_keys = {key: example(value, depth + 1) for key, value in node.get("properties", {}).items()}
    return {key: value for part in (*parts, own_keys) for key, value in part.items()}


def example(node: Any, depth: int = 0) -> Any:
    """A value of this schema: its first example, else a made-up one."""
    node = referred(node)
    examples = [*node.get("examples", ()), *node.get("enum", ()), *([node["default"]] if "default" in node else [])]
    kind = node["type"][0] if isinstance(node.get("type"), list) else node.get("type")
    if kind == "array":
        part = referred(node.get("items", {}))
        is_whole = depth < DEEPEST or not ({"properties", "allOf"} & part.keys())
        entries = examples[:1] or ([example(part, depth + 1)] if is_whole else [])
        return entries[0] if entries and isinstance(entries[0], list) else entries * node.get("minItems", 1)
    if examples:
        return examples[0]
    if "properties" in node or "allOf" in node:
        return keys(node, depth) if depth < DEEPEST else {}
    choices = [*node.get("oneOf", ()), *node.get("anyOf", ())]
    return example(choices[0], depth) if choices else VALUES.get(kind, "x")


def paths(value: Any) -> set[str]:
    """All keys in a value."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {key for part in parts for key in paths(part)} | set(value if isinstance(value, dict) else ())


@pytest.mark.parametrize("version", ["v3.0.0", "v3.0.1", "v3.0.2", "v3.1.0", "v3.2.0"])
def test_every_key_of_the_standard_is_read(version: str) -> None:
    full_contract = {**example(SCHEMA), "apiVersion": version, "kind": "DataContract"}
    assert {"transformSourceObjects", "slaProperties", "mustBeBetween", "physicalName", "location"} - paths(
        full_contract
    ) == set()
    contract = parse_contract(json.dumps(full_contract), "all.json")
    (table,) = contract.tables
    assert table.columns
    assert contract.servers
