"""The roles of the identities, the network of the account, and who gets the alerts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cli.checks.azure.apps import App
from cli.checks.azure.deployed import Deployed
from cli.checks.azure.reading import ACTION_GROUPS, ALERT_RULES, STORAGE, get, listed
from cli.checks.findings import Finding, bad, good

ROLES = Path(__file__).parents[3] / "infra/roles.json"
"""The table of rights that the template grants."""


def roles(deployed: Deployed, app: App) -> Iterator[Finding]:
    """Whether an app's identity has each role that the table gives it."""
    subject = f"{app.part}'s roles"
    has = _assigned(deployed, app.principal)
    needed = [grant for grant in json.loads(ROLES.read_text()) if grant["to"] == app.part]
    component = _component(deployed)
    missing = 0
    for grant in needed:
        scope = deployed.storage_id if grant["on"] == "storage" else component
        if scope and not any(role == grant["role"] and _within(scope, at) for role, at in has):
            missing += 1
            what = f"no {grant['name']} on {scope.rpartition('/')[2]}: {grant['reason']}"
            places = {**app.places, "principal": app.principal, "role": grant["name"], "scope": scope}
            yield bad("role-missing", subject, what, **places)
    if not missing:
        yield good(subject, f"all {len(needed)} of infra/roles.json")


def _assigned(deployed: Deployed, principal: str) -> list[tuple[str, str]]:
    """The roles that a principal has, each with its scope: from the account's own up to the subscription's."""
    found = deployed.az.json("role", "assignment", "list", "--assignee", principal, "--all")
    return [(str(each["roleDefinitionId"]).rpartition("/")[2].lower(), str(each["scope"])) for each in found]


def _within(scope: str, at: str) -> bool:
    """Whether a role that was given at one place counts at the other: there, or above it."""
    lower, upper = scope.lower().rstrip("/"), at.lower().rstrip("/")
    return lower == upper or lower.startswith(f"{upper}/")


def _component(deployed: Deployed) -> str:
    """The id of the group's Application Insights; empty where there is none."""
    path = f"{deployed.group_id}/providers/Microsoft.Insights/components"
    return next((str(each["id"]) for each in listed(deployed.az, path, "2020-02-02")), "")


def network(deployed: Deployed, apps: tuple[App, ...]) -> Iterator[Finding]:
    """Whether the account lets the apps in."""
    found = get(deployed.az, deployed.storage_id, STORAGE)
    if found is None:
        name = deployed.outputs["STORAGE_ACCOUNT_NAME"]
        yield bad("account-missing", "storage account", f"there is no account {name}", **deployed.places)
        return
    properties = found["properties"]
    closed = _closed(properties)
    outside = [app.name for app in apps if not app.properties.get("virtualNetworkSubnetId")]
    if closed and outside:
        what = f"closed to public networks; {', '.join(outside)} in no network"
        yield bad("account-closed", "storage account", what, **deployed.places)
    else:
        yield good("storage account", "closed to public networks" if closed else "open to public networks")


def _closed(properties: Mapping[str, Any]) -> bool:
    rules = (properties.get("networkAcls") or {}).get("defaultAction")
    return properties.get("publicNetworkAccess") == "Disabled" or rules == "Deny"


_RECEIVERS = "Receivers"
"""How the lists of an action group end that name who gets a message: emailReceivers, smsReceivers …"""


def alerts(deployed: Deployed) -> Iterator[Finding]:
    """Whether there are alert rules, and somebody who gets what they say."""
    base = f"{deployed.group_id}/providers/Microsoft.Insights"
    rules = list(listed(deployed.az, f"{base}/scheduledQueryRules", ALERT_RULES))
    if not rules:
        yield bad("alerts-missing", "alerts", "there are no alert rules", **deployed.places)
        return
    groups = list(listed(deployed.az, f"{base}/actionGroups", ACTION_GROUPS))
    people = sum(_people(each["properties"]) for each in groups)
    if people:
        yield good("alerts", f"{len(rules)} rules, {people} receivers")
    else:
        yield bad("alerts-unheard", "alerts", f"{len(rules)} rules, and nobody is told", **deployed.places)


def _people(group: Mapping[str, Any]) -> int:
    if not group.get("enabled", True):
        return 0
    return sum(len(value) for key, value in group.items() if key.endswith(_RECEIVERS) and isinstance(value, list))
