"""A rule: a symptom that `throughline doctor` knows, what it means, and the command that mends it."""

import re
from collections.abc import Iterable
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

    @property
    def shown(self) -> str:
        """The command as a page shows it: with capitals for what a check fills in."""
        named = re.sub(r"(?<!\{)\{(\w+)\}(?!\})", lambda match: match[1].upper(), self.command)
        return named.replace("{{", "{").replace("}}", "}")


def as_table(rules: Iterable[Rule]) -> str:
    """Rules as a table of Markdown, a row for each."""
    rows = [f"| `{each.code}` | {each.symptom} | {each.means} | `{each.shown}` |" for each in rules]
    return "\n".join(["| code | what you see | what it means | command |", "|---|---|---|---|", *rows])


DEPLOY = "python3 -m cli.deploy {group} --deployment {deployment}"
"""Builds the package, deploys it to both apps, subscribes the parser to new events. It can be repeated."""

TEMPLATE = (
    "az deployment group create --resource-group {group} --name {deployment} --template-file infra/main.bicep "
    "--parameters {parameters}"
)
"""Makes what is missing and sets what differs. Parameters that are left out get their defaults again, so all of those
on record are named; where one is named twice, `az` takes the last.
"""

LOG = "az webapp log tail --resource-group {group} --name {app}"
GRANT = (
    "az role assignment create --assignee-object-id {principal} --assignee-principal-type ServicePrincipal "
    "--scope {scope} --role "
)
"""A role's name, or `{role}`, follows."""
GRANT_ME = (
    'az role assignment create --assignee "$(az ad signed-in-user show --query id --output tsv)" '
    "--scope {scope} --role "
)
