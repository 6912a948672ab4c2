"""What a proof works with, and what it gives: verdicts with evidence that names nothing of a company."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shared.bootstrap import Worker
from shared.canary.sender import Sender
from shared.secrets import text_without_secrets
from shared.telemetry.port import Telemetry
from throughline.cli.checks.azure.deployed import Deployed
from throughline.cli.deploy.receiver import ProbeAnswer, post_nothing

Facts = Mapping[str, str | int | float]


class Verdict(StrEnum):
    """What is known of a claim after a proof."""

    PROVED = "proved"
    REFUTED = "refuted"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A verdict, the `reason` where it is not *proved*, and `facts`: numbers, codes and types."""

    verdict: Verdict
    reason: str = ""
    facts: Facts = field(default_factory=dict)


def proved(**facts: str | float) -> Evidence:
    """The claim holds here."""
    return Evidence(verdict=Verdict.PROVED, facts=facts)


def refuted(reason: str, **facts: str | float) -> Evidence:
    """The claim does not hold here."""
    return Evidence(verdict=Verdict.REFUTED, reason=reason, facts=facts)


def not_run(reason: str) -> Evidence:
    """Nothing is known: the claim does not concern this deployment, or could not be tried."""
    return Evidence(verdict=Verdict.NOT_RUN, reason=reason)


def judged(reason: str, **facts: str | float) -> Evidence:
    """Proved without a reason against it, else refuted."""
    return refuted(reason, **facts) if reason else proved(**facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofContext:
    """A deployment that is tried: its resources, its storage and catalog (`parts`), and a sender with key and token.

    `probe` posts nothing. `unlimited` gives the same parts without our own limit of catalog calls. `load`: senders
    during a swap. In seconds: `patience` for lineage, `alert_patience` for an alert, `after_swap` to look at
    production, `pause` between two looks at Azure.
    """

    deployed: Deployed
    parts: Worker
    sender: Sender
    probe: Callable[..., ProbeAnswer] = post_nothing
    unlimited: Callable[[Telemetry], Worker]
    patience: float = 180.0
    alert_patience: float = 900.0
    after_swap: float = 20.0
    pause: float = 10.0
    load: int = 3


_ANONYMOUS = "…"
_NAMES = re.compile(
    r"/subscriptions/[^\s\"']+|[\w.+-]+@[\w-]+(\.[\w-]+)+|\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b"
    r"|\b[\w-]+(\.[\w-]+)*\.(windows|azure|azurewebsites|microsoft|microsoftonline|chinacloudapi)\.\w+\S*"
    r"|https?://[^\s\"']+",
    re.IGNORECASE,
)
"""Resource ids, addresses of people, ids, hosts and addresses."""
_SHORTEST = 4
_OPEN_OUTPUTS = frozenset({"DELIVERY", "RECEIVER_SLOT"})


def anonymous(text: str, deployed: Deployed) -> str:
    """A text without secrets and without what names a company: the deployment's names, ids, hosts, people."""
    text = _NAMES.sub(_ANONYMOUS, text_without_secrets(text))
    names = {deployed.group, deployed.name, *deployed.group_id.split("/")}
    names |= {value for output, value in deployed.outputs.items() if output not in _OPEN_OUTPUTS}
    names |= {str(deployed.parameters.get(name) or "") for name in ("environmentName", "purviewAccountName")}
    for name in sorted(names, key=len, reverse=True):
        if len(name) >= _SHORTEST and name not in {"subscriptions", "resourceGroups"}:
            text = re.sub(re.escape(name), _ANONYMOUS, text, flags=re.IGNORECASE)
    return text
