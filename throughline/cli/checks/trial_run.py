"""A canary's hops as findings, and the sender of a canary: with key and token, for a deployment or the local world."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from shared.canary.hops import ARRIVAL, Hop
from shared.canary.sender import Sender
from throughline.cli.checks.azure.deployed import Deployed
from throughline.cli.checks.findings import CheckResult, Places, bad, good
from throughline.cli.context.target import local_receiver
from throughline.cli.deploy.azure_cli import sender_token

__all__ = ["ARRIVAL", "findings", "sender_of"]


def findings(hops: Iterable[Hop], places: Places) -> Iterator[CheckResult]:
    """A finding for each hop; `places` fill the commands of rules."""
    for hop in hops:
        words = f"{hop.outcome} after {_duration(hop.seconds)}" if not hop.problem else hop.outcome
        yield bad(hop.problem, hop.name, words, **places) if hop.problem else good(hop.name, words)


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def sender_of(home: Path, deployed: Deployed | None, *, url: str, key: str) -> Sender:
    """The sender to a receiver: to the one at `url`, else the deployment's, else the local world's.

    A deployment's host key is read by `az`, unless a `key` is given; it stays in memory. Where the receiver asks for a
    token of Entra ID, `az` gets one. Raises AzureCliError.
    """
    if deployed is None:
        return Sender(url=url or local_receiver(home, "--group or --url"), key=key)
    receiver = ("--resource-group", deployed.group, "--name", deployed.outputs["RECEIVER_NAME"])
    words = ("functionapp", "keys", "list", *receiver, "--query", "values(functionKeys)[0]")
    token = sender_token(deployed.az, deployed.outputs.get("ENTRA_APPLICATION_ID", ""))
    return Sender(
        url=url or deployed.outputs["RECEIVER_URL"],
        key=key or str(deployed.az.json(*words) or ""),
        token=lambda: token,
    )
