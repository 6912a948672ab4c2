"""The roles of the identities, the network of the account, and who gets the alerts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from throughline.cli.checks.azure.apps import FunctionApp, parts_of
from throughline.cli.checks.azure.deployed import Deployed, accounts_of
from throughline.cli.checks.azure.reading import ACTION_GROUPS, ALERT_RULES, COMPONENTS, get, listed, once
from throughline.cli.checks.findings import CheckResult, bad, good
from throughline.project import ROOT

ROLES = ROOT / "infra/roles.json"
"""The table of rights that the template grants."""


def roles(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Whether an app's identity has each role that the table gives it."""
    subject = f"{app.part}'s roles"
    has = _assigned(deployed, app.principal)
    needed = needed_roles(deployed, app.part)
    wrong = []
    for role_needed in needed:
        if any(role == role_needed["role"] and _within(role_needed["scope"], scope) for role, scope in has):
            continue
        problem = f"no {role_needed['name']} on {role_needed['scope'].rpartition('/')[2]}: {role_needed['reason']}"
        places = {**app.places, "principal": app.principal, "role": role_needed["name"], "scope": role_needed["scope"]}
        wrong.append(bad("role-missing", subject, problem, **places))
    yield from wrong or [good(subject, f"all {len(needed)} of infra/roles.json")]


def needed_roles(
    deployed: Deployed, part: str, table: Sequence[Mapping[str, str]] | None = None
) -> list[Mapping[str, str]]:
    """The rows for a part (receiver, worker, lineage) in the table of rights, each with its `scope`: a resource id.

    `table` is that of ROLES unless given. Raises AzureCliError.
    """
    rows: Sequence[Mapping[str, str]] = json.loads(ROLES.read_text()) if table is None else table
    accounts, data = accounts_of(deployed), deployed.storage_id
    scopes = {
        "storage": data,
        "container": f"{data}/blobServices/default/containers/{{of}}",
        "table": f"{data}/tableServices/default/tables/{{of}}",
        "receiverStorage": deployed.resource(f"Microsoft.Storage/storageAccounts/{accounts.host_of('receiver')}"),
        "lineageStorage": deployed.resource(f"Microsoft.Storage/storageAccounts/{accounts.host_of('lineage')}"),
        "insights": _component(deployed),
    }
    delivery = deployed.outputs["DELIVERY"]
    return [
        {**row, "scope": scopes[row["on"]].format(of=row.get("of", ""))}
        for row in rows
        if row["to"] == part and row.get("when", delivery) == delivery
    ]


def _assigned(deployed: Deployed, principal: str) -> list[tuple[str, str]]:
    """The roles that a principal has, each with its scope: from the account's own up to the subscription's."""
    roles = deployed.az.json("role", "assignment", "list", "--assignee", principal, "--all")
    return [(str(role["roleDefinitionId"]).rpartition("/")[2].lower(), str(role["scope"])) for role in roles]


def _within(scope: str, upper_scope: str) -> bool:
    """Whether a role that was given at one place counts at the other: there, or above it."""
    lower, upper = scope.lower().rstrip("/"), upper_scope.lower().rstrip("/")
    return lower == upper or lower.startswith(f"{upper}/")


@once
def _component(deployed: Deployed) -> str:
    """The id of the group's Application Insights; empty where there is none."""
    components = listed(deployed.az, deployed.resource("Microsoft.Insights/components"), COMPONENTS)
    return next((str(component["id"]) for component in components), "")


def network(deployed: Deployed, apps: tuple[FunctionApp, ...]) -> Iterator[CheckResult]:
    """Whether the accounts are there and let the apps in."""
    accounts = accounts_of(deployed)
    names = dict.fromkeys((accounts.data, *(accounts.host_of(part) for part in parts_of(deployed))))
    missing = [name for name in names if name not in accounts.by_name]
    if missing:
        problem = f"there is no account {', '.join(missing)}"
        yield bad("account-missing", "storage account", problem, **deployed.places)
        return
    closed = [name for name in names if is_closed(accounts.by_name[name]["properties"])]
    outside = [app.name for app in apps if not app.properties.get("virtualNetworkSubnetId")]
    if closed and outside:
        problem = f"{', '.join(closed)} closed to public networks; {', '.join(outside)} in no network"
        yield bad("account-closed", "storage account", problem, **deployed.places)
    else:
        yield good("storage account", "closed to public networks" if closed else "open to public networks")


def is_closed(properties: Mapping[str, Any]) -> bool:
    """Whether an account with these properties lets in only private networks, and services of Azure."""
    rules = (properties.get("networkAcls") or {}).get("defaultAction")
    return properties.get("publicNetworkAccess") == "Disabled" or rules == "Deny"


_RECEIVERS = "Receivers"
"""How the lists of an action group end that name who gets a message: emailReceivers, smsReceivers …"""


def alerts(deployed: Deployed) -> Iterator[CheckResult]:
    """Whether there are alert rules, and receivers of their messages: those of the groups that the rules name."""
    rules = list(listed(deployed.az, deployed.resource("Microsoft.Insights/scheduledQueryRules"), ALERT_RULES))
    if not rules:
        yield bad("alerts-missing", "alerts", "there are no alert rules", **deployed.places)
        return
    groups = {
        group.lower(): group
        for rule in rules
        for group in rule["properties"].get("actions", {}).get("actionGroups", ())
    }
    action_groups = filter(None, (get(deployed.az, group, ACTION_GROUPS) for group in groups.values()))
    people = sum(_people(action_group["properties"]) for action_group in action_groups)
    if people:
        yield good("alerts", f"{len(rules)} rules, {people} receivers")
    else:
        has_address = any(deployed.parameters.get(name) for name in ("alertEmail", "actionGroupIds"))
        places = deployed.places | ({"address": ()} if has_address else {})
        yield bad("alerts-unheard", "alerts", f"{len(rules)} rules without a receiver", **places)


def _people(group: Mapping[str, Any]) -> int:
    if not group.get("enabled", True):
        return 0
    return sum(len(value) for key, value in group.items() if key.endswith(_RECEIVERS) and isinstance(value, list))
