"""The names file: the user's naming rules, and catalog ids of things that Spark knows by name only.

TOML or JSON, validated at start; one error lists all its mistakes:

    [[rules]]
    rule = "minio"                                   # its name, shown by `throughline explain`
    type = "aws_s3_v2_directory"                     # the catalog's type
    namespace = "s3://lake"                          # patterns of the whole namespace and name, as folded
    name = "(?P<zone>[^/]+)/(?P<path>.+)"
    qualified_name = "s3://minio.example/{zone}/{path}"
    example = { namespace = "s3a://lake", name = "raw/t", qualified_name = "s3://minio.example/raw/t" }

    [fabric.workspaces.sales]                        # a workspace's name, its id, and the ids of its items
    id = "0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11"
    lakehouses = { shop = "9d2c4e10-1111-4222-8333-444455556666" }
    warehouses = { dw = "7b1e0c2d-1111-4222-8333-444455556666" }
    endpoint = "k3xyz.datawarehouse.fabric.microsoft.com"    # of SQL: dbt and JDBC name tables by it

    [databricks.metastores]                          # a workspace's host, and the id of its Unity Catalog metastore
    "adb-1.2.azuredatabricks.net" = "5c5d…"
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from string import Formatter
from typing import Any

from shared.naming.names import RULES, Names, canonical
from shared.naming.stores.databases import workspace_folded
from shared.naming.stores.families import NamingRule
from shared.naming.stores.rule_forms import rule
from shared.rules_file import SUBTABLE, Key, RulesEntry, RulesReader, ValueKind

# Regular expressions that could backtrack for ever on hostile names are refused. Python's engine backtracks: a repeat
# inside a repeat takes exponential time, and each further `.*` multiplies the time by the name's length. Neither is
# needed to split a name.

_MAX_WILDCARDS = 2
_PIECE = re.compile(
    r"""\\.                                   # an escape
    | \[\^?\]?(?:\\.|[^\]\\])*\]              # a class
    | \(\?P?[<'][^>=!)]*>                     # a group with a name
    | \(\?[^)]?                               # another kind of group
    | [()|]
    | \{\d*,?\d*\}                            # a repeat
    | [*+?]
    | .""",
    re.VERBOSE | re.DOTALL,
)
_REPEAT = re.compile(r"\{\d*,\d*\}|\{\d+\}")


def why_unsafe(pattern: str) -> str:
    """Why a pattern is unsafe and what to write instead; empty if it is safe."""
    repeated, wildcards = _nested_repeat(pattern)
    if repeated:
        return "a repeated group contains a repeat or an alternative: repeat a class instead, as in [^/]+"
    if wildcards > _MAX_WILDCARDS:
        return f"it has more than {_MAX_WILDCARDS} repeated dots: write [^/]+ for a part of a path"
    return ""


def _nested_repeat(pattern: str) -> tuple[bool, int]:
    """Whether a repeated group contains a repeat or an alternative, and the number of repeated dots."""
    pieces = [match[0] for match in _PIECE.finditer(pattern)]
    inside: list[bool] = [False]
    """For the whole and each open group: whether it contains a repeat or an alternative."""
    wildcards = 0
    for piece, following in zip_longest(pieces, pieces[1:], fillvalue=""):
        many = following in {"*", "+"} or bool(_REPEAT.fullmatch(following))
        if piece.startswith("("):
            inside.append(False)
        elif piece == ")" and len(inside) > 1:
            if inside.pop():
                if many:
                    return True, wildcards
                inside[-1] = True
        elif piece in {"|", "*", "+", "?"} or _REPEAT.fullmatch(piece):
            inside[-1] = True
        elif piece == "." and many:
            wildcards += 1
    return False, wildcards


_MAX_TABLES = 100_000
"""A file has at most a mebibyte; large tenants have thousands of workspaces."""
_OF_EXAMPLE = ("namespace", "name", "qualified_name")
_TEXT = ValueKind(words="a text", read=lambda value: value if isinstance(value, str) and value else None)
_PATH = ValueKind(words="a text", read=lambda value: value if isinstance(value, str) else None)
_EXAMPLE = ValueKind(
    words="a table with the texts namespace, name and qualified_name",
    read=lambda value: value if all(isinstance(value[key], str) for key in _OF_EXAMPLE) else None,
)
_RULE_KEYS = {
    "rule": Key(kind=_TEXT, meaning="its name, which no other rule has", needed=True),
    "type": Key(kind=_TEXT, meaning="the catalog's type", needed=True),
    "namespace": Key(kind=_TEXT, meaning="a pattern of the whole namespace", needed=True),
    "name": Key(kind=_PATH, meaning="a pattern of the whole name", needed=True),
    "qualified_name": Key(kind=_TEXT, meaning="a template with the groups of the patterns", needed=True),
    "example": Key(kind=_EXAMPLE, meaning="a data set, and the qualified name that the rule gives it"),
}
_DATABRICKS_KEYS = {"metastores": Key(kind=SUBTABLE, meaning="the id of each workspace's metastore by its host")}
_FABRIC_KEYS = {"workspaces": Key(kind=SUBTABLE, meaning="the ids of workspaces by their names")}
_WORKSPACE_KEYS = {
    "id": Key(kind=_TEXT, meaning="the workspace's id", needed=True),
    "lakehouses": Key(kind=SUBTABLE, meaning="the ids of its lakehouses by their names"),
    "warehouses": Key(kind=SUBTABLE, meaning="the ids of its warehouses by their names"),
    "endpoint": Key(kind=_TEXT, meaning="the host of its SQL endpoint"),
}


def parse_names(text: str, place: str) -> Names:
    """Parse a names file (its text, and its path for messages). Raises Misconfigured with all its mistakes."""
    reader = RulesReader(text, place, kind="names file")
    reader.only({"rules", "fabric", "databricks"})
    entries = reader.entries(_RULE_KEYS, "rules", limit=_MAX_TABLES)
    reader.twice(entries, "rule")
    for entry in entries:
        _check_rule(entry, reader)
    ids = dict([*_metastores(reader), *_workspaces(reader)])
    reader.finish()
    names = Names(rules=tuple(_rule(entry.values) for entry in entries), ids=ids)
    for entry in entries:
        _check_example(entry, names, reader)
    reader.finish()
    return names


def _rule(values: Mapping[str, Any]) -> NamingRule:
    return rule(
        values["rule"],
        type=values["type"],
        namespace=values["namespace"],
        path=values["name"],
        to=values["qualified_name"],
        because="a rule of the names file",
    )


def _metastores(reader: RulesReader) -> Iterator[tuple[tuple[str, ...], str]]:
    reader.table(_DATABRICKS_KEYS, "databricks")
    for host, metastore in reader.all_of(_TEXT, "databricks", "metastores").items():
        yield ("workspace", _host(host)), metastore


def _workspaces(reader: RulesReader) -> Iterator[tuple[tuple[str, ...], str]]:
    reader.table(_FABRIC_KEYS, "fabric")
    for name, entry in reader.named(_WORKSPACE_KEYS, "fabric", "workspaces", limit=_MAX_TABLES).items():
        workspace, endpoint = entry.values.get("id") or "", _host(entry.values.get("endpoint") or "")
        spellings = [workspace_folded(spelling) for spelling in (name, workspace, endpoint) if spelling]
        for spelling in spellings:
            yield ("workspace", spelling), workspace
        for kind in ("lakehouse", "warehouse"):
            for item, identifier in reader.all_of(_TEXT, "fabric", "workspaces", name, f"{kind}s").items():
                for spelling in spellings if identifier else ():
                    yield (kind, spelling, item.casefold()), identifier
                    yield (kind, spelling, identifier.casefold()), identifier


def _host(address: str) -> str:
    """The host of an address with or without a scheme and a port."""
    return address.lower().rpartition("://")[2].partition("/")[0].partition(":")[0].partition(",")[0]


def _check_rule(entry: RulesEntry, reader: RulesReader) -> None:
    """Find what would make a rule fail, or match for ever."""
    if entry.values.get("rule") in {built_in.name for built_in in RULES}:
        reader.wrong(f"a rule {entry.values['rule']} exists already: choose another name", *entry.at, "rule")
    groups = {"workspace"}
    for key in ("namespace", "name"):
        pattern = entry.values.get(key) or ""
        try:
            groups |= re.compile(pattern).groupindex.keys()
        except re.error as error:
            reader.wrong(f"{key} is not a regular expression: {error}", *entry.at, key)
            return
        if reason := why_unsafe(pattern):
            reader.wrong(f"{key} could run for ever on a hostile name: {reason}", *entry.at, key)
    for wrong in _wrong_fields(entry.values.get("qualified_name") or "", groups):
        reader.wrong(f"qualified_name {wrong}", *entry.at, "qualified_name")


def _wrong_fields(template: str, groups: Collection[str]) -> Iterator[str]:
    try:
        fields = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(template)]
    except ValueError as error:
        yield f"is not a template: {error}. Double a literal brace"
        return
    for name, spec, conversion in fields:
        if name is not None and (name not in groups or spec or conversion):
            group_list = ", ".join(f"{{{group}}}" for group in sorted(groups))
            yield f"uses {{{name}}}: the groups are {group_list}; define one as (?P<{name or 'table'}>…)"


def _check_example(entry: RulesEntry, names: Names, reader: RulesReader) -> None:
    if example := entry.values.get("example"):
        identity = canonical(example["namespace"], example["name"])
        best = names.name(identity).best
        if (best.rule, best.qualified_name) != (entry.values["rule"], example["qualified_name"]):
            reader.wrong(
                f"the example, folded to {identity.namespace!r} and {identity.name!r}, is named"
                f" {best.qualified_name!r} by {best.rule}: correct the patterns or the example",
                *entry.at,
                "example",
            )
