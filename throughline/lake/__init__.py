"""Lineage as Delta tables: PySpark jobs over the archive, by the rules of `shared/`. Needs PySpark.

    from throughline.lake import Lake, Meaning, Order, run

runs in a notebook or a job of a cluster, in the Spark session that is there. `main` is the entry point for
spark-submit; docs/reference/lake.md shows each platform.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from throughline.lake.gold.impact import downstream
    from throughline.lake.pipeline import Order, Stage, run
    from throughline.lake.silver.refinement import Meaning
    from throughline.lake.submit import main
    from throughline.lake.tables.lake import Lake, LakeError
    from throughline.lake.tables.schemas import COVERAGE, SCHEMA_CHANGES

__all__ = [
    "COVERAGE",
    "SCHEMA_CHANGES",
    "Lake",
    "LakeError",
    "Meaning",
    "Order",
    "Stage",
    "downstream",
    "main",
    "run",
]
_MODULES = {
    "gold.impact": ("downstream",),
    "pipeline": ("Order", "Stage", "run"),
    "silver.refinement": ("Meaning",),
    "submit": ("main",),
    "tables.lake": ("Lake", "LakeError"),
    "tables.schemas": ("COVERAGE", "SCHEMA_CHANGES"),
}
"""The public names, which are loaded when they are used: Spark's workers import modules of this package one by one."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name. Raises AttributeError for any other."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
