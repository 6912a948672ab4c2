"""OpenLineage data set -> (type, qualified name): the table of all rules, and the way through it."""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.naming.canonical import Identity, canonical
from shared.naming.rules import Named, Rule, unknown_store
from shared.naming.stores import azure_storage, local_files, onelake, tables

RULES: tuple[Rule, ...] = (
    *onelake.RULES,
    *azure_storage.RULES,
    *local_files.RULES,
    *tables.RULES,
)
"""In order: the first rule that matches names the data set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How one data set is called: the best name, and the other names a scan may have given it (best first)."""

    best: Named
    others: tuple[Named, ...] = ()


def name_dataset(identity: Identity, symlinks: Iterable[tuple[str, str]] = ()) -> Naming:
    """The catalog's name of a canonical data set, and those that its symlinks (namespace, name) give.

    The physical location comes first: the same data read by path and by table name must be one asset. A table's name
    comes first only where the location says nothing. What no rule knows is a plain `DataSet`: never a lost process.
    """
    physical = _first_match(identity, RULES)
    linked = [_first_match(canonical(*link), tables.RULES) for link in symlinks]
    found = list(dict.fromkeys(named for named in (physical, *linked) if named))
    best = found[0] if found else unknown_store(identity)
    return Naming(best=best, others=tuple(found[1:]))


def _first_match(identity: Identity, rules: Iterable[Rule]) -> Named | None:
    return next((named for rule in rules if (named := rule.apply(identity))), None)
