"""Deploy the worker, and subscribe its parser to new events where Event Grid delivers them."""

import time
from pathlib import Path

from throughline.cli.deploy.azure_cli import Az, AzureCliError
from throughline.cli.deploy.progress import Progress
from throughline.cli.deploy.receiver import zip_deploy
from throughline.cli.deploy.target import Target
from throughline.cli.deploy.waiting import PollLimits, wait_until
from throughline.project import ROOT

EXTENSION_KEY = "blobs_extension"
"""The system key that the blob extension's webhook asks for; the host makes it when it has loaded the extension."""

_LONGEST_NAME = 64  # of a deployment
_TRIES = 3


def deploy_worker(az: Az, target: Target, archive: Path, *, limits: PollLimits, progress: Progress) -> None:
    """Deploy the package to the worker; with Event Grid, subscribe it. Raises AzureCliError and DeployError.

    Events that come while it restarts wait in storage: Event Grid repeats itself, and the sweeper settles the rest.
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
