"""What tests of the lake need of files."""

from datetime import UTC, datetime
from pathlib import Path


def written_at(path: Path) -> datetime:
    """When a file was written."""
    return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
