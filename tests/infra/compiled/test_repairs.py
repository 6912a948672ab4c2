"""No command that doctor prints harms when it is copied as it is: what it would deploy is evaluated and compared."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.doctor.played_azure import GROUP, healthy
from tests.cli.doctor.test_deployment import CASES, check
from tests.infra.azure_stand_in import AzureStandIn
from tests.infra.compiled.conftest import ALWAYS, VARIANTS
from tests.infra.snapshots import GROUP as AZURE_GROUP
from tests.infra.snapshots import Snapshot, snapshot
from tests.support.deployment import Root
from throughline.cli.checks.findings import SECTIONS
from throughline.cli.deploy.command import main

CLOSED = {
    **ALWAYS,
    **VARIANTS["given"],
    "redact": True,
    "settings": {"THROUGHLINE_SHOW_SQL": "true"},
    "storageRedundancy": "Standard_ZRS",
    "tags": {"costCenter": "42"},
}
"""A production that is as far from the defaults as a company makes it."""

TEMPLATE = f"python3 -m throughline.cli.deploy {GROUP} --template"
HARMLESS = (
    r"az (login|upgrade|account list|group create --name|deployment (operation )?group list|webapp log tail)\b",
    r"az (storage account (list|show)|functionapp config access-restriction show|keyvault secret list)\b",
    r"az (functionapp start|functionapp restart|role assignment create|storage message clear)\b",
    r"(curl --verbose|pipx install|make|unset|export HTTPS_PROXY=|export THROUGHLINE_COLLECTION=) ?",
    r"az resource list\b",
    r"throughline (status|doctor|types|deadletter list|verify --plan|purview grant)\b",
    r"python3 -m throughline\.cli\.deploy \S+( --environment \S+)?( --subscription .+)?$",
    r"az functionapp keys set\b",  # a key for a test, which it prints
    r"az functionapp config set .*--always-on true",
)
"""Commands that read, start, grant or deploy the code: they change no network, no redaction and no address."""


@pytest.fixture(scope="module")
def root() -> Iterator[Root]:
    served = Root()
    yield served
    served.close()


@pytest.fixture(scope="module")
def printed(root: Root) -> set[str]:
    """The commands of every case, printed for the closed production."""
    commands = set()
    for case in CASES.values():
        root.status = 200
        azure = healthy(root.url)
        azure.parameters = dict(CLOSED)
        case.change(azure, root)
        commands |= {finding.command for finding in check(azure)[0] if finding.command}
    return commands


def test_the_commands_of_every_rule_are_read_run_or_harmless(printed: set[str]) -> None:
    commands = printed | {rule.shown for rules in SECTIONS.values() for rule in rules}
    template = re.compile(r"python3 -m throughline\.cli\.deploy (rg-lineage|GROUP) --template")
    safe = [re.compile(pattern) for pattern in HARMLESS]
    assert {
        command for command in commands if not any(pattern.match(command) for pattern in (*safe, template))
    } == set()
    harmful = re.compile(r"network-rule add|--default-action|publicNetwork\w*=|redact")
    assert [command for command in commands if harmful.search(command)] == []


def deployed(command: str, folder: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """Run a printed command against a stand-in for Azure, and evaluate what it would deploy."""
    az = AzureStandIn(folder / "bin")
    az.outputs(GROUP, {"RECEIVER_NAME": "r", "WORKER_NAME": "w"}, CLOSED)
    az.answer("deployment group create", {})
    monkeypatch.setenv("PATH", az.environment()["PATH"])
    program, module, name, *words = shlex.split(command)
    assert (program, module, name) == ("python3", "-m", "throughline.cli.deploy")
    assert main(words, {}) == 0
    (call,) = az.of("deployment group create")
    end = call.arguments.index("--only-show-errors")
    file, *changes = call.arguments[call.arguments.index("--parameters") + 1 : end]
    parameters: dict[str, Any] = {key: parameter["value"] for key, parameter in json.loads(file)["parameters"].items()}
    for change in changes:
        key, _, value = change.partition("=")
        parameters[key] = json.loads(value) if value in {"true", "false"} else value
    return snapshot(folder / "snapshot", template, parameters)


def safety(variant_snapshot: Snapshot) -> Mapping[str, Any]:
    """What a repair must not lose: closed networks, redaction, and who gets alerts."""
    return {
        "accounts": [
            (account["properties"]["publicNetworkAccess"], account["properties"]["networkAcls"]["defaultAction"])
            for account in variant_snapshot.of("Microsoft.Storage/storageAccounts")
        ],
        "apps": [variant_snapshot.body(app)["publicNetworkAccess"] for app in ("receiver", "worker")],
        "redaction": [variant_snapshot.settings(app)["THROUGHLINE_REDACT"] for app in ("receiver", "worker")],
        "actions": [
            alert["properties"]["actions"]["actionGroups"]
            for alert in variant_snapshot.of("Microsoft.Insights/scheduledQueryRules")
        ],
    }


def test_a_repair_deploys_what_is_deployed_already(
    printed: set[str], template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_before = snapshot(tmp_path / "before", template, CLOSED)
    groups = [*CLOSED["actionGroupIds"], f"{AZURE_GROUP}/providers/Microsoft.Insights/actionGroups/ag-lineage"]
    assert safety(snapshot_before) == {
        "accounts": [("Disabled", "Deny")] * 2,
        "apps": ["Disabled", "Disabled"],
        "redaction": ["True", "True"],
        "actions": [groups] * 16,
    }
    repairs = sorted(command for command in printed if command.startswith(TEMPLATE))
    assert repairs == [TEMPLATE, f"{TEMPLATE} --set privateNetwork=true"]
    for number, command in enumerate(repairs):
        folder = tmp_path / str(number)
        folder.mkdir()
        snapshot_after = deployed(command, folder, template, monkeypatch)
        assert snapshot_after == snapshot_before, command


def test_defaults_in_place_of_the_parameters_on_record_would_be_found(template: Path, tmp_path: Path) -> None:
    """The mistake of a command with two names to fill in."""
    open_snapshot = snapshot(tmp_path / "opened", template, ALWAYS)
    assert safety(open_snapshot)["accounts"] == [("Enabled", "Allow")] * 2
    assert safety(open_snapshot)["redaction"] == ["False", "False"]
