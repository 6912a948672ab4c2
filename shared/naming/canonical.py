"""One spelling for each data set: what listeners, versions and users write differently, folded.

Schemes and authorities in lower case (`abfs` and `abfss`, `wasb` and `wasbs` are one), no slashes at the ends or
doubled, no trailing partition directories or part files: listeners before 1.39 name every partition or file, newer
ones the folder (OpenLineage's Spark integration, dataset naming).
"""

import re
from dataclasses import dataclass

_SCHEMES = {"abfs": "abfss", "wasb": "wasbs", "s3a": "s3", "s3n": "s3"}
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

    def holds(self, other: "Identity") -> bool:
        """Whether `other` is this data set or lies in its folder."""
        if self.namespace != other.namespace:
            return False
        return other.name == self.name or other.name.startswith(self.name.rstrip("/") + "/")


def canonical(namespace: str, name: str) -> Identity:
    """The folded form of an OpenLineage namespace and name."""
    scheme, separator, authority = namespace.partition("://")
    scheme = scheme.lower()
    folded = f"{_SCHEMES.get(scheme, scheme)}{separator}{authority.rstrip('/').lower()}" if separator else namespace
    if not is_path(folded):
        return Identity(namespace=folded, name=name.strip("/"))
    parts = [part for part in name.split("/") if part]
    while len(parts) > 1 and (_PARTITION.fullmatch(parts[-1]) or _PART_FILE.fullmatch(parts[-1])):
        parts.pop()
    lead = "/" if not separator else ""
    return Identity(namespace=folded, name=lead + "/".join(parts))


_PATH_SCHEMES = ("abfss://", "wasbs://", "adl://", "hdfs://", "s3://", "gs://", "file://", "dbfs://")


def is_path(namespace: str) -> bool:
    """Whether names in this (folded) namespace are paths of files."""
    return namespace in {"file", "dbfs"} or namespace.startswith(_PATH_SCHEMES)


def is_noise(identity: Identity) -> bool:
    """Whether this is a writer's own bookkeeping, never a data set of a user: logs, checkpoints, markers."""
    return is_path(identity.namespace) and bool(_NOISE.search(identity.name))
