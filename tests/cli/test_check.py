"""`throughline check`: over the record: its output, its files and its exit codes."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]  # ships no types

from shared.atlas.columns import column_name
from shared.catalog.port import AssetKey, Classified
from shared.errors import CatalogRefused, CatalogUnavailable
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source, step
from tests.support.cli import Parts
from tests.support.memory_catalog import MemoryCatalog, MemoryClassifications
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.support.sarif import SARIF

MASKED = step("DIRECT", "TRANSFORMATION", masking=True)
RULES = """\
[[tag]]
classification = "PII"
datasets = "/raw/customer"
columns = "email"

[[policy]]
name = "training"
datasets = "/gold/*"
{demand}
"""


def written(parts: Parts, source_name: str, target: str, columns: dict[str, dict[str, Any]], minute: float = 0) -> None:
    """A job that makes columns of `target` of those of the same name."""
    schema = {"fields": [{"name": name, "type": "string"} for name in columns]}
    edges = lineage({name: [source(source_name, name, transformation)] for name, transformation in columns.items()})
    event = body(
        run=target,
        application=target,
        minute=minute,
        inputs=[dataset(source_name, schema=schema)],
        outputs=[dataset(target, schema=schema, columnLineage=edges)],
    )
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


@pytest.fixture
def parts() -> Parts:
    """The record of two jobs; one of them masks the address."""
    loaded_parts = Parts()
    written(loaded_parts, "/raw/customer", "/silver/customer", {"id": IDENTITY, "email": MASKED})
    written(loaded_parts, "/silver/customer", "/gold/customer", {"id": IDENTITY, "email": IDENTITY}, minute=5)
    return loaded_parts


def file(folder: Path, demand: str, **fields: str) -> str:
    place = folder / "policy.toml"
    place.write_text(RULES.format(demand=demand, **fields))
    return str(place)


def test_check_ends_with_0_if_all_policies_hold(parts: Parts, tmp_path: Path) -> None:
    result = parts.run("check", file(tmp_path, 'no_tag = "PII"\nsources_only = "/raw/*"'))
    assert (result.exit_code, result.output) == (
        0,
        "HOLDS  training: no_tag PII\nHOLDS  training: sources_only /raw/*\n2 held\n",
    )


def test_a_planted_edge_breaks_a_policy_and_is_named(parts: Parts, tmp_path: Path) -> None:
    written(parts, "/raw/customer", "/gold/leak", {"email": IDENTITY}, minute=9)
    result = parts.run("check", file(tmp_path, 'no_tag = "PII"'))
    assert result.exit_code == 3
    assert (
        "BROKEN  training: no_tag PII\n  PII reaches leak.email\n    customer.email → leak.email by " in result.output
    )
    assert result.output.endswith("\n1 broken\n")
    single_result = parts.run("check", file(tmp_path, 'no_tag = "PII"'), "--dataset", "/gold/customer")
    assert (single_result.exit_code, single_result.output) == (0, "HOLDS  training: no_tag PII\n1 held\n")


def test_an_unknown_verdict_ends_with_4_unless_the_policy_only_warns(parts: Parts, tmp_path: Path) -> None:
    event = body(run="x", application="x", minute=9, inputs=["/raw/x"], outputs=["/gold/x"])
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    result = parts.run("check", file(tmp_path, 'no_tag = "PII"'))
    assert result.exit_code == 4
    assert "NOT KNOWN  training: no_tag PII\n  no column of x is known\n" in result.output
    assert parts.run("check", file(tmp_path, 'no_tag = "PII"\nunknown = "warn"')).exit_code == 0


@pytest.mark.parametrize("demand", ["quality_passed = true", "unchanged_since = 2026-01-01"])
def test_demands_about_facts_of_the_lake_are_unknown_on_the_record_and_name_the_lake(
    parts: Parts, tmp_path: Path, demand: str
) -> None:
    result = parts.run("check", file(tmp_path, demand))
    assert result.exit_code == 4
    assert "check a lake instead, named by --lake" in result.output


def test_check_of_a_record_without_lineage_ends_with_4(tmp_path: Path) -> None:
    assert Parts().run("check", file(tmp_path, 'no_tag = "PII"')).exit_code == 4


def test_rules_without_an_effect_are_reported(parts: Parts, tmp_path: Path) -> None:
    mask_rule = '[[mask]]\ncolumns = "id"\nauthor = "a"\nreason = "r"\nexpires = 2020-01-31\n'
    place = Path(file(tmp_path, 'no_tag = "PII"'))
    place.write_text(place.read_text().replace("email", "emial") + mask_rule)
    result = parts.run("check", str(place), "--json", "-")
    assert result.exit_code == 0
    assert [(entry["line"], entry["text"]) for entry in json.loads(result.output)["no_effect"]] == [
        (1, "[[tag]] has no effect: no column has datasets /raw/customer and columns emial"),
        (10, "[[mask]] has no effect: it expired on 2020-01-31"),
    ]
    lines = parts.run("check", str(place)).output.splitlines()
    assert f"{place}:1: [[tag]] has no effect: no column has datasets /raw/customer and columns emial" in lines


def test_a_wrong_file_is_refused_with_all_its_mistakes(parts: Parts, tmp_path: Path) -> None:
    result = parts.run("check", file(tmp_path, 'no_tags = "PII"\nfresh_within = "soon"'))
    assert result.exit_code == 2
    assert "no_tags. Did you mean no_tag?" in result.stderr
    assert "fresh_within must be a length of time" in result.stderr
    (tmp_path / "empty.toml").write_text("")
    assert "has no policy" in parts.run("check", str(tmp_path / "empty.toml")).stderr
    assert "can't be read" in parts.run("check", str(tmp_path / "none.toml")).stderr
    other = parts.run("check", file(tmp_path, 'no_tag = "PII"'), "--dataset", "/raw/customer")
    assert (other.exit_code, "is about /raw/customer" in other.stderr) == (2, True)
    unknown = parts.run("check", file(tmp_path, 'no_tag = "PII"'), "--dataset", "/gold/custmer")
    assert (unknown.exit_code, "no data set like" in unknown.stderr) == (1, True)


RULES_WITH_CLASSIFICATION = RULES.replace('columns = "email"', 'columns = "email"\nclassified_as = "MICROSOFT.*"')


def policy_with_classification(folder: Path, demand: str = 'no_tag = "PII"') -> str:
    place = folder / "policy.toml"
    place.write_text(RULES_WITH_CLASSIFICATION.format(demand=demand))
    return str(place)


def classified(parts: Parts, name: str) -> None:
    """As a scan of the catalog does."""
    assert parts.worker.classifications
    keys = [("column", column_name(*key, "email")) for key in parts.catalog.assets if "raw" in key[1]]
    entities = parts.worker.classifications.classified(keys)
    parts.worker.classifications.attach(name, [entity.guid for entity in entities.values()])


class Gone(MemoryClassifications):
    """A catalog that does not answer, or refuses."""

    def __init__(self, error: Exception) -> None:
        super().__init__(MemoryCatalog())
        self.error = error

    def classified(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Classified]:  # noqa: ARG002 - the port's
        raise self.error


def test_a_classification_begins_at_columns_classified_by_scans(parts: Parts, tmp_path: Path) -> None:
    written(parts, "/raw/customer", "/gold/leak", {"email": IDENTITY}, minute=9)
    first_result = parts.run("check", policy_with_classification(tmp_path))
    assert first_result.exit_code == 0, first_result.output
    assert "[[tag]] has no effect: no column has" in first_result.output, "it was read, and nothing is there"
    classified(parts, "MICROSOFT.EMAIL")
    result = parts.run("check", policy_with_classification(tmp_path))
    assert result.exit_code == 3
    assert "PII reaches leak.email\n    customer.email → leak.email by " in result.output
    assert "no effect" not in result.output


def test_a_classification_that_we_attached_does_not_begin_another(parts: Parts, tmp_path: Path) -> None:
    written(parts, "/raw/customer", "/gold/leak", {"email": IDENTITY}, minute=9)
    rules = tmp_path / "rules.toml"
    rules.write_text('[[tag]]\nclassification = "MICROSOFT.X"\ndatasets = "/raw/*"\ncolumns = "email"\n')
    assert parts.run("classify", "apply", "--rules", str(rules)).exit_code == 0
    assert parts.run("check", policy_with_classification(tmp_path)).exit_code == 0


@pytest.mark.parametrize(
    ("catalog", "reason"),
    [
        (Gone(CatalogUnavailable("The catalog answered 503")), "The catalog answered 503"),
        (Gone(CatalogRefused(status=403, code="", detail="no role")), "no role"),
        (None, "no catalog is configured"),
    ],
)
def test_demands_on_classifications_are_unknown_if_the_catalog_cannot_be_read(
    parts: Parts, tmp_path: Path, catalog: Gone | None, reason: str
) -> None:
    parts.worker = replace(parts.worker, classifications=catalog)
    result = parts.run("check", policy_with_classification(tmp_path, 'no_tag = "PII"\nsources_only = "/raw/*"'))
    assert result.exit_code == 4, result.output
    assert (
        "it is not known where PII begins: the rule in line 1 asks for the catalog's classifications" in result.output
    )
    assert "which were not read (" in result.output
    assert reason in result.output
    assert "HOLDS  training: sources_only" in result.output
    assert "no effect" not in result.output, "the effect is unknown"
    assert parts.run("check", file(tmp_path, 'no_tag = "PII"')).exit_code == 0, "it does not ask the catalog"


@pytest.fixture
def record_with_a_broken_demand(parts: Parts, tmp_path: Path) -> tuple[Parts, str]:
    """A record that breaks one demand of three; one only warns."""
    written(parts, "/raw/customer", "/gold/leak", {"email": IDENTITY}, minute=9)
    demand = 'no_tag = "PII"\nsources_only = "/raw/*"\n[[policy]]\nname = "a, b: c"\nquality_passed = true'
    return parts, file(tmp_path, f'{demand}\ndatasets = "/gold/*"\nunknown = "warn"')


def test_junit_has_a_case_for_each_demand(record_with_a_broken_demand: tuple[Parts, str], tmp_path: Path) -> None:
    parts, place = record_with_a_broken_demand
    result = parts.run("check", place, "--junit", str(tmp_path / "check.xml"))
    assert result.exit_code == 3
    suite = ET.parse(tmp_path / "check.xml").getroot()  # noqa: S314 - our own text
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped", "errors")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    assert [(case.get("classname"), case.get("name"), [element.tag for element in case]) for case in suite] == [
        ("training", "no_tag PII", ["failure"]),
        ("training", "sources_only /raw/*", []),
        ("a, b: c", "quality_passed", ["skipped"]),
    ]
    assert "customer.email → leak.email" in str(suite[0][0].text)


def test_sarif_is_valid_by_its_schema(record_with_a_broken_demand: tuple[Parts, str], tmp_path: Path) -> None:
    parts, place = record_with_a_broken_demand
    parts.run("check", place, "--sarif", str(tmp_path / "check.sarif"))
    log = json.loads((tmp_path / "check.sarif").read_text())
    assert list(Draft7Validator(SARIF).iter_errors(log)) == []
    run = log["runs"][0]
    results = run["results"]
    assert [(finding["ruleId"], finding["level"]) for finding in results] == [
        ("no_tag", "error"),
        ("quality_passed", "warning"),
    ]
    assert {finding["ruleId"] for finding in results} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    location = results[0]["locations"][0]["physicalLocation"]
    assert location["region"]["startLine"] == 9
    assert place.endswith(location["artifactLocation"]["uri"].rpartition("/")[2])
    del results[0]["message"]
    assert list(Draft7Validator(SARIF).iter_errors(log)), "the schema refuses something"


def test_annotations_have_the_syntax_of_github_and_azure_pipelines(
    record_with_a_broken_demand: tuple[Parts, str],
) -> None:
    parts, place = record_with_a_broken_demand
    github = parts.run("check", place, "--annotations", "github").output.splitlines()
    (error,) = (annotation for annotation in github if annotation.startswith("::error "))
    assert error.startswith(f"::error file={place},line=9,title=training%3A no_tag PII::PII reaches leak.email%0A")
    (warning,) = (annotation for annotation in github if annotation.startswith("::warning "))
    assert ",title=a%2C b%3A c%3A quality_passed::" in warning
    azure = parts.run("check", place, "--annotations", "azure").output.splitlines()
    (error,) = (annotation for annotation in azure if "type=error" in annotation)
    assert error.startswith(f"##vso[task.logissue type=error;sourcepath={place};linenumber=9]training: no_tag PII: PII")
    assert not re.search(r"%(?!AZP25|0A|0D)", error)


def test_only_one_report_can_be_written_to_standard_output(record_with_a_broken_demand: tuple[Parts, str]) -> None:
    parts, place = record_with_a_broken_demand
    result = parts.run("check", place, "--json", "-", "--annotations", "github")
    check_results = json.loads(result.stdout)["results"]
    assert [check_result["verdict"] for check_result in check_results] == ["broken", "holds", "not known"]
    assert [check_result["fails"] for check_result in check_results] == [True, False, False]
    assert "::error" in result.stderr
    assert parts.run("check", place, "--json", "-", "--junit", "-").exit_code == 2
    assert "can't be written" in parts.run("check", place, "--junit", f"{place}/x.xml").stderr
