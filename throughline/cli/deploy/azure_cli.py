"""Calls of the Azure CLI (`az`): find and start it, read its JSON, explain its errors.

Standard library only. https://learn.microsoft.com/cli/azure/use-azure-cli-successfully describes exit codes and output.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from shared.errors import ThroughlineError

WEB_API = "2025-03-01"
"""The version of Resource Manager's interface to apps that infra/modules uses."""

INSTALL = "Install the Azure CLI (https://learn.microsoft.com/cli/azure/install-azure-cli), then run: az login"

_HIDDEN = "…"
_SECRET_OPTIONS = frozenset({"--value", "--key-value", "--password", "-p", "--settings", "--secrets", "--account-key"})
_SECRET_IN_URL = re.compile(r"\b(code|sig|key)=[^&\s]+", re.IGNORECASE)
_CODES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^ERROR: \((?P<code>\w+)\)",  # ERROR: (AuthorizationFailed) The client …
        r"^Code: (?P<code>\w+)",
        r'"code":\s*"(?P<code>\w+)"',  # ERROR: {"status": "Failed", "error": {"code": "DeploymentFailed", …}}
    )
)
_HELP = (
    (r"\baz login\b|AADSTS|InvalidAuthenticationToken", "Sign in: az login"),
    (
        r"AuthorizationFailed|LinkedAuthorizationFailed|RoleAssignment\w*Forbidden|does not have authorization",
        (
            "Ask an Owner of the resource group for the roles Contributor and Role Based Access Control Administrator "
            "there; if you have them, check which account is signed in: az account show"
        ),
    ),
    (
        r"SubscriptionNotFound|[Ss]ubscription of .* doesn't exist|'--subscription'",
        "Name the subscription with --subscription; those you can use: az account list --output table",
    ),
    (r"ResourceGroupNotFound", "Check the resource group and the subscription: az group list --output table"),
    (
        r"without additional quota|quota of 0|QuotaExceeded",
        (
            "The subscription has no quota of its region for this size: ask for it in the portal (Quotas, App "
            "Service), or choose another planSize, as S1 (docs/operate/deploy.md, step 2)"
        ),
    ),
    (
        r"one system topic",
        (
            "The account has a system topic already, as of Defender for Storage: name it by the parameter "
            "eventTopicName (az eventgrid system-topic list --resource-group GROUP --output table)"
        ),
    ),
    (
        r"RequestDisallowedByPolicy",
        "docs/operate/policies.md says which policies the template meets, and by which parameters",
    ),
    (
        r"MissingSubscriptionRegistration|NoRegisteredProviderFound",
        "Ask an Owner of the subscription for: az provider register --wait --namespace NAMESPACE",
    ),
    (r"ServiceUnavailable|TooManyRequests|GatewayTimeout", "Azure is busy: wait a minute, then run the command again"),
)
"""What to do about an error, by what Azure's message holds; the first that fits."""


class AzureCliError(ThroughlineError):
    """A call of `az` failed. The text says what happened and what to do.

    `command` is the call with secrets left out; `code` is Azure's error code where its message has one, as in
    "AuthorizationFailed", else empty; `exit_code` is that of `az` (127: there is no `az`); `first_line` is the
    first line of its message.
    """

    def __init__(
        self, *, command: tuple[str, ...], exit_code: int, message: str, code: str = "", first_line: str = ""
    ) -> None:
        self.command, self.exit_code, self.code, self.first_line = command, exit_code, code, first_line
        super().__init__(message)


class Az(Protocol):
    """What is used of AzureCli."""

    def json(self, *arguments: str) -> Any:
        """The answer of `az` with these arguments. Raises AzureCliError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureCli:
    """The Azure CLI of this machine.

    `subscription` (an id or a name) is given with every call; where it is empty, the CLI's own counts.
    """

    subscription: str = ""

    def json(self, *arguments: str) -> Any:
        """Run `az ARGUMENTS --output json` and return what it printed: None where it printed nothing.

        Raises AzureCliError where `az` is missing, fails, or prints what is no JSON.
        """
        words = (*arguments, *(("--subscription", self.subscription) if self.subscription else ()))
        command = shown(words)
        program = _program(shutil.which("az"), windows=os.name == "nt")
        if not program:
            raise AzureCliError(command=command, exit_code=127, message=f"The Azure CLI (az) was not found. {INSTALL}")
        outcome = subprocess.run(  # noqa: S603 - the words are ours, and no shell reads them
            [*program, *words, "--only-show-errors", "--output", "json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if outcome.returncode:
            raise _failure(command, outcome.returncode, outcome.stderr)
        try:
            return json.loads(outcome.stdout) if outcome.stdout.strip() else None
        except ValueError as error:
            message = f"`{' '.join(command)}` printed something else than JSON. Look with: az version"
            raise AzureCliError(command=command, exit_code=0, message=message) from error


def sender_token(az: Az, application: str) -> str:
    """A token with which the receiver of this registration in Entra ID lets us send; empty where it asks for none (no
    `application`). Raises AzureCliError, which says what to allow.
    """
    if not application:
        return ""
    scope = f"api://{application}/.default"
    try:
        return str(az.json("account", "get-access-token", "--scope", scope, "--query", "accessToken"))
    except AzureCliError as error:
        message = (
            f"{error}\nSenders need a token of Entra ID, and you get none: allow the Azure CLI in the registration and "
            "in entraCallers (docs/operate/security.md)"
        )
        raise AzureCliError(
            command=error.command, exit_code=error.exit_code, message=message, code=error.code
        ) from error


def shown(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a call as it may be shown: `az` and its words, without the values of options that hold secrets."""
    previous_words = ("", *words)
    return (
        "az",
        *(
            _HIDDEN if previous in _SECRET_OPTIONS else _SECRET_IN_URL.sub(rf"\1={_HIDDEN}", word)
            for previous, word in zip(previous_words, words, strict=False)
        ),
    )


def _program(program: str | None, *, windows: bool) -> tuple[str, ...]:
    """What starts the `az` that was found; empty where there is none.

    On Windows it is az.cmd, in which cmd.exe would read parentheses and percent signs of our arguments as its own, and
    ask about Ctrl-C: the Python that az.cmd itself starts is started instead, as az.cmd does it.
    """
    if not program:
        return ()
    if windows and (python := Path(program).parents[1] / "python.exe").is_file():
        return (str(python), "-IBm", "azure.cli")
    return (program,)


def _failure(command: tuple[str, ...], exit_code: int, stderr: str) -> AzureCliError:
    printed = _SECRET_IN_URL.sub(rf"\1={_HIDDEN}", stderr.strip()).removeprefix("ERROR: ")
    code = next((match["code"] for pattern in _CODES if (match := pattern.search(stderr))), "")
    help_ = next((explanation for pattern, explanation in _HELP if re.search(pattern, stderr)), "")
    first = "\n".join(printed.splitlines()[:8]) or f"exit code {exit_code}, without a message"
    message = f"`{' '.join(command)}` failed: {first}" + (f"\n{help_}" if help_ else "")
    return AzureCliError(
        command=command, exit_code=exit_code, message=message, code=code, first_line=first.partition("\n")[0]
    )
