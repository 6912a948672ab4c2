"""Store families: their schemes, how their spellings are normalised, and their naming rules."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.naming.rules.normalization import authority_folded, path_folded, table_folded, table_parts
from shared.naming.rules.rule import NamingRule

Fold = Callable[[str, str], tuple[str, str]]
"""Normalises the part after a namespace's scheme, and a name."""


def as_path(rest: str, name: str) -> tuple[str, str]:
    """Normalise file paths. A store without an authority has absolute paths."""
    folded, path = authority_folded(rest), path_folded(name)
    return folded, path if folded else f"/{path}"


def as_name(rest: str, name: str) -> tuple[str, str]:
    """Normalise names that are no paths: only slashes at the ends are removed."""
    return authority_folded(rest), name.strip("/")


def as_table(rest: str, name: str) -> tuple[str, str]:
    """Normalise a server's address and a table's name: without properties of a connection, without quotes."""
    return authority_folded(PROPERTIES.split(rest, 1)[0]), table_folded(table_parts(name.strip("/")))


PROPERTIES = re.compile("[?;]")
"""Before the properties of a connection, at the end of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFamily:
    """A family of stores.

    - `schemes` of its namespaces; all are normalised to the first.
    - `authority`: matches the part after the scheme in lower case, where families share a scheme; None takes all.
    - `separator`: between scheme and the rest.
    - `has_paths`: names are file paths. `has_tables`: names are tables of a metastore, which arrive as symlinks.
    - `fallback`: asked only if no other family takes the namespace.
    """

    schemes: tuple[str, ...]
    rules: tuple[NamingRule, ...] = ()
    fold: Fold = as_name
    authority: re.Pattern[str] | None = None
    separator: str = "://"
    has_paths: bool = False
    has_tables: bool = False
    fallback: bool = False


def families_by_scheme(stores: Iterable[StoreFamily]) -> dict[str, tuple[StoreFamily, ...]]:
    """The families of each scheme in the order in which they are asked: as listed, fallbacks last.

    Raises ValueError for a family that could never be asked, because one before it takes every namespace of its scheme.
    """
    found: dict[str, tuple[StoreFamily, ...]] = {}
    for store in sorted(stores, key=lambda each: each.fallback):
        for scheme in store.schemes:
            before = found.get(scheme, ())
            if not store.fallback and any(each.authority is None for each in before):
                raise ValueError(
                    f"The store family of {_rules_of(store)} is never asked for {scheme}: the family of "
                    f"{_rules_of(before[-1])} takes all of that scheme. List the new family before it in "
                    "shared/naming/stores, with an `authority` that matches only its own namespaces."
                )
            found[scheme] = (*before, store)
    return found


def _rules_of(store: StoreFamily) -> str:
    return ", ".join(rule.name for rule in store.rules) or "no rule"
