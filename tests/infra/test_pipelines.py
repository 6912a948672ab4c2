"""The pipelines of GitHub Actions and Azure DevOps, by actionlint and by the schemas of check-jsonschema."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from throughline.cli.deploy.command import NO_PROBE

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PIPELINES = sorted((ROOT / ".azdo/pipelines").glob("*.yml"))
VERSION = (ROOT / ".python-version").read_text().strip()
WHAT_IF = 'az deployment group what-if --resource-group "$GROUP" --parameters "$PARAMETERS"'
CREATE = 'az deployment group create --resource-group "$GROUP" --name throughline --parameters "$PARAMETERS"'
DEPLOY = 'python3 -m throughline.cli.deploy "$GROUP" --package'
ARCHIVE = "build/tested/throughline.zip"
PINNED = re.compile(r"uses: (?:\./\S+|\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+)\n")


def load(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text())


def program(name: str) -> str:
    """Return the path of a program that is installed beside Python."""
    return str(Path(sys.executable).with_name(name))


def actionlint(*paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("actionlint"), "-shellcheck", "", "-pyflakes", "", *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def schema(kind: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    # Azure's schema has patterns that are invalid in Unicode mode, and templates' expressions must be removed.
    options = ["--regex-variant", "nonunicode", "--data-transform", "azure-pipelines"] if "azure" in kind else []
    command = [program("check-jsonschema"), "--builtin-schema", f"vendor.{kind}", *options, *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_actionlint_finds_nothing_in_the_workflows() -> None:
    outcome = actionlint(*WORKFLOWS)
    assert outcome.returncode == 0, outcome.stdout


PLANTED = {
    "a variable that is not there": ("github.ref }}", "github.reff }}", 'property "reff" is not defined'),
    "a job that is not there": ("needs: test", "needs: tests", "does not exist"),
    "an input that is not there": ("environment: staging", "enviroment: staging", 'input "enviroment" is not defined'),
    "a right that is not there": ("id-token: write", "id-token: read-write", '"read-write" i'),
    "an event that is not there": ("workflow_dispatch:", "workflow_dispatched:", "unknown Webhook event"),
}


@pytest.mark.parametrize(("old", "new", "message"), PLANTED.values(), ids=PLANTED)
def test_actionlint_finds_planted_errors(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / ".git").mkdir()  # it searches for called workflows below the repository's root
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    copies = [folder / path.name for path in WORKFLOWS]
    for path, copy in zip(WORKFLOWS, copies, strict=True):
        copy.write_text(path.read_text().replace(old, new))
    assert any(copy.read_text() != path.read_text() for path, copy in zip(WORKFLOWS, copies, strict=True))
    outcome = actionlint(*copies)
    assert outcome.returncode == 1
    assert message in outcome.stdout


@pytest.mark.parametrize(("kind", "paths"), [("github-workflows", WORKFLOWS), ("azure-pipelines", PIPELINES)])
def test_workflows_and_pipelines_are_valid_by_their_schema(kind: str, paths: list[Path], tmp_path: Path) -> None:
    outcome = schema(kind, *paths)
    assert outcome.returncode == 0, outcome.stdout
    planted = tmp_path / "planted.yml"
    source = next(path for path in paths if path.name == "azure-dev.yml").read_text()
    planted.write_text(source.replace("jobs:", "jobz:"))
    assert planted.read_text() != source
    assert schema(kind, planted).returncode == 1


def test_every_action_is_pinned_to_a_commit_of_a_release() -> None:
    for path in WORKFLOWS:
        for line in re.findall(r"^.*\buses: .*\n", path.read_text(), re.MULTILINE):
            assert PINNED.search(line), f"{path.name}: {line}"


def test_there_are_no_secrets_and_a_token_only_where_something_is_deployed_or_signed() -> None:
    for path in (*WORKFLOWS, *PIPELINES):
        assert "secrets." not in path.read_text(), path.name
    assert load(ROOT / ".github/workflows/test.yml")["permissions"] == {"contents": "read"}
    release = load(ROOT / ".github/workflows/azure-dev.yml")
    with_token = {name for name, job in release["jobs"].items() if "id-token" in job.get("permissions", {})}
    assert (release["permissions"], with_token) == ({"contents": "read"}, {"attest", "staging", "production"})


def test_github_signs_the_tested_package_and_its_list_of_libraries() -> None:
    steps = load(ROOT / ".github/workflows/azure-dev.yml")["jobs"]["attest"]["steps"]
    templates = [f"build/tested/{name}.json" for name in ("main", "subscription")]
    assert steps[1]["with"]["subject-path"].split() == [ARCHIVE, ARCHIVE.replace(".zip", "-lineage.zip"), *templates]
    assert steps[2]["with"] == {"subject-path": ARCHIVE, "sbom-path": ARCHIVE.replace(".zip", ".cdx.json")}
    names = ("throughline.zip", "throughline-lineage.zip", "throughline.cdx.json", "main.json", "subscription.json")
    assert uploaded()[0] == [f"build/package/{name}" for name in names]


def uploaded() -> list[list[str]]:
    """The files of each artifact of the tests."""
    steps = load(ROOT / ".github/workflows/test.yml")["jobs"]["test"]["steps"]
    return [step["with"]["path"].split() for step in steps if "upload-artifact" in step.get("uses", "")]


def test_a_release_gets_everything_that_was_tested_with_its_digests(tmp_path: Path) -> None:
    """The job's script, run as the runner runs it, on what `download-artifact` leaves, with a program for `gh`."""
    job = load(ROOT / ".github/workflows/azure-dev.yml")["jobs"]["release"]
    assert (job["needs"], job["if"]) == ("attest", "startsWith(github.ref, 'refs/tags/v')")
    package, libraries = uploaded()
    places = [path.rpartition("/")[2] for path in package]  # below the folder that all paths of an artifact share
    places += [path.removeprefix("build/").replace("*", "throughline-0.1.0") for path in libraries]
    for place in places:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(place)
    files = [Path(place).name for place in places]
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin/gh"
    gh.write_text('#!/bin/sh\necho "$*" >> bin/calls\ntest "$2" != view\n')
    gh.chmod(0o755)
    environment = {"PATH": f"{gh.parent}:/usr/bin:/bin", "GITHUB_REF_NAME": "v0.1.0"}
    script = job["steps"][-1]["run"]
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    subprocess.run(shell, cwd=tmp_path, env=environment, check=True, capture_output=True)
    view, create, upload = (gh.parent / "calls").read_text().splitlines()
    assert (view, create) == ("release view v0.1.0", "release create v0.1.0 --verify-tag --draft")
    assert upload.startswith("release upload v0.1.0 --clobber SHA256SUMS ")
    assert sorted(upload.split()[5:]) == sorted(files)
    assert {line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()} == set(files)


def test_github_deploys_the_tested_package_to_staging_then_to_production() -> None:
    jobs = load(ROOT / ".github/workflows/azure-dev.yml")["jobs"]
    assert [(name, job.get("needs")) for name, job in jobs.items()] == [
        ("test", None),
        ("attest", "test"),
        ("release", "attest"),
        ("staging", "test"),
        ("production", "staging"),
    ]
    assert jobs["test"]["uses"] == "./.github/workflows/test.yml"
    assert [jobs[name]["with"]["environment"] for name in ("staging", "production")] == ["staging", "production"]
    deploy = load(ROOT / ".github/workflows/deploy-to.yml")["jobs"]["deploy"]
    assert deploy["environment"] == "${{ inputs.environment }}"
    steps = [step.get("run", step.get("uses", "")).partition("@")[0] for step in deploy["steps"]]
    order = ["actions/checkout", "actions/download-artifact", "Azure/login", WHAT_IF, CREATE, f"{DEPLOY} {ARCHIVE}"]
    assert [re.sub(r" --output none$", "", step) for step in steps] == order
    assert deploy["env"]["PARAMETERS"] == "infra/${{ inputs.environment }}.bicepparam"
    assert deploy["runs-on"] == "${{ vars.THROUGHLINE_RUNNER || 'ubuntu-24.04' }}", "closed networks have their own"
    assert set(deploy["steps"][-1]["env"]) == {NO_PROBE}


def test_azure_devops_deploys_the_tested_package_to_staging_then_to_production() -> None:
    test, *deployments = load(ROOT / ".azdo/pipelines/azure-dev.yml")["stages"]
    assert test["stage"] == "test"
    pool = "${{ parameters.pool }}"
    assert [deployment["parameters"] for deployment in deployments] == [
        {"environment": "staging", "after": "test", "pool": pool},
        {"environment": "production", "after": "staging", "pool": pool},
    ]
    (stage,) = load(ROOT / ".azdo/pipelines/deploy-to.yml")["stages"]
    (job,) = stage["jobs"]
    assert (job["environment"], stage["pool"]) == ("throughline-${{ parameters.environment }}", pool)
    steps = job["strategy"]["runOnce"]["deploy"]["steps"]
    script = next(step for step in steps if step.get("task") == "AzureCLI@2")["inputs"]["inlineScript"]
    commands = (
        script.replace("\\\n", "").replace("$AZURE_RESOURCE_GROUP", "$GROUP").replace("$parameters", "$PARAMETERS")
    )
    lines = [re.sub(r" +", " ", line) for line in commands.splitlines()]
    assert lines[1:] == [
        "parameters=infra/${{ parameters.environment }}.bicepparam",
        WHAT_IF,
        f"{CREATE} --output none",
        f'{DEPLOY} "$(Pipeline.Workspace)/throughline/throughline.zip"',
    ]


def test_the_deploying_identity_may_grant_the_template_s_roles_and_no_others() -> None:
    """The condition is read by Azure: https://learn.microsoft.com/azure/role-based-access-control/conditions-format."""
    condition = (ROOT / "infra/deployer-condition.txt").read_text()
    roles = sorted({row["role"] for row in json.loads((ROOT / "infra/roles.json").read_text())})
    assert re.findall(r"GuidEquals \{([^}]*)\}", condition) == [", ".join(roles)] * 2
    assert re.findall(r"roleAssignments/(\w+)'", condition) == ["write", "delete"]
    assert '--condition "$(cat infra/deployer-condition.txt)"' in (ROOT / "docs/operate/pipelines.md").read_text()


def test_workflows_and_pipelines_use_the_python_version_of_the_package() -> None:
    for path in WORKFLOWS:
        assert path.read_text().count("python-version-file: .python-version") == path.read_text().count("setup-python@")
    for path in PIPELINES:
        assert re.findall(r'versionSpec: "([\d.]+)"', path.read_text()) == [VERSION] * path.read_text().count(
            "UsePython"
        )
