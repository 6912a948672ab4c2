"""The differences between servers that speak Atlas v2, by the endpoint, and Azure's clouds that have Purview. Pure.

Purview has two generations of endpoints (`/datamap/api/atlas/v2` and the older `/catalog/api/atlas/v2`), each with its
api version and its own way to name a collection, and a search of its own beside Atlas'; as in Microsoft's REST
reference. Plain Atlas knows neither versions nor collections.

A cloud has its hosts, and the scope for which a token is asked there. Hosts of accounts are those of Microsoft's page
on the names of private endpoints. The public scope is that of its REST reference. The scopes of the other two are
those of published clients; another source names the public scope for all clouds. None was tried, so a setting
(THROUGHLINE_CATALOG_SCOPE) comes before this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
        return any(host == domain or host.endswith(f".{domain}") for domain in (self.accounts, *self.others))

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
    return next((cloud for cloud in CLOUDS if cloud.has(host)), None)


ATLAS_PATH = "/atlas/v2"
ACCOUNT_VERSION = "2019-11-01-preview"
POLICY_VERSION = "2021-07-01"
KEEP_OTHERS = {"businessAttributeUpdateBehavior": "merge"}
"""With managed attributes: those that a call does not name stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How to call one kind of server. `host` is the address before the paths; `discovery` the address of Purview's
    search, empty on plain Atlas; `parameters` go with every call.
    """

    endpoint: str
    host: str = ""
    discovery: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    collections_in_path: bool = False

    @property
    def has_managed_attributes(self) -> bool:
        """Whether entities are written together with managed attributes: the newer of Purview's endpoints."""
        return self.is_purview and not self.collections_in_path

    @property
    def is_purview(self) -> bool:
        """Whether there are collections and roles."""
        return bool(self.discovery)

    def bulk(self, collection: str) -> tuple[str, dict[str, str]]:
        """Where entities are written, and with what parameters: into a collection, or (without one) where they are."""
        if not collection or not self.is_purview:
            return f"{self.endpoint}/entity/bulk", {}
        if self.collections_in_path:
            return f"{self.host}/catalog/api/collections/{collection}/entity/bulk", {}
        return f"{self.endpoint}/entity/bulk", {"collectionId": collection}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Generation:
    root: str
    version: str
    collections_in_path: bool = False


_GENERATIONS = (
    _Generation(root="/datamap/api", version="2023-09-01"),
    _Generation(root="/catalog/api", version="2022-03-01-preview", collections_in_path=True),
)


def dialect_of(endpoint: str) -> Dialect:
    """How to call the server at this endpoint."""
    plain = endpoint.rstrip("/")
    for generation in _GENERATIONS:
        host, separator, _ = plain.partition(f"{generation.root}{ATLAS_PATH}")
        if separator:
            return Dialect(
                endpoint=plain,
                host=host,
                discovery=f"{host}{generation.root}/search/query",
                parameters={"api-version": generation.version},
                collections_in_path=generation.collections_in_path,
            )
    return Dialect(endpoint=plain)
