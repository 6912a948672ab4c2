"""Pieces of SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of SQL (our own text) and the client's values in it."""

    sql: str
    values: tuple[Any, ...] = ()


def joined(conditions: Sequence[Condition], joint: str) -> Condition:
    """Combine the conditions by one operator, AND or OR."""
    sql = f" {joint} ".join(condition.sql for condition in conditions)
    return Condition(f"({sql})", tuple(value for condition in conditions for value in condition.values))
