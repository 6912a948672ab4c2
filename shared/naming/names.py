"""Canonical identities: one spelling where listeners, versions and users differ; and the naming rules in use, the
user's and ours: which of their names wins, and why step by step.

The namespace's scheme selects the store family (`stores/`), which normalises the spelling; mounted paths are resolved
to their source first. Results are cached. Paths that a writer keeps for itself are noise, no data sets.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache

import msgspec

from shared.naming.stores import STORES
from shared.naming.stores.families import (
    NO_ENVIRONMENT,
    UNKNOWN_STORE,
    CatalogName,
    Identity,
    NamingRule,
    RunEnvironment,
    StoreFamily,
    authority_folded,
    families_by_scheme,
    unknown_store,
)
from shared.secrets import address_without_secrets, without_secrets
from shared.versions import NAMING

_REMEMBERED = 16_384
_SHORT = 2_000
"""Characters. Longer names are not cached: senders must not decide how much memory is used."""

_BY_SCHEME = families_by_scheme(STORES)

_OPAQUE = re.compile(r"(oracle:\w+):@(.*)|(arn|duckdb):(?!//)(.+)", re.DOTALL | re.IGNORECASE)
"""Namespaces without slashes after their scheme: a driver's address, an Amazon resource name, a file."""


def canonical(namespace: str, name: str, environment: RunEnvironment = NO_ENVIRONMENT) -> Identity:
    """The canonical identity of an OpenLineage namespace and name in a run's environment."""
    if environment is not NO_ENVIRONMENT and (mounted := resolve_mount(namespace, name, environment)):
        namespace, name = mounted
    if len(namespace) + len(name) > _SHORT:
        return _folded(namespace, name)
    return _remembered(namespace, name)


def store_of(namespace: str) -> tuple[StoreFamily | None, str]:
    """A namespace's store family (None for an unknown scheme), and the part after the scheme."""
    return _known_store(namespace) if len(namespace) <= _SHORT else _store_of(namespace)


def _store_of(namespace: str) -> tuple[StoreFamily | None, str]:
    scheme, location = _split(namespace)
    lowered = location.lower()
    for store in _BY_SCHEME.get(scheme, ()):
        if store.authority is None or store.authority.fullmatch(lowered):
            return store, location
    return None, location


_known_store = lru_cache(maxsize=_REMEMBERED)(_store_of)


def has_paths(namespace: str) -> bool:
    """Whether names in this namespace are file paths."""
    store, _ = store_of(namespace)
    return store is not None and store.has_paths


def _folded(namespace: str, name: str) -> Identity:
    namespace, name = without_secrets(namespace, name)
    store, location = store_of(namespace)
    if store is None:
        scheme, separator, authority = namespace.partition("://")
        folded = f"{scheme.lower()}://{authority_folded(authority)}" if separator else namespace
        return Identity(namespace=folded, name=name.strip("/"))
    location, name = store.fold(location, name)
    return Identity(
        namespace=f"{store.schemes[0]}{store.separator}{location}" if location else store.schemes[0], name=name
    )


_remembered = lru_cache(maxsize=_REMEMBERED)(_folded)


def _split(namespace: str) -> tuple[str, str]:
    """The scheme in lower case and the part after it, which is empty for `file`, `file:` and `file:///`."""
    scheme, separator, location = namespace.partition("://")
    if separator and location.strip("/"):
        return scheme.lower(), location
    if opaque := _OPAQUE.fullmatch(namespace):
        return (opaque[1] or opaque[3]).lower(), opaque[2] or opaque[4] or ""
    return namespace.rstrip("/").removesuffix(":").lower(), ""


def resolve_mount(namespace: str, name: str, environment: RunEnvironment) -> tuple[str, str] | None:
    """Resolve a path of Databricks' file system: the source of the longest mount point above it, or `dbfs` for the
    driver's `/dbfs/…`. Returns namespace and name; None for all other names.
    """
    if namespace[:4].lower() not in {"dbfs", "file"}:
        return None
    scheme, location = _split(namespace)
    if scheme not in {"dbfs", "file"} or location:
        return None
    path = "/" + "/".join(part for part in name.split("/") if part)
    seen_as_local = scheme == "file" and path.startswith("/dbfs/")
    if seen_as_local:
        path = path.removeprefix("/dbfs")
    best, source = "", ""
    for point, leads_to in environment.mounts:
        mount_path = "/" + point.strip("/")
        if len(mount_path) > len(best) and (path == mount_path or path.startswith(f"{mount_path}/")):
            best, source = mount_path, leads_to
    scheme, separator, behind = address_without_secrets(source).partition("://")
    if separator and len(best) > 1:
        authority, _, folder = behind.partition("/")
        return f"{scheme}://{authority}", folder.rstrip("/") + path[len(best) :]
    return ("dbfs", path) if seen_as_local else None


_FOLDERS = (
    r"_delta_log",  # Delta's log and its checkpoints
    r"_delta_index",
    r"_change_data",
    r"_temporary",  # of Hadoop's committers, and S3A's
    r"__magic(?:_job-[^/]*)?",
    r"_spark_metadata",  # of a stream's file sink
    r"_?checkpoints?/(?:offsets|commits|state|sources|metadata)",  # of a stream
    r"_checkpoints?",
    r"_committed_\w+",  # of Databricks' committer
    r"_started_\w+",
    r"_SUCCESS",
    r"_(?:common_)?metadata",  # of parquet
    r"\.hoodie",
    r"\.spark-staging-[^/]*",  # of dynamic partition overwrite
    r"\.sparkStaging",
    r"\.hive-staging[^/]*",
    r"_impala_insert_staging",
    r"metadata/(?:[^/]*\.metadata\.json|[^/]*\.avro|version-hint\.text|[^/]*\.stats)",  # of Iceberg
)
_NOISE = re.compile(rf"(?:^|/)(?:{'|'.join(_FOLDERS)})(?:\.gz)?(?:/|$)")


def is_noise(identity: Identity) -> bool:
    """Whether this is a writer's own file (log, checkpoint, marker, staging), not a data set."""
    is_internal = _known_internal if len(identity.name) <= _SHORT else _is_internal
    return is_internal(identity.name) and has_paths(identity.namespace)


def _is_internal(name: str) -> bool:
    return _NOISE.search(name) is not None


_known_internal = lru_cache(maxsize=_REMEMBERED)(_is_internal)


_QUERY = re.compile(r"\?[^?/=]*=[^?/]*\Z")
"""At the end only: a path may contain a question mark."""


def without_query(namespace: str, name: str) -> tuple[str, str]:
    """Namespace and name without secrets and without a trailing query that does not change the identity. Idempotent."""
    namespace, name = without_secrets(namespace, name)
    name = _QUERY.sub("", name)
    address = namespace.partition("?")[0]
    if address != namespace and canonical(address, name) == canonical(namespace, name):
        namespace = address
    return namespace, name


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
