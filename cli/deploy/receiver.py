"""Deploy the receiver without losing an event: into its slot, asked whether it works there, then swapped.

A listener keeps nothing and tries again once, so the receiver's address has to answer all the while. In a swap the
platform starts the new version with the production settings before it moves the address over:
https://learn.microsoft.com/azure/azure-functions/functions-deployment-slots. Keys belong to an app and its slot, not to
what runs there (the host keeps them in a blob folder named by both, `BlobStorageSecretsRepository`), so senders' keys
hold across a swap; that is looked at, and the swap undone where it turns out otherwise.
"""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.deploy.azure_cli import AzureCli, AzureCliError
from cli.deploy.errors import DeployError
from cli.deploy.progress import Progress
from cli.deploy.target import Target
from cli.deploy.waiting import PollLimits, wait_until

ROUTE = "/api/v1/lineage"
PRODUCTION = "production"

_WORKS = 400  # an empty body, refused by our own code: route, key and Python are all there
_KEY_WANTED = 401
_CLOSED = 403
_GLANCES = 3
_TIMEOUT = 30.0

Post = Callable[[str, str], int]
"""POST nothing to an address, with a function key or none (empty); the answer's status, 0 where there was none."""


def post_nothing(url: str, key: str) -> int:
    """Send an empty POST. The key goes into a header, so it is in no log."""
    request = urllib.request.Request(  # noqa: S310 - an address of our own app
        url, data=b"", method="POST", headers={"x-functions-key": key} if key else {}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310 - the same
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except (OSError, http.client.HTTPException):
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedReceiver:
    """The receiver in Azure. `post` asks it; without `probe` it is deployed and swapped unasked (closed networks)."""

    az: AzureCli
    target: Target
    limits: PollLimits
    progress: Progress
    post: Post = post_nothing
    probe: bool = True

    def deploy(self, archive: Path) -> None:
        """Deploy the package: by the slot where there is one and production answers, else straight.

        What does not answer loses nothing by a restart, and a first deployment would leave an empty app in the slot.
        Raises DeployError and AzureCliError; production is as it was then, unless the text says otherwise.
        """
        target = self.target
        if not (target.slot and self._production_answers()):
            with self.progress.step(f"deploy the receiver, {target.receiver}"):
                zip_deploy(self.az, target, target.receiver, archive)
            self._wait("", f"{target.receiver_url}{ROUTE}", "")
            return
        with self.progress.step(f"deploy the receiver's next version, {target.receiver}, slot {target.slot}"):
            zip_deploy(self.az, target, target.receiver, archive, slot=target.slot)
        self._wait(target.slot, self._slot_url(), "Production still runs the version before, and was not touched.")
        self._swap()

    def roll_back(self) -> None:
        """Swap the version before back, which the slot has kept. Raises DeployError and AzureCliError."""
        if not self.target.slot:
            raise DeployError(
                "This deployment has no slot, so no version before to swap back (Flex Consumption and the Basic sizes "
                "have none). Deploy the older version instead: git checkout TAG, then this command without --rollback"
            )
        self._wait(self.target.slot, self._slot_url(), "There is nothing to swap back to, so nothing was changed.")
        self._swap()

    def _swap(self) -> None:
        target = self.target
        key = self._known_key()
        with self.progress.step(f"swap {target.slot} and {PRODUCTION}"):
            self._call_swap()
        try:
            self._wait("", f"{target.receiver_url}{ROUTE}", "", key=key)
        except DeployError as error:
            with self.progress.step("swap back"):
                self._call_swap()
            raise DeployError(
                f"{error} So the swap was undone: production runs the version before, the new one is in slot "
                f"{target.slot}. Look there: throughline doctor --listener --url ADDRESS-OF-THE-SLOT"
            ) from error

    def _call_swap(self) -> None:
        self._app("deployment", "slot", "swap", "--target-slot", PRODUCTION, slot=self.target.slot)

    def _app(self, *words: str, slot: str) -> Any:
        """What `az functionapp` answers about the receiver, or about a slot of it."""
        app = ("--resource-group", self.target.group, "--name", self.target.receiver)
        return self.az.json("functionapp", *words, *app, *(("--slot", slot) if slot else ()))

    def _wait(self, slot: str, url: str, otherwise: str, *, key: str = "") -> None:
        """Wait until the receiver's own code answers, with the key that is known, else with its host's."""
        if not self.probe:
            return
        where = f"the receiver in slot {slot}" if slot else "the receiver"

        def look() -> str:
            status = self.post(url, key or self._host_key(slot))
            if status == _CLOSED:
                raise DeployError(
                    f"{url} answers 403: it takes requests from its own network only. Run this there, or with "
                    f"--no-probe, which does not ask. {otherwise}"
                )
            return "" if status == _WORKS else _meaning(status)

        with self.progress.step(f"wait for {where}") as step:
            cause = "Find out why: throughline doctor (docs/operate/deploy.md, step 6)."
            failed = " ".join(filter(None, (f"{url} does not work.", otherwise, cause)))
            wait_until(look, step, self.limits, failed=failed)

    def _production_answers(self) -> bool:
        """Whether listeners are answered now, so that a restart would lose something."""
        if not self.probe:
            return True
        url = f"{self.target.receiver_url}{ROUTE}"
        return any(self.post(url, "") in (_KEY_WANTED, _WORKS, _CLOSED) for _ in range(_GLANCES))

    def _known_key(self) -> str:
        """The key that production takes now, to see afterwards that it still does; empty where it can't be had."""
        try:
            return self._host_key("")
        except AzureCliError:
            return ""

    def _host_key(self, slot: str) -> str:
        """The host's default key; it stays in memory."""
        return str(self._app("keys", "list", "--query", "functionKeys.default", slot=slot) or "")

    def _slot_url(self) -> str:
        host = self._app("show", "--query", "defaultHostName", slot=self.target.slot)
        if not host:
            raise DeployError(
                f"Azure gives no address for slot {self.target.slot} of {self.target.receiver}. Look: az functionapp "
                f"deployment slot list --resource-group {self.target.group} --name {self.target.receiver}"
            )
        return f"https://{host}{ROUTE}"


def zip_deploy(az: AzureCli, target: Target, app: str, archive: Path, *, slot: str = "") -> None:
    """Deploy a package to an app, or to a slot of it, as it is: nothing is built in Azure. Raises AzureCliError."""
    az.json(
        *("functionapp", "deployment", "source", "config-zip", "--resource-group", target.group, "--name", app),
        *(("--slot", slot) if slot else ()),
        *("--src", str(archive), "--build-remote", "false"),
    )


def _meaning(status: int) -> str:
    meanings = {
        0: "no connection",
        401: "401: it does not accept its key",
        404: "404: no such function yet",
        500: "500: the package fails",
        503: "503: the host is starting, or in error",
    }
    return meanings.get(status, str(status))
