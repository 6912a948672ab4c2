"""The deployment that is checked."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cli.checks.azure.reading import Az
from local.package import PYTHON

EVENT_GRID = "eventGrid"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentName:
    """Which deployment is meant: its `group` and `name`. `subscription` is the one that the user named, empty for the
    CLI's own. `pause` waits so many seconds between two looks.
    """

    group: str
    name: str = "throughline"
    subscription: str = ""
    pause: Callable[[float], None] = time.sleep

    def places(self, parameters: Mapping[str, Any]) -> dict[str, str | tuple[str, ...]]:
        """What fills the commands that make or repeat a deployment; what is not known stays in capitals.

        Secret parameters are on record without a value, and left out.
        """
        known = {"environmentName": "NAME", "purviewAccountName": "PURVIEW", **parameters}
        return {
            "group": self.group,
            "deployment": self.name,
            "subscription": self.subscription,
            "parameters": tuple(f"{name}={_as_text(value)}" for name, value in known.items() if value is not None),
        }


def _as_text(value: Any) -> str:
    """A parameter as `az` takes it: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deployed:
    """A deployment of infra/main.bicep, equal to no other one.

    `outputs` are by their names in capitals, whatever case Azure gave them.
    """

    az: Az
    target: DeploymentName
    cloud: str
    group_id: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, Any]

    @property
    def group(self) -> str:
        """The resource group's name."""
        return self.target.group

    @property
    def python(self) -> str:
        """The version of Python that the package was made for."""
        return str(self.parameters.get("pythonVersion") or ".".join(map(str, PYTHON)))

    @property
    def storage_id(self) -> str:
        """The resource id of the storage account."""
        return self.resource(f"Microsoft.Storage/storageAccounts/{self.outputs.get('STORAGE_ACCOUNT_NAME', '')}")

    @property
    def by_event_grid(self) -> bool:
        """Whether Event Grid notifies the parser of new events."""
        return self.outputs["DELIVERY"] == EVENT_GRID

    def resource(self, path: str) -> str:
        """The id of a resource of the group, or of a collection, by its path as in `Microsoft.Web/sites/NAME`."""
        return f"{self.group_id}/providers/{path}"

    @property
    def places(self) -> dict[str, str | tuple[str, ...]]:
        """What fills the commands of rules."""
        return {
            **self.target.places(self.parameters),
            "group_id": self.group_id,
            "storage_id": self.storage_id,
            "receiver": self.outputs.get("RECEIVER_NAME", ""),
            "storage": self.outputs.get("STORAGE_ACCOUNT_NAME", ""),
        }
