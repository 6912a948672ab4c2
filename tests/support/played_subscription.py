"""A subscription with a deployment, for `throughline prove`: healthy until a case plants something wrong.

Resource Manager is that of `doctor`'s tests, the receiver with its slot that of the deployment's, and events go by HTTP
to a Throughline in memory that processes each before it answers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from shared.bootstrap import Worker
from shared.canary.sender import Sender
from shared.telemetry.port import Telemetry
from tests.cli.doctor.played_azure import GROUP, PlayedAzure, healthy
from tests.support.cli import Parts
from tests.support.installation import installation
from tests.support.played_receiver import PRODUCTION, SLOT, PlayedReceiver
from throughline.cli.checks.azure.deployed import DeploymentQuery
from throughline.cli.checks.azure.reaching import reach
from throughline.cli.checks.findings import collected
from throughline.cli.deploy.receiver import ProbeAnswer
from throughline.cli.prove.evidence import ProofContext

OLD, NEW = "a" * 64, "b" * 64
KEY = "sender"
TOKEN = "token-of-az"  # noqa: S105 - planted, to see that nothing shows it


@dataclass(kw_only=True)
class PlayedSubscription:
    """Stands in for `az`, answers probes, and sends events.

    What can be wrong: `changes` of the template; `alerts` that nobody raises; `lossy`: a swap loses what is sent then;
    `open_to`: what opens the receiver although it must not (`wrong key`, `key alone`, `token alone`); `entra`: whether
    senders need a token; `folds`: whether the parser gets notices.
    """

    parts: Parts = field(default_factory=Parts)
    azure: PlayedAzure = field(default_factory=healthy)
    changes: list[dict[str, Any]] = field(default_factory=list)
    alerts: bool = True
    lossy: bool = False
    entra: bool = False
    open_to: frozenset[str] = frozenset()
    folds: bool = True
    stopped: datetime | None = None
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.receiver = PlayedReceiver(running=OLD, slot=NEW)
        self.losing = 0

    def json(self, *words: str) -> Any:
        """The answer of `az`. Raises AzureCliError."""
        command, options = " ".join(words), dict(pairwise(words))
        self.calls.append(command)
        if command.startswith("deployment group what-if"):
            resource = f"{self.azure.outputs['receiveR_NAME']}/config/appsettings"
            unchanged_resource = {
                "changeType": "NoChange",
                "resourceId": f"/x/providers/Microsoft.Web/sites/{resource}",
            }
            return {"changes": [unchanged_resource, *self.changes]}
        if command.startswith("functionapp st"):
            self.stopped = datetime.now(UTC) if words[1] == "stop" else None
            return None
        if "Microsoft.AlertsManagement" in command:
            return {"value": list(self._alerts())}
        if command.startswith("functionapp keys list"):
            return KEY
        if command.startswith("account get-access-token"):
            return TOKEN
        if "{subscriptionId}" in command or command.startswith("functionapp deployment slot swap"):
            self.losing = 6 if "slot swap" in command and self.lossy else 0
            return self.receiver.json(*words)
        if command.startswith("functionapp show") and "--slot" in options:
            return self.receiver.json(*words)
        return self.azure.json(*words)

    def _alerts(self) -> Iterator[dict[str, Any]]:
        """As Azure Monitor lists them: one from before, and one of the stopped receiver."""
        old = {"alertRule": f"{GROUP}/throughline-lineage-receiver-down", "startDateTime": "2026-01-01T00:00:00Z"}
        yield {"properties": {"essentials": old}}
        if self.stopped and self.alerts:
            raised = self.stopped.isoformat(timespec="microseconds").replace("+00:00", "0Z")
            essentials = {"alertRule": "/x/activityLogAlerts/throughline-lineage-receiver-stopped"}
            yield {"properties": {"essentials": essentials | {"startDateTime": raised}}}

    def probe(self, url: str, key: str, *, token: str = "") -> ProbeAnswer:
        """The answer to an empty POST to production or to the slot."""
        process = self.receiver.places[SLOT if "-staging." in url else PRODUCTION]
        if self.stopped:
            return ProbeAnswer(status=403)
        has_key = bool(key) if "wrong key" in self.open_to else self.receiver.accepts(process, key)
        has_key = has_key or (bool(token) and "token alone" in self.open_to)
        has_token = not self.entra or token == TOKEN or "key alone" in self.open_to
        return ProbeAnswer(status=400 if has_key and has_token else 401, package=process.package)

    @contextmanager
    def trial(
        self,
        worker: Worker | None = None,
        *,
        patience: float = 5.0,
        unlimited: Callable[[Telemetry], Worker] | None = None,
    ) -> Iterator[ProofContext]:
        """What a proof works with, while events are answered."""
        parts = worker or self.parts.worker
        if self.entra:
            self.azure.outputs["entrA_APPLICATION_ID"] = "client-id"
        _, deployed = collected(reach(self, DeploymentQuery(group=GROUP)))
        assert deployed
        token = TOKEN if self.entra else ""
        with installation(parts, key=KEY, token=token, status=self._status, folds=self.folds) as url:
            yield ProofContext(
                deployed=deployed,
                parts=parts,
                sender=Sender(url=url, key=KEY, token=lambda: token),
                probe=self.probe,
                unlimited=unlimited or (lambda _: parts),
                patience=patience,
                alert_patience=1.0,
                after_swap=0.2,
                pause=0.05,
            )

    def _status(self) -> int:
        """201, except for what is sent during a swap that loses requests."""
        self.losing -= self.losing > 0
        return 503 if self.losing else 201
