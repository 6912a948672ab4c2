"""`throughline lake` with a catalog: by the functions' settings, on Sail, Azurite and the local catalog."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from shared.bootstrap import assemble
from shared.records.control import record_settings
from shared.settings.reading import load
from shared.settings.table import SETTINGS
from tests.support.command_process import CommandResult, ProcessOfCommands
from tests.support.events import write
from tests.support.golden import GOLDEN
from throughline.local.catalog.server import CatalogServer


@pytest.fixture
def shell(fresh_catalog: CatalogServer, empty_account: str) -> dict[str, str]:
    """An environment that names storage and a catalog of its own, and sets nothing else."""
    return {
        **{setting.name: "" for setting in SETTINGS},
        "AzureWebJobsStorage": empty_account,
        "THROUGHLINE_CATALOG_ENDPOINT": fresh_catalog.endpoint,
        "THROUGHLINE_CATALOG_TOKEN": fresh_catalog.token,
        "COLUMNS": "80",
    }


Command = Callable[..., CommandResult]


@pytest.fixture
def lake(sail_process: ProcessOfCommands, shell: dict[str, str], tmp_path: Path) -> Command:
    """A `throughline lake` command on the test's lake, by Sail."""

    def run(*arguments: str | Path) -> CommandResult:
        return sail_process.run("lake", *arguments, "--lake", tmp_path / "lake", "--engine", "sail", environment=shell)

    return run


def test_a_lake_is_made_and_published_with_the_recorded_settings(
    lake: Command, shell: dict[str, str], fresh_catalog: CatalogServer, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    bodies = [*write("a", "app", "10:00", "/in", sink="/b"), *write("b", "app2", "10:00", "/in", sink="/secret/t2")]
    (events / "all.jsonl").write_bytes(b"\n".join(bodies))
    recorded_settings = {"THROUGHLINE_EXCLUDE_PATHS": "*/secret/*", "THROUGHLINE_APPLICATION_IDLE_MINUTES": "30"}
    parts = assemble(load(catalog=True, environment={**shell, **recorded_settings}))
    record_settings(parts.storage, parts.to_record)

    assert lake("run", events).returncode == 0
    outcome = lake("publish")
    assert (outcome.returncode, "1 written" in outcome.stdout) == (0, True), outcome.stdout + outcome.stderr
    asset_keys = [("fs_path", f"file://{name}") for name in ("/in", "/b", "/secret/t2")]
    assert sorted(name for _, name in parts.catalog.find(asset_keys)) == ["file:///b", "file:///in"]

    record_settings(parts.storage, {**parts.to_record, "THROUGHLINE_APPLICATION_IDLE_MINUTES": "45"})
    fresh_catalog.reset_calls()
    refused = lake("publish")
    assert (refused.returncode, fresh_catalog.calls()["writes"]) == (2, 0)
    assert "this lake was made by other settings than the functions'" in refused.stderr


def test_lake_coverage_measures_the_completeness_of_the_catalog(
    lake: Command, fresh_catalog: CatalogServer, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    bodies = [*write("b", "app", "10:00", "/in", sink="/b"), *write("c", "app2", "10:00", "/in", sink="/c")]
    (events / "all.jsonl").write_bytes(b"\n".join(bodies))
    assert lake("run", events).returncode == 0
    early_outcome = lake("coverage", "--completeness")
    assert (early_outcome.returncode, "lake coverage --catalog" in early_outcome.stderr) == (1, True)

    place = {"name": "in", "qualifiedName": "file:///in", "path": "/in", "description": "Orders", "owner": "ann"}
    answer = requests.post(
        f"{fresh_catalog.endpoint}/entity/bulk",
        json={"entities": [{"typeName": "fs_path", "guid": "-1", "attributes": place, "labels": ["gold"]}]},
        headers={"Authorization": f"Bearer {fresh_catalog.token}"},
        timeout=10,
    )
    answer.raise_for_status()
    fresh_catalog.reset_calls()
    outcome = lake("coverage", "--catalog", "--json")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert fresh_catalog.calls()["writes"] == 0
    report = json.loads(outcome.stdout)
    assert report["score"] == pytest.approx(0.5 / 3)
    assert [asset["qualified_name"] for asset in report["raise_most"]] == ["file:///b", "file:///c", "file:///in"]
    assert report["raise_most"][2]["lacks"] == ["columns", "column_descriptions"]

    rules = tmp_path / "rules.toml"
    rules.write_text("[completeness.weights]\nowner = 1\n")
    rules_outcome = lake("coverage", "--catalog", "--rules", rules)
    assert rules_outcome.returncode == 0, rules_outcome.stdout + rules_outcome.stderr
    assert "documents 3 data sets to 33%; it has 1." in rules_outcome.stdout
    rows = [line.split() for line in rules_outcome.stdout.splitlines()]
    assert ["file:///b", "0.000", "0", "not", "in", "the", "catalog:", "owner"] in rows, "a row whole on one line"
    assert [row[2:5] for row in rows if row[-1:] == ["0%"]] == [["3", "0.167", "33%"], ["3", "0.333", "33%"]]

    rules.write_text("[completeness.weights]\nownr = 1\n")
    wrong = lake("coverage", "--catalog", "--rules", rules)
    assert (wrong.returncode, ":2: completeness.weights has no key ownr" in wrong.stderr) == (2, True)
    completeness_report = json.loads(lake("coverage", "--completeness", "--json").stdout)
    assert [round(measurement["score"], 2) for measurement in completeness_report["trend"]] == [0.17, 0.33]


def test_descriptions_owners_and_tags_declared_by_jobs_raise_the_completeness(
    lake: Command, shell: dict[str, str], tmp_path: Path
) -> None:
    """The demo's jobs, published: the catalog has their tables with columns, and nothing else of them. Then a job of
    the Python client declares owner, description and tags of its table.
    """
    events = tmp_path / "events"
    events.mkdir()
    for name in ("customer_master", "customer_merge"):
        (events / f"{name}.jsonl").write_bytes((GOLDEN / "spark35-ol1.53" / name / "events.jsonl").read_bytes())
    parts = assemble(load(catalog=True, environment=shell))
    record_settings(parts.storage, parts.to_record)

    def measured() -> dict[str, Any]:
        for arguments in (("run", events), ("publish",), ("coverage", "--catalog", "--json")):
            outcome = lake(*arguments)
            assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        report: dict[str, Any] = json.loads(outcome.stdout)
        return report

    measured_before = measured()
    assert (
        measured_before["trend"][0]["assets"]
        == measured_before["trend"][0]["held"]
        == measured_before["trend"][0]["with_columns"]
        == 7
    )
    assert {round(asset["score"], 2) for asset in measured_before["raise_most"]} == {0.3}

    declared = GOLDEN / "python_client-1.54" / "declared" / "events.jsonl"
    (events / "declared.jsonl").write_bytes(declared.read_bytes().splitlines()[0])
    measured_after = measured()
    scores = {asset["qualified_name"]: round(asset["score"], 2) for asset in measured_after["raise_most"]}
    assert scores.pop("https://contoso.dfs.core.windows.net/lake/described/customers") == pytest.approx(0.8)
    source, *other_scores = scores.values()
    assert (source, set(other_scores)) == (0, {0.3}), "nothing is declared of the source"
    assert [
        (measurement["described"], measurement["owned"], measurement["tagged"])
        for measurement in measured_after["trend"]
    ] == [
        (0, 0, 0),
        (1, 1, 1),
    ]
