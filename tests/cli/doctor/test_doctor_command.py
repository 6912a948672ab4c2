"""`throughline doctor --group` as a command: with a program in place of `az`, its output, its JSON, its exit codes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from shared.bootstrap import Worker
from shared.naming.names import BUILT_IN
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.sweeping.sweep import SweepOptions
from tests.cli.doctor.played_azure import EVENTS, GROUP, SECRET, WORKER, PlayedAzure, healthy
from tests.infra.azure_stand_in import AzureStandIn, Failure
from tests.support.cli import Parts
from tests.support.deployment import Root
from tests.support.installation import installation
from tests.support.memory_catalog import MemoryCatalog
from throughline.cli.checks.azure.deployed import DeploymentQuery
from throughline.cli.checks.azure.deployment import check_deployment
from throughline.cli.checks.findings import SECTIONS
from throughline.cli.commands.operate.doctor import report
from throughline.cli.main import app


@pytest.fixture(scope="module")
def root() -> Iterator[Root]:
    azure_root = Root()
    yield azure_root
    azure_root.close()


def stand_in(folder: Path, azure: PlayedAzure) -> AzureStandIn:
    """A program `az` that gives each answer which this Azure gives to doctor."""
    list(check_deployment(azure, DeploymentQuery(group=GROUP)))
    program = AzureStandIn(folder)
    for arguments, answer in azure.answered:
        first = next((place for place, argument in enumerate(arguments) if argument.startswith("--")), len(arguments))
        options = {}
        for place, argument in enumerate(arguments):
            following = arguments[place + 1 : place + 2]
            if (
                argument.startswith("--")
                and following
                and not following[0].startswith("--")
                and argument != "--metrics"
            ):
                options[argument.removeprefix("--").replace("-", "_")] = following[0]
        program.answer(" ".join(arguments[:first]), answer, **options)
    return program


def run(program: AzureStandIn, *arguments: str) -> Result:
    parts = Worker(
        storage=MemoryStorage(),
        catalog=MemoryCatalog(),
        publishing=PublishOptions(),
        sweeping=SweepOptions(),
        names=BUILT_IN,
    )
    return CliRunner().invoke(app, ["doctor", *arguments], obj=parts, env=program.environment(COLUMNS="80"))


def test_a_healthy_deployment_ends_with_0_and_only_good_lines(tmp_path: Path, root: Root) -> None:
    program = stand_in(tmp_path / "bin", healthy(root.url))
    result = run(program, "--group", GROUP)
    assert result.exit_code == 0, result.output
    assert all(line.startswith("good") for line in result.output.splitlines()), result.output
    assert "deployment  lineage-1763632800 in rg-lineage: 8 outputs" in result.output, "by azd's name"
    assert "storage  answers" in result.output, "the data is looked at too"
    assert SECRET not in result.output
    assert len(program.calls) < 45, "each call of az takes a second"


TOKEN = "token-of-az"  # noqa: S105 - planted, as the secret


def reported(azure: PlayedAzure, *, as_json: bool) -> int:
    """The exit code of a report on a deployment."""
    try:
        report(check_deployment(azure, DeploymentQuery(group=GROUP)), as_json=as_json)
    except typer.Exit as end:
        return end.exit_code
    return 0


def test_json_has_a_code_for_each_finding_that_is_not_good(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    azure = healthy(root.url)
    azure.rows.clear()
    azure.poison = 32
    assert reported(azure, as_json=True) == 1
    printed = capsys.readouterr().out
    report = json.loads(printed)
    assert report["good"] is False
    assert {tuple(finding) for finding in report["findings"]} == {
        ("subject", "state", "found", "code", "means", "command")
    }
    wrong = {finding["code"]: finding for finding in report["findings"] if finding["state"] != "good"}
    assert set(wrong) == {"sweeper-silent", "poison-queue"}
    assert wrong["poison-queue"]["found"] == "32 messages or more"
    assert wrong["sweeper-silent"]["command"] == f"az functionapp restart --resource-group {GROUP} --name {WORKER}"
    assert all(not finding["code"] for finding in report["findings"] if finding["state"] == "good")
    assert SECRET not in printed


def test_a_check_that_cannot_be_made_ends_with_3(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    azure = healthy(root.url)
    azure.failing["role assignment list"] = "(InternalServerError) Something broke."
    assert reported(azure, as_json=False) == 3
    assert "?     worker roles  (InternalServerError) Something broke." in capsys.readouterr().out


def test_a_bad_finding_is_shown_with_meaning_code_and_command(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    azure = healthy(root.url)
    azure.resources.pop(EVENTS)
    assert reported(azure, as_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    index = lines.index("bad   Event Grid  no subscription 'events'")
    meaning, command = lines[index + 1 : index + 3]
    assert meaning.startswith("      The second step of the deployment")
    assert meaning.endswith("(subscription-missing)")
    assert command.strip() == f"python3 -m throughline.cli.deploy {GROUP}"


def test_a_missing_az_and_a_missing_sign_in_are_reported(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(app, ["doctor", "--group", GROUP], env={"PATH": str(tmp_path / "empty")})
    assert result.exit_code == 1
    assert "(az-missing)" in result.output
    assert "pipx install azure-cli" in result.output
    program = AzureStandIn(tmp_path / "bin")
    program.answer("account show", Failure(message="Please run 'az login' to setup account."))
    result = run(program, "--group", GROUP, "--json")
    assert [finding["code"] for finding in json.loads(result.stdout)["findings"]] == ["", "az-signed-out"]
    assert result.exit_code == 1


def test_a_canary_of_a_deployment_gets_key_and_token_by_az(tmp_path: Path) -> None:
    parts = Parts()
    with installation(parts.worker, key=SECRET, token=TOKEN) as url:
        azure = healthy(url)
        azure.outputs |= {"entrA_APPLICATION_ID": "client-id"}
        program = stand_in(tmp_path / "bin", azure)
        program.answer("functionapp keys list", {"functionKeys": {"default": SECRET}, "masterKey": "m"})
        program.answer("account get-access-token", {"accessToken": TOKEN}, scope="api://client-id/.default")
        for command in (("canary",), ("doctor", "--listener")):
            result = CliRunner().invoke(
                app, [*command, "--group", GROUP], obj=parts.worker, env=program.environment(COLUMNS="80")
            )
            assert result.exit_code == 0, result.output
            assert "the process is gone" in result.output
            assert SECRET not in result.output
    assert parts.catalog.processes == {}
    program.answer("account get-access-token", Failure(message="AADSTS65001: no consent", exit_code=1))
    result = CliRunner().invoke(app, ["canary", "--group", GROUP], obj=parts.worker, env=program.environment())
    assert result.exit_code == 1
    assert "allow the Azure CLI in the registration" in " ".join(result.output.split())
    result = CliRunner().invoke(app, ["canary", "--group", "elsewhere"], obj=parts.worker, env=program.environment())
    assert result.exit_code == 1
    assert "az" in result.output


def test_help_fits_80_columns_and_shows_each_example_on_a_line() -> None:
    result = CliRunner().invoke(app, ["doctor", "--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    lines = [line.rstrip() for line in result.output.splitlines()]
    assert max(map(len, lines)) <= 80
    for example in (
        "throughline doctor --listener",
        "throughline doctor --group GROUP --subscription NAME --json",
        "throughline doctor --group GROUP --listener",
    ):
        assert any(line.strip() == example for line in lines), example
    assert any("0 all is good, 1 something is bad, 2 wrong arguments" in line for line in lines)


def test_every_code_has_one_rule_and_every_rule_a_command() -> None:
    rules = [rule for rules in SECTIONS.values() for rule in rules]
    assert len({rule.code for rule in rules}) == len(rules)
    assert [rule.code for rule in rules if not (rule.symptom and rule.means and rule.command)] == []
