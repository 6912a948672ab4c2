"""The way to a deployment: CLI, sign-in, subscription, group, the deployment's record, its outputs."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from cli.checks.azure.deployed import EVENT_GRID, Deployed, DeploymentName
from cli.checks.azure.reading import Az, if_there, words_of
from cli.checks.findings import CheckResult, bad, good
from cli.deploy.azure_cli import AzureCliError

NEEDED = (
    "RECEIVER_NAME",
    "RECEIVER_URL",
    "WORKER_NAME",
    "WORKER_PRINCIPAL_ID",
    "STORAGE_ACCOUNT_NAME",
    "DELIVERY",
)
"""Outputs of infra/main.bicep that must have a value; EVENT_TOPIC_NAME has one with Event Grid alone."""

_NO_SUBSCRIPTION = ("Subscription '", "' not found")
_SIGNED_OUT = ("az login", "AADSTS", "Interactive authentication")
_NOT_STARTED = 127
_GROUPS = "2021-04-01"


def reach(az: Az, target: DeploymentName) -> Generator[CheckResult, None, Deployed | None]:
    """Look for the deployment: what was found on the way, and the deployment if there is one with all its outputs.

    Raises AzureCliError for what is none of the known failures.
    """
    try:
        account = az.json("account", "show")
    except AzureCliError as error:
        yield _no_way_in(error, target)
        return None
    yield good("sign-in", f"{account['user']['name']} in {account['name']} ({account['id']})")
    group = if_there(az, "group", "show", "--name", target.group)
    if group is None:
        yield _no_group(az, target, account["name"])
        return None
    record = if_there(az, "deployment", "group", "show", "--resource-group", target.group, "--name", target.name)
    if record is None:
        yield _no_deployment(az, target)
        return None
    properties = record["properties"]
    raw = {key: each.get("value") for key, each in (properties.get("outputs") or {}).items()}
    deployed = Deployed(
        az=az,
        target=target,
        cloud=str(account.get("environmentName", "")),
        group_id=group["id"],
        outputs={key.upper(): str(value or "") for key, value in raw.items()},
        parameters={key: each.get("value") for key, each in (properties.get("parameters") or {}).items()},
    )
    yield _judged(deployed, properties, raw)
    return deployed if not _lacking(deployed.outputs) else None


def _no_way_in(error: AzureCliError, target: DeploymentName) -> CheckResult:
    sentence = words_of(error)
    if error.exit_code == _NOT_STARTED:
        return bad("az-missing", "Azure CLI", sentence)
    if all(word in sentence for word in _NO_SUBSCRIPTION):
        return bad("subscription-unknown", "sign-in", f"az knows no subscription {target.subscription!r}")
    if any(word in sentence for word in _SIGNED_OUT):
        return bad("az-signed-out", "sign-in", sentence)
    raise error


def _no_group(az: Az, target: DeploymentName, subscription: str) -> CheckResult:
    here = f"there is no group {target.group} in {subscription}"
    elsewhere = list(_subscriptions_with(az, target.group)) if not target.subscription else []
    if not elsewhere:
        return bad("group-missing", "resource group", here, group=target.group, subscription=target.subscription)
    what = f"{here}, but in {', '.join(elsewhere)}"
    return bad("subscription-wrong", "resource group", what, group=target.group, other=elsewhere[0])


_MOST_SUBSCRIPTIONS = 20


def _subscriptions_with(az: Az, group: str) -> Iterator[str]:
    """The names of other subscriptions that have a group of this name."""
    others = [each for each in az.json("account", "list") if not each.get("isDefault")]
    for each in others[:_MOST_SUBSCRIPTIONS]:
        path = f"/subscriptions/{each['id']}/resourceGroups/{group}?api-version={_GROUPS}"
        try:
            az.json("rest", "--method", "get", "--url", path)
        except AzureCliError:
            continue
        yield str(each["name"])


def _no_deployment(az: Az, target: DeploymentName) -> CheckResult:
    others = az.json("deployment", "group", "list", "--resource-group", target.group, "--query", "[].name")
    what = f"{target.group} has no deployment {target.name!r}; it has {', '.join(others[:8]) or 'none'}"
    return bad("deployment-missing", "deployment", what, **target.places({}))


def _judged(deployed: Deployed, properties: Mapping[str, Any], raw: Mapping[str, Any]) -> CheckResult:
    """The deployment's state, then its outputs."""
    name, state = deployed.target.name, properties.get("provisioningState")
    if state != "Succeeded":
        error = properties.get("error") or {}
        reason = f": {error['code']}: {error.get('message', '')[:200]}" if error.get("code") else ""
        return bad("deployment-failed", "deployment", f"{name} is {state}{reason}", **deployed.places)
    lacking = _lacking(deployed.outputs)
    if lacking:
        missing = [output for output in lacking if output not in deployed.outputs]
        if missing:
            return bad("outputs-missing", "outputs", f"no {', '.join(missing)}", **deployed.places)
        return bad("outputs-empty", "outputs", f"empty: {', '.join(lacking)}", **deployed.places)
    changed = [key for key in raw if key != key.upper()]
    case = f", their names in Azure's case ({changed[0]})" if changed else ""
    return good("deployment", f"{name} in {deployed.group}: {len(raw)} outputs{case}")


def _lacking(outputs: Mapping[str, str]) -> list[str]:
    """The outputs that are missing or empty."""
    needed = (*NEEDED, *(("EVENT_TOPIC_NAME",) if outputs.get("DELIVERY") == EVENT_GRID else ()))
    return [name for name in needed if not outputs.get(name)]
