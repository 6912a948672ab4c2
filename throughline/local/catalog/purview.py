"""The collections of a Purview account, and policies, which assign roles in them.

The owner, who sends the catalog's own token, may do everything. Other callers send the token with their object id
behind a colon, and have the roles that the policies give them; without one reads return nothing, and writes are
refused. Collections and policies are kept in memory: a restart or a reset restores the initial state.

Paths and forms as in Microsoft's REST reference: `account/collections` (2019-11-01-preview), `policystore`
(2021-07-01); a policy is that of Microsoft's tutorial on metadata policies.
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.store import ROOT

Json = dict[str, Any]

OWNER = "00000000-0000-4000-8000-000000000001"
ADMINISTRATOR, CURATOR, READER = "collection-administrator", "data-curator", "purview-reader"
_ROLE = "purviewmetadatarole_builtin_"
_NAMESPACE = uuid.UUID("6f1f3c52-5d0e-4f7d-9a58-0a2a1a6f3d11")
_COLLECTIONS_PAGE = 2
"""Rows of a page of collections: few, so that every test reads several pages."""
_ELSEWHERE = "https://elsewhere.invalid/account"
"""A host that nobody may send a token to."""


class Account:
    """Collections and policies."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Keep only the root, in which the owner has all roles."""
        self._collections: dict[str, Json] = {}
        self._policies: dict[str, Json] = {}
        self._add(ROOT, "The local account", "")
        rules = self._policies[ROOT]["properties"]["attributeRules"]
        rules.extend(_role_rule(role, ROOT, "", OWNER) for role in (CURATOR, READER))

    def _add(self, name: str, friendly_name: str, parent: str) -> Json:
        """Add a collection, with a policy that makes the owner its administrator and inherits the rest."""
        parts = {"parentCollection": {"referenceName": parent}} if parent else {}
        self._collections[name] = {"name": name, "friendlyName": friendly_name, **parts}
        self._policies.setdefault(name, _policy(name, parent))
        return self._collections[name]

    def may(self, caller: str, role: str, collection: str) -> bool:
        """Whether the caller has a role in a collection, given there or inherited."""
        return role in self._roles(caller, collection)

    def may_read(self, caller: str, collection: str) -> bool:
        """Whether the caller may read a collection."""
        return caller == OWNER or not {CURATOR, READER}.isdisjoint(self._roles(caller, collection))

    def check_write(self, caller: str, collection: str) -> None:
        """Refuse (403) a caller who may not write into a collection; nobody may write into an unknown one."""
        if collection not in self._collections or not (caller == OWNER or self.may(caller, CURATOR, collection)):
            raise CatalogError(Fault.FORBIDDEN, f"to write into the collection {collection}")

    def collections(self, caller: str, begin: int) -> Json:
        """Return a page of the collections that the caller sees, and the address of the next page."""
        rows = [row for name, row in self._collections.items() if any(self._roles(caller, name))]
        end = begin + _COLLECTIONS_PAGE
        following = {"nextLink": f"{_ELSEWHERE}/collections?$skipToken={end}"} if end < len(rows) else {}
        return {"value": rows[begin:end], "count": len(rows[begin:end]), **following}

    def put_collection(self, caller: str, name: str, body: Json) -> Json:
        """Create or rename a collection. Errors: 400, 403."""
        parent = str((body.get("parentCollection") or {}).get("referenceName") or ROOT)
        if parent not in self._collections:
            raise CatalogError(Fault.BAD_REQUEST, f"there is no collection {parent}")
        if not self.may(caller, ADMINISTRATOR, parent):
            raise CatalogError(Fault.FORBIDDEN, f"to administer {parent}")
        return self._add(name, str(body.get("friendlyName") or name), parent)

    def policy(self, caller: str, collection: str) -> Json:
        """Return a collection's policy to its administrator. Error: 403."""
        if collection not in self._collections or not self.may(caller, ADMINISTRATOR, collection):
            raise CatalogError(Fault.FORBIDDEN, f"to read the policy of {collection}")
        return self._policies[collection]

    def put_policy(self, caller: str, policy_id: str, policy: Json) -> Json:
        """Replace a policy; its version must be the current one. Errors: 400, 403."""
        name = next((name for name, stored in self._policies.items() if stored["id"] == policy_id), "")
        if not name or not self.may(caller, ADMINISTRATOR, name):
            raise CatalogError(Fault.FORBIDDEN, f"to write the policy {policy_id}")
        if not isinstance(policy.get("properties"), dict):
            raise CatalogError(Fault.BAD_REQUEST, "a policy is a JSON object with properties")
        version = self._policies[name]["version"]
        if policy.get("version") != version:
            raise CatalogError(Fault.BAD_REQUEST, "the policy has changed since it was read")
        self._policies[name] = {**policy, "id": policy_id, "version": version + 1}
        return self._policies[name]

    def readable(self, caller: str, answer: Any) -> Any:
        """Return the part of an answer that the caller may read. Error: 403."""
        if caller == OWNER or not isinstance(answer, dict):
            return answer

        def may_read(entity: Json) -> bool:
            return self.may_read(caller, str(entity.get("collectionId", ROOT)))

        if isinstance(answer.get("entity"), dict) and not may_read(answer["entity"]):
            raise CatalogError(Fault.FORBIDDEN, "to read this entity")
        part = dict(answer)
        for key in ("entities", "value"):
            if isinstance(answer.get(key), list) and "count" not in answer:  # a list of collections is the caller's own
                part[key] = [entity for entity in answer[key] if may_read(entity)]
        if "@search.count" in part:
            part["@search.count"] = len(part["value"])
        return part

    def _roles(self, caller: str, collection: str) -> set[str]:
        """Return the caller's roles by the policies, from the collection up to the root."""
        roles: set[str] = set()
        while collection in self._collections:
            for rule in self._policies[collection]["properties"]["attributeRules"]:
                if rule["id"].startswith(_ROLE) and caller in set(_principals(rule)):
                    roles.add(rule["id"].removeprefix(_ROLE).partition(":")[0])
            collection = (self._collections[collection].get("parentCollection") or {}).get("referenceName", "")
        return roles


def _principals(rule: Mapping[str, Any]) -> Iterator[str]:
    for conjunction in rule["dnfCondition"]:
        for condition in conjunction:
            if condition.get("attributeName") == "principal.microsoft.id":
                yield from condition.get("attributeValueIncludedIn") or ()


def _policy(name: str, parent: str) -> Json:
    conditions = [[_permission(f"{_ROLE}{ADMINISTRATOR}:{name}")]]
    conditions += [[_permission(f"permission:{parent}")]] if parent else []
    return {
        "name": f"policy_{name}",
        "id": str(uuid.uuid5(_NAMESPACE, name)),
        "version": 0,
        "properties": {
            "description": "",
            "decisionRules": [],
            "attributeRules": [
                _role_rule(ADMINISTRATOR, name, parent, OWNER),
                _rule(f"permission:{name}", conditions),
            ],
            "collection": {"type": "CollectionReference", "referenceName": name},
            **({"parentCollectionName": parent} if parent else {}),
        },
    }


def _role_rule(role: str, name: str, parent: str, principal: str) -> Json:
    conditions: list[list[Json]] = [
        [
            {"attributeName": "principal.microsoft.id", "attributeValueIncludedIn": [principal]},
            _permission(f"{_ROLE}{role}") | {"attributeName": "derived.purview.role"},
        ],
        *([[_permission(f"{_ROLE}{role}:{parent}")]] if parent else []),
    ]
    return _rule(f"{_ROLE}{role}:{name}", conditions)


def _rule(name: str, conditions: list[list[Json]]) -> Json:
    return {"kind": "attributerule", "id": name, "name": name, "dnfCondition": conditions}


def _permission(rule: str) -> Json:
    return {"fromRule": rule, "attributeName": "derived.purview.permission", "attributeValueIncludes": rule}
