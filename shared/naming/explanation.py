"""Explain a data set's catalog name: the steps of naming it, each with its reason."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shared.naming.canonical import canonical, resolve_mount
from shared.naming.internal_paths import is_noise
from shared.naming.names import BUILT_IN, MAX_LENGTH_FOR_USER_RULES, Match, Names, Naming, Rank
from shared.naming.rules.identity import NO_ENVIRONMENT, Identity, RunEnvironment
from shared.naming.rules.rule import UNKNOWN_STORE

_USED = {
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
        found = match.rule.groups(match.identity, environment.host, names.ids) or {}
        parts = ", ".join(f"{group} = {value}" for group, value in found.items() if value)
        link = "" if match.identity == identity else f" of the symlink {match.identity.namespace} {match.identity.name}"
        place = _ALTERNATE if index else _USED[match.rank]
        yield f"rule {match.rule.name}{link} ({parts}): {match.rule.because}; {place}"
