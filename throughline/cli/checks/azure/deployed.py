"""The deployment that is checked, and its storage accounts: the one with the data, and those of the hosts."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.cli.checks.azure.reading import STORAGE, listed, once
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The accounts of the group by name; `data` names the one with events and tables."""

    data: str
    by_name: Mapping[str, Mapping[str, Any]]

    def host_of(self, part: str) -> str:
        """The account of the host of `part`: infra/main.bicep makes `strec…` and `stlin…` beside `st…`."""
        prefix = {"receiver": "strec", "lineage": "stlin"}.get(part)
        return f"{prefix}{self.data.removeprefix('st')}" if prefix else self.data

    def endpoint(self, name: str, kind: str) -> str:
        """An account's endpoint for blob, queue or table; empty where there is no such account."""
        properties = self.by_name.get(name, {}).get("properties") or {}
        return str((properties.get("primaryEndpoints") or {}).get(kind) or "")


@once
def accounts_of(deployed: Deployed) -> Accounts:
    """The accounts of a deployment's group. Raises AzureCliError."""
    accounts = listed(deployed.az, deployed.resource("Microsoft.Storage/storageAccounts"), STORAGE)
    accounts_by_name = {str(account["name"]): account for account in accounts}
    return Accounts(data=deployed.outputs["STORAGE_ACCOUNT_NAME"], by_name=accounts_by_name)
