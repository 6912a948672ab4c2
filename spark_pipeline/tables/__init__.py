"""The lake's Delta tables: their declared columns, reading and changing them, and how values are encoded in them.

Imports `engine` and the pure core.
"""

from spark_pipeline.tables.compaction import Compacted, compact
from spark_pipeline.tables.declaration import Table, shape
from spark_pipeline.tables.encoding import (
    assets,
    digest,
    edges,
    micros,
    moment,
    pack,
    unpack_fates,
    unpack_process,
    unpack_run,
    unpack_told,
)
from spark_pipeline.tables.lake import Lake, LakeError
from spark_pipeline.tables.schemas import (
    ASSETS,
    COLUMN_EDGES,
    COVERAGE,
    CURRENT,
    EVENTS,
    FILES,
    HISTORY,
    IMPACT,
    LAKE,
    PROCESSES,
    QUARANTINE,
    RUNS,
    SAYINGS,
    SCHEMA_CHANGES,
    SCHEMAS,
    TAGS,
)

__all__ = [
    "ASSETS",
    "COLUMN_EDGES",
    "COVERAGE",
    "CURRENT",
    "EVENTS",
    "FILES",
    "HISTORY",
    "IMPACT",
    "LAKE",
    "PROCESSES",
    "QUARANTINE",
    "RUNS",
    "SAYINGS",
    "SCHEMAS",
    "SCHEMA_CHANGES",
    "TAGS",
    "Compacted",
    "Lake",
    "LakeError",
    "Table",
    "assets",
    "compact",
    "digest",
    "edges",
    "micros",
    "moment",
    "pack",
    "shape",
    "unpack_fates",
    "unpack_process",
    "unpack_run",
    "unpack_told",
]
