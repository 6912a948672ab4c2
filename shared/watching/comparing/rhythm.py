"""The rhythm of a job, from the times of its starts: when the next start is due, and whether it is overdue."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from shared.watching.comparing.snapshot import Overdue

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
    apart = _apart(starts)
    when = due(apart)
    return Overdue(process=process, last_start=apart[-1], due=when) if when is not None and when < now else None


def _apart(starts: Iterable[datetime]) -> tuple[datetime, ...]:
    found: list[datetime] = []
    last = None
    for start in starts:
        if last is None or start - last > _ONE_START:
            found.append(start)
        last = start
    return tuple(found)


def due(starts: Sequence[datetime]) -> datetime | None:
    """The latest time at which the next start is due; None if the starts have no rhythm.

    A job is steady if at least nine of ten gaps are at most one and a half times the median gap. It is late after that
    time. Else it may follow the week: each start of its last week has one a week before it, and at least two weeks are
    known. Then the next of these times counts, plus a quarter of the median gap.
    """
    times = sorted(set(starts))[-MAX_STARTS:]
    if len(times) < MIN_STARTS:
        return None
    gaps = sorted(later - earlier for earlier, later in pairwise(times[-_RECENT:]))
    usual = timedelta(seconds=median(gap.total_seconds() for gap in gaps))
    if gaps[-1 - len(gaps) // 10] <= usual * 1.5:
        return times[-1] + usual + max(usual / 2, _LEAST_PATIENCE)
    following = _following_of_week(times)
    return following + max(usual / 4, _LEAST_PATIENCE) if following else None


def _following_of_week(times: Sequence[datetime]) -> datetime | None:
    """The next expected start of a job that follows the week."""
    last = times[-1]
    week = [each for each in times if each > last - _WEEK]
    earlier = [each for each in times if each <= last - _WEEK + _SAME_TIME]
    if last - times[0] < _WEEK * 2 - _SAME_TIME or len(week) < _MIN_OF_WEEK:
        return None
    if not all(_has_partner(each - _WEEK, times) for each in week):
        return None
    if not all(_has_partner(each + _WEEK, times) for each in earlier):
        return None
    return min(each + _WEEK for each in week if each + _WEEK > last)


def _has_partner(time: datetime, times: Sequence[datetime]) -> bool:
    return any(abs(each - time) <= _SAME_TIME for each in times)
