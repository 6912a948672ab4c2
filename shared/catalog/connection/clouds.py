"""The clouds of Azure that have Purview: which hosts are theirs, and for what a token is asked there. Pure.

Hosts of accounts are those of Microsoft's page on the names of private endpoints. The public scope is that of its REST
reference. The scopes of the other two are those of published clients; another source names the public scope for all
clouds. None was tried, so a setting (THROUGHLINE_CATALOG_SCOPE) comes before this table.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

ACCOUNT_PATH = "/datamap/api/atlas/v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """One cloud. `accounts` follows an account's name in its host, `others` are hosts without one; `scope` is for
    what a token is asked.
    """

    name: str
    accounts: str
    scope: str
    others: tuple[str, ...] = ()

    def has(self, host: str) -> bool:
        """Whether a host is one of this cloud."""
        return any(host == each or host.endswith(f".{each}") for each in (self.accounts, *self.others))

    def endpoint(self, account: str) -> str:
        """The Atlas endpoint of an account by its name."""
        return f"https://{account}.{self.accounts}{ACCOUNT_PATH}"


CLOUDS: tuple[Cloud, ...] = (
    Cloud(
        name="public",
        accounts="purview.azure.com",
        others=("purview-service.microsoft.com",),
        scope="https://purview.azure.net/.default",
    ),
    Cloud(
        name="usgov",
        accounts="purview.azure.us",
        others=("purview-service.microsoft.us",),
        scope="https://purview.azure.us/.default",
    ),
    Cloud(
        name="china",
        accounts="purview.azure.cn",
        scope="https://purview.azure.cn/.default",
    ),
)
"""The public cloud first."""


def cloud_of(endpoint: str) -> Cloud | None:
    """The cloud of an endpoint, by its host; None for a host that is none of Purview's."""
    host = (urlsplit(endpoint).hostname or "").rstrip(".")
    return next((each for each in CLOUDS if each.has(host)), None)
