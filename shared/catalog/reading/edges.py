"""Relationships in Atlas' answers: those that are there, and those that are only marked as deleted.

With soft deletes (Atlas' default) an edge that was taken away stays, in the attributes and in lineage; its
`relationshipStatus` alone says so, and only the process itself has that.
"""

from collections.abc import Iterator, Mapping
from typing import Any

ACTIVE = "ACTIVE"
SIDES = ("inputs", "outputs")


def ends(entity: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The ends of the relationships of one attribute, with those that are only marked as deleted."""
    value = (entity.get("relationshipAttributes") or {}).get(name) or []
    return value if isinstance(value, list) else [value]


def active_ends(entity: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The ends of the relationships of one attribute, without deleted ones."""
    return [end for end in ends(entity, name) if status(end) == ACTIVE and end.get("entityStatus", ACTIVE) == ACTIVE]


def status(end: Mapping[str, Any]) -> str:
    """The status of a relationship: ACTIVE where an end has none, though Atlas always gives one."""
    return str(end.get("relationshipStatus", ACTIVE))


def shown(entity: Mapping[str, Any], side: str) -> list[tuple[str, str]]:
    """The guids that lineage shows on one side of a process, each with its status, sorted."""
    return sorted((str(each["guid"]), status(each)) for each in ends(entity, side))


def ended(entity: Mapping[str, Any]) -> Iterator[str]:
    """The guids of a process's relationships that are only marked as deleted."""
    for side in SIDES:
        yield from (str(each["relationshipGuid"]) for each in ends(entity, side) if status(each) != ACTIVE)
