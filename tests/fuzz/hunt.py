"""The hunt: case after case until the time limit, each reproducible from its seed and number."""

import base64
import hashlib
import json
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.chain import survives
from tests.fuzz.corpus import Corpus, corpus
from tests.fuzz.damage import in_bytes, in_structure
from tests.fuzz.permutations import same_lineage

Through = Callable[[Sequence[bytes]], int]
"""A check of events; returns the number of refused ones."""

WAYS: Mapping[str, Callable[[random.Random, Corpus], list[bytes]]] = {"structure": in_structure, "bytes": in_bytes}
"""The ways to damage events, by name."""


@dataclass(slots=True)
class Bag:
    """The result of a hunt: the numbers of cases, and the files of failures."""

    cases: int = 0
    events: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_case: str = ""
    failures: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        rate = self.events / self.seconds if self.seconds else 0
        hunted = (
            f", {self.refused:,} refused, the slowest case {self.slowest * 1000:.0f} ms ({self.slowest_case}),"
            f" {len(self.failures)} failed"
        )
        tried = f"{self.cases:,} cases, {self.events:,} events in {self.seconds:.0f} s ({rate:,.0f} events/s)"
        return tried + (hunted if self.slowest_case else "")


def hunt(
    seed: int,
    *,
    out: Path,
    seconds: float = float("inf"),
    cases: float = float("inf"),
    ways: Sequence[str] = tuple(WAYS),
    through: Through = survives,
    most_failures: int = 10,
) -> Bag:
    """Damage events in these ways, in turns, and check them with `through`, up to the limits of seconds and cases.

    Failures are written to the folder `out`, once for each kind (the same exception at the same line).
    """
    bag = Bag()
    kinds: Counter[str] = Counter()
    start = time.monotonic()
    while time.monotonic() < start + seconds and bag.cases < cases and len(bag.failures) < most_failures:
        way = ways[bag.cases % len(ways)]
        case = f"{seed}:{way}:{bag.cases}"
        raws = WAYS[way](random.Random(case), corpus())
        busy = time.process_time()
        try:
            bag.refused += through(raws)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what was hunted for
            kinds[kind := _kind(error)] += 1
            if kinds[kind] == 1:
                bag.failures.append(_kept(out, case, _fewest(raws, kind, through), error))
        took = time.process_time() - busy
        if took > bag.slowest:
            bag.slowest, bag.slowest_case = took, case
        bag.cases += 1
        bag.events += len(raws)
    bag.seconds = time.monotonic() - start
    return bag


def replay(path: Path, through: Through = survives) -> None:
    """Check the events of a failure again; its exception is not caught."""
    failure = json.loads(path.read_text())
    through([base64.b64decode(event) for event in failure["events"]])


def permute(seed: int, *, times: int) -> Bag:
    """Reorder, repeat and split real applications. Raises AssertionError, with the case, when lineage changes."""
    bag = Bag()
    start = time.monotonic()
    for number in range(times):
        case = f"{seed}:permutation:{number}"
        try:
            bag.events += same_lineage(random.Random(case))
        except AssertionError as error:
            error.add_note(f"in the case {case}")
            raise
        bag.cases += 1
    bag.seconds = time.monotonic() - start
    return bag


def _kind(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {last.filename}:{last.lineno}"


def _fewest(raws: Sequence[bytes], kind: str, through: Through) -> list[bytes]:
    """Return the smallest part of the events that still fails in this way."""
    remaining_contents = list(raws)
    for raw in raws:
        fewer = [content for content in remaining_contents if content is not raw]
        if fewer and _fails(fewer, kind, through):
            remaining_contents = fewer
    return remaining_contents


def _fails(raws: Sequence[bytes], kind: str, through: Through) -> bool:
    try:
        through(raws)
    except Exception as error:  # noqa: BLE001 - the same as above
        return _kind(error) == kind
    return False


def _kept(out: Path, case: str, raws: Sequence[bytes], error: Exception) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{hashlib.sha256(case.encode()).hexdigest()[:12]}.json"
    failure = {
        "case": case,
        "error": "".join(traceback.format_exception(error)),
        "events": [base64.b64encode(raw).decode() for raw in raws],
        "readable": [raw.decode(errors="backslashreplace") for raw in raws],
    }
    path.write_text(json.dumps(failure, indent=1))
    return path
