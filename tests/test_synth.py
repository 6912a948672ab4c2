"""`python -m tests.synth`: the same seed gives the same files, and no file is overwritten."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import throughline
from tests.synth.__main__ import app

runner = CliRunner()


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_synthetic_history_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    outputs = [
        json.loads(runner.invoke(app, ["--events", "200", "--out", str(folder), "--json"]).stdout)
        for folder in (first, second)
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0]["events"] >= 200
    assert content(first) == content(second)
    assert len(content(first)) == outputs[0]["files"]


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = runner.invoke(app, ["--events", "1", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not empty" in result.output
    assert set(content(tmp_path)) == {"mine"}


def test_a_synthetic_estate_has_lineage_for_each_of_its_data_sets(tmp_path: Path) -> None:
    result = runner.invoke(app, ["--datasets", "40", "--out", str(tmp_path / "estate"), "--json"])
    events = [
        json.loads(line)["event"].encode()
        for path in sorted((tmp_path / "estate").rglob("*.gz"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    assert len(events) == json.loads(result.stdout)["events"] == 36  # a tenth are sources
    processes = throughline.translate(events).processes
    assert len({output for process in processes for output in process.outputs}) == 36
    for process in processes:
        assert len({edge.output for edge in process.columns if edge.output.column}) == 9


@pytest.mark.parametrize("arguments", [[], ["--events", "5", "--datasets", "5"]])
def test_synth_requires_exactly_one_of_events_and_datasets(arguments: list[str], tmp_path: Path) -> None:
    result = runner.invoke(app, [*arguments, "--out", str(tmp_path / "new")])
    assert result.exit_code == 2
    assert "either --events N or --datasets N" in result.output
