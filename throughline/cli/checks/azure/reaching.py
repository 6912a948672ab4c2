"""The way to a deployment: CLI, sign-in, subscription, group, the deployment's record, its outputs."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress

from throughline.cli.checks.azure.deployed import Deployed, DeploymentQuery
from throughline.cli.checks.azure.reading import if_there, words_of
from throughline.cli.checks.findings import CheckResult, bad, good
from throughline.cli.deploy.azure_cli import Az, AzureCliError
from throughline.cli.deploy.record import DeploymentRecord, deployment_records

NEEDED = (
    "RECEIVER_NAME",
    "RECEIVER_URL",
    "WORKER_NAME",
    "WORKER_PRINCIPAL_ID",
    "STORAGE_ACCOUNT_NAME",
    "DELIVERY",
    "EVENT_TOPIC_NAME",
)
"""Outputs of infra/main.bicep that must have a value."""

_NO_SUBSCRIPTION = ("Subscription '", "' not found")
_SIGNED_OUT = ("az login", "AADSTS", "Interactive authentication")
_NOT_STARTED = 127
_GROUPS = "2021-04-01"


def reach(az: Az, target: DeploymentQuery) -> Generator[CheckResult, None, Deployed | None]:
    """Look for the newest good deployment: yield what was found on the way, return it if it has all outputs.

    Raises AzureCliError for a failure that is none of the known ones.
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
    records = deployment_records(az, target.group, target.environment)
    environments = sorted({record.environment for record in records})
    if len(environments) > 1:
        message = f"{target.group} holds the environments {', '.join(environments)}"
        yield bad("deployment-unclear", "deployment", message, group=target.group, chosen=environments[0])
        return None
    record = next((record for record in records if record.good), None)
    if record is None:
        yield _no_deployment(az, target, records)
        return None
    newest = records[0]
    deployed = Deployed(
        az=az,
        target=target,
        name=record.name,
        cloud=str(account.get("environmentName", "")),
        group_id=group["id"],
        outputs=record.outputs,
        parameters=record.parameters,
    )
    if not newest.good:
        reason = f": {newest.error[:200]}" if newest.error else ""
        message = f"{newest.name} is {newest.state}{reason}; the one before it, {record.name}, is checked"
        yield bad("deployment-failed", "deployment", message, **deployed.places, deployment=newest.name)
    if lacking := [name for name in NEEDED if not record.outputs.get(name)]:
        yield bad("outputs-missing", "outputs", f"{record.name} has no {', '.join(lacking)}", **deployed.places)
        return None
    yield good("deployment", f"{record.name} in {deployed.group}: {len(record.outputs)} outputs")
    return deployed


def _no_way_in(error: AzureCliError, target: DeploymentQuery) -> CheckResult:
    sentence = words_of(error)
    if error.exit_code == _NOT_STARTED:
        return bad("az-missing", "Azure CLI", sentence)
    if all(word in sentence for word in _NO_SUBSCRIPTION):
        return bad("subscription-unknown", "sign-in", f"az knows no subscription {target.subscription!r}")
    if any(word in sentence for word in _SIGNED_OUT):
        return bad("az-signed-out", "sign-in", sentence)
    raise error


def _no_group(az: Az, target: DeploymentQuery, subscription: str) -> CheckResult:
    problem = f"there is no group {target.group} in {subscription}"
    elsewhere = list(_subscriptions_with(az, target.group)) if not target.subscription else []
    if not elsewhere:
        return bad("group-missing", "resource group", problem, group=target.group, subscription=target.subscription)
    message = f"{problem}, but in {', '.join(elsewhere)}"
    return bad("subscription-wrong", "resource group", message, group=target.group, other=elsewhere[0])


_MOST_SUBSCRIPTIONS = 20


def _subscriptions_with(az: Az, group: str) -> Iterator[str]:
    """The names of other subscriptions that have a group of this name."""
    others = [subscription for subscription in az.json("account", "list") if not subscription.get("isDefault")]
    for subscription in others[:_MOST_SUBSCRIPTIONS]:
        path = f"/subscriptions/{subscription['id']}/resourceGroups/{group}?api-version={_GROUPS}"
        with suppress(AzureCliError):
            az.json("rest", "--method", "get", "--url", path)
            yield str(subscription["name"])


def _no_deployment(az: Az, target: DeploymentQuery, records: Sequence[DeploymentRecord]) -> CheckResult:
    if records:
        newest = records[0]
        message = f"{newest.name} is {newest.state}: {newest.error[:200]}; none before it was good"
        return bad("deployment-failed", "deployment", message, **target.places, deployment=newest.name)
    deployments = az.json("deployment", "group", "list", "--resource-group", target.group, "--query", "[].name")
    message = f"{target.group} has no deployment of infra/main.bicep; it has {', '.join(deployments[:8]) or 'none'}"
    return bad("deployment-missing", "deployment", message, **target.places)
