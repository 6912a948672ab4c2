"""Wait for something in Azure: for a limited time, with the reason shown, and not at all where waiting cannot help."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from throughline.cli.deploy.azure_cli import AzureCliError
from throughline.cli.deploy.errors import DeployError
from throughline.cli.deploy.progress import DeployStep

_HOPELESS = ("AuthorizationFailed", "LinkedAuthorizationFailed", "SubscriptionNotFound", "ResourceGroupNotFound")
_NOT_SIGNED_IN = "az login"
_NO_PROGRAM = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class PollLimits:
    """How long to wait at most, and between two looks, in seconds."""

    seconds: float = 300.0
    pause: float = 5.0


def wait_until(look: Callable[[], str], step: DeployStep, limits: PollLimits, *, failed: str) -> None:
    """Call `look` until it returns nothing; what it returns is the reason to wait, shown as the step's detail.

    An error of `az` counts as not yet: a host that starts refuses its keys. Errors for which waiting does not help (no
    right, not signed in) are raised as they are. Raises DeployError(`failed` and the last reason) when time is over.
    """
    end = time.monotonic() + limits.seconds
    while True:
        try:
            reason = look()
        except AzureCliError as error:
            if error.exit_code == _NO_PROGRAM or error.code in _HOPELESS or _NOT_SIGNED_IN in str(error):
                raise
            reason = f"az says {error.code or error.first_line}"
        if not reason:
            return
        step.detail = reason
        if time.monotonic() >= end:
            raise DeployError(f"{failed} Seen last, after {limits.seconds:.0f} s: {reason}.")
        time.sleep(min(limits.pause, max(0.0, end - time.monotonic())))
