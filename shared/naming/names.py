"""OpenLineage data set -> (type, qualified name): the rules in use, and the way through them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import msgspec

from shared.naming.datasets.canonical import canonical, store_of
from shared.naming.datasets.identity import NO_ENVIRONMENT, Identity, RunEnvironment
from shared.naming.rules.rule import CatalogName, NamingRule, unknown_store
from shared.naming.stores import STORES
from shared.versions import NAMING

RULES: tuple[NamingRule, ...] = tuple(dict.fromkeys(rule for store in STORES for rule in store.rules))
"""All of ours. For a data set those of its store are asked, in order: the first that matches names it."""

LONGEST_FOR_USERS = 1_000
"""Characters of a name that is matched with patterns of a user, who may not think of what a sender can send."""


class Naming(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How one data set is called: the best name, and the other names a scan may have given it (best first)."""

    best: CatalogName
    others: tuple[CatalogName, ...] = ()


class Rank(IntEnum):
    """Whose name comes first: see `Names.name`."""

    USERS = 0
    DECIDES = 1
    HELPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What one rule says of one spelling of a data set."""

    rank: Rank
    rule: NamingRule
    identity: Identity
    names: tuple[CatalogName, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Names:
    """The rules in use: those of the user, asked before ours, and the ids of what has a name elsewhere.

    `ids` are found by kind and names in lower case: `("workspace", NAME)` (of Fabric, or a Databricks workspace's host,
    which gives its metastore) and `("lakehouse", WORKSPACE, NAME)`. `version` is that of the naming of processes.
    """

    rules: tuple[NamingRule, ...] = ()
    ids: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    version: str = NAMING

    @property
    def rules_by_type(self) -> dict[str, tuple[str, ...]]:
        """Every catalog type that a rule in use gives, with the names of those rules: the user's first, then ours."""
        types: dict[str, tuple[str, ...]] = {}
        for rule in (*self.rules, *RULES):
            types[rule.type] = (*types.get(rule.type, ()), rule.name)
        return types

    def name(
        self, identity: Identity, symlinks: Iterable[tuple[str, str]] = (), where: RunEnvironment = NO_ENVIRONMENT
    ) -> Naming:
        """The catalog's name of a canonical data set, and those that its symlinks (namespace, name) give.

        Precedence: the user's rules, then names that a scan is known to find (`NamingRule.decides`), then the rest.
        Among equals the location comes before a table's name: the same data read by path and by table must be one
        asset. So ADLS, Blob, OneLake and a driver's own files are named by location, with the table's name as a further
        one; HDFS, S3, Google's storage and DBFS, where no scan is known to name paths, by their table where one is
        known. What no rule knows is a plain `DataSet`: never a lost process.
        """
        matches = self.matches(identity, tuple(symlinks), where.host)
        if not matches:
            return Naming(best=unknown_store(identity))
        first = [match.names[0] for match in matches]
        best, *others = dict.fromkeys(first + [name for match in matches for name in match.names[1:]])
        return Naming(best=best, others=tuple(others))

    def matches(self, identity: Identity, symlinks: tuple[tuple[str, str], ...], workspace: str) -> list[Match]:
        """What the rules say of the data set and of each symlink, in the order in which they count."""
        found = [self._match(identity, workspace, tables_only=False)]
        found += [self._match(canonical(*link), workspace, tables_only=True) for link in symlinks]
        return sorted((match for match in found if match), key=lambda match: match.rank)

    def _match(self, identity: Identity, workspace: str, *, tables_only: bool) -> Match | None:
        if self.rules and max(len(identity.namespace), len(identity.name)) <= LONGEST_FOR_USERS:
            for rule in self.rules:
                if names := rule.apply(identity, workspace, self.ids):
                    return Match(rank=Rank.USERS, rule=rule, identity=identity, names=names)
        store, _ = store_of(identity.namespace)
        if store is None or (tables_only and not store.has_tables):
            return None
        for rule in store.rules:
            if names := rule.apply(identity, workspace, self.ids):
                rank = Rank.DECIDES if rule.decides else Rank.HELPS
                return Match(rank=rank, rule=rule, identity=identity, names=names)
        return None


BUILT_IN = Names()
"""Our rules alone."""


def name_dataset(
    identity: Identity, symlinks: Iterable[tuple[str, str]] = (), where: RunEnvironment = NO_ENVIRONMENT
) -> Naming:
    """As `Names.name`, by our rules alone."""
    return BUILT_IN.name(identity, symlinks, where)
