"""Timer triggers: NCRONTAB expressions of six fields, and spans.

Format: https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions. Times are UTC,
as in Azure without WEBSITE_TIME_ZONE. There is no monitor that catches up on what was missed while the host was down.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from local.host.index import Function
from local.host.settings import AppError
from local.host.worker import Worker

_SPAN = re.compile(r"(?:(?P<days>\d+)\.)?(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)")
_FIELDS = 6


def occurrences(schedule: str, start: datetime) -> Iterator[datetime]:
    """Yield the times of a schedule after `start`, without end; ValueError when it is no schedule."""
    span = _SPAN.fullmatch(schedule)
    if span:
        step = timedelta(**{unit: int(number) for unit, number in span.groupdict("0").items()})
        if not step:
            raise ValueError("the span must be longer than nothing")
        return _steps(start, step)
    if len(schedule.split()) != _FIELDS:
        raise ValueError("it must have six fields (second minute hour day month weekday) or be a span hh:mm:ss")
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- only apps with timers need it

    try:
        return CronSim(schedule, start)
    except CronSimError as error:
        raise ValueError(str(error)) from error


def _steps(start: datetime, step: timedelta) -> Iterator[datetime]:
    while True:
        start += step
        yield start


class Timer:
    """One timer function; its invocations never overlap, and what falls into a long one is left out."""

    def __init__(self, function: Function, worker: Worker) -> None:
        self._function, self._worker = function, worker
        self._schedule: str = function.trigger.data["schedule"]
        self._running: asyncio.Task[None] | None = None
        try:
            occurrences(self._schedule, datetime.now(UTC))
        except ValueError as error:
            raise AppError([f"{function.name}/function.json: schedule {self._schedule!r}: {error}"]) from error

    async def run(self) -> None:
        """Invoke it at its times until cancelled; what has begun by then goes on, see `finish`."""
        last = datetime.now(UTC)
        if self._function.trigger.data.get("runOnStartup"):
            await self._fire(last, last)
        due = last
        while True:
            now = datetime.now(UTC)
            # From the last due time, so that spans don't drift, and never into the past.
            due = next(time for time in occurrences(self._schedule, due) if time > now)
            await asyncio.sleep((due - now).total_seconds())
            await self._fire(due, last)
            last = due

    async def finish(self) -> None:
        """Wait for the invocation that runs."""
        if self._running is not None:
            await self._running

    async def _fire(self, due: datetime, last: datetime) -> None:
        self._running = asyncio.create_task(self._invoke(due, last))
        await asyncio.shield(self._running)

    async def _invoke(self, due: datetime, last: datetime) -> None:
        following = next(occurrences(self._schedule, due))
        status = {"Last": last.isoformat(), "Next": following.isoformat(), "LastUpdated": last.isoformat()}
        info = {"Schedule": {"AdjustForDST": True}, "ScheduleStatus": status, "IsPastDue": False}
        await self._worker.invoke(self._function, self._worker.datum(json.dumps(info), "json"), {})
