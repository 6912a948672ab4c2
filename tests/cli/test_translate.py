"""`throughline translate`: a stable interface for machines, and text for people."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.building import body, packed
from tests.support.events import event, run_id, write
from throughline.cli.main import app

runner = CliRunner()


def translated(tmp_path: Path, *bodies: bytes, code: int = 0) -> Any:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\n".join(bodies))
    result = runner.invoke(app, ["translate", str(path), "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_a_file_of_names_is_applied(tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    rule = "rule = 'mine'\ntype = 'DataSet'\nnamespace = 'file'\nname = '/(?P<p>out)'\nqualified_name = 'my:{p}'\n"
    names.write_text(f"[[rules]]\n{rule}")
    path = tmp_path / "events.jsonl"
    path.write_bytes(event("a", "COMPLETE", "10:00:00", inputs=["/in"], outputs=["/out"], application="app"))
    result = runner.invoke(app, ["translate", str(path), "--json", "--names", str(names)])
    outputs = json.loads(result.stdout)["processes"][0]["outputs"]
    assert [(output["type"], output["qualified_name"]) for output in outputs] == [("DataSet", "my:out")]


def test_secrets_in_names_of_data_sets_are_not_shown(tmp_path: Path) -> None:
    body = json.loads(event("a", "COMPLETE", "10:00:00", inputs=["/in"], outputs=["/out"], application="app"))
    body["inputs"][0] |= {"namespace": "s3a://KEY:S3cr3t@bucket", "name": "in?sv=1&sig=S3cr3t"}
    document = translated(tmp_path, json.dumps(body).encode())
    source = document["processes"][0]["inputs"][0]
    assert (source["namespace"], source["name"]) == ("s3a://bucket", "in")
    assert "S3cr3t" not in json.dumps(document)


def test_the_document_has_exactly_the_promised_shape(tmp_path: Path) -> None:
    pair = [("/in", "x")]
    rows: dict[str, Any] = {
        "dataset": [{"namespace": "file", "name": "/in", "field": "k", "transformations": [{"type": "INDIRECT"}]}]
    }
    body: dict[str, Any] = json.loads(
        event("a", "COMPLETE", "10:00:00", inputs=["/in"], outputs=["/out"], columns={"y": pair}, application="app")
    )
    body["outputs"][0]["facets"]["columnLineage"] |= rows
    ignored = event("b", "RUNNING", "10:00:00", application="app")
    waiting = event("c", "START", "10:00:00", inputs=["/in"], application="app")
    runs: list[dict[str, Any]] = [
        {"run_id": run_id("a"), "state": "published", "reason": None},
        {"run_id": run_id("c"), "state": "waiting", "reason": "no end event yet"},
    ]
    source = {"type": "fs_path", "qualified_name": "file:///in", "namespace": "file", "name": "/in"}
    sink = {"type": "fs_path", "qualified_name": "file:///out", "namespace": "file", "name": "/out"}
    document = translated(tmp_path, json.dumps(body).encode(), ignored, waiting)
    assert document == {
        "runs": sorted(runs, key=lambda run: str(run["run_id"])),
        "processes": [
            {
                "qualified_name": "throughline:v1://tests/app/file/out",
                "name": "app → out",
                "type": "azure_synapse_operation",
                "operations": ["insert"],
                "inputs": [source],
                "outputs": [sink],
                "columns": [
                    {
                        "input": {"qualified_name": "file:///in", "column": "k"},
                        "output": {"qualified_name": "file:///out", "column": None},
                        "kind": "INDIRECT",
                        "masked": False,
                    },
                    {
                        "input": {"qualified_name": "file:///in", "column": "x"},
                        "output": {"qualified_name": "file:///out", "column": "y"},
                        "kind": "DIRECT",
                        "masked": False,
                    },
                ],
            }
        ],
        "ignored": [{"run_id": run_id("b"), "reason": "names no data set and ends no run"}],
    }


def test_an_invalid_line_is_skipped_and_ends_with_1(tmp_path: Path) -> None:
    document = translated(tmp_path, b"{oops", *write("a", "app", "10:00", "/a"), code=1)
    assert len(document["processes"]) == 1


def test_several_files_and_standard_input_are_translated_together(tmp_path: Path) -> None:
    start, end = write("a", "app", "10:00", "/a")
    packed_path = tmp_path / "start.gz"
    packed_path.write_bytes(gzip.compress(start))
    result = runner.invoke(app, ["translate", str(packed_path), "-", "--json"], input=end)
    assert [run["state"] for run in json.loads(result.stdout)["runs"]] == ["published"]


def test_text_output_is_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\n".join(write("a", "app", "10:00", "/a")))
    result = runner.invoke(app, ["translate", str(path)])
    assert result.exit_code == 0
    assert "app → out file:///out (insert)" in result.stdout
    assert "/a file:///a" in result.stdout
    assert "x → x" in result.stdout


def test_a_process_without_columns_shows_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(packed(body(inputs=["/in"], outputs=["/out"])))
    result = runner.invoke(app, ["translate", str(path)])
    assert "no columns: the listener sent neither column lineage nor a schema" in " ".join(result.stdout.split())


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    result = runner.invoke(app, ["translate", str(tmp_path / "nothing")])
    assert result.exit_code == 2
    assert "can't be read" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["demo", "up", "send", "status", "show", "translate"])
def test_every_help_text_has_an_example(command: str) -> None:
    result = runner.invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"throughline {command}" in result.stdout


def test_names_with_square_brackets_are_shown_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\n".join(write("a", "app", "10:00", "/[dbo].[orders]", sink="/[/x]")))
    result = runner.invoke(app, ["translate", str(path)])
    assert result.exit_code == 0, result.output
    assert "/[dbo].[orders]" in result.stdout
    assert "/[/x]" in result.stdout
    missing = runner.invoke(app, ["translate", str(tmp_path / "[/x].json")])
    assert (missing.exit_code, "[/x].json" in missing.output) == (2, True)


def test_json_does_not_depend_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\n".join(write("a", "app", "10:00", "/ü")))
    assert runner.invoke(app, ["translate", str(path), "--json"]).stdout.isascii()


def test_a_file_without_events_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    result = runner.invoke(app, ["translate", str(path)])
    assert (result.exit_code, "hold no event" in result.output) == (0, True)


PAIR = {"y": [("/in", "x")]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of events: published, gzipped, waiting, not all usable; and files that hold none."""
    complete = event("a", "COMPLETE", "10:00:00", inputs=["/in"], outputs=["/out"], columns=PAIR, application="app")
    files = {
        "good/one.json": complete,
        "good/two.jsonl.gz": gzip.compress(complete),
        "waiting.ndjson": event("b", "START", "10:00:00", inputs=["/in"], outputs=["/out"], application="app"),
        "broken.json": b'{"eventType": "COMPLETE"}',
        "a\x1b[31mred.jsonl": complete,
        "manifest.json": b'{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}}',
        "notes.txt": b"no events",
        ".git/refs.json": b"no events",
    }
    for name, content in files.items():
        path = tmp_path / "events" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "events"


def test_a_folder_stands_for_its_files_of_events(folder: Path) -> None:
    result = runner.invoke(app, ["translate", str(folder), "--json"])
    assert result.exit_code == 1
    assert {run["state"] for run in json.loads(result.stdout)["runs"]} == {"published", "waiting"}
    assert f"left out: {folder}/broken.json:1: " in result.stderr
    assert f"left out: {folder}/manifest.json is " in result.stderr


def test_each_file_counts_by_itself(folder: Path) -> None:
    result = runner.invoke(app, ["translate", str(folder), "--by-file", "--json"])
    assert result.exit_code == 1
    reports = {Path(file["file"]).name: file for file in json.loads(result.stdout)["files"]}
    assert set(reports) == {
        "a\x1b[31mred.jsonl",
        "broken.json",
        "manifest.json",
        "one.json",
        "two.jsonl.gz",
        "waiting.ndjson",
    }
    assert reports["one.json"] == {
        "file": str(folder / "good/one.json"),
        "events": 1,
        "refused": [],
        "runs": [{"state": "published", "reason": None, "number": 1}],
        "processes": 1,
        "named_columns": 1,
        "missing_columns": [],
    }
    (waiting,) = reports["waiting.ndjson"]["runs"]
    assert (waiting["state"], reports["waiting.ndjson"]["named_columns"]) == ("waiting", 0)
    assert reports["broken.json"]["events"] == 0
    assert f"{folder}/broken.json:1: " in reports["broken.json"]["refused"][0]


def test_the_table_by_file_has_a_line_for_each_and_the_sum(folder: Path) -> None:
    result = runner.invoke(app, ["translate", str(folder), "--by-file"], env={"COLUMNS": "200"})
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["good/one.json", "1", "1", "1", "of", "1", "1", "published"] in lines
    assert "\x1b" not in result.output
    assert "6 files: 4 events, 2 refused, 3 processes, 3 of 3 column pairs" in result.stdout


def test_a_pair_that_the_lineage_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer run of the job has another source."""
    old = event("a", "COMPLETE", "10:00:00", outputs=["/out"], columns={"y": [("/old", "x")]}, application="app")
    new = event("b", "COMPLETE", "11:00:00", outputs=["/out"], columns=PAIR, application="later")
    end = event("later", "COMPLETE", "11:01:00")
    (tmp_path / "events.jsonl").write_bytes(b"\n".join([old, new, end]))
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["translate", "events.jsonl", "--by-file"])
    assert result.stderr.strip() == "not in the lineage: events.jsonl: file:///old.x → file:///out.y"
    assert result.exit_code == 0


def test_an_empty_folder_is_an_error_that_says_what_it_lacks(tmp_path: Path) -> None:
    result = runner.invoke(app, ["translate", str(tmp_path)])
    assert result.exit_code == 2
    assert "has no file of events: none ends with .json, .jsonl or .ndjson (or .gz)" in result.stderr


def test_many_broken_lines_are_left_out_in_a_few_lines(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"cut\n' * 60)
    result = runner.invoke(app, ["translate", str(tmp_path / "events.jsonl")])
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert (len(lines), lines[-1]) == (11, "left out: and 50 more, which `--by-file --json` lists")
