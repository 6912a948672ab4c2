"""Throughline as a library: column lineage from OpenLineage events, and from a running Throughline.

    from pathlib import Path

    import throughline

    found = throughline.translate(Path("events.jsonl"))
    for process in found.processes:
        for edge in process.columns:
            print(edge.input.column, "->", edge.output.column)

    client = throughline.connect()
    client.lineage("customer_master", column="full_name", direction="upstream")

All results are frozen values; `throughline.ThroughlineError` is the root of all errors but ValueError, for a wrong
argument. docs/reference/python.md shows more.
"""

from shared.errors import (
    CatalogRefused,
    CatalogUnavailable,
    Misconfigured,
    StorageUnavailable,
    ThroughlineError,
)
from shared.query.processes import AmbiguousError, UnknownError
from shared.query.traversal import Lineage, Step
from throughline import plan
from throughline.client import Client, connect
from throughline.policy import PolicyError, require
from throughline.results import Column, ColumnEdge, Dataset, Explanation, Process, Run, Translation
from throughline.translation import InvalidEvent, explain, translate

__all__ = [
    "AmbiguousError",
    "CatalogRefused",
    "CatalogUnavailable",
    "Client",
    "Column",
    "ColumnEdge",
    "Dataset",
    "Explanation",
    "InvalidEvent",
    "Lineage",
    "Misconfigured",
    "PolicyError",
    "Process",
    "Run",
    "Step",
    "StorageUnavailable",
    "ThroughlineError",
    "Translation",
    "UnknownError",
    "connect",
    "explain",
    "plan",
    "require",
    "translate",
]
