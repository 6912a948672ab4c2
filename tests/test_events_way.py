"""How many files an event enters, and how deep: what someone has to open who follows it through the code.

`python -m tests.test_events_way` prints the files.

Each function of `shared/` is a level, also a property, a constructor, and a generator where it is resumed. A
comprehension or a lambda is none: it stands in the function that one is reading. Neither are functions of libraries;
what these call of ours counts. The way ends at the catalog's port: its adapter is read by itself. The capture has no
SQL to read and no plan: those are read by recursion, as deep as their expressions are nested.
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest

from tests.bench.runtime_calls import Runtime

ROOT = Path(__file__).parents[1]
CAPTURE = ROOT / "tests/golden/spark35-ol1.53/customer_master/events.jsonl"
CATALOG_ADAPTER = ("catalog/atlas/", "catalog/connection/")


class Way:
    """The files of `shared/` that calls entered, and the most frames of them above one another."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.depth = 0
        self._nesting = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename.partition("/shared/")[2]
        if event not in {"call", "return"} or not path or frame.f_code.co_name.startswith("<"):
            return
        if path.startswith(CATALOG_ADAPTER):
            return
        if event == "return":
            self._nesting -= 1
            return
        self._nesting += 1
        self.depth = max(self.depth, self._nesting)
        self.files[path] = None


def ways() -> dict[str, Way]:
    """The way of a job's COMPLETE when the job's events before it are folded: received, processed, published."""
    runtime = Runtime()
    lines = CAPTURE.read_bytes().splitlines()
    last = max(number for number, line in enumerate(lines) if b'"COMPLETE"' in line and b'"outputs":[{' in line)
    for line in lines[:last]:
        runtime.deliver(runtime.receive([line]))
    parts = {"receive": Way(), "process": Way(), "publish": Way()}
    with parts["receive"]:
        blobs = runtime.receive([lines[last]])
    with parts["process"]:
        runtime.deliver(blobs)
    with parts["publish"]:
        runtime.publish()
    return parts


@pytest.mark.parametrize(("part", "files", "depth"), [("receive", 11, 5), ("process", 30, 12), ("publish", 32, 14)])
def test_an_event_enters_no_more_files_than_before(part: str, files: int, depth: int) -> None:
    """A bound is lowered, never raised. Values that an earlier test cached make a way shorter."""
    way = ways()[part]
    assert len(way.files) <= files, " ".join(way.files)
    assert way.depth <= depth


if __name__ == "__main__":
    for name, way in ways().items():
        sys.stdout.write(f"{name}: {len(way.files)} files, {way.depth} deep: {' '.join(way.files)}\n")
