"""Deploy the apps that no listener calls: the worker, whose parser is subscribed to new events where Event Grid
delivers them, and the lineage page, which has to ask people to sign in.
"""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from throughline.cli.deploy.azure_cli import Az, AzureCliError
from throughline.cli.deploy.progress import DeployError, PollLimits, Progress, wait_until
from throughline.cli.deploy.receiver import zip_deploy
from throughline.cli.deploy.target import Target
from throughline.project import ROOT

EXTENSION_KEY = "blobs_extension"
"""The system key that the blob extension's webhook asks for; the host makes it when it has loaded the extension."""

_LONGEST_NAME = 64  # of a deployment
_TRIES = 3


def deploy_worker(az: Az, target: Target, archive: Path, *, limits: PollLimits, progress: Progress) -> None:
    """Deploy the package to the worker; with Event Grid, subscribe it. Raises AzureCliError and DeployError.

    Events that come while it restarts wait in storage: Event Grid repeats itself, and the sweeper processes the rest.
    """
    with progress.step(f"deploy the worker, {target.worker}"):
        zip_deploy(az, target, target.worker, archive)
    if target.delivery != "eventGrid":
        return
    with progress.step(f"wait for the worker's key {EXTENSION_KEY}") as step:
        wait_until(
            lambda: "" if _has_key(az, target) else "the host has not made it yet",
            step,
            limits,
            failed=(
                f"The host of {target.worker} has not made the key {EXTENSION_KEY}, so Event Grid can't call it: "
                "it starts slowly, or is in the Error state. Find out which: throughline doctor. Then run this again."
            ),
        )
    with progress.step(f"subscribe {target.worker} to new events"):
        _subscribe(az, target, limits)


def _has_key(az: Az, target: Target) -> bool:
    """Whether the key is there. Only its length leaves Azure's CLI."""
    length = az.json(
        *("functionapp", "keys", "list", "--resource-group", target.group, "--name", target.worker),
        *("--query", f"length(systemKeys.{EXTENSION_KEY} || '')"),
    )
    return bool(length)


def _subscribe(az: Az, target: Target, limits: PollLimits) -> None:
    """Deploy infra/subscription.bicep. Event Grid asks the parser's webhook to answer, which may take another try."""
    for tried in range(1, _TRIES + 1):
        try:
            az.json(
                *("deployment", "group", "create", "--resource-group", target.group),
                *("--name", f"subscription-{target.worker}"[:_LONGEST_NAME]),
                *("--template-file", str(ROOT / "infra/subscription.bicep")),
                *("--parameters", f"topicName={target.topic}", f"workerName={target.worker}"),
            )
        except AzureCliError as error:
            if tried == _TRIES or "validation" not in str(error).lower():
                raise
            time.sleep(limits.pause)
        else:
            return


_TIMEOUT = 30.0
_REFUSED = (401, 403)
_REDIRECTED = range(300, 400)
"""App Service sends browsers to Entra ID, and refuses programs, before the app's host sees a request:
https://learn.microsoft.com/azure/app-service/overview-authentication-authorization#authentication-flow
"""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves a redirection as the answer: the page that it leads to is Entra ID's."""

    def redirect_request(self, *_: Any) -> None:
        """None: no further request."""


def status_unsigned(url: str) -> int:
    """GET an address without signing in: the status of the answer, 0 without one."""
    try:
        with urllib.request.build_opener(_NoRedirect).open(url, timeout=_TIMEOUT) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except (OSError, http.client.HTTPException):
        return 0


def deploy_lineage(
    az: Az,
    target: Target,
    archive: Path,
    *,
    limits: PollLimits,
    progress: Progress,
    probe: bool = True,
    status: Callable[[str], int] = status_unsigned,
) -> None:
    """Deploy the package of the lineage page, after both other apps: it reads what the worker writes.

    With `probe` ends with an error if the app answers who has not signed in. Raises AzureCliError and DeployError.
    """
    with progress.step(f"deploy the lineage page, {target.lineage}"):
        zip_deploy(az, target, target.lineage, archive)

    def look() -> str:
        answered = status(target.lineage_url)
        if answered in _REFUSED or answered in _REDIRECTED:
            return ""
        if answered and answered < http.HTTPStatus.BAD_REQUEST:
            raise DeployError(
                f"{target.lineage_url} answers {answered} to who has not signed in: all lineage is open to everybody "
                f"who reaches it. Stop it: az functionapp stop --resource-group {target.group} --name {target.lineage}"
                "; then deploy the template again (--template), which turns sign-in on, and run this again"
            )
        return f"{answered}" if answered else "no connection"

    if probe:
        with progress.step("look whether the lineage page asks people to sign in") as step:
            failed = f"{target.lineage_url} does not work. Receiver and worker are deployed, and are not touched by it."
            wait_until(look, step, limits, failed=failed)
