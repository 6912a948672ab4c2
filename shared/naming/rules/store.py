"""What a store family is: its schemes, how its spellings are folded, and how its data sets are called."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.naming.datasets.normalization import authority_folded, path_folded
from shared.naming.rules.rule import Rule

Fold = Callable[[str, str], tuple[str, str]]
"""From what follows a namespace's scheme, and a name, to the one spelling of both."""


def as_path(rest: str, name: str) -> tuple[str, str]:
    """Files in folders. A store without an authority has absolute paths."""
    folded, path = authority_folded(rest), path_folded(name)
    return folded, path if folded else f"/{path}"


def as_name(rest: str, name: str) -> tuple[str, str]:
    """Names that are no paths: only slashes at the ends go."""
    return authority_folded(rest), name.strip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A family of stores.

    `schemes` begin its namespaces; the first is the one to which all are folded. Where several families share a scheme,
    `authority` (what follows the scheme, in lower case) tells them apart; without one, it takes all. `has_paths` says
    whether names are paths of files; `has_tables`, that they are those of tables in a metastore, which arrive as
    symlinks of a location.
    """

    schemes: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    fold: Fold = as_name
    authority: re.Pattern[str] | None = None
    has_paths: bool = False
    has_tables: bool = False
