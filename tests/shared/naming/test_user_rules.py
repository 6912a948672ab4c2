"""The file of names: its rules come first, names become ids, and all mistakes are reported at once."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from shared.errors import Misconfigured
from shared.naming.names import Names, canonical
from shared.naming.stores.families import RunEnvironment
from shared.naming.user_rules import parse_names
from shared.settings.reading import load

LAKE = "abfss://lake@contoso.dfs.core.windows.net"
ONELAKE = "abfss://My%20Sales@onelake.dfs.fabric.microsoft.com"
GROUP, SHOP = "0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11", "9d2c4e10-1111-4222-8333-444455556666"
FABRIC = "https://app.fabric.microsoft.com/groups"

TOML = f"""
[[rules]]
rule = "minio"
type = "aws_s3_v2_directory"
namespace = "s3://lake"
name = "(?P<zone>[^/]+)/(?P<path>.+)"
qualified_name = "s3://minio.example/{{zone}}/{{path}}"
example = {{ namespace = "s3a://lake", name = "raw/t/day=1", qualified_name = "s3://minio.example/raw/t" }}

[[rules]]
rule = "own-lake"
type = "azure_datalake_gen2_path"
namespace = "abfss://lake@contoso\\\\.dfs\\\\.core\\\\.windows\\\\.net"
name = "secret(?:/(?P<rest>.*))?"
qualified_name = "https://elsewhere/{{workspace}}/{{rest}}"

[fabric.workspaces."My Sales"]
id = "{GROUP}"
lakehouses = {{ Shop = "{SHOP}" }}

[databricks.metastores]
"adb-1.2.azuredatabricks.net" = "5c5d0000-0000-4000-8000-000000000000"
"https://uc.example/" = "7c7d0000-0000-4000-8000-000000000000"
"""
NAMES = parse_names(TOML, "names.toml")
WORKSPACE = RunEnvironment(workspace="adb-1.2.azuredatabricks.net")


def _best(namespace: str, name: str, environment: RunEnvironment = WORKSPACE, names: Names = NAMES) -> tuple[str, str]:
    best = names.name(canonical(namespace, name, environment), environment=environment).best
    return best.rule, best.qualified_name


NAMED: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "a rule of one's own": (("s3a://lake", "raw/a/b"), ("minio", "s3://minio.example/raw/a/b")),
    "what it does not match": (("s3a://lake", "raw"), ("s3-path", "s3://lake/raw")),
    "before ours, with the workspace": (
        (LAKE, "secret/t"),
        ("own-lake", "https://elsewhere/adb-1.2.azuredatabricks.net/t"),
    ),
    "a group that found nothing": (
        (LAKE, "secret"),
        ("own-lake", "https://elsewhere/adb-1.2.azuredatabricks.net/"),
    ),
    "a lakehouse by names": (
        (ONELAKE, "shop.Lakehouse/Tables/t"),
        ("onelake-table", f"{FABRIC}/{GROUP}/lakehouses/{SHOP}/tables/t"),
    ),
    "a lakehouse in another case": (
        (ONELAKE.upper(), "SHOP.lakehouse/Tables/dbo/t"),
        ("onelake-schema-table", f"{FABRIC}/{GROUP}/lakehouses/{SHOP}/tables/dbo%252Ft"),
    ),
    "a lakehouse by ids": (
        (f"abfss://{GROUP}@onelake.dfs.fabric.microsoft.com", f"{SHOP}/Tables/t"),
        ("onelake-table", f"{FABRIC}/{GROUP}/lakehouses/{SHOP}/tables/t"),
    ),
    "a workspace by its id": (
        (f"abfss://{GROUP}@onelake.dfs.fabric.microsoft.com", "shop.Lakehouse/Tables/t"),
        ("onelake-table", f"{FABRIC}/{GROUP}/lakehouses/{SHOP}/tables/t"),
    ),
    "a lakehouse that is not given": (
        (ONELAKE, "other.Lakehouse/Tables/t"),
        ("onelake-table", f"{FABRIC}/{GROUP}/lakehouses/other/tables/t"),
    ),
    "a metastore": (
        ("unity-catalog", "main.s.t"),
        (
            "unity-catalog-table",
            "databricks://5c5d0000-0000-4000-8000-000000000000/catalogs/main/schemas/s/tables/t",
        ),
    ),
    "a metastore of one's own server": (
        ("unitycatalog://uc.example:8080", "main.s.t"),
        (
            "unity-catalog-server-table",
            "databricks://7c7d0000-0000-4000-8000-000000000000/catalogs/main/schemas/s/tables/t",
        ),
    ),
}


@pytest.mark.parametrize(("spelling", "named"), NAMED.values(), ids=NAMED)
def test_data_sets_are_named_by_the_rules_of_the_file(spelling: tuple[str, str], named: tuple[str, str]) -> None:
    assert _best(*spelling) == named


def test_a_rule_that_needs_the_workspace_does_not_apply_to_a_run_without_one() -> None:
    assert _best(LAKE, "secret/t", RunEnvironment())[0] == "adls-path"


def test_a_users_rule_for_a_symlink_comes_before_the_location() -> None:
    text = _file(_rule(namespace="unity-catalog", name="(?P<table>.+)", qualified_name="mine://{table}"))
    named = parse_names(text, "x.json").name(canonical(LAKE, "t"), [("unity-catalog", "main.s.t")])
    assert named.best.qualified_name == "mine://main.s.t"
    assert named.others[0].rule == "adls-path"


def test_a_file_of_names_may_be_json() -> None:
    names = parse_names(_file(_rule()), "names.json")
    assert _best("s3://b", "t", names=names) == ("mine", "mine://t")
    assert _best("s3://b", "t", names=parse_names(_file(_rule()), "no extension")) == ("mine", "mine://t")


def test_an_empty_file_changes_nothing() -> None:
    assert _best("s3://b", "t", names=parse_names("", "names.toml")) == ("s3-path", "s3://b/t")


def test_long_names_are_not_matched_with_patterns_of_users() -> None:
    names = parse_names(_file(_rule(name=".*a.*b", qualified_name="x")), "x.json")
    start = time.process_time()
    assert _best("s3://b", "a" * 500_000, names=names)[0] == "s3-path"
    assert _best("s3://b", "a" * 999, names=names)[0] == "s3-path"
    assert time.process_time() - start < 5


def _rule(**changes: Any) -> dict[str, Any]:
    rule = {
        "rule": "mine",
        "type": "DataSet",
        "namespace": "s3://b",
        "name": "(?P<path>.*)",
        "qualified_name": "mine://{path}",
    }
    return {key: value for key, value in (rule | changes).items() if value is not None}


def _file(*rules: Any, **fields: Any) -> str:
    return json.dumps({"rules": list(rules), **fields})


WRONG: dict[str, tuple[str, tuple[str, ...]]] = {
    "no JSON": ("{", ("names.json", "is not valid JSON", "Correct it")),
    "not an object": ("[]", ("must be an object",)),
    "an unknown part": (_file(rule=[]), ("no table rule", "Did you mean rules?")),
    "rules that are no list": (json.dumps({"rules": {"a": 1}}), ("rules must be a list", "[[rules]]")),
    "a rule that is no table": (_file("x"), ("rules must be a list of tables",)),
    "an unknown key": (_file(_rule(colour="red")), ("rules.0.colour: rules has no key colour", "Use example, name")),
    "a missing key": (_file(_rule(type=None)), ("rules.0: rules needs type",)),
    "a rule without a name": (_file(_rule(rule="")), ("rules.0.rule: rule must be a text",)),
    "an empty type": (_file(_rule(type="")), ("rules.0.type: type must be a text",)),
    "no regular expression": (_file(_rule(name="(")), ("rules.0.name: name is not a regular expression",)),
    "an unknown group": (_file(_rule(qualified_name="x://{table}")), ("uses {table}", "{path}", "(?P<table>…)")),
    "a group without a name": (_file(_rule(qualified_name="x://{}")), ("uses {}",)),
    "a number": (_file(_rule(qualified_name="x://{0}")), ("uses {0}",)),
    "an attribute": (_file(_rule(qualified_name="x://{path.__class__}")), ("uses {path.__class__}",)),
    "a wide field": (_file(_rule(qualified_name="x://{path:>999999999}")), ("uses {path}",)),
    "an open brace": (_file(_rule(qualified_name="x://{path")), ("is not a template", "Double")),
    "a name that is taken": (_file(_rule(rule="adls-path")), ("a rule adls-path exists already",)),
    "a name twice": (_file(_rule(), _rule()), ("rules.1: rules mine is there twice: the first is rules.0",)),
    "a repeat of a repeat": (_file(_rule(name="(a+)+b")), ("for ever", "[^/]+")),
    "too many wildcards": (_file(_rule(name=".*a.*b.*c")), ("for ever", "[^/]+")),
    "an example that is none": (
        _file(_rule(example={"name": "t"})),
        ("rules.0.example: example must be a table with",),
    ),
    "an example of another rule": (
        _file(_rule(example={"namespace": "s3://c", "name": "t", "qualified_name": "mine://t"})),
        ("the example", "'s3://c/t' by s3-path", "correct"),
    ),
    "an example of another name": (
        _file(_rule(example={"namespace": "s3a://b", "name": "t", "qualified_name": "mine://u"})),
        ("the example", "'mine://t' by mine"),
    ),
    "an unknown kind of ids": (_file(fabric={"groups": {}}), ("fabric has no key groups. Use workspaces",)),
    "a workspace without an id": (_file(fabric={"workspaces": {"sales": {}}}), ("fabric.workspaces.sales needs id",)),
    "an unknown key of a workspace": (
        _file(fabric={"workspaces": {"sales": {"id": "1", "lakehouse": {}}}}),
        ("fabric.workspaces.sales has no key lakehouse. Did you mean lakehouses?",),
    ),
    "lakehouses that are no table": (
        _file(fabric={"workspaces": {"sales": {"id": "1", "lakehouses": {"a": 1}}}}),
        ("fabric.workspaces.sales.lakehouses.a: a must be a text",),
    ),
    "a metastore without an id": (
        _file(databricks={"metastores": {"adb": 1}}),
        ("databricks.metastores.adb: adb must be a text",),
    ),
}


@pytest.mark.parametrize(("text", "messages"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_reported_with_its_correction(text: str, messages: tuple[str, ...]) -> None:
    with pytest.raises(Misconfigured) as error_info:
        parse_names(text, "names.json")
    for message in ("names.json", *messages):
        assert message in str(error_info.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(Misconfigured) as error_info:
        parse_names(
            _file(_rule(name="("), _rule(rule="other", qualified_name="{x}"), fabric={"workspaces": 1}), "f.json"
        )
    assert len(str(error_info.value).splitlines()) == 4


def test_invalid_toml_is_reported() -> None:
    with pytest.raises(Misconfigured, match="is not valid TOML"):
        parse_names("rules = [", "names.toml")


FINE = (
    ".*",
    ".*/.+",
    "(?P<a>[^/]+)/(?P<b>[^/]+)/(?P<c>[^/]+)/(?P<rest>.*)",
    "(?:dev|test)-(?P<x>[a-z]+)",
    "(?P<x>a|b)?c",
    r"\(a+\)+",
    "[(a+)+]+",
    "(ab)+",
    r"x{a}+",
    "(?P<x>[^.]+)?",
)
DANGEROUS = (
    "(a+)+",
    "(a*)*b",
    "(?:a|a)*b",
    "(?P<x>a?){20,}",
    "((a+))+",
    "(?:(?:x)|y)+",
    "(a{1,9}){1,9}",
    "([^/]+/)*x",
    ".*.*.*x",
    "(?=(a+)+)",
)


@pytest.mark.parametrize("pattern", FINE)
def test_plain_patterns_are_accepted(pattern: str) -> None:
    parse_names(_file(_rule(name=pattern, qualified_name="x")), "x.json")


@pytest.mark.parametrize("pattern", DANGEROUS)
def test_patterns_that_could_take_for_ever_are_refused(pattern: str) -> None:
    with pytest.raises(Misconfigured, match="for ever"):
        parse_names(_file(_rule(name=pattern, qualified_name="x")), "x.json")


# --- the setting

SETTINGS = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "THROUGHLINE_CATALOG_ENDPOINT": "https://contoso.purview.azure.com/datamap/api/atlas/v2",
}


def test_the_setting_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    path.write_text(TOML)
    file = load(catalog=True, environment={**SETTINGS, "THROUGHLINE_NAMES": str(path)}).names
    assert file is not None
    assert _best("s3a://lake", "raw/t", names=parse_names(file.text, file.place)) == (
        "minio",
        "s3://minio.example/raw/t",
    )


def test_without_the_setting_there_is_no_file() -> None:
    assert load(catalog=True, environment=SETTINGS).names is None


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    binary, large = tmp_path / "binary", tmp_path / "large"
    binary.write_bytes(b"\xff\xfe")
    large.write_bytes(b"#" * (1024 * 1024 + 1))
    for path, message in ((tmp_path / "nowhere", "can't be read"), (binary, "no UTF-8"), (large, "larger than")):
        with pytest.raises(Misconfigured, match=f"THROUGHLINE_NAMES is wrong: .*{message}"):
            load(catalog=True, environment={**SETTINGS, "THROUGHLINE_NAMES": str(path)})
