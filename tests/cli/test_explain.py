"""`throughline explain`: a stable document, sentences for people, and clear errors for unreadable input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from throughline.cli.main import app

LAKE = "abfss://lake@contoso.dfs.core.windows.net"
AZURE_SQL = "sqlserver://srv.database.windows.net:1433;database=db;encrypt=true"


def _explain(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["explain", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def _document(*arguments: str, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_explain(*arguments, "--json", code=code))
    return document


def test_the_json_document_has_exactly_the_expected_fields() -> None:
    groups = "server = srv.database.windows.net, database = db, schema = dbo, table = orders"
    because = "Purview's scan of Azure SQL Database names tables so"
    rank = "used"
    assert _document(AZURE_SQL, "[dbo].[orders]") == {
        "type": "azure_sql_table",
        "qualified_name": "mssql://srv.database.windows.net/db/dbo/orders",
        "rule": "azure-sql-table",
        "why": [
            "its spelling is normalised to sqlserver://srv.database.windows.net:1433 db.dbo.orders",
            f"rule azure-sql-table ({groups}): {because}; {rank}",
        ],
        "identity": {"namespace": "sqlserver://srv.database.windows.net:1433", "name": "db.dbo.orders"},
        "others": [
            {
                "type": "azure_sql_view",
                "qualified_name": "mssql://srv.database.windows.net/db/dbo/orders",
                "rule": "azure-sql-table",
            }
        ],
        "noise": False,
        "candidates": [
            {
                "type": f"azure_sql_{kind}",
                "qualified_name": "mssql://srv.database.windows.net/db/dbo/orders",
                "because": because,
            }
            for kind, because in (("table", "its own name"), ("view", "a view of that name"))
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "rule", "qualified_name"),
    [
        (("file", "/data/t"), "local-path", "file:///data/t"),
        (
            ("dbfs", "/mnt/x/t", "--mount", "/mnt/y=s3://b", "--mount", f"/mnt/x={LAKE}/in"),
            "adls-path",
            "https://contoso.dfs.core.windows.net/lake/in/t",
        ),
        (
            ("dbfs", "/user/hive/warehouse/t", "--workspace", "https://adb-1.2.azuredatabricks.net"),
            "dbfs-hive-table",
            "default.t@adb-1.2.azuredatabricks.net",
        ),
        (("s3://b", "t", "--symlink", "hive://m:9083=sales.t"), "hive-table", "sales.t@m"),
        (("s3://b", "t", "--symlink", f"{AZURE_SQL}=dbo.t"), "s3-path", "s3://b/t"),
        (("redis://h", "t"), "unknown-store", "redis://h/t"),
    ],
)
def test_options_about_the_run_select_the_naming_rule(
    arguments: tuple[str, ...], rule: str, qualified_name: str
) -> None:
    document = _document(*arguments)
    assert (document["rule"], document["qualified_name"]) == (rule, qualified_name)
    assert any(rule in sentence for sentence in document["why"])


def test_explain_names_the_mount_point_that_was_resolved() -> None:
    sentences = _document("dbfs", "/mnt/x/t", "--mount", f"/mnt/x={LAKE}/in")["why"]
    assert sentences[0] == f"its path is below a mount point, which stands for {LAKE} in/t"


def test_a_file_of_names_is_applied(tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    rule = "rule = 'mine'\ntype = 'DataSet'\nnamespace = 's3://b'\nname = '(?P<p>.+)'\nqualified_name = 'my:{p}'\n"
    names.write_text(f"[[rules]]\n{rule}")
    document = _document("s3a://b", "t/day=1", "--names", str(names))
    assert (document["rule"], document["qualified_name"]) == ("mine", "my:t")
    assert "names file" in document["why"][-1]


def test_text_output_shows_a_long_name_on_one_line() -> None:
    name = "[x]/" + "long/" * 60 + "t"
    output = _explain(LAKE, name)
    assert f"https://contoso.dfs.core.windows.net/lake/{name}\n" in output
    assert "adls-path" in output
    assert "{SparkPartitions}" in output


def test_only_the_chosen_name_is_marked_as_used() -> None:
    sentences = _document(LAKE, "t", "--symlink", "hive://m:9083=sales.t")["why"]
    assert [sentence.rpartition("; ")[2] for sentence in sentences] == ["used", "alternative name"]
    assert _document("s3://b", "t")["why"][-1].endswith("used: no rule gives a name that scans are known to use")


def test_a_file_that_is_no_data_set_of_a_user_ends_with_1() -> None:
    document = _document("file", "/data/t/_delta_log/0.json", code=1)
    assert document["noise"] is True
    assert "a writer's own file" in " ".join(document["why"])


def test_a_list_of_topics_is_explained_as_several_data_sets() -> None:
    assert "each of them is a data set" in _explain("kafka://h:9092", "orders,routed")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--mount", "/mnt/x", "--mount /mnt/x: write it as POINT=SOURCE"),
        ("--mount", "=abfss://x", "write it as POINT=SOURCE"),
        ("--symlink", "hive://m", "write it as NAMESPACE=NAME"),
        ("--symlink", "hive://m=", "write it as NAMESPACE=NAME"),
        ("--names", "nowhere.toml", "nowhere.toml can't be read"),
    ],
)
def test_options_that_cannot_be_read_end_with_2(option: str, value: str, message: str) -> None:
    assert message in _explain("file", "/t", option, value, code=2)


def test_a_wrong_file_of_names_ends_with_2(tmp_path: Path) -> None:
    names = tmp_path / "names.json"
    names.write_text('{"rules": [{"rule": "mine"}]}')
    output = _explain("file", "/t", "--names", str(names), code=2)
    assert "rules.0: rules needs type" in output
    names.write_bytes(b"\xff\xfe")
    assert "is no UTF-8 text" in _explain("file", "/t", "--names", str(names), code=2)


@pytest.mark.parametrize(
    "command", [["explain", "file", "/t"], ["translate", "x"], ["up"]], ids=lambda command: command[0]
)
def test_the_file_of_names_can_be_set_by_an_environment_variable(command: list[str], tmp_path: Path) -> None:
    """It is read before anything else is done."""
    names = tmp_path / "names.toml"
    names.write_text("rules = 1")
    home = ["--home", str(tmp_path / "world")] if command == ["up"] else []
    result = CliRunner().invoke(app, [*command, *home], env={"THROUGHLINE_NAMES": str(names)})
    assert result.exit_code == 2
    assert "rules must be a list" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["names.toml"]


def test_help_contains_examples() -> None:
    output = _explain("--help")
    for example in (
        "throughline explain file /data/orders/day=1",
        "--workspace",
        "--mount",
        "--symlink",
        "--names",
        "--json",
    ):
        assert example in output


def test_a_character_outside_the_encoding_of_the_terminal_becomes_a_question_mark() -> None:
    command = [sys.executable, "-m", "throughline", "explain", "file", "/caf\u00e9"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, capture_output=True, check=True, cwd=Path(__file__).parents[2], env=environment)
    assert b"file:///caf?" in answer.stdout


def test_the_command_works_from_a_shell() -> None:
    """As a user calls it, with nothing around the JSON."""
    command = [sys.executable, "-m", "throughline", "explain", "bigquery", "p.d.t", "--json"]
    answer = subprocess.run(command, capture_output=True, check=True, cwd=Path(__file__).parents[2])
    assert json.loads(answer.stdout)["qualified_name"] == "bigquery://p/d/t"


def test_an_empty_namespace_and_name_are_an_error() -> None:
    output = _explain("", "", code=2)
    assert "namespace and name are empty: write namespace and name" in output


@pytest.mark.parametrize(
    ("namespace", "name", "reason"),
    [
        (
            "file",
            "data/.+",
            "rule mine matches the namespace, but its name 'data/.+' does not match the whole of '/data/t'",
        ),
        ("s3://lake", "/data/.+", "the namespace of a rule must match the whole of 'file'"),
        ("file", "/data/.+", ""),
    ],
)
def test_a_file_of_names_without_a_matching_rule_is_told(
    tmp_path: Path, namespace: str, name: str, reason: str
) -> None:
    names = tmp_path / "names.toml"
    names.write_text(
        f'[[rules]]\nrule = "mine"\ntype = "fs_path"\nnamespace = "{namespace}"\nname = "(?P<path>{name})"\n'
        'qualified_name = "m:{path}"\n'
    )
    sentences = _document("file", "/data/t", "--names", str(names))["why"]
    begins = "the only rule of the names file does not match: "
    shown_reasons = [
        sentence.removeprefix(begins).replace("(?P<path>", "").replace(")'", "'")
        for sentence in sentences
        if begins in sentence
    ]
    assert shown_reasons == ([reason] if reason else [])
