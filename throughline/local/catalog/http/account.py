"""The collections of a Purview account, and its policies, which assign roles in them.

The owner, who sends the catalog's own token, may do everything. Other callers send the token with their object id
behind a colon, and have the roles that the policies give them. All is kept in memory: a restart or a reset restores the
initial state. The form of a policy is that of Microsoft's tutorial on metadata policies.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault

Json = dict[str, Any]

OWNER = "00000000-0000-4000-8000-000000000001"
ROOT = "local"
ADMINISTRATOR, CURATOR, READER = "collection-administrator", "data-curator", "purview-reader"
_ROLE = "purviewmetadatarole_builtin_"
_NAMESPACE = uuid.UUID("6f1f3c52-5d0e-4f7d-9a58-0a2a1a6f3d11")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection: `name` is for calls, `shown` for people."""

    name: str
    shown: str
    parent: str | None

    def to_json(self) -> Json:
        """Return it in the form of the list of collections."""
        above = {"parentCollection": {"referenceName": self.parent}} if self.parent else {}
        return {"name": self.name, "friendlyName": self.shown, **above}


class Account:
    """Collections and policies."""

    def __init__(self) -> None:
        self._collections: dict[str, Collection] = {}
        self._policies: dict[str, Json] = {}
        self.reset()

    def reset(self) -> None:
        """Keep only the root, in which the owner has all roles."""
        self._collections.clear()
        self._policies.clear()
        self.add(ROOT, "The local account", None)
        for role in (CURATOR, READER):
            self._policies[ROOT]["properties"]["attributeRules"].append(_role_rule(role, ROOT, None, OWNER))

    def add(self, name: str, shown: str, parent: str | None) -> Collection:
        """Add a collection, with a policy that makes the owner its administrator and inherits the rest."""
        if parent is not None and parent not in self._collections:
            raise CatalogError(Fault.BAD_REQUEST, f"there is no collection {parent}")
        found = Collection(name=name, shown=shown, parent=parent)
        if name not in self._policies:
            self._policies[name] = _policy(name, parent)
        self._collections[name] = found
        return found

    def seen_by(self, caller: str) -> list[Collection]:
        """Return the collections in which the caller has any role."""
        return [each for each in self._collections.values() if any(self._roles(caller, each.name))]

    def may(self, caller: str, role: str, collection: str) -> bool:
        """Whether the caller has a role in a collection, given there or inherited."""
        return role in set(self._roles(caller, collection))

    def may_read(self, caller: str, collection: str) -> bool:
        """Whether the caller may read a collection."""
        return caller == OWNER or not {CURATOR, READER}.isdisjoint(self._roles(caller, collection))

    def may_write(self, caller: str, collection: str) -> bool:
        """Whether the caller may write into a collection; nobody may write into an unknown one."""
        return collection in self._collections and (caller == OWNER or self.may(caller, CURATOR, collection))

    def policy_of(self, caller: str, collection: str) -> Json:
        """Return a collection's policy to its administrator. Error: 403."""
        if collection not in self._collections or not self.may(caller, ADMINISTRATOR, collection):
            raise CatalogError(Fault.FORBIDDEN, f"to read the policy of {collection}")
        return self._policies[collection]

    def policies(self, caller: str) -> list[Json]:
        """Return the policies that the caller administers."""
        return [each for name, each in self._policies.items() if self.may(caller, ADMINISTRATOR, name)]

    def put_policy(self, caller: str, policy_id: str, policy: Any) -> Json:
        """Replace a policy; its version must be the current one. Errors: 403, 400, 409."""
        known = next((each for each in self._policies.values() if each["id"] == policy_id), None)
        name = known["properties"]["collection"]["referenceName"] if known else ""
        if known is None or not self.may(caller, ADMINISTRATOR, name):
            raise CatalogError(Fault.FORBIDDEN, f"to write the policy {policy_id}")
        if not isinstance(policy, dict) or not isinstance(policy.get("properties"), dict):
            raise CatalogError(Fault.BAD_REQUEST, "a policy is a JSON object with properties")
        if policy.get("version") != known["version"]:
            raise CatalogError(Fault.BAD_REQUEST, "the policy has changed since it was read")
        self._policies[name] = {**policy, "id": policy_id, "version": known["version"] + 1}
        return self._policies[name]

    def _roles(self, caller: str, collection: str) -> Iterator[str]:
        """Yield the caller's roles by the policies, from the collection up to the root."""
        at: str | None = collection
        while at in self._collections:
            for rule in self._policies[at]["properties"]["attributeRules"]:
                if rule["id"].startswith(_ROLE) and caller in _principals(rule):
                    yield rule["id"].removeprefix(_ROLE).partition(":")[0]
            at = self._collections[at].parent


def _principals(rule: Mapping[str, Any]) -> set[str]:
    return {
        principal
        for conjunction in rule["dnfCondition"]
        for each in conjunction
        if each.get("attributeName") == "principal.microsoft.id"
        for principal in each.get("attributeValueIncludedIn") or ()
    }


def _policy(name: str, parent: str | None) -> Json:
    rules = [_role_rule(ADMINISTRATOR, name, parent, OWNER), _permission_rule(name, parent)]
    return {
        "name": f"policy_{name}",
        "id": str(uuid.uuid5(_NAMESPACE, name)),
        "version": 0,
        "properties": {
            "description": "",
            "decisionRules": [],
            "attributeRules": rules,
            "collection": {"type": "CollectionReference", "referenceName": name},
            **({"parentCollectionName": parent} if parent else {}),
        },
    }


def _role_rule(role: str, name: str, parent: str | None, principal: str) -> Json:
    own = [
        {"attributeName": "principal.microsoft.id", "attributeValueIncludedIn": [principal]},
        {
            "fromRule": f"{_ROLE}{role}",
            "attributeName": "derived.purview.role",
            "attributeValueIncludes": f"{_ROLE}{role}",
        },
    ]
    inherited = [[_permission(f"{_ROLE}{role}:{parent}")]] if parent else []
    rule = f"{_ROLE}{role}:{name}"
    return {"kind": "attributerule", "id": rule, "name": rule, "dnfCondition": [own, *inherited]}


def _permission_rule(name: str, parent: str | None) -> Json:
    conditions = [[_permission(f"{_ROLE}{ADMINISTRATOR}:{name}")]]
    if parent:
        conditions.append([_permission(f"permission:{parent}")])
    rule = f"permission:{name}"
    return {"kind": "attributerule", "id": rule, "name": rule, "dnfCondition": conditions}


def _permission(rule: str) -> Json:
    return {"fromRule": rule, "attributeName": "derived.purview.permission", "attributeValueIncludes": rule}
