"""Captured events, and the same events as new runs of the same jobs."""

import gzip
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import UUID

from shared.openlineage.decoding import Event, decode
from shared.openlineage.selection import Keep, select
from shared.storage_layout import digest_of, stored
from tests.bench.figures import ROOT

GOLDEN = ROOT / "tests" / "golden"
"""The files that `make capture` writes: {listener}/{scenario}/events.jsonl."""

_TIME = re.compile(rb'("eventTime"\s*:\s*")([^"]+)(")')


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One captured scenario with its events in the order of their arrival."""

    name: str
    events: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes of all events."""
        return sum(map(len, self.events))


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One event to send, with the names and packed bytes that storing it directly takes."""

    raw: bytes
    packed: bytes
    run: str
    row_key: str
    blob: str
    job: str
    kept: bool


@cache
def families() -> tuple[Family, ...]:
    """Return all captured scenarios by name. Raises FileNotFoundError, with the step to take, if there are none."""
    captured_families = tuple(
        Family(
            name=f"{path.parent.parent.name}/{path.parent.name}",
            events=tuple(line for line in path.read_bytes().splitlines() if line),
        )
        for path in sorted(GOLDEN.glob("**/events.jsonl"))
    )
    if not captured_families:
        raise FileNotFoundError(f"no captured events in {GOLDEN.relative_to(ROOT)}: run `make capture`")
    return captured_families


class Replay:
    """An endless source of applications: each call of `application` returns one with new run ids and times.

    `among` are the scenarios to take them from; empty means all.
    """

    def __init__(self, seed: int = 0, among: Iterable[Family] | None = None) -> None:
        self._random = random.Random(seed)
        self._begun = datetime.now(UTC)
        order = list(families() if among is None else among)
        self._random.shuffle(order)
        self._families = itertools.cycle(order)
        self._count = 0

    def application(self) -> tuple[Item, ...]:
        """Return all events of the next application, in order."""
        family = next(self._families)
        self._count += 1
        events = [decode(raw) for raw in family.events]
        begin = self._begun + timedelta(milliseconds=self._count)
        shift = begin - min(event.time for event in events)
        names = {old.encode(): self._run_id().encode() for old in sorted(_run_ids(events))}
        pattern = re.compile(b"|".join(map(re.escape, names)), re.IGNORECASE)
        return tuple(
            _item(moved(pattern.sub(lambda match: names[match[0].lower()], raw), shift)) for raw in family.events
        )

    def applications(self, events: int) -> tuple[tuple[Item, ...], ...]:
        """Return whole applications with at least `events` events in all."""
        found: list[tuple[Item, ...]] = []
        while sum(map(len, found)) < events:
            found.append(self.application())
        return tuple(found)

    def kept(self) -> Iterator[Item]:
        """Yield new events without end, except those that the receiver ignores: they cost less."""
        while True:
            yield from (item for item in self.application() if item.kept)

    def _run_id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))


def _run_ids(events: list[Event]) -> set[str]:
    """The ids of all runs and of the applications that they belong to, in lower case."""
    run_ids = set()
    for event in events:
        run_ids.add(event.run_id)
        facets = event.body.run.facets if event.body else None
        if facets and facets.parent:
            run_ids.add(facets.parent.run.run_id.lower())
    return run_ids - {""}


def moved(raw: bytes, shift: timedelta) -> bytes:
    """Return the event with its times shifted, written with milliseconds as listeners do."""

    def later(match: re.Match[bytes]) -> bytes:
        moment = datetime.fromisoformat(match[2].decode()) + shift
        text = moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return match[1] + text.encode() + match[3]

    return _TIME.sub(later, raw, count=1)


def _item(raw: bytes) -> Item:
    event = decode(raw)
    place = stored(event, digest_of(raw))
    return Item(
        raw=raw,
        packed=gzip.compress(raw, compresslevel=6, mtime=0),
        run=event.run_id,
        row_key=place.row_key,
        blob=place.blob,
        job=event.body.job.name if event.body else "",
        kept=isinstance(select(event), Keep),
    )
