"""Where to deploy: the outputs of infra/main.bicep, as azd passes them on or Azure keeps them with the deployment."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from throughline.cli.deploy.progress import DeployError

DELIVERIES = ("eventGrid", "queue")
"""How the parser may get notices of new events."""

OPTIONAL = frozenset({"RECEIVER_SLOT", "ENTRA_APPLICATION_ID", "LINEAGE_NAME", "LINEAGE_URL"})
"""Outputs that may be empty: Flex Consumption and the Basic sizes have no slots, a key may be all that is asked, and
there may be no lineage page.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One Throughline in Azure, as the outputs of its template name it. `slot` is empty where none is, `application`
    (the receiver's registration in Entra ID) where senders need no token, `lineage` where there is no lineage page.
    """

    group: str
    receiver: str
    receiver_url: str
    slot: str
    worker: str
    worker_principal: str
    storage: str
    delivery: str
    topic: str
    application: str
    lineage: str = ""
    lineage_url: str = ""


def from_azure(group: str, name: str, outputs: Mapping[str, str]) -> Target:
    """Read the target from the outputs of a deployment of infra/main.bicep that is named so. Raises DeployError."""
    remedy = f"Deploy it again: {Path(sys.executable).name} -m throughline.cli.deploy {group} --template"
    return _target(group, outputs, f"deployment {name}", remedy)


def from_azd(environment: Mapping[str, str]) -> Target:
    """Read the target from the variables that azd gives its hooks. Raises DeployError."""
    group = environment.get("AZURE_RESOURCE_GROUP", "")
    return _target(group, environment, "azd environment", "Run: azd provision")


def _target(group: str, outputs: Mapping[str, str], source: str, mend: str) -> Target:
    def output(name: str) -> str:
        value = outputs.get(name, "").strip()
        if not value and name not in OPTIONAL:
            raise DeployError(f"The {source} has no value for {name}, an output of infra/main.bicep. {mend}")
        return value

    delivery = output("DELIVERY")
    if delivery not in DELIVERIES:
        raise DeployError(f"DELIVERY of the {source} is {delivery!r}, not one of {', '.join(DELIVERIES)}. {mend}")
    return Target(
        group=group,
        receiver=output("RECEIVER_NAME"),
        receiver_url=output("RECEIVER_URL").rstrip("/"),
        slot=output("RECEIVER_SLOT"),
        worker=output("WORKER_NAME"),
        worker_principal=output("WORKER_PRINCIPAL_ID"),
        storage=output("STORAGE_ACCOUNT_NAME"),
        delivery=delivery,
        topic=output("EVENT_TOPIC_NAME"),
        application=output("ENTRA_APPLICATION_ID"),
        lineage=output("LINEAGE_NAME"),
        lineage_url=output("LINEAGE_URL").rstrip("/"),
    )
