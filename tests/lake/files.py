"""Helpers of the lake's tests: marks of pytest, and versions in Delta's log."""

from pathlib import Path

import pytest

from throughline.lake.tables.declaration import Table
from throughline.lake.tables.lake import Lake

OF_SPARK = [
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:is_\\w+_dtype is deprecated:DeprecationWarning"),
]
"""Marks for tests that run Spark: what PySpark 3.5 itself warns of, and we can't help."""


def version_of(lake: Lake, table: Table) -> int:
    """The Delta version of a table on this machine, -1 if it does not exist: the number of its last commit."""
    commits = (Path(lake.root) / table.place / "_delta_log").glob("*.json")
    return max((int(commit.stem) for commit in commits if commit.stem.isdigit()), default=-1)
