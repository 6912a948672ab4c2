"""Noise: paths that a writer keeps for itself, which are no data sets."""

import re
from functools import lru_cache

from shared.naming.canonical import has_paths
from shared.naming.rules.identity import Identity

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
    is_internal = _remembered if len(identity.name) <= _SHORT else _is_internal
    return is_internal(identity.name) and has_paths(identity.namespace)


def _is_internal(name: str) -> bool:
    return _NOISE.search(name) is not None


_SHORT = 2_000
"""Characters. Longer names are not cached."""

_remembered = lru_cache(maxsize=16_384)(_is_internal)
