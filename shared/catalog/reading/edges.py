"""The edges of a process in Atlas' answers: those that are there, and those that are only marked as deleted.

With soft deletes (Atlas' default) an edge that was taken away stays, in the attributes and in lineage; its
`relationshipStatus` alone says so, and only the process itself has that.
"""

from collections.abc import Iterator, Mapping
from typing import Any

ACTIVE = "ACTIVE"
SIDES = ("inputs", "outputs")


def shown(entity: Mapping[str, Any], side: str) -> list[tuple[str, str]]:
    """What lineage shows on one side of a process: guids, and whether each is really there, in sorted order."""
    return sorted((str(each["guid"]), _status(each)) for each in _related(entity, side))


def ended(entity: Mapping[str, Any]) -> Iterator[str]:
    """The guids of a process's relationships that are only marked as deleted."""
    for side in SIDES:
        yield from (str(each["relationshipGuid"]) for each in _related(entity, side) if _status(each) != ACTIVE)


def _related(entity: Mapping[str, Any], side: str) -> list[Mapping[str, Any]]:
    return (entity.get("relationshipAttributes") or {}).get(side) or []


def _status(reference: Mapping[str, Any]) -> str:
    """Atlas leaves it out of no relationship; what has none is there."""
    return str(reference.get("relationshipStatus", ACTIVE))
