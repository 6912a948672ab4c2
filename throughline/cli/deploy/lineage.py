"""Deploy the app of the lineage page, where a deployment has one, and look whether it asks people to sign in."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from throughline.cli.deploy.azure_cli import Az
from throughline.cli.deploy.errors import DeployError
from throughline.cli.deploy.progress import Progress
from throughline.cli.deploy.receiver import zip_deploy
from throughline.cli.deploy.target import Target
from throughline.cli.deploy.waiting import PollLimits, wait_until

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
