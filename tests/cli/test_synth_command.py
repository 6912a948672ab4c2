"""`throughline synth`: the same seed gives the same files, and nothing is written over."""

import json
from pathlib import Path

from typer.testing import CliRunner

from cli.main import app

runner = CliRunner()


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_history_of_so_many_events_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    told = [
        json.loads(runner.invoke(app, ["synth", "--events", "200", "--out", str(folder), "--json"]).stdout)
        for folder in (first, second)
    ]
    assert told[0] == told[1]
    assert told[0]["events"] >= 200
    assert content(first) == content(second)
    assert len(content(first)) == told[0]["files"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = runner.invoke(app, ["synth", "--events", "1", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "is not empty" in done.output
    assert set(content(tmp_path)) == {"mine"}
