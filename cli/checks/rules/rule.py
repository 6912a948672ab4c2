"""A rule: a symptom that `throughline doctor` knows, what it means, and the command that mends it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`code` is stable: scripts may rely on it.

    `symptom` and `means` are texts for people. `command` is one line for a shell; names in braces, as in `{group}`, are
    filled by what the check found.
    """

    code: str
    symptom: str
    means: str
    command: str


DEPLOY = "infra/deploy.sh {group} {deployment}"
"""Builds the package, deploys it to both apps, subscribes the parser to new events. It can be repeated."""

TEMPLATE = (
    "az deployment group create --resource-group {group} --name {deployment} --template-file infra/main.bicep "
    "--parameters environmentName={environment} purviewAccountName={purview}"
)
"""Makes what is missing and sets what differs. It can be repeated, with the parameters of the first time."""

LOG = "az webapp log tail --resource-group {group} --name {app}"
GRANT = (
    "az role assignment create --assignee-object-id {principal} --assignee-principal-type ServicePrincipal "
    "--role {role} --scope {scope}"
)
GRANT_ME = (
    'az role assignment create --assignee "$(az ad signed-in-user show --query id --output tsv)" '
    "--role {role} --scope {scope}"
)
