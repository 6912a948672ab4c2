"""Deploy the receiver without losing an event: into its slot, asked whether it works there, then swapped.

A listener keeps nothing and tries again once, so the receiver's address has to answer all the while. In a swap the
platform starts the new version with the production settings before it moves the address over:
https://learn.microsoft.com/azure/azure-functions/functions-deployment-slots. An answer counts when it comes from the
package that is deployed: the receiver names its digest. An older package, which others still serve, does not count.
"""

import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.versions import PACKAGE_HEADER
from throughline.cli.deploy.azure_cli import Az
from throughline.cli.deploy.keys import ReceiverKeys
from throughline.cli.deploy.packaging import Package
from throughline.cli.deploy.progress import DeployError, PollLimits, Progress, wait_until
from throughline.cli.deploy.target import Target
from throughline.project import ROOT

ROUTE = "/api/v1/lineage"
PRODUCTION = "production"

_WORKS = 400  # an empty body, refused by our own code: route, key and Python are all there
_KEY_WANTED = 401
_CLOSED = 403
_AFTER_SWAP = PollLimits(seconds=20.0, pause=1.0)
_GLANCES = 3
"""Answers in a row that must come from the new package, since several instances answer in turn."""
_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """The status of an answer, 0 without one, and the digest of the package that gave it (empty: it names none)."""

    status: int
    package: str = ""


Post = Callable[[str, str], ProbeAnswer]
"""POST nothing to an address, with a function key or none (empty)."""


def post_nothing(url: str, key: str, *, token: str = "") -> ProbeAnswer:
    """Send an empty POST. Key and token of Entra ID go into headers, so they are in no log."""
    headers = {"x-functions-key": key, "Authorization": f"Bearer {token}" if token else ""}
    request = urllib.request.Request(  # noqa: S310 - an address of our own app
        url, data=b"", method="POST", headers={name: value for name, value in headers.items() if value}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310 - the same
            return ProbeAnswer(status=answer.status, package=answer.headers.get(PACKAGE_HEADER, ""))
    except urllib.error.HTTPError as error:
        with error:
            return ProbeAnswer(status=error.code, package=error.headers.get(PACKAGE_HEADER, ""))
    except (OSError, http.client.HTTPException):
        return ProbeAnswer(status=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedReceiver:
    """The receiver in Azure. `post` asks it; without `probe` it is deployed and swapped unasked (closed networks).

    `after_swap` limits the look at production after a swap; `deployed` keeps the archive that works where there is no
    slot to keep it.
    """

    az: Az
    target: Target
    limits: PollLimits
    progress: Progress
    post: Post = post_nothing
    probe: bool = True
    after_swap: PollLimits = _AFTER_SWAP
    deployed: Path = ROOT / "build/deployed"

    def deploy(self, package: Package, deploy_worker: Callable[[Path], None]) -> None:
        """Deploy the package to receiver and worker: by the slot where there is one and production answers.

        Then the package shows in the slot that it works before anything in production is touched, and the worker goes
        before the swap. Without an answer nothing is lost by a restart, and a first deployment would leave an empty app
        in the slot. Raises DeployError and AzureCliError; the text says what production runs.
        """
        if self.target.slot and self._production_answers():
            self._stage(package)
            deploy_worker(package.archive)
            self._swap(package.digest)
        else:
            deploy_worker(package.archive)
            self._deploy_straight(package, deploy_worker)

    def roll_back(self) -> None:
        """Swap the version before back, which the slot has kept. Raises DeployError and AzureCliError."""
        if not self.target.slot:
            raise DeployError(
                "This deployment has no slot, so no version before to swap back (Flex Consumption and the Basic sizes "
                "have none). Deploy the older version instead: git checkout TAG, then this command without --rollback"
            )
        refusal = "There is nothing to swap back to, so nothing was changed."
        self._copy_keys(refusal)
        self._swap(self._wait(self.target.slot, self._slot_url(), "", refusal))

    def _stage(self, package: Package) -> None:
        slot, otherwise = self.target.slot, "Production still runs the version before, and was not touched."
        with self.progress.step(f"deploy the receiver's next version, {self.target.receiver}, slot {slot}"):
            zip_deploy(self.az, self.target, self.target.receiver, package.archive, slot=slot)
            self._app("restart", slot=slot)  # its process may still have production's name, from the swap before
        self._copy_keys(otherwise)
        self._wait(slot, self._slot_url(), package.digest, otherwise)

    def _copy_keys(self, otherwise: str) -> None:
        keys = ReceiverKeys(az=self.az, target=self.target)

        def look() -> str:
            keys.copy()
            return ""

        slot = self.target.slot
        with self.progress.step(f"copy the keys of {PRODUCTION} to {slot}") as step:
            failed = f"Slot {slot} takes no keys, so a swap could refuse senders. {otherwise}"
            wait_until(look, step, self.limits, failed=failed)

    def _swap(self, digest: str) -> None:
        slot, key = self.target.slot, next(ReceiverKeys(az=self.az, target=self.target).of_host(), "")
        with self.progress.step(f"swap {slot} and {PRODUCTION}"):
            self._call_swap()
        try:
            self._look_at_production(digest, key)
        except DeployError as error:
            with self.progress.step("swap back"):
                self._call_swap()
            raise DeployError(
                f"{error} So the swap was undone: production runs the version before, the new one is in slot {slot}. "
                "Look there: throughline doctor --listener --url ADDRESS-OF-THE-SLOT"
            ) from error

    def _look_at_production(self, digest: str, key: str) -> None:
        """Ask production for a while. Raises DeployError at the first 401, at the end for anything else."""
        if not self.probe:
            return
        url, seconds = f"{self.target.receiver_url}{ROUTE}", self.after_swap.seconds
        end = time.monotonic() + seconds
        with self.progress.step(f"look at production for {seconds:.0f} s") as step:
            while True:
                answer = self.post(url, key)
                step.detail = reason = _reason(answer, digest)
                if answer.status == _KEY_WANTED:
                    raise DeployError(f"{url} refuses senders: {reason}.")
                if time.monotonic() >= end:
                    break
                time.sleep(self.after_swap.pause)
            if reason:
                raise DeployError(f"{url} does not work {seconds:.0f} s after the swap: {reason}.")

    def _deploy_straight(self, package: Package, deploy_worker: Callable[[Path], None]) -> None:
        """Deploy to production. A package that does not answer is replaced by the last one that did, from here."""
        target, kept_path = self.target, self.deployed / f"{self.target.receiver}.zip"
        with self.progress.step(f"deploy the receiver, {target.receiver}"):
            zip_deploy(self.az, target, target.receiver, package.archive)
        try:
            self._wait("", f"{target.receiver_url}{ROUTE}", package.digest, "")
        except DeployError as error:
            if not kept_path.is_file():
                raise DeployError(
                    f"{error} No earlier version was deployed from this machine. To go back to one: git checkout TAG, "
                    "then this command"
                ) from error
            deploy_worker(kept_path)
            with self.progress.step(f"deploy the version before again, {target.receiver}"):
                zip_deploy(self.az, target, target.receiver, kept_path)
            raise DeployError(
                f"{error} So the version before was deployed again, to both apps ({kept_path})."
            ) from error
        if self.probe:
            self.deployed.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(package.archive, kept_path)

    def _call_swap(self) -> None:
        self._app("deployment", "slot", "swap", "--target-slot", PRODUCTION, slot=self.target.slot)

    def _app(self, *words: str, slot: str) -> Any:
        """What `az functionapp` answers about the receiver, or about a slot of it."""
        app = ("--resource-group", self.target.group, "--name", self.target.receiver)
        return self.az.json("functionapp", *words, *app, *(("--slot", slot) if slot else ()))

    def _wait(self, slot: str, url: str, digest: str, otherwise: str) -> str:
        """Wait until the package with this digest answers; empty: any. Return the digest of the one that answers."""
        if not self.probe:
            return digest
        keys, key, answers = ReceiverKeys(az=self.az, target=self.target), "", list[ProbeAnswer]()

        def look() -> str:
            nonlocal key
            key = key or next(keys.of_host(), "")
            answer = self.post(url, key)
            if answer.status == _CLOSED:
                raise DeployError(
                    f"{url} answers 403: it takes requests from its own network only. Run this there, or with "
                    f"--no-probe, which does not ask. {otherwise}"
                )
            if reason := _reason(answer, digest):
                answers.clear()
                return reason
            answers.append(answer)
            return "" if len(answers) >= _GLANCES else "it answers; asking again, for each instance"

        with self.progress.step(f"wait for the receiver{f' in slot {slot}' if slot else ''}") as step:
            cause = "Find out why: throughline doctor (docs/operate/deploy.md, step 6)."
            failed = " ".join(filter(None, (f"{url} does not work.", otherwise, cause)))
            wait_until(look, step, self.limits, failed=failed)
        return answers[-1].package

    def _production_answers(self) -> bool:
        """Whether listeners are answered now, so that a restart would lose something."""
        if not self.probe:
            return True
        url = f"{self.target.receiver_url}{ROUTE}"
        return any(self.post(url, "").status in (_KEY_WANTED, _WORKS, _CLOSED) for _ in range(_GLANCES))

    def _slot_url(self) -> str:
        host = self._app("show", "--query", "defaultHostName", slot=self.target.slot)
        if not host:
            raise DeployError(
                f"Azure gives no address for slot {self.target.slot} of {self.target.receiver}. Look: az functionapp "
                f"deployment slot list --resource-group {self.target.group} --name {self.target.receiver}"
            )
        return f"https://{host}{ROUTE}"


def zip_deploy(az: Az, target: Target, app: str, archive: Path, *, slot: str = "") -> None:
    """Deploy a package to an app, or to a slot of it, as it is: nothing is built in Azure. Raises AzureCliError."""
    az.json(
        *("functionapp", "deployment", "source", "config-zip", "--resource-group", target.group, "--name", app),
        *(("--slot", slot) if slot else ()),
        *("--src", str(archive), "--build-remote", "false"),
    )


def _reason(answer: ProbeAnswer, digest: str) -> str:
    """Why an answer is not that of the package with this digest (empty: any package); else empty."""
    meanings = {
        0: "no connection",
        401: "401: it does not accept its key",
        404: "404: no such function yet",
        500: "500: the package fails",
        503: "503: the host is starting, or in error",
    }
    if answer.status != _WORKS:
        return meanings.get(answer.status, str(answer.status))
    if digest and answer.package != digest:
        return f"another package answers ({answer.package[:12] or 'without a digest'}), not {digest[:12]}"
    return ""
