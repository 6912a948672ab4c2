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

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.errors import (
        CatalogRefused,
        CatalogUnavailable,
        Misconfigured,
        StorageUnavailable,
        ThroughlineError,
    )
    from throughline import plan
    from throughline.client import Client, connect
    from throughline.policy import PolicyError, require
    from throughline.results import (
        AmbiguousError,
        Column,
        ColumnEdge,
        Dataset,
        Explanation,
        Lineage,
        Process,
        Run,
        Step,
        Translation,
        UnknownError,
    )
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
_MODULES = {
    "shared.errors": (
        "CatalogRefused",
        "CatalogUnavailable",
        "Misconfigured",
        "StorageUnavailable",
        "ThroughlineError",
    ),
    "throughline.client": ("Client", "connect"),
    "throughline.policy": ("PolicyError", "require"),
    "throughline.results": (
        "AmbiguousError",
        "Column",
        "ColumnEdge",
        "Dataset",
        "Explanation",
        "Lineage",
        "Process",
        "Run",
        "Step",
        "Translation",
        "UnknownError",
    ),
    "throughline.translation": ("InvalidEvent", "explain", "translate"),
}
"""The public names, which are loaded when they are used: the command starts without them, and
`throughline.cli.deploy` runs where nothing is installed."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name. Raises AttributeError for any other."""
    if name == "plan":
        return importlib.import_module("throughline.plan")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
