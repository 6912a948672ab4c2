"""`throughline watch --lake`: what changed between two looks at the lake is announced once."""

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.support.building import IDENTITY, body, dataset, source
from tests.support.building import lineage as columns_of
from tests.support.cli import Parts


def event(run: str, minute: float, *columns: str) -> str:
    """A run that copies these columns of `raw`, as a line."""
    schema = {"fields": [{"name": each, "type": "string"} for each in columns]}
    edges = columns_of({each: [source("raw", each, IDENTITY)] for each in columns})
    read, written = dataset("raw", schema=schema), dataset("clean", schema=schema, columnLineage=edges)
    return json.dumps(body(run=run, application=run, minute=minute, inputs=[read], outputs=[written]))


def looks_at_the_lake(folder: Path) -> list[str]:
    """Run the lake and look at it after each of two runs, and once more: what the looks print."""
    parts, events, lake = Parts(), folder / "events", str(folder / "lake")
    events.mkdir()
    printed = []
    for number, columns in enumerate((("a", "b"), ("a",))):
        (events / f"{number}.jsonl").write_text(event(f"run{number}", 30.0 * number, *columns))
        made = parts.run("lake", "run", str(events), "--lake", lake, "--engine", "sail")
        assert made.exit_code == 0, made.output
        looks = 1 + number
        for _ in range(looks):
            done = parts.run("watch", "--once", "--rules", str(folder / "watch.toml"), "--lake", lake)
            assert done.exit_code == 0, done.output
            printed.append(done.output)
    return printed


def test_a_change_of_the_lake_is_announced_once(tmp_path: Path) -> None:
    log = tmp_path / "messages.jsonl"
    rules = f'[channels.log]\nkind = "file"\npath = "{log.as_posix()}"\n[[rules]]\nto = ["log"]\n'
    (tmp_path / "watch.toml").write_text(rules)
    # In one process PySpark speaks to one kind of engine, and other tests' may be Spark.
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as alone:
        _, changed, again = alone.submit(looks_at_the_lake, tmp_path).result()
    assert "2 messages decided, 2 sent" in changed
    assert "0 messages decided, 0 sent" in again
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(each["subject"]["name"] for each in messages) == ["clean", "raw"]
    assert {change["kind"] for each in messages for change in each["changes"]} == {"column_dropped"}
