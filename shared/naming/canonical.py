"""Canonical identities: one spelling where listeners, versions and users differ.

The namespace's scheme selects the store family (`stores/`), which normalises the spelling; mounted paths are resolved
to their source first. Results are cached. Paths that a writer keeps for itself are noise, no data sets.
"""

import re
from functools import lru_cache

from shared.naming.stores import STORES
from shared.naming.stores.families import NO_ENVIRONMENT, Identity, RunEnvironment, StoreFamily, families_by_scheme
from shared.naming.stores.normalization import authority_folded
from shared.secrets import address_without_secrets, without_secrets

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
