"""Calls of `az`, against a stand-in that answers as it does."""

import dataclasses
from pathlib import Path

import pytest

from tests.infra.azure_stand_in import AzureStandIn, Failure, changed_case
from throughline.cli.deploy import azure_cli
from throughline.cli.deploy.azure_cli import AzureCli, AzureCliError
from throughline.cli.deploy.record import last_good


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AzureStandIn:
    az = AzureStandIn(tmp_path / "bin")
    for name, value in az.environment().items():
        monkeypatch.setenv(name, value)
    return az


def test_every_call_names_the_subscription(stand_in: AzureStandIn) -> None:
    stand_in.answer("account show", {"name": "lineage"})
    assert AzureCli(subscription="1-2-3").json("account", "show", "--query", "name") == "lineage"
    assert AzureCli().json("account", "show") == {"name": "lineage"}
    first, second = stand_in.calls
    assert first.options["--subscription"] == "1-2-3"
    assert first.options["--output"] == "json"
    assert "--subscription" not in second.options


def test_an_empty_output_is_none(stand_in: AzureStandIn) -> None:
    stand_in.answer("group show", {"name": "rg"})
    assert AzureCli().json("group", "show", "--query", "Name") is None  # JMESPath is case-sensitive


CASES = {
    "RECEIVER_NAME": "receiveR_NAME",
    "DELIVERY": "delivery",
    "SiteAddress": "siteAddress",
    "SCM_BUILD_ARGS": "scM_BUILD_ARGS",
    "already": "already",
}


@pytest.mark.parametrize("name", CASES)
def test_the_stand_in_changes_case_as_resource_manager_does(name: str) -> None:
    assert changed_case(name) == CASES[name]


def test_outputs_are_found_in_any_case(stand_in: AzureStandIn) -> None:
    stand_in.outputs("rg", {"RECEIVER_NAME": "func-receiver", "INSTANCES": 2, "DELIVERY": ""})
    outputs = last_good(AzureCli(subscription="s"), "rg").outputs
    assert outputs == {"RECEIVER_NAME": "func-receiver", "INSTANCES": "2", "DELIVERY": ""}
    assert stand_in.calls[0].options["--subscription"] == "s"


FAILURES = {
    "no right": (
        Failure(code="AuthorizationFailed", message="The client 'me' does not have authorization."),
        ("AuthorizationFailed", 1, "Ask an Owner"),
    ),
    "no quota": (
        Failure(code="Unauthorized", message="Operation cannot be completed without additional quota."),
        ("Unauthorized", 1, "quota of its region"),
    ),
    "another system topic": (
        Failure(code="InvalidRequest", message="Only one system topic is allowed per source."),
        ("InvalidRequest", 1, "eventTopicName"),
    ),
    "a policy": (
        Failure(code="RequestDisallowedByPolicy", message="Resource 'st' was disallowed by policy."),
        ("RequestDisallowedByPolicy", 1, "docs/operate/policies.md"),
    ),
    "no provider": (
        Failure(code="MissingSubscriptionRegistration", message="The subscription is not registered to use namespace"),
        ("MissingSubscriptionRegistration", 1, "az provider register"),
    ),
    "not signed in": (Failure(message="Please run 'az login' to setup account."), ("", 1, "Sign in: az login")),
    "as JSON": (
        Failure(message='{"status": "Failed", "error": {"code": "DeploymentFailed", "message": "…"}}'),
        ("DeploymentFailed", 1, "DeploymentFailed"),
    ),
    "as nothing known": (Failure(message="It broke.", exit_code=7), ("", 7, "It broke.")),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_error_has_code_exit_code_command_and_advice(stand_in: AzureStandIn, name: str) -> None:
    failure, (code, exit_code, text) = FAILURES[name]
    stand_in.answer("group show", failure)
    with pytest.raises(AzureCliError) as error_info:
        AzureCli(subscription="s").json("group", "show", "--name", "rg")
    assert (error_info.value.code, error_info.value.exit_code) == (code, exit_code)
    assert error_info.value.command == ("az", "group", "show", "--name", "rg", "--subscription", "s")
    assert "`az group show --name rg --subscription s` failed: " in str(error_info.value)
    assert text in str(error_info.value)


def test_the_error_for_a_missing_az_names_its_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AzureCliError, match="Install the Azure CLI") as error_info:
        AzureCli().json("version")
    assert error_info.value.exit_code == 127


def test_secrets_stay_out_of_errors(stand_in: AzureStandIn) -> None:
    stand_in.answer("keyvault secret set", Failure(message="Refused: https://host/hook?code=hunter2&x=1"))
    with pytest.raises(AzureCliError) as error_info:
        AzureCli().json("keyvault", "secret", "set", "--value", "hunter2", "--name", "https://h/?code=hunter2")
    assert "hunter2" not in f"{error_info.value} {error_info.value.command}"
    assert "&x=1" in str(error_info.value)


def test_invalid_json_from_az_is_an_error(stand_in: AzureStandIn) -> None:
    (stand_in.folder / "az").write_text("#!/bin/sh\necho '<html>'\n")
    with pytest.raises(AzureCliError, match="something else than JSON"):
        AzureCli().json("account", "show")


def test_the_stand_in_gives_answers_in_order_and_repeats_the_last(stand_in: AzureStandIn) -> None:
    stand_in.answer("functionapp show", Failure(message="no"), {"state": "Stopped"}, {"state": "Running"})
    with pytest.raises(AzureCliError):
        AzureCli().json("functionapp", "show")
    states = [AzureCli().json("functionapp", "show", "--query", "state") for _ in range(3)]
    assert states == ["Stopped", "Running", "Running"]


def test_a_call_without_an_answer_is_an_error(stand_in: AzureStandIn) -> None:
    with pytest.raises(AzureCliError, match="misspelled or not recognized"):
        AzureCli().json("functionap", "show")
    assert stand_in.of("functionap show")
    assert dataclasses.is_dataclass(stand_in.calls[0])


def test_on_windows_the_python_of_az_is_started_without_cmd_exe(tmp_path: Path) -> None:
    batch = tmp_path / "CLI2/wbin/az.cmd"
    assert azure_cli._program(None, windows=True) == ()
    assert azure_cli._program(str(batch), windows=True) == (str(batch),)  # an installation of another kind
    (tmp_path / "CLI2").mkdir()
    (tmp_path / "CLI2/python.exe").touch()
    assert azure_cli._program(str(batch), windows=True) == (str(tmp_path / "CLI2/python.exe"), "-IBm", "azure.cli")
    assert azure_cli._program("/usr/bin/az", windows=False) == ("/usr/bin/az",)
