"""Deployments on record in Azure: which one counts, and what is deployed again with its parameters."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.infra.azure_stand_in import AzureStandIn
from throughline.cli.deploy.azure_cli import AzureCli
from throughline.cli.deploy.command import main
from throughline.cli.deploy.progress import DeployError, Progress
from throughline.cli.deploy.record import deploy_template, last_good

CREATE = "deployment group create"
PARAMETERS = {"environmentName": "lineage", "purviewAccountName": "pv"}


def made(
    name: str, time: str, parameters: Mapping[str, Any] = PARAMETERS, *, state: str = "Succeeded"
) -> Mapping[str, Any]:
    return {
        "name": name,
        "properties": {
            "provisioningState": state,
            "timestamp": f"2026-11-{time}+00:00",
            "parameters": {key: {"value": value} for key, value in parameters.items()},
            "outputs": {"receiveR_NAME": {"value": name}} if state == "Succeeded" else None,
        },
    }


@pytest.fixture
def az(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AzureStandIn:
    stand_in = AzureStandIn(tmp_path / "bin")
    monkeypatch.setenv("PATH", stand_in.environment()["PATH"])
    stand_in.answer(CREATE, {"name": "throughline"})
    return stand_in


def test_the_newest_good_deployment_counts_whatever_made_and_named_it(az: AzureStandIn) -> None:
    az.answer(
        "deployment group list",
        [
            made("throughline", "01T10:00:00"),
            made("lineage-1763632800", "20T10:00:00.5"),  # azd's
            made("lineage-1763700000", "21T10:00:00", state="Failed"),
            {"name": "roles-abc", "properties": {"timestamp": "2026-11-22T10:00:00+00:00", "parameters": {}}},
        ],
    )
    assert last_good(AzureCli(), "rg").name == "lineage-1763632800"


def test_a_group_without_a_good_deployment_is_an_error_that_shows_what_it_has(az: AzureStandIn) -> None:
    az.answer("deployment group list", [made("throughline", "01T10:00:00", state="Failed")])
    with pytest.raises(DeployError, match=r"no deployment of .* that ended well.*az deployment group list"):
        last_good(AzureCli(), "rg")


def test_several_environments_in_a_group_must_be_named(az: AzureStandIn) -> None:
    az.answer(
        "deployment group list",
        [made("one", "01T10:00:00"), made("two", "02T10:00:00", PARAMETERS | {"environmentName": "test"})],
    )
    with pytest.raises(DeployError, match="name one by --environment: lineage, test"):
        last_good(AzureCli(), "rg")
    assert last_good(AzureCli(), "rg", "lineage").name == "one"
    with pytest.raises(DeployError, match="of environment prod that ended well"):
        last_good(AzureCli(), "rg", "prod")


def test_the_template_is_deployed_again_with_all_parameters_on_record(
    az: AzureStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is left out gets its default: shadow mode would end, settings and the alerts' address would be lost."""
    extra_parameters: dict[str, Any] = {
        "shadow": True,
        "settings": {"THROUGHLINE_SHOW_SQL": "true"},
        "instances": 3,
        "alertEmail": "ann@example.com",
        "pythonVersion": "3.11",
        "secret": None,
    }
    az.answer("deployment group list", [made("lineage-1", "20T10:00:00", PARAMETERS | extra_parameters)])
    assert main(["rg", "--template", "--set", "retentionDays=60"], {}) == 0
    (call,) = az.of(CREATE)
    end = call.arguments.index("--only-show-errors")
    file, *changes = call.arguments[call.arguments.index("--parameters") + 1 : end]
    kept_parameters = {name: parameter["value"] for name, parameter in json.loads(file)["parameters"].items()}
    assert kept_parameters == PARAMETERS | {
        key: extra_parameters[key] for key in ("shadow", "settings", "instances", "alertEmail")
    }
    assert changes == ["retentionDays=60"]
    assert "without pythonVersion, secret: done" in capsys.readouterr().err, "the template has them no longer"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("alertEmail=YOU@EXAMPLE.COM", "stands for an address of yours"),
        ("alertMail=ann@acme.com", "has no parameter alertMail"),
        ("alertEmail", "--set takes NAME=VALUE, not 'alertEmail'"),
    ],
)
def test_an_invented_or_unknown_value_is_refused(
    az: AzureStandIn, change: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    az.answer("deployment group list", [made("throughline", "20T10:00:00")])
    assert main(["rg", "--template", "--set", change], {}) == 1
    assert message in capsys.readouterr().err
    assert not az.of(CREATE)


def test_the_deployment_on_record_is_deployed_by_az(az: AzureStandIn) -> None:
    az.answer("deployment group list", [made("throughline", "20T10:00:00")])
    progress_text = io.StringIO()
    deploy_template(AzureCli(), "rg", last_good(AzureCli(), "rg"), {}, Progress(progress_text))
    (call,) = az.of(CREATE)
    assert call.options["--template-file"].endswith("infra/main.bicep")
    assert "deploy infra/main.bicep with the parameters of throughline: done" in progress_text.getvalue()
