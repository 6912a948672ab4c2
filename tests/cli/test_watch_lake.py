"""`throughline watch --lake` and `throughline check --lake`, on a lake that the pipeline has made."""

import json
from pathlib import Path
from typing import Any

from tests.support.building import IDENTITY, Json, body, dataset, source
from tests.support.building import lineage as columns_of
from tests.support.cli import Parts
from tests.support.command_process import ProcessOfCommands
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

POLICY = """
[[policy]]
name = "only raw"
datasets = "clean"
sources_only = ["raw"]
no_failed_upstream = true

[[policy]]
name = "tested"
datasets = "clean"
quality_passed = true

[[policy]]
name = "as it was"
datasets = "clean"
unchanged_since = 2026-11-21T10:15:00Z
"""
ON_BOTH = ("sources_only", "no_failed_upstream")


def with_test(name: str, schema: Json, **facets: Any) -> Json:
    """A data set with its schema, and the successful test of a column."""
    passed = {"assertion": "not_null", "column": "a", "success": True}
    return dataset(name, schema=schema, dataQualityAssertions={"assertions": [passed]}, **facets)


def event(run: str, minute: float, *columns: str, other: bool) -> str:
    """A run that copies these columns of `raw`, as a line; with `other` it reads one more table, and a test fails."""
    schema = {"fields": [{"name": column, "type": "string"} for column in columns]}
    edges = {column: [source("raw", column, IDENTITY)] for column in columns}
    inputs = [with_test("raw", schema)]
    if other:
        edges["a"].append(source("other", "a", IDENTITY))
        failed = {"assertion": "unique", "column": "a", "success": False}
        inputs.append(dataset("other", schema=schema, dataQualityAssertions={"assertions": [failed]}))
    output_dataset = with_test("clean", schema, columnLineage=columns_of(edges))
    return json.dumps(body(run=run, application=run, minute=minute, inputs=inputs, outputs=[output_dataset]))


HISTORY = (event("run0", 0, "a", "b", other=False), event("run1", 30, "a", other=True))


def outputs_of_watch(folder: Path) -> list[tuple[str, list[Json]]]:
    """Run the lake, check it and look at it after each of two runs, and look once more: the outputs, with the results
    of the check before.
    """
    parts, events, lake = Parts(), folder / "events", str(folder / "lake")
    policy = str(folder / "policy.toml")
    events.mkdir()
    printed = []
    for number, line in enumerate(HISTORY):
        (events / f"{number}.jsonl").write_text(line)
        lake_result = parts.run("lake", "run", str(events), "--lake", lake, "--engine", "sail")
        assert lake_result.exit_code == 0, lake_result.output
        assert "1 file, " in lake_result.output
        checked = json.loads(parts.run("check", policy, "--lake", lake, "--json", "-").stdout)["results"]
        looks = 1 + number
        for _ in range(looks):
            rules = str(folder / "watch.toml")
            watch_result = parts.run("watch", "--once", "--rules", rules, "--policy", policy, "--lake", lake)
            assert watch_result.exit_code == 0, watch_result.output
            printed.append((watch_result.output, checked))
    return printed


def checked_record(folder: Path, *lines: str) -> list[Json]:
    """The results of the check of a record of these events."""
    parts = Parts()
    for place in post(parts.storage, *(line.encode() for line in lines)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    results: list[Json] = json.loads(parts.run("check", str(folder / "policy.toml"), "--json", "-").stdout)["results"]
    return results


def demands_known_to_both(results: list[Json]) -> list[Json]:
    """The results of demands that the record knows too."""
    shared_results = [result for result in results if result["demand"].split()[0] in ON_BOTH]
    assert len(shared_results) == len(ON_BOTH)
    return shared_results


def verdicts(results: list[Json]) -> dict[str, str]:
    return {result["demand"].split()[0]: result["verdict"] for result in results}


def test_a_lake_is_watched_and_checked_by_policies(tmp_path: Path, sail_process: ProcessOfCommands) -> None:
    log = tmp_path / "messages.jsonl"
    rules = f'[channels.log]\nkind = "file"\npath = "{log.as_posix()}"\n[[rules]]\nto = ["log"]\n'
    (tmp_path / "watch.toml").write_text(rules)
    (tmp_path / "policy.toml").write_text(POLICY)
    (_, results_before), (changed, results_after), (second_output, _) = sail_process.call(outputs_of_watch, tmp_path)
    assert set(verdicts(results_before).values()) == {"holds"}
    assert verdicts(results_after) == {
        "sources_only": "broken",
        "no_failed_upstream": "holds",
        "quality_passed": "broken",
        "unchanged_since": "broken",
    }
    assert demands_known_to_both(results_before) == demands_known_to_both(checked_record(tmp_path, *HISTORY[:1]))
    assert demands_known_to_both(results_after) == demands_known_to_both(checked_record(tmp_path, *HISTORY))
    (failed,) = (result for result in results_after if result["demand"].startswith("quality"))
    assert [finding["text"] for finding in failed["findings"]] == ["unique failed on other.a"]

    assert "decided" in changed
    assert "0 messages decided, 0 sent" in second_output
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    kinds_of: dict[str, set[str]] = {}
    for message in messages:
        kinds_of.setdefault(message["subject"]["name"], set()).update(change["kind"] for change in message["changes"])
    assert kinds_of["raw"] == {"column_dropped"}
    assert {"column_dropped", "source_came"} <= kinds_of["clean"]
    assert {name for name, kinds in kinds_of.items() if "gate_broken" in kinds} == {"only raw", "tested", "as it was"}
