"""Generated estates, day by day: recurring jobs, chains and stars of tables, streams, changing schemas.

Everything is drawn from one seed: the same numbers of events and seed give the same bytes.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from tests.synth.archive import ArchiveFiles, archived
from tests.synth.templates import Piece, Slots, Template, Templates, read_templates

FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_EVENTS_A_JOB = 3_000
_FEWEST_JOBS = 12
_CHAIN = 8
_STAR = 12
_CLOSED_AFTER = timedelta(hours=48)
_BROKEN, _LATE, _REPEATED = 0.01, 0.001, 0.005
"""The shares of events."""
_FAILED = 0.01
"""The share of applications."""
_CHANGING = 0.3
"""The share of jobs whose schemas change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """Counts of what was written: lines, of which broken; files and their bytes; application runs; the time span."""

    events: int
    broken: int
    files: int
    bytes: int
    applications: int
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One job of the estate. `rounds`: the rounds of a stream per day; 0 for a batch job."""

    number: int
    template: Template
    namespace: bytes
    application: bytes
    places: dict[bytes, bytes]
    minute: int
    changes: int
    rounds: int = 0


def synthesize(
    folder: Path,
    *,
    events: int,
    seed: int,
    templates: Path,
    note: Callable[[int], None] = lambda _: None,
) -> Synthesis:
    """Write so many events below `folder` in the archive's layout; `note` is called after each day with their number.

    Raises NoTemplatesError when `templates` holds no captured events.
    """
    known_templates = read_templates(templates)
    draw = random.Random(seed)
    jobs = _jobs(known_templates, events, draw)
    history = _History(draw=draw, files=ArchiveFiles(root=folder), jobs=jobs, left=events)
    day = 0
    while history.left > 0:
        history.live(day)
        day += 1
        note(events - history.left)
    history.files.close()
    return Synthesis(
        events=events,
        broken=history.broken,
        files=history.files.files,
        bytes=history.files.size,
        applications=history.applications,
        days=day,
    )


def _jobs(templates: Templates, events: int, draw: random.Random) -> list[_Job]:
    """The jobs of the estate: of ten six whole applications, two steps of chains, one point of a star, one stream."""
    jobs: list[_Job] = []
    for number in range(max(_FEWEST_JOBS, events // _EVENTS_A_JOB)):
        kind, turn = number % 10, number // 10
        if kind in {6, 7}:
            step = 2 * turn + kind - 6
            chain, chain_step = divmod(step, _CHAIN)
            places = [b"/data/chain%d/t%d" % (chain, chain_step), b"/data/chain%d/t%d" % (chain, chain_step + 1)]
            template = templates.copy
        elif kind == 8:
            star, point = divmod(turn, _STAR)
            places = [b"/data/star%d/hub" % star, b"/data/star%d/dim%d" % (star, point)]
            places.append(b"/data/star%d/mart%d" % (star, point))
            template = templates.join
        else:
            places = [b"/data/e%05d" % number]
            template = (
                templates.rounds[turn % len(templates.rounds)]
                if kind == 9
                else templates.applications[draw.randrange(len(templates.applications))]
            )
        jobs.append(
            _Job(
                number=number,
                template=template,
                namespace=b"team%03d" % (number % 97),
                application=b"%s_%d" % (template.application, number),
                places=dict(zip(template.places, places, strict=True)),
                minute=draw.randrange(24 * 60),
                changes=draw.randrange(3, 40) if draw.random() < _CHANGING else 0,
                rounds=draw.choice((4, 8, 16, 64)) if kind == 9 else 0,
            )
        )
    return sorted(jobs, key=lambda job: (job.minute, job.number))


@dataclass(slots=True, kw_only=True)
class _History:
    draw: random.Random
    files: ArchiveFiles
    jobs: list[_Job]
    left: int
    broken: int = 0
    applications: int = 0

    def live(self, day: int) -> None:
        """One day of all jobs."""
        for job in self.jobs:
            start = FIRST_DAY + timedelta(days=day, minutes=job.minute)
            self.files.close_before(start - timedelta(hours=3))
            if job.rounds:
                self._stream(job, start, day)
            else:
                self.applications += 1
                self._application(job, start, day, self._ids(job, {}), failed=self._happens(_FAILED))
            if self.left <= 0:
                return

    def _stream(self, job: _Job, start: datetime, day: int) -> None:
        """The rounds of a day; the application run is always the same."""
        fixed_ids = {job.template.ids[0]: _uuid(random.Random(job.number))}
        self.applications += day == 0
        for round_number in range(job.rounds):
            moment = start + timedelta(seconds=round_number * max(30.0, job.template.lasts * 1.5))
            self._application(job, moment, day, self._ids(job, fixed_ids), failed=False)

    def _ids(self, job: _Job, known_ids: dict[bytes, bytes]) -> dict[bytes, bytes]:
        return {content: known_ids.get(content) or _uuid(self.draw) for content in job.template.ids}

    def _application(self, job: _Job, start: datetime, day: int, ids: dict[bytes, bytes], *, failed: bool) -> None:
        changed = bool(job.changes) and day >= job.changes
        slots = Slots(
            ids=ids,
            namespace=job.namespace,
            places=job.places,
            application=job.application,
            field=b'{"name":"added_%d","type":"string"},' % job.changes if changed and day < 2 * job.changes else b"",
            retyped=changed and day % 2 == 0,
        )
        closed = stamp(start + timedelta(seconds=job.template.lasts) + _CLOSED_AFTER)
        for piece in sorted(job.template.pieces, key=lambda piece: (piece.run, piece.after)):
            moment = start + timedelta(seconds=piece.after)
            raw = piece.render(slots, stamp(moment).encode(), failed=failed and piece.type == "COMPLETE")
            run = ids[piece.run]
            for line in self._lines(raw, run.decode(), piece, moment, closed):
                if self.left <= 0:
                    return
                self.files.add(moment, run, line)
                self.left -= 1

    def _lines(self, raw: bytes, run: str, piece: Piece, moment: datetime, closed: str) -> Iterator[bytes]:
        """The event as a line; now and then broken, late, or twice."""
        broken = self._happens(_BROKEN)
        if broken:
            raw = self._damaged(raw)
        late = self._happens(_LATE)
        line = archived(
            raw,
            run=run,
            job=piece.job,
            kind=piece.type,
            moment=moment,
            arrived=stamp(moment + (_CLOSED_AFTER * 2 if late else timedelta(seconds=1))),
            closed=closed,
        )
        if broken:
            self.broken += 1
            if self._happens(0.25):
                line = line[: self.draw.randrange(1, len(line))]
        yield line + b"\n"
        if not broken and self._happens(_REPEATED):
            yield line + b"\n"

    def _damaged(self, raw: bytes) -> bytes:
        """An event that cannot be used: cut, not JSON, or without what identifies it."""
        kind = self.draw.randrange(3)
        if kind == 0:
            return raw[: self.draw.randrange(1, len(raw))].decode(errors="ignore").encode()
        if kind == 1:
            return b"<html>502 Bad Gateway</html>"
        return re.sub(rb'"runId":"[^"]*"', b'"runId":null', raw)

    def _happens(self, share: float) -> bool:
        return self.draw.random() < share


def _uuid(draw: random.Random) -> bytes:
    return str(UUID(int=draw.getrandbits(128), version=4)).encode()


def stamp(moment: datetime) -> str:
    """A time as events have it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
