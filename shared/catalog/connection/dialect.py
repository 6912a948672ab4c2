"""The differences between servers that speak Atlas v2, by the endpoint, and Azure's clouds that have Purview. Pure.

Purview has two generations of endpoints (`/datamap/api/atlas/v2` and the older `/catalog/api/atlas/v2`), each with its
api version and its own way to name a collection, and a search of its own beside Atlas'; as in Microsoft's REST
reference. Plain Atlas knows neither versions nor collections.

A cloud has its hosts, and the scope for which a token is asked there. Hosts of accounts are those of Microsoft's page
on the names of private endpoints. The public scope is that of its REST reference. The scopes of the other two are
those of published clients; another source names the public scope for all clouds. None was tried, so a setting
(THROUGHLINE_CATALOG_SCOPE) comes before this table.

Roles in a Purview collection are written into its metadata policy. A role is an attribute rule of the policy; the
object ids in its first condition have the role. A collection where a role was never granted has no rule for it, and its
permission rule does not name it: both are added then, with the rules inherited from the parent. The form is that of
Microsoft's tutorial on metadata policies (2021-07-01).
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
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


Policy = dict[str, Any]

ROLES = {
    "data-curator": "Data curators",
    "purview-reader": "Data readers",
    "data-source-administrator": "Data source admins",
    "collection-administrator": "Collection admins",
}
"""The roles that Purview has built in, each with what its portal calls those who have it."""

_ROLE = "purviewmetadatarole_builtin_"
_PRINCIPAL = "principal.microsoft.id"


def has_role(policy: Mapping[str, Any], role: str, principal: str) -> bool:
    """Whether the collection's own policy grants a role to a principal; inherited roles are in the parent's policy."""
    return any(principal in _members(condition) for condition in _conditions(policy, role))


def with_role(policy: Mapping[str, Any], role: str, principal: str) -> Policy:
    """The policy with a role granted in addition."""
    if has_role(policy, role, principal):
        return dict(policy)
    changed = copy.deepcopy(dict(policy))
    own_condition = next((condition for condition in _conditions(changed, role) if _is_of_ids(condition)), None)
    if own_condition is not None:
        for attribute in own_condition:
            if attribute.get("attributeName") == _PRINCIPAL:
                attribute["attributeValueIncludedIn"] = [*(attribute.get("attributeValueIncludedIn") or ()), principal]
        return changed
    rules, name = changed["properties"]["attributeRules"], _collection(changed)
    rule = f"{_ROLE}{role}:{name}"
    existing = next((attribute_rule for attribute_rule in rules if attribute_rule["id"] == rule), None)
    if existing is not None:
        existing["dnfCondition"].insert(0, _own_condition(role, principal))
        return changed
    parent = changed["properties"].get("parentCollectionName")
    inherited = [[_derived(f"{_ROLE}{role}:{parent}")]] if parent else []
    rules.insert(
        0,
        {
            "kind": "attributerule",
            "id": rule,
            "name": rule,
            "dnfCondition": [_own_condition(role, principal), *inherited],
        },
    )
    for attribute_rule in rules:
        if attribute_rule["id"] == f"permission:{name}":
            attribute_rule["dnfCondition"].insert(0, [_derived(rule)])
    return changed


def _collection(policy: Mapping[str, Any]) -> str:
    return str(policy["properties"]["collection"]["referenceName"])


def _conditions(policy: Mapping[str, Any], role: str) -> list[list[dict[str, Any]]]:
    """What gives a role in the policy's own collection."""
    rule = f"{_ROLE}{role}:{_collection(policy)}"
    return [
        condition
        for rule_to_read in policy["properties"]["attributeRules"]
        if rule_to_read["id"] == rule
        for condition in rule_to_read["dnfCondition"]
    ]


def _is_of_ids(condition: list[dict[str, Any]]) -> bool:
    return any(attribute.get("attributeName") == _PRINCIPAL for attribute in condition)


def _members(condition: list[dict[str, Any]]) -> set[str]:
    return {
        str(principal)
        for attribute in condition
        if attribute.get("attributeName") == _PRINCIPAL
        for principal in attribute.get("attributeValueIncludedIn") or ()
    }


def _own_condition(role: str, principal: str) -> list[dict[str, Any]]:
    return [
        {"attributeName": _PRINCIPAL, "attributeValueIncludedIn": [principal]},
        {
            "fromRule": f"{_ROLE}{role}",
            "attributeName": "derived.purview.role",
            "attributeValueIncludes": f"{_ROLE}{role}",
        },
    ]


def _derived(rule: str) -> dict[str, str]:
    return {"fromRule": rule, "attributeName": "derived.purview.permission", "attributeValueIncludes": rule}
