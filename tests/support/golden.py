"""Helpers for tests of golden."""

from functools import cache
from pathlib import Path

from shared.openlineage.decoding import Event, decode

GOLDEN = Path(__file__).parents[1] / "golden"

FOLDERS = {
    f"{path.parent.parent.name}/{path.parent.name}": path.parent for path in sorted(GOLDEN.glob("*/*/events.jsonl"))
}


@cache
def _lines(folder: Path) -> tuple[bytes, ...]:
    return tuple((folder / "events.jsonl").read_bytes().splitlines())


@cache
def _events(folder: Path) -> tuple[Event, ...]:
    return tuple(decode(line) for line in _lines(folder))
