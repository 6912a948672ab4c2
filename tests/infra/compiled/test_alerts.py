"""The rules that need no log, evaluated over what Azure Monitor records: samples of metrics, rows of the activity log.

Shapes: https://learn.microsoft.com/azure/azure-monitor/platform/activity-log-schema, for metrics the minutes' values of
https://learn.microsoft.com/azure/app-service/monitor-app-service-reference. Azure evaluated none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.infra.compiled.conftest import VARIANTS
from tests.infra.snapshots import GROUP, Snapshot

Variant = Callable[[str], Snapshot]
RECEIVER = f"{GROUP}/providers/Microsoft.Web/sites/func-lineage-receiver-mz35fqtkh47iw"
WORKER = RECEIVER.replace("-receiver-", "-worker-")
PLAN = f"{GROUP}/providers/Microsoft.Web/serverfarms/plan-lineage-apps"
_AGGREGATE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Average": lambda values: sum(values) / len(values),
    "Total": sum,
}
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThan": lambda value, threshold: value > threshold,
    "LessThan": lambda value, threshold: value < threshold,
}


def rule(snapshot: Snapshot, kind: str, name: str) -> Mapping[str, Any]:
    (properties,) = [
        resource["properties"]
        for resource in snapshot.of(f"Microsoft.Insights/{kind}")
        if resource["name"] == f"throughline-lineage-{name}"
    ]
    assert isinstance(properties, Mapping)
    return properties


def raised_by_metric(properties: Mapping[str, Any], metric: str, minutes: Sequence[float]) -> bool:
    """Whether the values of the last minutes raise an alert. Azure evaluates no rule without a value."""
    (criterion,) = properties["criteria"]["allOf"]
    values = minutes[-int(properties["windowSize"].strip("PTM")) :]
    if criterion["metricName"] != metric or not values:
        return False
    return _COMPARE[criterion["operator"]](_AGGREGATE[criterion["timeAggregation"]](values), criterion["threshold"])


def raised_by_record(properties: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether a row of the activity log raises an alert."""

    def value(path: str) -> str:
        part: Any = record
        for name in path.split("."):
            part = part.get(name, {})
        return str(part.get("value", "") if isinstance(part, Mapping) else part).casefold()

    def holds(condition: Mapping[str, Any]) -> bool:
        accepted_values = condition.get("containsAny") or [condition["equals"]]
        return value(condition["field"]) in [text.casefold() for text in accepted_values]

    inside = any(record["resourceId"].casefold().startswith(scope.casefold()) for scope in properties["scopes"])
    return inside and all(holds(condition) for condition in properties["condition"]["allOf"])


METRICS = {
    "all instances answer": ("receiver-unhealthy", "HealthCheckStatus", [100] * 5, False),
    "one of two does not answer for five minutes": ("receiver-unhealthy", "HealthCheckStatus", [50] * 5, True),
    "none answers": ("receiver-unhealthy", "HealthCheckStatus", [100, 100, 0, 0, 0], True),
    "an instance restarts": ("receiver-unhealthy", "HealthCheckStatus", [100, 50, 50, 100, 100], False),
    "a single error": ("receiver-5xx", "Http5xx", [0, 0, 1, 0, 0], False),
    "the front end answers 503": ("receiver-5xx", "Http5xx", [0, 0, 0, 2, 2], True),
    "errors that are over": ("receiver-5xx", "Http5xx", [9, 0, 0, 0, 0, 0], False),
    "no request": ("receiver-5xx", "Http5xx", [], False),
}


@pytest.mark.parametrize(("name", "metric", "minutes", "alert"), METRICS.values(), ids=METRICS)
def test_a_metric_s_values_raise_the_alert(
    name: str, metric: str, minutes: list[float], alert: bool, variant: Variant
) -> None:
    properties = rule(variant("default"), "metricAlerts", name)
    assert properties["evaluationFrequency"] == "PT1M"
    assert properties["scopes"] == [RECEIVER]
    assert raised_by_metric(properties, metric, minutes) is alert


def health(resource: str, now: str, status: str = "Active") -> Mapping[str, Any]:
    return {
        "category": {"value": "ResourceHealth", "localizedValue": "Resource Health"},
        "operationName": {"value": "Microsoft.Resourcehealth/healthevent/Activated/action"},
        "resourceId": resource,
        "status": {"value": status},
        "properties": {"currentHealthStatus": now, "previousHealthStatus": "Available", "cause": "PlatformInitiated"},
    }


def done(operation: str, resource: str = RECEIVER, status: str = "Succeeded") -> Mapping[str, Any]:
    return {
        "category": {"value": "Administrative"},
        "operationName": {"value": operation},
        "resourceId": resource,
        "status": {"value": status},
        "properties": {"entity": resource},
    }


RECORDS = {
    "the receiver is unavailable": (health(RECEIVER, "Unavailable"), {"resource-health"}),
    "its plan is degraded": (health(PLAN, "Degraded", "In Progress"), {"resource-health"}),
    "it is available again": (health(RECEIVER, "Available", "Resolved"), set()),
    "the worker is unavailable": (health(WORKER, "Unavailable"), set()),
    "the receiver was stopped": (done("Microsoft.Web/sites/stop/Action"), {"receiver-stopped"}),
    "somebody may not stop it": (done("Microsoft.Web/sites/stop/Action", status="Failed"), set()),
    "it was deleted": (done("Microsoft.Web/sites/delete"), {"receiver-stopped"}),
    "it was started": (done("Microsoft.Web/sites/start/Action"), set()),
    "the slot was restarted": (done("Microsoft.Web/sites/slots/restart/Action", f"{RECEIVER}/slots/staging"), set()),
    "the worker was stopped": (done("Microsoft.Web/sites/stop/Action", WORKER), set()),
}


@pytest.mark.parametrize(("record", "alerts"), RECORDS.values(), ids=RECORDS)
def test_a_row_of_the_activity_log_raises_the_alert(
    record: Mapping[str, Any], alerts: set[str], variant: Variant
) -> None:
    snapshots = variant("closed"), variant("default")
    for snapshot in snapshots:
        rules = {name: rule(snapshot, "activityLogAlerts", name) for name in ("resource-health", "receiver-stopped")}
        assert {name for name, properties in rules.items() if raised_by_record(properties, record)} == alerts


def test_the_receiver_s_address_is_called_from_three_places_without_a_key(variant: Variant) -> None:
    """The host's 401 comes before any of our code, so nothing is stored; 403 is a stopped app, 503 one in error."""
    snapshot = variant("default")
    (test,) = snapshot.of("Microsoft.Insights/webtests")
    properties = test["properties"]
    assert (properties["Request"]["HttpVerb"], properties["ValidationRules"]["ExpectedHttpStatusCode"]) == ("POST", 401)
    assert "Headers" not in properties["Request"]
    assert properties["Request"]["RequestUrl"].endswith("/api/v1/lineage']") or "api/v1/lineage" in str(properties)
    assert (properties["Frequency"], len(properties["Locations"]), properties["RetryEnabled"]) == (300, 3, True)
    down = rule(snapshot, "metricAlerts", "receiver-down")
    assert (down["severity"], down["windowSize"], down["criteria"]["failedLocationCount"]) == (0, "PT5M", 2)
    assert down["criteria"]["webTestId"] == test["id"]


@pytest.mark.parametrize("name", ["closed", "given"])
def test_no_test_calls_a_receiver_that_the_internet_does_not_reach(name: str, variant: Variant) -> None:
    """There the health check, the activity log and silence speak."""
    assert variant(name).of("Microsoft.Insights/webtests") == []
    assert rule(variant(name), "metricAlerts", "receiver-unhealthy")["scopes"] == [RECEIVER]


@pytest.mark.parametrize("name", VARIANTS)
def test_the_platform_looks_at_each_instance_of_the_receiver(name: str, variant: Variant) -> None:
    snapshot = variant(name)
    flex = VARIANTS[name].get("plan") == "flex"
    bodies = [snapshot.body("receiver"), *(slot["properties"] for slot in snapshot.of("Microsoft.Web/sites/slots"))]
    for body in bodies:
        assert body["siteConfig"].get("healthCheckPath") == (None if flex else "/")
    assert "healthCheckPath" not in snapshot.body("worker")["siteConfig"]
    assert snapshot.settings("receiver")["WEBSITE_HEALTHCHECK_MAXPINGFAILURES"] == "2"
    plans = [plan["sku"]["capacity"] for plan in snapshot.of("Microsoft.Web/serverfarms") if not flex]
    assert plans == ([] if flex else [2]), "one restarts, one answers"


def test_alerts_go_to_given_groups_beside_the_mail_and_name_a_runbook(variant: Variant) -> None:
    group = VARIANTS["given"]["actionGroupIds"][0]
    own_group = f"{GROUP}/providers/Microsoft.Insights/actionGroups/ag-lineage"
    snapshot = variant("given")
    for alert in snapshot.of("Microsoft.Insights/scheduledQueryRules"):
        assert alert["properties"]["actions"]["actionGroups"] == [group, own_group]
        name = alert["name"].removeprefix("throughline-lineage-")
        assert alert["properties"]["actions"]["customProperties"] == {
            "alert": name,
            "runbook": "https://wiki.example.com/lineage",
        }
        assert "https://wiki.example.com/lineage" in alert["properties"]["description"]
    actions = [each["properties"]["actions"] for each in snapshot.of("Microsoft.Insights/metricAlerts")]
    actions += [
        each["properties"]["actions"]["actionGroups"] for each in snapshot.of("Microsoft.Insights/activityLogAlerts")
    ]
    assert {tuple(target["actionGroupId"] for target in action) for action in actions} == {(group, own_group)}
    for alert in variant("default").of("Microsoft.Insights/scheduledQueryRules"):
        assert alert["properties"]["actions"]["actionGroups"] == []


def test_a_budget_tells_the_same_people_before_and_after_it_is_spent(variant: Variant) -> None:
    assert variant("default").of("Microsoft.Consumption/budgets") == []
    (budget,) = variant("given").of("Microsoft.Consumption/budgets")
    properties = budget["properties"]
    assert (properties["amount"], properties["timeGrain"], properties["timePeriod"]) == (
        400,
        "Monthly",
        {"startDate": "2026-12-01"},
    )
    notifications = properties["notifications"]
    assert {
        name: (notification["thresholdType"], notification["threshold"]) for name, notification in notifications.items()
    } == {
        "Actual80": ("Actual", 80),
        "Actual100": ("Actual", 100),
        "Forecasted110": ("Forecasted", 110),
    }
    for notification in notifications.values():
        assert notification["enabled"] is True
        assert notification["contactEmails"] == ["ann@example.com"]
        assert notification["contactGroups"] == VARIANTS["given"]["actionGroupIds"]


@pytest.mark.parametrize("name", VARIANTS)
def test_the_rule_that_application_insights_makes_by_itself_is_declared_and_off(name: str, variant: Variant) -> None:
    (rule_of_platform,) = variant(name).of("microsoft.alertsManagement/smartDetectorAlertRules")
    (component,) = variant(name).of("Microsoft.Insights/components")
    assert rule_of_platform["name"] == f"Failure Anomalies - {component['name']}"
    assert rule_of_platform["properties"]["state"] == "Disabled"
    assert rule_of_platform["properties"]["scope"] == [component["id"]]


def test_reads_of_events_are_logged_on_demand(variant: Variant) -> None:
    def audited(name: str) -> list[str]:
        settings = variant(name).of("Microsoft.Insights/diagnosticSettings")
        logs = [setting["properties"]["logs"] for setting in settings if "/blobServices/" in setting["id"]]
        return [row["category"] for log in logs for row in log if row["enabled"]]

    assert audited("default") == []
    assert audited("given") == ["StorageRead"]
