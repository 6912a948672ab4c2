"""The naming rules in use, the user's and ours: which of their names wins, and why step by step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import msgspec

from shared.naming.canonical import canonical, has_paths, is_noise, resolve_mount, store_of
from shared.naming.stores import STORES
from shared.naming.stores.families import (
    NO_ENVIRONMENT,
    UNKNOWN_STORE,
    CatalogName,
    Identity,
    NamingRule,
    RunEnvironment,
    unknown_store,
)
from shared.versions import NAMING

RULES: tuple[NamingRule, ...] = tuple(dict.fromkeys(rule for store in STORES for rule in store.rules))
"""All built-in rules. A data set is named by the first rule of its store family that matches."""

MAX_LENGTH_FOR_USER_RULES = 1_000
"""Characters. Longer names are not matched with the user's patterns, which may be slow on hostile input."""


class Naming(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A data set's best catalog name, and other names that a scan may have given it, best first."""

    best: CatalogName
    others: tuple[CatalogName, ...] = ()


class Rank(IntEnum):
    """Precedence of rules; `Names.name` explains it."""

    USERS = 0
    DECIDES = 1
    HELPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The result of one rule for one spelling of a data set."""

    rank: Rank
    rule: NamingRule
    identity: Identity
    names: tuple[CatalogName, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Names:
    """The user's rules, which come before ours, and catalog ids by names.

    Keys of `ids` are a kind and names in lower case: `("workspace", NAME)` (a Fabric workspace or its SQL endpoint, or
    a Databricks workspace's host for its metastore), `("lakehouse", WORKSPACE, NAME)` and `("warehouse", WORKSPACE,
    NAME)`. `version` is that of process names.
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
        self, identity: Identity, symlinks: Iterable[tuple[str, str]] = (), environment: RunEnvironment = NO_ENVIRONMENT
    ) -> Naming:
        """Name a canonical data set, and by its symlinks (namespace, name).

        Precedence: the user's rules, then names that a scan is known to find (`NamingRule.decides`), then the rest.
        Among equals the location comes before a table's name: the same data read by path and by table must be one
        asset. So ADLS, Blob, OneLake and local files are named by location, with the table's name as an alternative;
        HDFS, S3, Google Cloud Storage and DBFS, whose paths no scan is known to name, and managed tables of Unity
        Catalog by their table if one is known. It makes no difference which of the two an event calls the symlink:
        Spark's listener names the location first, Hive's the table.
        A data set that no rule matches is a generic `DataSet`, so no process is lost.
        """
        matches = self.matches(identity, tuple(symlinks), environment.host)
        if not matches:
            return Naming(best=unknown_store(identity))
        first = [match.names[0] for match in matches]
        best, *alternates = dict.fromkeys(first + [name for match in matches for name in match.names[1:]])
        return Naming(best=best, others=tuple(alternates))

    def matches(self, identity: Identity, symlinks: tuple[tuple[str, str], ...], workspace: str) -> list[Match]:
        """The matches of the data set and of each symlink, by precedence."""
        is_table = _has_tables(identity)
        own_match = self._match(identity, workspace)
        places: list[Match | None] = []
        tables: list[Match | None] = []
        for link in symlinks:
            other = canonical(*link)
            is_place = is_table and has_paths(other.namespace)
            match = self._match(other, workspace, users_only=not (is_place or _has_tables(other)))
            (places if is_place else tables).append(match)
        return sorted((match for match in (*places, own_match, *tables) if match), key=lambda match: match.rank)

    def _match(self, identity: Identity, workspace: str, *, users_only: bool = False) -> Match | None:
        if self.rules and max(len(identity.namespace), len(identity.name)) <= MAX_LENGTH_FOR_USER_RULES:
            for rule in self.rules:
                if names := rule.apply(identity, workspace, self.ids):
                    return Match(rank=Rank.USERS, rule=rule, identity=identity, names=names)
        store, _ = store_of(identity.namespace)
        for rule in store.rules if store and not users_only else ():
            if names := rule.apply(identity, workspace, self.ids):
                rank = Rank.DECIDES if rule.decides else Rank.HELPS
                return Match(rank=rank, rule=rule, identity=identity, names=names)
        return None


def _has_tables(identity: Identity) -> bool:
    """Whether it is named by a catalog of tables."""
    store, _ = store_of(identity.namespace)
    return store is not None and store.has_tables


BUILT_IN = Names()
"""The built-in rules alone."""


_USE_BY_RANK = {
    Rank.USERS: "used: rules of the names file come first",
    Rank.DECIDES: "used",
    Rank.HELPS: "used: no rule gives a name that scans are known to use",
}
_ALTERNATE = "alternative name"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingExplanation:
    """A data set's identity and names, with one sentence for each step. `noise`: it never becomes an asset."""

    identity: Identity
    naming: Naming
    why: tuple[str, ...]
    noise: bool


def explain(
    namespace: str,
    name: str,
    *,
    symlinks: Iterable[tuple[str, str]] = (),
    environment: RunEnvironment = NO_ENVIRONMENT,
    names: Names = BUILT_IN,
) -> NamingExplanation:
    """Explain the name of a data set with this OpenLineage namespace, name and symlinks (namespace, name)."""
    links = tuple(symlinks)
    identity = canonical(namespace, name, environment)
    naming = names.name(identity, links, environment)
    return NamingExplanation(
        identity=identity,
        naming=naming,
        why=(
            *_identity_steps(namespace, name, identity, environment),
            *_unmatched_rules(names, naming, identity),
            *_naming_steps(names.matches(identity, links, environment.host), identity, environment, names),
        ),
        noise=is_noise(identity),
    )


def _identity_steps(namespace: str, name: str, identity: Identity, environment: RunEnvironment) -> Iterator[str]:
    if mounted := resolve_mount(namespace, name, environment):
        yield f"its path is below a mount point, which stands for {mounted[0]} {mounted[1]}"
    if (identity.namespace, identity.name) != (namespace, name):
        yield f"its spelling is normalised to {identity.namespace} {identity.name or '(an empty name)'}"
    if is_noise(identity):
        yield "a writer's own file (log, checkpoint, staging): excluded from lineage"


def _unmatched_rules(names: Names, naming: Naming, identity: Identity) -> Iterator[str]:
    """Why the user's rules have no effect, if there are some."""
    longest = max(len(identity.namespace), len(identity.name))
    of_user = {rule.name for rule in names.rules}
    if not of_user or naming.best.rule in of_user or longest > MAX_LENGTH_FOR_USER_RULES:
        return
    count = "the only rule" if len(of_user) == 1 else f"none of the {len(of_user):,} rules"
    sentence = f"{count} of the names file {'does not match' if len(of_user) == 1 else 'matches'}"
    nearest = next((rule for rule in names.rules if rule.namespace.fullmatch(identity.namespace)), None)
    if nearest:
        pattern = f"its name {nearest.path.pattern!r} does not match the whole of {identity.name!r}"
        yield f"{sentence}: rule {nearest.name} matches the namespace, but {pattern}"
    else:
        yield f"{sentence}: the namespace of a rule must match the whole of {identity.namespace!r}"


def _naming_steps(
    matches: Sequence[Match], identity: Identity, environment: RunEnvironment, names: Names
) -> Iterator[str]:
    if not matches:
        yield f"{UNKNOWN_STORE}: no rule matches, so it becomes a generic DataSet"
    for index, match in enumerate(matches):
        groups = match.rule.groups(match.identity, environment.host, names.ids) or {}
        parts = ", ".join(f"{group} = {value}" for group, value in groups.items() if value)
        link = "" if match.identity == identity else f" of the symlink {match.identity.namespace} {match.identity.name}"
        place = _ALTERNATE if index else _USE_BY_RANK[match.rank]
        yield f"rule {match.rule.name}{link} ({parts}): {match.rule.because}; {place}"
