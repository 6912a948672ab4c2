"""The deployment that is checked."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.cli.deploy.azure_cli import Az
from throughline.package import PYTHON

EVENT_GRID = "eventGrid"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentQuery:
    """Which deployment is meant: its `group`, and its `environment` where the group holds several.

    `subscription` is the one that the user named, empty for the CLI's own. `pause` waits so many seconds between two
    looks.
    """

    group: str
    environment: str = ""
    subscription: str = ""
    pause: Callable[[float], None] = time.sleep

    @property
    def places(self) -> dict[str, str | tuple[str, ...]]:
        """What fills the commands that make or repeat a deployment."""
        return {"group": self.group, "environment": self.environment, "subscription": self.subscription}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deployed:
    """A deployment of infra/main.bicep by its `name`, equal to no other one.

    `outputs` are by their names in capitals, whatever case Azure gave them.
    """

    az: Az
    target: DeploymentQuery
    name: str
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
        return ".".join(map(str, PYTHON))

    @property
    def storage_id(self) -> str:
        """The resource id of the storage account."""
        return self.resource(f"Microsoft.Storage/storageAccounts/{self.outputs.get('STORAGE_ACCOUNT_NAME', '')}")

    @property
    def by_webhook(self) -> bool:
        """Whether Event Grid calls the parser; else it fills a queue."""
        return self.outputs["DELIVERY"] == EVENT_GRID

    def resource(self, path: str) -> str:
        """The id of a resource of the group, or of a collection, by its path as in `Microsoft.Web/sites/NAME`."""
        return f"{self.group_id}/providers/{path}"

    @property
    def places(self) -> dict[str, str | tuple[str, ...]]:
        """What fills the commands of rules."""
        return {
            **self.target.places,
            "group_id": self.group_id,
            "storage_id": self.storage_id,
            "receiver": self.outputs.get("RECEIVER_NAME", ""),
            "storage": self.outputs.get("STORAGE_ACCOUNT_NAME", ""),
        }
