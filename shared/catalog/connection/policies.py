"""Roles in a Purview collection, by its metadata policy. Pure.

A role is an attribute rule of the policy; the object ids in its first condition have the role. A collection where a
role was never granted has no rule for it, and its permission rule does not name it: both are added then, with the rules
inherited from the parent. The form is that of Microsoft's tutorial on metadata policies (2021-07-01).
"""

import copy
from collections.abc import Mapping
from typing import Any

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
