"""Why a data set is called what it is called: the same steps as naming it, each with its reason."""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.naming.datasets.canonical import canonical, resolve_mount
from shared.naming.datasets.identity import NO_ENVIRONMENT, Identity, RunEnvironment
from shared.naming.datasets.internal_paths import is_noise
from shared.naming.names import BUILT_IN, Match, Names, Naming, Rank
from shared.naming.rules.rule import UNKNOWN_STORE

_TAKEN = {
    Rank.USERS: "taken, for rules of the file of names come first",
    Rank.DECIDES: "taken",
    Rank.HELPS: "taken, for want of a name that a scan is known to give",
}
_NOT_TAKEN = "another name of the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A data set's identity, its names, and the sentences that say why. `noise`: it never becomes an asset."""

    identity: Identity
    naming: Naming
    why: tuple[str, ...]
    noise: bool


def explain(
    namespace: str,
    name: str,
    *,
    symlinks: Iterable[tuple[str, str]] = (),
    where: RunEnvironment = NO_ENVIRONMENT,
    names: Names = BUILT_IN,
) -> Explanation:
    """What becomes of an OpenLineage namespace and name, and why."""
    links = tuple(symlinks)
    identity = canonical(namespace, name, where)
    naming = names.name(identity, links, where)
    return Explanation(
        identity=identity,
        naming=naming,
        why=(
            *_why_it_is(namespace, name, identity, where),
            *_why_so_called(names.matches(identity, links, where.host), identity, where, names),
            *([f"{UNKNOWN_STORE}: no rule knows it, so it is a plain data set"] * (naming.best.rule == UNKNOWN_STORE)),
        ),
        noise=is_noise(identity),
    )


def _why_it_is(namespace: str, name: str, identity: Identity, where: RunEnvironment) -> Iterable[str]:
    if mounted := resolve_mount(namespace, name, where):
        yield f"it is mounted: it stands for {mounted[0]} {mounted[1]}"
    if (identity.namespace, identity.name) != (namespace, name):
        yield f"its spelling is folded to {identity.namespace} {identity.name or '(an empty name)'}"
    if is_noise(identity):
        yield "it is a writer's own bookkeeping: it is left out of all lineage"


def _why_so_called(matches: Iterable[Match], identity: Identity, where: RunEnvironment, names: Names) -> Iterable[str]:
    for index, match in enumerate(matches):
        found = match.rule.groups(match.identity, where.host, names.ids) or {}
        parts = ", ".join(f"{group} = {value}" for group, value in found.items() if value)
        link = "" if match.identity == identity else f" of the symlink {match.identity.namespace} {match.identity.name}"
        place = _NOT_TAKEN if index else _TAKEN[match.rank]
        yield f"rule {match.rule.name}{link} ({parts}): {match.rule.because}; {place}"
