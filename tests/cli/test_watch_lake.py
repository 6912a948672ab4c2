"""`throughline watch --lake`: what changed between two looks at the lake is announced once."""

import json
from pathlib import Path

import pytest

from tests.support.building import IDENTITY, body, dataset, source
from tests.support.building import lineage as columns_of
from tests.support.cli import Parts


def event(run: str, minute: float, *columns: str) -> str:
    """A run that copies these columns of `raw`, as a line."""
    schema = {"fields": [{"name": each, "type": "string"} for each in columns]}
    edges = columns_of({each: [source("raw", each, IDENTITY)] for each in columns})
    read, written = dataset("raw", schema=schema), dataset("clean", schema=schema, columnLineage=edges)
    return json.dumps(body(run=run, application=run, minute=minute, inputs=[read], outputs=[written]))


@pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning")  # of PySpark itself
def test_a_change_of_the_lake_is_announced_once(tmp_path: Path) -> None:
    parts, events, lake = Parts(), tmp_path / "events", str(tmp_path / "lake")
    events.mkdir()
    rules = tmp_path / "watch.toml"
    log = tmp_path / "messages.jsonl"
    rules.write_text(f'[channels.log]\nkind = "file"\npath = "{log.as_posix()}"\n[[rules]]\nto = ["log"]\n')
    for number, columns in enumerate((("a", "b"), ("a",))):
        (events / f"{number}.jsonl").write_text(event(f"run{number}", 30.0 * number, *columns))
        made = parts.run("lake", "run", str(events), "--lake", lake, "--engine", "sail")
        assert made.exit_code == 0, made.output
        done = parts.run("watch", "--once", "--rules", str(rules), "--lake", lake)
        assert done.exit_code == 0, done.output
    assert "2 messages decided, 2 sent" in done.output
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(each["subject"]["name"] for each in messages) == ["clean", "raw"]
    assert {change["kind"] for each in messages for change in each["changes"]} == {"column_dropped"}
    again = parts.run("watch", "--once", "--rules", str(rules), "--lake", lake)
    assert "0 messages decided, 0 sent" in again.output
