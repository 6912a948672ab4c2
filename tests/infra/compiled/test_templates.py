"""The compiler and its linter accept the templates, and find planted mistakes."""

import json
import shutil
from pathlib import Path

import pytest

from tests.infra.snapshots import INFRA, bicep


@pytest.mark.parametrize("name", ["main.bicep", "subscription.bicep"])
def test_the_linter_finds_no_problem(name: str) -> None:
    outcome = bicep("lint", INFRA / name, "--diagnostics-format", "sarif")
    problems = [
        f"{result['ruleId']}: {result['message']['text']} ({result['locations'][0]['physicalLocation']})"
        for run in json.loads(outcome.stdout)["runs"]
        for result in run["results"]
    ]
    assert problems == []
    assert outcome.returncode == 0, outcome.stderr


def test_the_files_have_the_compiler_s_own_format(tmp_path: Path) -> None:
    copy = shutil.copytree(INFRA, tmp_path / "infra")
    outcome = bicep("format", "--pattern", f"{copy}/**/*.bicep")
    assert outcome.returncode == 0, outcome.stderr
    files = sorted(INFRA.rglob("*.bicep"))
    assert files
    differing = [path.name for path in files if (copy / path.relative_to(INFRA)).read_text() != path.read_text()]
    assert differing == [], "run: bicep format --pattern 'infra/**/*.bicep'"


def test_rules_that_are_off_by_default_stop_the_build(tmp_path: Path) -> None:
    """A planted violation of each rule: outputs as a module's parameters, a module's name, a plain object."""
    copy = shutil.copytree(INFRA, tmp_path / "infra")
    main = copy / "main.bicep"
    text = main.read_text()
    planted = (
        text.replace("'modules/storage.bicep' = {", "'modules/storage.bicep' = {\n  name: 'storage'", 1)
        .replace("receiverIdentityName: receiver.identityName", "receiverIdentityName: functions.outputs.receiverUrl")
        .replace("param tags { *: string } = {}", "param tags object = {}")
    )
    main.write_text(planted)
    outcome = bicep("build", main, "--outfile", tmp_path / "main.json")
    assert outcome.returncode == 1
    for rule in ("what-if-short-circuiting", "no-module-name", "use-user-defined-types"):
        assert f"Error {rule}" in outcome.stderr
