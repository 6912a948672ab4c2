"""A snapshot: the state of lineage that the watch compares, with the jobs that are overdue.

Two snapshots have equal bytes exactly if nothing has changed. The rhythm of a job, from the times of its starts, says
when the next start is due, and whether it is overdue.
"""

import gzip
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

import msgspec
from msgspec import structs

from shared.lineage.document import NOT_SET, Dataset, FailedTest, Health, LineageDocument

FORMAT = 1


class UnreadableSnapshotError(ValueError):
    """The bytes are no snapshot, or a snapshot of another format."""


class Overdue(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A process (by qualified name) that did not start by its rhythm: its last start, and when the next one was due."""

    process: str
    last_start: datetime
    due: datetime


class BrokenGate(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A rule of a policy that does not hold: the policy's name, the rule, and a sentence about the cause.

    `datasets`: keys (type, qualified name) of the data sets that the rule is about, if it names some.
    """

    policy: str
    rule: str
    sentence: str
    datasets: tuple[tuple[str, str], ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A state of lineage. `document` has no times, health or texts, which change without a change of lineage."""

    format: int = FORMAT
    document: LineageDocument
    overdue: tuple[Overdue, ...] = ()
    broken: tuple[BrokenGate, ...] = ()


def snapshot_of(
    document: LineageDocument, overdue: tuple[Overdue, ...] = (), broken: tuple[BrokenGate, ...] = ()
) -> Snapshot:
    """The snapshot of a document, with only the lineage that is valid now."""
    return Snapshot(document=_timeless(document), overdue=tuple(sorted(overdue)), broken=tuple(sorted(broken)))


def _lasting(dataset: Dataset) -> Dataset:
    return structs.replace(
        dataset,
        description="",
        tags=(),
        hierarchy=(),
        rows=None,
        size=None,
        written=NOT_SET,
        tested=NOT_SET,
        passed_tests=0,
    )


def _timeless(document: LineageDocument) -> LineageDocument:
    flows = {structs.replace(flow, valid_from=NOT_SET) for flow in document.flows if flow.valid_to == NOT_SET}
    edges = {
        structs.replace(edge, valid_from=NOT_SET, steps=(), description="")
        for edge in document.edges
        if edge.valid_to == NOT_SET
    }
    processes = tuple(
        structs.replace(
            process,
            health=Health.GOOD,
            last_run="",
            first_seen=NOT_SET,
            last_seen=NOT_SET,
            statement="",
            operations=(),
            description="",
            stated=(),
        )
        for process in document.processes
    )
    failed = {FailedTest(test.dataset, test.column, test.name) for test in document.failed_tests}
    return structs.replace(
        document,
        history=False,
        times=(),
        datasets=tuple(_lasting(dataset) for dataset in document.datasets),
        processes=processes,
        flows=tuple(sorted(flows)),
        edges=tuple(sorted(edges)),
        tags=(),
        failed_tests=tuple(sorted(failed)),
    )


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Snapshot)


def packed(snapshot: Snapshot) -> bytes:
    """The snapshot as gzipped JSON; equal snapshots give equal bytes."""
    return gzip.compress(_ENCODER.encode(snapshot), mtime=0)


def unpacked(data: bytes) -> Snapshot:
    """The snapshot in these bytes. Raises UnreadableSnapshotError."""
    try:
        snapshot = _DECODER.decode(gzip.decompress(data))
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise UnreadableSnapshotError(f"this is no snapshot of the watch: {error}") from error
    if snapshot.format != FORMAT:
        raise UnreadableSnapshotError(
            f"this snapshot of the watch has format {snapshot.format}, and this version reads format {FORMAT}"
        )
    return snapshot


MIN_STARTS = 5
"""So many starts it takes to know a rhythm."""
MAX_STARTS = 200
"""The last so many count: for a week's rhythm."""
_RECENT = 21
"""The last so many count for a steady rhythm, which may have changed."""
_WEEK = timedelta(days=7)
_LEAST_PATIENCE = timedelta(minutes=15)
_SAME_TIME = timedelta(hours=1)
"""So far two starts may lie apart that count as one of the week's."""
_ONE_START = timedelta(minutes=10)
"""Starts that lie this close together are one: a job often writes a table in several steps."""


_MIN_OF_WEEK = 2


def overdue(process: str, starts: Iterable[datetime], now: datetime) -> Overdue | None:
    """The process (by qualified name) if it should have started by now; `starts` are sorted. None: not overdue, or no
    rhythm is known.
    """
    start_times = _apart(starts)
    when = due(start_times)
    return Overdue(process=process, last_start=start_times[-1], due=when) if when is not None and when < now else None


def _apart(starts: Iterable[datetime]) -> tuple[datetime, ...]:
    separate: list[datetime] = []
    last = None
    for start in starts:
        if last is None or start - last > _ONE_START:
            separate.append(start)
        last = start
    return tuple(separate)


def due(starts: Sequence[datetime]) -> datetime | None:
    """The latest time at which the next start is due; None if the starts have no rhythm.

    A job is steady if at least nine of ten gaps are at most one and a half times the median gap. It is late after that
    time. Else it may follow the week: each start of its last week has one a week before it, and at least two weeks are
    known. Then the next of these times counts, plus a quarter of the median gap.
    """
    times = sorted(set(starts))[-MAX_STARTS:]
    if len(times) < MIN_STARTS:
        return None
    gaps = sorted(end - earlier for earlier, end in pairwise(times[-_RECENT:]))
    usual = timedelta(seconds=median(gap.total_seconds() for gap in gaps))
    if gaps[-1 - len(gaps) // 10] <= usual * 1.5:
        return times[-1] + usual + max(usual / 2, _LEAST_PATIENCE)
    following = _following_of_week(times)
    return following + max(usual / 4, _LEAST_PATIENCE) if following else None


def _following_of_week(times: Sequence[datetime]) -> datetime | None:
    """The next expected start of a job that follows the week."""
    last = times[-1]
    week = [time for time in times if time > last - _WEEK]
    earlier = [time for time in times if time <= last - _WEEK + _SAME_TIME]
    if last - times[0] < _WEEK * 2 - _SAME_TIME or len(week) < _MIN_OF_WEEK:
        return None
    if not all(_has_partner(time - _WEEK, times) for time in week):
        return None
    if not all(_has_partner(time + _WEEK, times) for time in earlier):
        return None
    return min(time + _WEEK for time in week if time + _WEEK > last)


def _has_partner(time: datetime, times: Sequence[datetime]) -> bool:
    return any(abs(start - time) <= _SAME_TIME for start in times)
