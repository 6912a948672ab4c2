"""Timer triggers: NCRONTAB expressions of six fields.

Format: https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions. Times are UTC,
as in Azure without WEBSITE_TIME_ZONE.
"""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime

from throughline.local.host.index import Function
from throughline.local.host.settings import AppError
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum

_FIELDS = 6


def occurrences(schedule: str, start: datetime) -> Iterator[datetime]:
    """Yield the times of a schedule after `start`, without end. Raises ValueError for an invalid schedule."""
    if len(schedule.split()) != _FIELDS:
        raise ValueError("it must have six fields: second minute hour day month weekday")
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- only apps with timers need it

    try:
        return CronSim(schedule, start)
    except CronSimError as error:
        raise ValueError(str(error)) from error


class Timer:
    """One timer function; its invocations never overlap, and due times during a long one are skipped.

    A time that was due while no host ran is not made up for: ours come each minute.
    """

    def __init__(self, function: Function, worker: WorkerProcess) -> None:
        self._function, self._worker = function, worker
        self._schedule: str = function.trigger.data["schedule"]
        self._running: asyncio.Task[None] | None = None
        try:
            occurrences(self._schedule, datetime.now(UTC))
        except ValueError as error:
            raise AppError([f"{function.name}/function.json: schedule {self._schedule!r}: {error}"]) from error

    async def run(self) -> None:
        """Invoke it at its times until cancelled; a running invocation continues, see `finish`."""
        last = datetime.now(UTC)
        while True:
            now = datetime.now(UTC)
            due_time = next(occurrences(self._schedule, max(last, now)))
            await asyncio.sleep((due_time - now).total_seconds())
            self._running = asyncio.create_task(self._invoke(due_time, last))
            await asyncio.shield(self._running)
            last = due_time

    async def finish(self) -> None:
        """Wait for the invocation that runs."""
        if self._running is not None:
            await self._running

    async def _invoke(self, due_time: datetime, last: datetime) -> None:
        following = next(occurrences(self._schedule, due_time))
        status = {"Last": last.isoformat(), "Next": following.isoformat(), "LastUpdated": last.isoformat()}
        info = {"Schedule": {"AdjustForDST": True}, "ScheduleStatus": status, "IsPastDue": False}
        await self._worker.invoke(self._function, Datum(json.dumps(info), "json"), {})
