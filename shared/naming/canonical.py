"""One spelling for each data set: what listeners, versions and users write differently, folded.

Schemes and authorities in lower case (`abfs` and `abfss`, `wasb` and `wasbs` are one), no slashes at the ends or
doubled, no trailing partition directories or part files: listeners before 1.39 name every partition or file, newer
ones the folder (OpenLineage's Spark integration, dataset naming).
"""

import re
from dataclasses import dataclass

_SCHEMES = {"abfs": "abfss", "wasb": "wasbs", "s3a": "s3", "s3n": "s3"}
_LOCAL = re.compile(r"(file|dbfs):/*", re.IGNORECASE)
_PARTITION = re.compile(r"[^/=]+=[^/]*")
_PART_FILE = re.compile(r"part-\d{4,}[-.].*|part-\d{4,}")
_NOISE = re.compile(
    r"(?:^|/)(?:_delta_log|_temporary|_spark_metadata|_checkpoints?|_committed_\w+|_started_\w+|_SUCCESS|\.hoodie)(?:/|$)"
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Identity:
    """A data set's canonical OpenLineage identity: its folded physical location."""

    namespace: str
    name: str


def canonical(namespace: str, name: str) -> Identity:
    """The folded form of an OpenLineage namespace and name."""
    folded = _folded(namespace)
    if not is_path(folded):
        return Identity(namespace=folded, name=name.strip("/"))
    parts = [part for part in name.split("/") if part]
    while len(parts) > 1 and (_PARTITION.fullmatch(parts[-1]) or _PART_FILE.fullmatch(parts[-1])):
        parts.pop()
    lead = "" if "://" in folded else "/"
    return Identity(namespace=folded, name=lead + "/".join(parts))


def _folded(namespace: str) -> str:
    """Scheme and authority in lower case; a path or a database behind the authority keeps its case."""
    scheme, separator, rest = namespace.partition("://")
    if local := _LOCAL.fullmatch(namespace):
        return local[1].lower()
    if not separator:
        return namespace
    scheme = scheme.lower()
    authority, slash, behind = rest.rstrip("/").partition("/")
    return f"{_SCHEMES.get(scheme, scheme)}://{authority.lower()}{slash}{behind}"


_PATH_SCHEMES = ("abfss://", "wasbs://", "adl://", "hdfs://", "s3://", "gs://", "file://", "dbfs://")


def is_path(namespace: str) -> bool:
    """Whether names in this (folded) namespace are paths of files."""
    return namespace in {"file", "dbfs"} or namespace.startswith(_PATH_SCHEMES)


def is_noise(identity: Identity) -> bool:
    """Whether this is a writer's own bookkeeping, never a data set of a user: logs, checkpoints, markers."""
    return is_path(identity.namespace) and bool(_NOISE.search(identity.name))
