"""A row of the tables of verbs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from throughline.local.catalog.catalog import Call, Catalog

NOTHING = object()
"""Marks an answer without a body (204)."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A method, a path with parameters in braces, and the function that implements it."""

    method: str
    path: str
    run: Callable[[Catalog, Call], Any]
    writes: bool = False

    @property
    def name(self) -> str:
        """Return the name under which calls are counted."""
        return f"{self.method} {self.path}"


def nothing(run: Callable[[Catalog, Call], None]) -> Callable[[Catalog, Call], object]:
    """Wrap a verb so that its answer has no body."""

    def answered(catalog: Catalog, call: Call) -> object:
        run(catalog, call)
        return NOTHING

    return answered
