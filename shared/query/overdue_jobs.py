"""Jobs that did not start when their own rhythm says."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from shared.publishing.planning.planner import RecordedProcess
from shared.watching.comparing.rhythm import due
from shared.watching.comparing.snapshot import Overdue

_ONE_START = timedelta(minutes=10)
"""Starts that lie this close together are one: a job often writes a table in several steps."""


def overdue_jobs(recorded: Iterable[RecordedProcess], now: datetime) -> Iterator[Overdue]:
    """The processes that have not started when their own rhythm says."""
    for each in recorded:
        starts = _apart(each.starts)
        when = due(starts)
        if when is not None and when < now:
            yield Overdue(process=each.process.qualified_name, last_start=starts[-1], due=when)


def _apart(starts: Iterable[datetime]) -> tuple[datetime, ...]:
    found: list[datetime] = []
    last = None
    for start in starts:
        if last is None or start - last > _ONE_START:
            found.append(start)
        last = start
    return tuple(found)
