"""One spelling for each data set: what listeners, versions and users write differently, folded.

Each family of stores says how (`stores/`); here the family is found by the namespace's scheme, and what a run mounted
is followed to its source. Both work on text alone, so what was folded lately is remembered.
"""

import re
from functools import lru_cache

from shared.naming.datasets.identity import NO_ENVIRONMENT, Identity, RunEnvironment
from shared.naming.datasets.normalization import authority_folded
from shared.naming.rules.store import Store, families_by_scheme
from shared.naming.stores import STORES
from shared.secrets import address_without_secrets, without_secrets

_REMEMBERED = 16_384
_SHORT = 2_000
"""Characters. What is longer is not remembered: a sender must not choose how much memory we keep."""

_BY_SCHEME = families_by_scheme(STORES)

_DRIVER = re.compile(r"(oracle:\w+):@(.*)", re.DOTALL | re.IGNORECASE)


def canonical(namespace: str, name: str, where: RunEnvironment = NO_ENVIRONMENT) -> Identity:
    """The folded form of an OpenLineage namespace and name; `where` is what the run tells of its place."""
    if where is not NO_ENVIRONMENT and (mounted := resolve_mount(namespace, name, where)):
        namespace, name = mounted
    if len(namespace) + len(name) > _SHORT:
        return _folded(namespace, name)
    return _remembered(namespace, name)


def store_of(namespace: str) -> tuple[Store | None, str]:
    """The family of a namespace (None when no family knows its scheme), and what follows the scheme."""
    return _known_store(namespace) if len(namespace) <= _SHORT else _store_of(namespace)


def _store_of(namespace: str) -> tuple[Store | None, str]:
    scheme, rest = _split(namespace)
    lowered = rest.lower()
    for store in _BY_SCHEME.get(scheme, ()):
        if store.authority is None or store.authority.fullmatch(lowered):
            return store, rest
    return None, rest


_known_store = lru_cache(maxsize=_REMEMBERED)(_store_of)


def has_paths(namespace: str) -> bool:
    """Whether names in this namespace are paths of files."""
    store, _ = store_of(namespace)
    return store is not None and store.has_paths


def _folded(namespace: str, name: str) -> Identity:
    namespace, name = without_secrets(namespace, name)
    store, rest = store_of(namespace)
    if store is None:
        scheme, separator, authority = namespace.partition("://")
        folded = f"{scheme.lower()}://{authority_folded(authority)}" if separator else namespace
        return Identity(namespace=folded, name=name.strip("/"))
    rest, name = store.fold(rest, name)
    return Identity(namespace=f"{store.schemes[0]}://{rest}" if rest else store.schemes[0], name=name)


_remembered = lru_cache(maxsize=_REMEMBERED)(_folded)


def _split(namespace: str) -> tuple[str, str]:
    """Scheme, in lower case, and what follows it: nothing for `file`, `file:` and `file:///`."""
    scheme, separator, rest = namespace.partition("://")
    if separator and rest.strip("/"):
        return scheme.lower(), rest
    if driver := _DRIVER.fullmatch(namespace):
        return driver[1].lower(), driver[2]
    return namespace.rstrip("/").removesuffix(":").lower(), ""


def resolve_mount(namespace: str, name: str, where: RunEnvironment) -> tuple[str, str] | None:
    """Where a path of Databricks' file system really leads: the source of the longest mount point that holds it, or
    `dbfs` for the same file seen as the driver's `/dbfs/…`. None for all other names.
    """
    if namespace[:4].lower() not in {"dbfs", "file"}:
        return None
    scheme, rest = _split(namespace)
    if scheme not in {"dbfs", "file"} or rest:
        return None
    path = "/" + "/".join(part for part in name.split("/") if part)
    seen_as_local = scheme == "file" and path.startswith("/dbfs/")
    if seen_as_local:
        path = path.removeprefix("/dbfs")
    best, source = "", ""
    for point, leads_to in where.mounts:
        held = "/" + point.strip("/")
        if len(held) > len(best) and (path == held or path.startswith(f"{held}/")):
            best, source = held, leads_to
    scheme, separator, behind = address_without_secrets(source).partition("://")
    if separator and len(best) > 1:
        authority, _, folder = behind.partition("/")
        return f"{scheme}://{authority}", folder.rstrip("/") + path[len(best) :]
    return ("dbfs", path) if seen_as_local else None
