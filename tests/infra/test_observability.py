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
    made = re.findall(r"^resource \w+ '[^']+' = (?!existing).*?^ +name: ([^\n]+)", ALERTS, re.DOTALL | re.MULTILINE)
    assert len(made) == 7
    assert all("${prefix}" in name or name in {"actionGroupName", "prefix"} for name in made)


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
        given = {"environmentName": "'prod'", "purviewAccountName": "'contoso'"} | parameters
        body = "".join(f"param {name} = {value}\n" for name, value in given.items())
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

    def names(found: list[dict[str, Any]], kind: str) -> set[str]:
        return {each["name"] for each in found if each["type"] == kind}

    def test_two_environments_in_one_group_have_alerts_of_their_own(
        deployed: list[dict[str, Any]], beside: list[dict[str, Any]]
    ) -> None:
        for kind in ("scheduledQueryRules", "metricAlerts", "workbooks"):
            mine, theirs = (names(each, f"Microsoft.Insights/{kind}") for each in (deployed, beside))
            assert bool(mine)
            assert len(mine) == len(theirs)
            assert not mine & theirs

    def test_each_rule_mails_once_and_when_it_is_resolved(deployed: list[dict[str, Any]]) -> None:
        rules = [each for each in deployed if each["type"] == "Microsoft.Insights/scheduledQueryRules"]
        assert len(rules) == len(RULES)
        for rule in rules:
            what = rule["properties"]
            assert (what["autoMitigate"], what["evaluationFrequency"], what["enabled"]) == (True, "PT5M", True)
            assert len(what["actions"]["actionGroups"]) == 1
            assert "prod" in what["displayName"]

    def test_every_table_that_is_written_is_kept_as_long_as_the_workspace(deployed: list[dict[str, Any]]) -> None:
        tables = {
            each["name"].partition("/")[2]: each["properties"]
            for each in deployed
            if each["type"] == "Microsoft.OperationalInsights/workspaces/tables"
        }
        assert tables.keys() >= {"AppTraces", "AppRequests", "AppExceptions", "AppDependencies", "AppMetrics"}
        kept = {(table["retentionInDays"], table["totalRetentionInDays"]) for table in tables.values()}
        (workspace,) = (each for each in deployed if each["type"] == "Microsoft.OperationalInsights/workspaces")
        assert kept == {(45, 45)}
        assert workspace["properties"]["retentionInDays"] == 45
        assert workspace["properties"]["workspaceCapping"] == {"dailyQuotaGb": 10}

    def test_the_workbook_is_json_with_times_to_choose_from(deployed: list[dict[str, Any]]) -> None:
        (workbook,) = (each for each in deployed if each["type"] == "Microsoft.Insights/workbooks")
        period, *tiles = json.loads(workbook["properties"]["serializedData"])["items"]
        (parameter,) = period["content"]["parameters"]
        choices = [each["durationMs"] for each in parameter["typeSettings"]["selectableValues"]]
        assert parameter["value"]["durationMs"] in choices
        assert choices == sorted(choices)
        assert {tile["content"]["timeContextFromParameter"] for tile in tiles} == {parameter["name"]}
        assert len(tiles) == len(list((INFRA / "queries").glob("*.kql")))

    def test_deletions_are_logged_where_that_is_asked_for(
        deployed: list[dict[str, Any]], beside: list[dict[str, Any]]
    ) -> None:
        settings = [
            sum(each["type"] == "Microsoft.Insights/diagnosticSettings" for each in found)
            for found in (deployed, beside)
        ]
        assert settings[1] == settings[0] + 1
