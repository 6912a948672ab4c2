"""The templates' logs, their retention, and the alerts' mails. The queries have tests of their own."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
ALERTS = (INFRA / "modules/alerts.bicep").read_text()
TABLE = json.loads((INFRA / "alerts.json").read_text())
RULES = TABLE["log"]
THROTTLED = {
    "ClientAccountBandwidthThrottlingError",
    "ClientAccountRequestThrottlingError",
    "ClientThrottlingError",
    "ServerBusyError",
    "SuccessWithThrottling",
}
"""Values of the dimension ResponseType: https://learn.microsoft.com/azure/storage/blobs/monitor-blob-storage-reference."""

LOOK_BACK = {"PT15M", "P1D", "P2D"}
"""The windows in use, at most two days: https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-create-log-alert-rule."""


# ---- the templates' source


def test_no_diagnostic_setting_duplicates_stored_logs() -> None:
    """Application Insights has the apps' logs, and Azure Monitor keeps platform metrics itself."""
    texts = {path.name: path.read_text() for path in INFRA.rglob("*.bicep")}
    for copied in ("FunctionAppLogs", "AllMetrics", "category: 'Transaction'"):
        assert [name for name, text in texts.items() if copied in text] == []


def test_alerts_are_named_by_environment() -> None:
    resource_names = re.findall(
        r"^resource \w+ '[^']+' = (?!existing).*?^ +name: ([^\n]+)", ALERTS, re.DOTALL | re.MULTILINE
    )
    assert len(resource_names) == 7
    assert all("${prefix}" in name or name in {"actionGroupName", "prefix"} for name in resource_names)


def test_the_throttling_alert_counts_every_kind_of_throttled_response() -> None:
    (rule,) = [row for row in TABLE["metric"] if row["name"] == "throttling"]
    assert set(rule["only"]["ResponseType"]) == THROTTLED | {"ServerTimeoutError"}


def test_only_rules_with_ago_in_their_query_have_a_look_back() -> None:
    """Unless `lookBack` is set, a rule runs its query over the window only, even with a longer `ago()`."""
    for rule in RULES:
        look_back = rule.get("lookBack")
        assert {rule.get("window", "PT15M"), look_back} <= LOOK_BACK | {None}
        query = (INFRA / f"queries/{rule['name']}.kql").read_text()
        assert ("ago(" in query) == (look_back == "P2D"), rule["name"]


# ---- the templates as the compiler evaluates them


if shutil.which("bicep"):  # it can't be installed everywhere

    def resources(folder: Path, **parameters: str) -> list[dict[str, Any]]:
        """Return the resources of main.bicep, by the compiler's snapshot."""
        parameter_values = {"environmentName": "'prod'", "purviewAccountName": "'contoso'"} | parameters
        body = "".join(f"param {name} = {value}\n" for name, value in parameter_values.items())
        file = folder / "main.bicepparam"
        file.write_text(f"using '{os.path.relpath(INFRA / 'main.bicep', folder)}'\n{body}")
        place = ["--subscription-id", str(UUID(int=1)), "--resource-group", "rg", "--location", "westeurope"]
        command = ["bicep", "snapshot", str(file), "--mode", "overwrite", *place]
        subprocess.run(command, capture_output=True, check=True, timeout=120)
        predicted_resources: list[dict[str, Any]] = json.loads(file.with_suffix(".snapshot.json").read_text())[
            "predictedResources"
        ]
        return predicted_resources

    @pytest.fixture(scope="module")
    def deployed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
        return resources(tmp_path_factory.mktemp("prod"), alertEmail="'ada@example.com'", retentionDays="45")

    @pytest.fixture(scope="module")
    def beside(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
        """Another environment, with deletions logged."""
        return resources(tmp_path_factory.mktemp("test"), environmentName="'test'", logDeletes="true")

    def names(deployed_resources: list[dict[str, Any]], kind: str) -> set[str]:
        return {resource["name"] for resource in deployed_resources if resource["type"] == kind}

    def test_two_environments_in_one_group_have_alerts_of_their_own(
        deployed: list[dict[str, Any]], beside: list[dict[str, Any]]
    ) -> None:
        for kind in ("scheduledQueryRules", "metricAlerts", "workbooks"):
            own_names, other_names = (
                names(resource_list, f"Microsoft.Insights/{kind}") for resource_list in (deployed, beside)
            )
            assert bool(own_names)
            assert len(own_names) == len(other_names)
            assert not own_names & other_names

    def test_each_rule_mails_once_and_when_it_is_resolved(deployed: list[dict[str, Any]]) -> None:
        rules = [resource for resource in deployed if resource["type"] == "Microsoft.Insights/scheduledQueryRules"]
        assert len(rules) == len(RULES)
        for rule in rules:
            properties = rule["properties"]
            assert (properties["autoMitigate"], properties["evaluationFrequency"], properties["enabled"]) == (
                True,
                "PT5M",
                True,
            )
            assert len(properties["actions"]["actionGroups"]) == 1
            assert "prod" in properties["displayName"]

    def test_every_table_that_is_written_is_kept_as_long_as_the_workspace(deployed: list[dict[str, Any]]) -> None:
        tables = {
            resource["name"].partition("/")[2]: resource["properties"]
            for resource in deployed
            if resource["type"] == "Microsoft.OperationalInsights/workspaces/tables"
        }
        assert tables.keys() >= {"AppTraces", "AppRequests", "AppExceptions", "AppDependencies", "AppMetrics"}
        retention_days = {(table["retentionInDays"], table["totalRetentionInDays"]) for table in tables.values()}
        (workspace,) = (
            resource for resource in deployed if resource["type"] == "Microsoft.OperationalInsights/workspaces"
        )
        assert retention_days == {(45, 45)}
        assert workspace["properties"]["retentionInDays"] == 45
        assert workspace["properties"]["workspaceCapping"] == {"dailyQuotaGb": 10}

    def test_the_workbook_is_json_with_times_to_choose_from(deployed: list[dict[str, Any]]) -> None:
        (workbook,) = (resource for resource in deployed if resource["type"] == "Microsoft.Insights/workbooks")
        period, *tiles = json.loads(workbook["properties"]["serializedData"])["items"]
        (parameter,) = period["content"]["parameters"]
        choices = [choice["durationMs"] for choice in parameter["typeSettings"]["selectableValues"]]
        assert parameter["value"]["durationMs"] in choices
        assert choices == sorted(choices)
        assert {tile["content"]["timeContextFromParameter"] for tile in tiles} == {parameter["name"]}
        assert len(tiles) == len(list((INFRA / "queries").glob("*.kql")))

    def test_deletions_are_logged_where_that_is_asked_for(
        deployed: list[dict[str, Any]], beside: list[dict[str, Any]]
    ) -> None:
        settings = [
            sum(resource["type"] == "Microsoft.Insights/diagnosticSettings" for resource in resource_list)
            for resource_list in (deployed, beside)
        ]
        assert settings[1] == settings[0] + 1
