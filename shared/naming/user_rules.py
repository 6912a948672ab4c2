"""The names file: the user's naming rules, and catalog ids of things that Spark knows by name only.

TOML or JSON, validated at start; one error lists all problems with their remedies:

    [[rules]]
    rule = "minio"                                   # its name, shown by `throughline explain`
    type = "aws_s3_v2_directory"                     # the catalog's type
    namespace = "s3://lake"                          # patterns of the whole namespace and name, as folded
    name = "(?P<zone>[^/]+)/(?P<path>.+)"
    qualified_name = "s3://minio.example/{zone}/{path}"
    example = { namespace = "s3a://lake", name = "raw/t", qualified_name = "s3://minio.example/raw/t" }

    [fabric.workspaces.sales]                        # a workspace's name, its id, and the ids of its lakehouses
    id = "0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11"
    lakehouses = { shop = "9d2c4e10-1111-4222-8333-444455556666" }

    [databricks.metastores]                          # a workspace's host, and the id of its Unity Catalog metastore
    "adb-1.2.azuredatabricks.net" = "5c5d…"
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

from shared.errors import Misconfigured
from shared.naming.canonical import canonical
from shared.naming.names import RULES, Names
from shared.naming.rules.regex_safety import why_unsafe
from shared.naming.rules.rule import NamingRule, rule
from shared.naming.stores.files.onelake import workspace_folded

_REQUIRED = ("rule", "type", "namespace", "name", "qualified_name")
_EXAMPLE = ("namespace", "name", "qualified_name")


def parse_names(text: str, place: str) -> Names:
    """Parse a names file (its text, and its path for messages). Raises Misconfigured with all its problems."""
    document = _document(text, place)
    unknown = sorted(document.keys() - {"rules", "fabric", "databricks"})
    problems = [f"unknown key {key!r}: use rules, fabric or databricks" for key in unknown]
    rules = tuple(_rules(document.get("rules", []), problems))
    ids = dict(_ids(document, problems))
    names = Names(rules=rules, ids=ids)
    if not problems:
        problems += _wrong_examples(document.get("rules", []), names)
    if problems:
        lines = "\n".join(f"  - {problem}" for problem in problems)
        raise Misconfigured(f"The names file {place} is invalid:\n{lines}")
    return names


def _document(text: str, place: str) -> dict[str, Any]:
    is_json = place.lower().endswith(".json") or text.lstrip().startswith("{")
    try:
        document = json.loads(text) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "TOML"
        raise Misconfigured(
            f"The names file {place} is not valid {kind}: {error}. Correct it, or remove the setting"
        ) from error
    if not isinstance(document, dict):
        raise Misconfigured(f"The names file {place} must be an object with the keys rules, fabric or databricks")
    return document


def _rules(given: Any, problems: list[str]) -> Iterator[NamingRule]:
    if not isinstance(given, list):
        problems.append("rules must be a list: write [[rules]] above each rule")
        return
    taken = {rule.name for rule in RULES}
    for number, entry in enumerate(given, start=1):
        if not isinstance(entry, dict):
            problems.append(f"rule {number} must be a table with {', '.join(_REQUIRED)}")
            continue
        place = f"rule {entry.get('rule') or number}"
        found = [f"{place}: {problem}" for problem in _problems_of(entry)]
        if entry.get("rule") in taken:
            found.append(f"{place}: a rule of this name exists; choose another name")
        problems += found
        if not found:
            taken.add(entry["rule"])
            yield rule(
                entry["rule"],
                type=entry["type"],
                namespace=entry["namespace"],
                path=entry["name"],
                to=entry["qualified_name"],
                because="a rule of the names file",
            )


def _problems_of(entry: Mapping[str, Any]) -> Iterator[str]:
    for key in _REQUIRED:
        if not isinstance(entry.get(key), str) or (not entry[key] and key != "name"):
            yield f"{key} is missing: give it a text"
    for key in sorted(entry.keys() - {*_REQUIRED, "example"}):
        yield f"unknown key {key!r}: use {', '.join(_REQUIRED)} or example"
    example = entry.get("example", dict.fromkeys(_EXAMPLE, ""))
    if not isinstance(example, dict) or any(not isinstance(example.get(key), str) for key in _EXAMPLE):
        yield f"example must have the keys {', '.join(_EXAMPLE)}"
    groups = {"workspace"}
    for key in ("namespace", "name"):
        if isinstance(pattern := entry.get(key), str):
            try:
                compiled = re.compile(pattern)
            except re.error as error:
                yield f"{key} is not a regular expression: {error}"
                return
            groups |= compiled.groupindex.keys()
            if reason := why_unsafe(pattern):
                yield f"{key} could run for ever on a hostile name: {reason}"
    if isinstance(template := entry.get("qualified_name"), str):
        yield from _wrong_template(template, groups)


def _wrong_template(template: str, groups: set[str]) -> Iterator[str]:
    try:
        fields = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(template)]
    except ValueError as error:
        yield f"qualified_name is not a template: {error}. Double a literal brace"
        return
    for name, spec, conversion in fields:
        if name is None:
            continue
        if name not in groups or spec or conversion:
            known = ", ".join(f"{{{group}}}" for group in sorted(groups))
            yield f"qualified_name uses {{{name}}}: the groups are {known}; define one as (?P<{name or 'table'}>…)"


def _wrong_examples(rules: list[Mapping[str, Any]], names: Names) -> Iterator[str]:
    for entry in rules:
        if example := entry.get("example"):
            identity = canonical(example["namespace"], example["name"])
            best = names.name(identity).best
            if (best.rule, best.qualified_name) != (entry["rule"], example["qualified_name"]):
                yield (
                    f"rule {entry['rule']}: its example, folded to {identity.namespace!r} and {identity.name!r}, "
                    f"is named {best.qualified_name!r} by {best.rule}; correct the patterns or the example"
                )


def _ids(document: Mapping[str, Any], problems: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    for key, value in _pairs(document, "databricks", "metastores", problems):
        if isinstance(value, str) and value:
            yield ("workspace", key.lower().removeprefix("https://").strip("/")), value
        else:
            problems.append(f"databricks.metastores: the id of {key!r} must be a text")
    for name, workspace in _pairs(document, "fabric", "workspaces", problems):
        if not isinstance(workspace, dict) or not isinstance(workspace.get("id"), str) or not workspace["id"]:
            problems.append(f"fabric.workspaces: {name!r} must have an id")
            continue
        problems += [
            f"fabric.workspaces: {name!r} has the unknown key {key!r}: use id and lakehouses"
            for key in sorted(workspace.keys() - {"id", "lakehouses"})
        ]
        spellings = {workspace_folded(name), workspace_folded(workspace["id"])}
        yield ("workspace", workspace_folded(name)), workspace["id"]
        lakehouses = workspace.get("lakehouses", {})
        if not isinstance(lakehouses, dict) or any(not isinstance(each, str) for each in lakehouses.values()):
            problems.append(f"fabric.workspaces: lakehouses of {name!r} must be a table of names and ids")
            continue
        for lakehouse, identifier in lakehouses.items():
            for spelling in spellings:
                yield ("lakehouse", spelling, lakehouse.casefold()), identifier


def _pairs(document: Mapping[str, Any], key: str, inner: str, problems: list[str]) -> list[tuple[str, Any]]:
    outer = document.get(key, {})
    if not isinstance(outer, dict) or outer.keys() - {inner} or not isinstance(outer.get(inner, {}), dict):
        problems.append(f"{key} must be a table with the one key {inner}")
        return []
    return list(outer.get(inner, {}).items())
