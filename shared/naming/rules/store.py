"""What a store family is: its schemes, how its spellings are folded, and how its data sets are called."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.naming.datasets.normalization import authority_folded, path_folded
from shared.naming.rules.rule import NamingRule

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
    symlinks of a location. A `fallback` is asked only where no other family takes the namespace.
    """

    schemes: tuple[str, ...]
    rules: tuple[NamingRule, ...] = ()
    fold: Fold = as_name
    authority: re.Pattern[str] | None = None
    has_paths: bool = False
    has_tables: bool = False
    fallback: bool = False


def families_by_scheme(stores: Iterable[Store]) -> dict[str, tuple[Store, ...]]:
    """The families of each scheme in the order in which they are asked: as listed, fallbacks last.

    Raises ValueError for a family that could never be asked, because one before it takes every namespace of its scheme.
    """
    found: dict[str, tuple[Store, ...]] = {}
    for store in sorted(stores, key=lambda each: each.fallback):
        for scheme in store.schemes:
            before = found.get(scheme, ())
            if not store.fallback and any(each.authority is None for each in before):
                raise ValueError(
                    f"The store family of {_rules_of(store)} is never asked for {scheme}: the family of "
                    f"{_rules_of(before[-1])} takes all of that scheme. List the new family before it in "
                    "shared/naming/stores/__init__.py, with an `authority` that matches only its own namespaces."
                )
            found[scheme] = (*before, store)
    return found


def _rules_of(store: Store) -> str:
    return ", ".join(rule.name for rule in store.rules) or "no rule"
