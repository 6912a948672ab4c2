"""`throughline reconcile` and `explain --look`: their output for a catalog, and their writes to it."""

import json
from dataclasses import replace

import pytest

from shared.atlas.entities import AssetEntity
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused
from tests.support.asset_resolution import LAKE, OUT, PATH, ROOT, SET, A, B, Counting
from tests.support.asset_resolution import write as deliver_write
from tests.support.cli import Parts
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import publish

FOUND_BY_SCAN = (SET, f"{ROOT}/a/{{SparkPartitions}}")
AMBIGUOUS = [(SET, f"{ROOT}/b/{{N}}.csv"), (SET, f"{ROOT}/b/{{Year}}/{{N}}.csv")]


def scan(catalog: MemoryCatalog, *keys: AssetKey) -> None:
    catalog.create_assets(
        [AssetEntity(type=key[0], qualified_name=key[1], attributes=(("name", "x"),)) for key in keys]
    )


@pytest.fixture
def parts() -> Parts:
    """Two processes on three placeholders; a scan has found one of these since, and another in two ways."""
    loaded_parts = Parts()
    deliver_write(loaded_parts.storage, "one", "a", "out")
    deliver_write(loaded_parts.storage, "two", "a", "b")
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    scan(loaded_parts.catalog, FOUND_BY_SCAN, *AMBIGUOUS)
    return loaded_parts


def test_the_plan_reports_found_and_ambiguous_assets_and_changes_nothing(parts: Parts) -> None:
    writes_before = parts.catalog.writes
    result = parts.run("reconcile", "--plan")
    assert result.exit_code == 0
    assert "3 placeholders, 1 found by a scan, 1 ambiguous" in result.output
    assert all(name in result.output for _, name in (FOUND_BY_SCAN, *AMBIGUOUS))
    assert json.loads(parts.run("reconcile", "--plan", "--json").output) == {
        "placeholders": 3,
        "found": [
            {
                "type": PATH,
                "qualified_name": A[1],
                "scanned": {"type": SET, "qualified_name": FOUND_BY_SCAN[1]},
                "because": "the folder's files, grouped by a scan as a resource set",
            }
        ],
        "ambiguous": [
            {
                "type": PATH,
                "qualified_name": B[1],
                "rivals": [{"type": kind, "qualified_name": name} for kind, name in sorted(AMBIGUOUS)],
            }
        ],
    }
    assert parts.catalog.writes == writes_before


def test_reconcile_moves_lineage_and_removes_the_placeholder_once(parts: Parts) -> None:
    result = parts.run("reconcile")
    assert result.exit_code == 0
    assert "1 found by a scan, 1 ambiguous; 2 processes to move" in result.output
    assert "1 placeholder removed" in result.output
    assert {process.inputs for process in parts.catalog.processes.values()} == {(FOUND_BY_SCAN,)}
    assert A not in parts.catalog.assets
    writes_before = parts.catalog.writes
    second_result = parts.run("reconcile")
    assert "2 placeholders, 0 found by a scan, 1 ambiguous; 0 processes to move" in second_result.output
    assert parts.catalog.writes == writes_before


def test_placeholders_whose_processes_the_catalog_does_not_report_are_reported(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CatalogRefused(status=414, code="", detail="the address is too long")

    with monkeypatch.context() as silent:
        silent.setattr(parts.catalog, "process_links", refuse)
        result = parts.run("reconcile")
    assert result.exit_code == 1
    assert "0 processes to move" in result.output
    assert "not moved: 1 placeholder, since the catalog did not report" in result.output
    assert parts.run("reconcile").exit_code == 0
    assert A not in parts.catalog.assets


def test_in_shadow_mode_reconcile_only_reports(parts: Parts) -> None:
    parts.shadow()
    writes_before = parts.catalog.writes
    assert "the catalog stays as it is" in parts.run("reconcile").output
    assert parts.catalog.writes == writes_before


def test_reconcile_refuses_json_without_plan(parts: Parts) -> None:
    assert parts.run("reconcile", "--json").exit_code == 2


def test_an_unavailable_catalog_ends_explain_and_reconcile_with_a_message(parts: Parts) -> None:
    unavailable_catalog = Counting()
    unavailable_catalog.away = True
    parts.worker = replace(parts.worker, catalog=unavailable_catalog)
    for arguments in (("explain", LAKE, "a", "--look"), ("reconcile", "--plan")):
        result = parts.run(*arguments)
        assert (result.exit_code, "no answer" in result.output) == (1, True)


def test_explain_shows_the_names_in_the_catalog_and_the_one_that_is_used(parts: Parts) -> None:
    explanation = json.loads(parts.run("explain", LAKE, "a", "--look", "--json").output)
    assert [candidate["catalog"] for candidate in explanation["candidates"]][:3] == ["wins", "placeholder", "not there"]
    assert (explanation["found"]["qualified_name"], explanation["rivals"]) == (FOUND_BY_SCAN[1], [])
    unsure = json.loads(parts.run("explain", LAKE, "b", "--look", "--json").output)
    assert (unsure["found"], len(unsure["rivals"])) == (None, 2)
    assert "wins" in parts.run("explain", LAKE, "a", "--look").output
    assert "none is chosen" in parts.run("explain", LAKE, "b", "--look").output
    assert "the placeholder is used" in parts.run("explain", LAKE, OUT[1].rpartition("/")[2], "--look").output
    assert "a placeholder would be created" in parts.run("explain", LAKE, "nowhere", "--look").output


def test_explain_shows_search_results_and_why_they_are_ambiguous(parts: Parts) -> None:
    explanation = json.loads(parts.run("explain", LAKE, "b", "--look", "--json").output)
    assert [(candidate["qualified_name"], candidate["catalog"]) for candidate in explanation["searched"]] == [
        (name, "may be meant") for _, name in sorted(AMBIGUOUS)
    ]
    assert {candidate["because"] for candidate in explanation["searched"]} == {
        "a resource set, under the account's own host, exact spelling"
    }
    output = parts.run("explain", LAKE, "b", "--look").output
    assert "search finds" in output
    assert "may be meant" in output


FILE, FOLDER = (PATH, f"{ROOT}/c/part-00000-x.snappy.parquet"), (PATH, f"{ROOT}/c/")
DAYS = (SET, f"{ROOT}/c/{{Year}}/{{N}}.parquet")
BLOB = ("azure_blob_path", FOLDER[1].replace(".dfs.", ".blob."))


@pytest.mark.parametrize(
    ("scanned_keys", "wins"),
    [
        ([FILE, FOLDER, (SET, f"{ROOT}/c/{{SparkPartitions}}")], (SET, f"{ROOT}/c/{{SparkPartitions}}")),
        ([FILE, FOLDER], FOLDER),
        ([FILE], FILE),
        ([FILE, DAYS], DAYS),
        ([FILE, BLOB], BLOB),
        ([BLOB, FOLDER], FOLDER),
    ],
    ids=["set", "folder", "file", "set by search", "folder of the other host", "own host"],
)
def test_a_resource_set_takes_precedence_over_a_folder_and_a_folder_over_a_file(
    scanned_keys: list[AssetKey], wins: AssetKey
) -> None:
    parts = Parts()
    scan(parts.catalog, *scanned_keys)
    explanation = json.loads(parts.run("explain", LAKE, "c", "--look", "--json").output)
    assert (explanation["found"]["type"], explanation["found"]["qualified_name"]) == wins
    shown_candidates = [*explanation["candidates"], *explanation["searched"]]
    assert [candidate["qualified_name"] for candidate in shown_candidates if candidate["catalog"] == "wins"] == [
        wins[1]
    ]
    assert all(candidate["because"] for candidate in shown_candidates)


def test_ambiguous_matches_are_in_the_status(parts: Parts) -> None:
    parts.run("reconcile")
    output = parts.run("status").output
    assert f"ambiguous: 1 data set with more than one matching catalog asset: {B[1]}" in output
    assert json.loads(parts.run("status", "--json").output)["ambiguous"] == [B[1]]
