"""The commands of the lake over names with marks that act, as `test_hostile_names.py` has them for the record."""

from pathlib import Path

import pytest

from shared.naming.stores.families import bounded
from tests.cli.test_hostile_names import CLEAN, HOSTILE, MART, RAW, acting_in, event, forged_in
from tests.support.building import packed
from tests.support.command_process import ProcessOfCommands

RUNS = {
    "impact": ("lake", "impact", bounded(RAW, 2_000).lstrip("/"), HOSTILE),
    "impact of nothing": ("lake", "impact", bounded(RAW, 2_000).lstrip("/"), f"gone{HOSTILE}"),
    "coverage by data set": ("lake", "coverage", "--level", "asset"),
    "coverage by job": ("lake", "coverage", "--level", "job"),
    "coverage by owner": ("lake", "coverage", "--level", "owner"),
    "changes": ("lake", "changes"),
    "search": ("search", "x"),
    "check": ("check", "rules.toml"),
}
RULES = """
[[tag]]
classification = "PII"
datasets = "*raw*"
[[policy]]
name = "p"
datasets = "*mart*"
no_tag = "PII"
unchanged_since = 2020-01-01
quality_passed = true
"""


@pytest.fixture(scope="module")
def lake(sail_process: ProcessOfCommands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    events = [event("COMPLETE", "load", RAW, CLEAN, minute=0), event("COMPLETE", "mart", CLEAN, MART, minute=1)]
    later_event = event("COMPLETE", "load", RAW, CLEAN, minute=2)
    later_event["outputs"][0]["facets"]["schema"]["fields"].append({"name": f"new{HOSTILE}", "type": HOSTILE})
    (folder / "events").mkdir()
    (folder / "events" / "events.jsonl").write_bytes(b"\n".join(map(packed, (*events, later_event))))
    (folder / "rules.toml").write_text(RULES)
    outcome = sail_process.run("lake", "run", folder / "events", "--lake", folder / "lake", "--engine", "sail")
    assert outcome.returncode == 0, outcome.stderr
    return folder


@pytest.mark.parametrize("title", RUNS)
def test_no_command_of_the_lake_prints_a_mark_that_acts(
    sail_process: ProcessOfCommands, lake: Path, title: str
) -> None:
    arguments = [str(lake / argument) if argument == "rules.toml" else argument for argument in RUNS[title]]
    outcome = sail_process.run(*arguments, "--lake", lake / "lake")
    text = outcome.stdout + outcome.stderr
    assert "Traceback" not in text
    assert acting_in(text) == set()
    assert forged_in(text) == []
    assert ("owned" in text) or title not in {"impact", "changes", "search", "check"}, text
