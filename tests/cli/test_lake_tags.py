"""The commands of a lake know the tags of its own, and the classifications that `classify apply` attached."""

import json
import os
from pathlib import Path

from shared.atlas.columns import column_name, column_rule
from shared.classifying.attached import Mark, note_attached
from tests.cli.test_excluded_lake import job
from tests.support.building import packed
from tests.support.cli import Parts
from tests.support.command_process import ProcessOfCommands

CLEAN = "file:///clean"


def outputs(folder: Path) -> dict[str, str]:
    """Of commands that take the record's classifications to the lake's lineage."""
    os.chdir(folder)
    parts = Parts()
    mark = Mark(name="PII", type=column_rule("fs_path").type, qualified_name=column_name("fs_path", CLEAN, "mail"))
    note_attached(parts.storage, [mark], "rules.toml")
    (folder / "events").mkdir()
    events = (job("load", "/raw", "/clean", 0), job("mart", "/clean", "/mart", 1))
    (folder / "events" / "a.jsonl").write_bytes(b"\n".join(map(packed, events)))
    (folder / "tags.csv").write_text("qualified_name,column,tag\nfile:///raw,mail,secret\n")
    lake = ("--lake", str(folder / "lake"))
    lake_result = parts.run("lake", "run", "events", *lake, "--tags", "tags.csv", "--engine", "sail")
    assert lake_result.exit_code == 0, lake_result.output
    return {
        "impact": parts.run("lake", "impact", "raw", "mail", *lake, "--json").output,
        "table": parts.run("lake", "impact", "raw", "mail", *lake).output,
        "search": parts.run("search", "mail", "--tag", "PII", "--json", *lake).output,
    }


def test_impact_and_search_on_a_lake_know_the_classifications(sail_process: ProcessOfCommands, tmp_path: Path) -> None:
    printed_outputs = sail_process.call(outputs, tmp_path)
    assert [(entry["asset"], entry["tags"]) for entry in json.loads(printed_outputs["impact"])] == [
        (CLEAN, ["PII", "secret"]),
        ("file:///mart", ["secret"]),
    ]
    assert "PII, secret" in printed_outputs["table"]
    assert [entry["dataset"] for entry in json.loads(printed_outputs["search"]) if entry["column"]] == [CLEAN]
