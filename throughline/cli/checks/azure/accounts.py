"""The storage accounts of a deployment: the one with the data, and those of the hosts of receiver and lineage page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from throughline.cli.checks.azure.deployed import Deployed
from throughline.cli.checks.azure.reading import STORAGE, listed, once


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
