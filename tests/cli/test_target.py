"""Which Throughline a command talks to, and one sentence when that is none."""

import json
import os
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.scripted import ScriptedAnswer, scripted
from throughline.cli.main import app
from throughline.local.running_world import running_world

runner = CliRunner()


def note(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "world.json").write_text(text)


WORLD = {
    "pid": os.getpid(),
    "receiver_url": "http://127.0.0.1:9",
    "catalog_url": "",
    "catalog_token": "",
    "environment": {},
}


@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", "[]", json.dumps(WORLD), json.dumps(WORLD | {"pid": 2**22 - 1})],
    ids=["empty", "cut", "nothing", "a list", "a stale one with a new owner", "a dead one"],
)
def test_an_invalid_or_stale_note_names_no_running_world(text: str, tmp_path: Path) -> None:
    note(tmp_path, text)
    assert running_world(tmp_path) is None


@pytest.mark.parametrize("kind", ["a long name", "a loop"])
def test_a_home_that_cannot_be_opened_names_no_running_world(kind: str, tmp_path: Path) -> None:
    home = tmp_path / ("x" * 300 if kind == "a long name" else "x")
    if kind == "a loop":
        home.symlink_to(home)
    result = runner.invoke(app, ["status", "--home", str(home)])
    assert result.exit_code == 2
    assert "no local world runs in" in result.output


@pytest.mark.parametrize("command", [["status"], ["show", "x"], ["send", "x"]], ids=lambda command: command[0])
def test_a_missing_world_is_reported_in_one_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("{}")
    result = runner.invoke(app, [*command, "--home", f"{tmp_path}/my world"])
    assert result.exit_code == 2
    assert f"`throughline up --home '{tmp_path}/my world'`" in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["send", "nosuch"],
        ["import", "dbt", "nosuch"],
        ["product", "apply", "nosuch"],
        ["watch", "--rules", "nosuch"],
        ["watch", "--policy", "nosuch"],
        ["explain", "file", "/x", "--look", "--names", "nosuch"],
        ["check", "nosuch"],
        ["classify", "plan", "--rules", "nosuch"],
        ["report", "--check", "nosuch"],
    ],
    ids=" ".join,
)
def test_a_missing_file_is_reported_before_a_missing_world(command: list[str], tmp_path: Path) -> None:
    result = runner.invoke(app, [*command, "--home", str(tmp_path)])
    assert result.exit_code == 2
    assert "nosuch" in result.output
    assert "throughline up" not in result.output


def test_an_invalid_setting_is_reported_instead_of_a_missing_world(tmp_path: Path) -> None:
    result = runner.invoke(app, ["status", "--home", str(tmp_path)], env={"THROUGHLINE_MAX_BATCH": "abc"})
    assert result.exit_code == 2
    assert "THROUGHLINE_MAX_BATCH" in result.output
    assert "throughline up" not in result.output


KEY = "czNjcjN0"
CONNECTIONS = {
    "no key": "AccountName=a;",
    "an empty key": "AccountName=a;AccountKey=",
    "a name twice": f"AccountName=a;AccountName=b;AccountKey={KEY}",
    "no tables": f"BlobEndpoint=http://127.0.0.1:9/a;SharedAccessSignature=sv=1&sig={KEY}",
    "no signature": "BlobEndpoint=http://127.0.0.1:9/a;TableEndpoint=http://127.0.0.1:9/a",
    "a broken address": f"AccountName=a;AccountKey={KEY};BlobEndpoint=http://[::1;TableEndpoint=http://[::1",
    "of an event hub": f"Endpoint=sb://x.servicebus.windows.net/;SharedAccessKey={KEY}",
}


@pytest.mark.parametrize("connection", CONNECTIONS.values(), ids=CONNECTIONS)
@pytest.mark.parametrize("command", ["status", "doctor"])
def test_a_wrong_connection_string_is_reported_without_its_key(command: str, connection: str, tmp_path: Path) -> None:
    environment = {"AzureWebJobsStorage": connection, "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9"}
    result = runner.invoke(app, [command, "--home", str(tmp_path)], env=environment)
    assert result.exit_code == 2
    assert "AzureWebJobsStorage is no whole connection string" in " ".join(result.output.split())
    assert KEY not in result.output


def test_invalid_settings_of_the_shell_do_not_hide_the_running_world(tmp_path: Path) -> None:
    environment = {"AzureWebJobsStorage": "AccountName=x", "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9"}
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        url = f"http://127.0.0.1:{receiver.getsockname()[1]}"
        note(tmp_path, json.dumps(WORLD | {"receiver_url": url, "environment": environment}))
        result = runner.invoke(app, ["status", "--home", str(tmp_path)], env={"THROUGHLINE_MAX_BATCH": "abc"})
    assert result.exit_code == 2
    assert "THROUGHLINE_MAX_BATCH" in result.output
    assert "AzureWebJobsStorage" not in result.output


def test_a_thousand_events_to_an_unreachable_address_are_refused_with_a_message(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text('{"a": 1}\n' * 1000)
    result = runner.invoke(app, ["send", str(events), "--url", "http://127.0.0.1:9"])
    assert result.exit_code == 2
    assert "nothing answers at http://127.0.0.1:9" in result.output


def test_an_address_that_cannot_exist_is_reported_as_one_where_nothing_answers(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text('{"a": 1}\n')
    result = runner.invoke(app, ["send", str(events), "--url", "http://a..b"])
    assert result.exit_code == 2
    assert "nothing answers at http://a..b" in result.output


@pytest.mark.parametrize("body", ["[]", '"ok"', "null", "ok", "", "[" * 50_000], ids=lambda body: body[:4])
def test_an_answer_that_is_no_json_object_is_not_a_receivers(body: str, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text('{"a": 1}\n')
    with scripted(ScriptedAnswer(body=body)) as server:
        result = runner.invoke(app, ["send", str(events), "--url", server.url])
    assert result.exit_code == 2
    assert "is not a receiver" in result.output


@pytest.mark.parametrize("key", ["ключ", "abc…", "a\nb", " abc"])
@pytest.mark.parametrize("command", [["send", "x"], ["doctor", "--listener"]], ids=lambda command: command[0])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(command: list[str], key: str) -> None:
    for result in (
        runner.invoke(app, [*command, "--key", key]),
        runner.invoke(app, command, env={"THROUGHLINE_KEY": key}),
    ):
        assert result.exit_code == 2
        assert "--key" in result.output
        assert key not in result.output


def test_an_address_without_a_scheme_is_refused_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{}")
    result = runner.invoke(app, ["send", str(tmp_path / "x"), "--url", "localhost:7071"])
    assert (result.exit_code, "must start with http" in result.output) == (2, True)


def test_a_home_with_a_space_is_refused_before_the_start(tmp_path: Path) -> None:
    result = runner.invoke(app, ["demo", "--home", str(tmp_path / "my world")])
    assert result.exit_code == 2
    assert "by --home" in result.output
    assert list(tmp_path.iterdir()) == []
