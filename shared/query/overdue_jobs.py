"""Jobs that did not start when their own rhythm says."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from shared.reading.processes import RecordedProcess
from shared.watching.comparing.snapshot import Overdue, overdue


def overdue_jobs(recorded: Iterable[RecordedProcess], now: datetime) -> Iterator[Overdue]:
    """The processes that have not started when their own rhythm says."""
    for recorded_process in recorded:
        if found := overdue(recorded_process.process.qualified_name, recorded_process.starts, now):
            yield found
