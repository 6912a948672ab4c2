"""Timer triggers: NCRONTAB expressions of six fields.

Format: https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions. Times are UTC,
as in Azure without WEBSITE_TIME_ZONE. Times that were missed while no host ran cause one call at the start: the next
due time is kept in storage, as by the real host's monitor for schedules of a minute or more.
"""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from throughline.local.host.index import Function
from throughline.local.host.logs import logger
from throughline.local.host.settings import AppError
from throughline.local.host.storage import HOST_CONTAINER, HostStorage, StorageError
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum

_FIELDS = 6
_MONITORED = timedelta(minutes=1)


def occurrences(schedule: str, start: datetime) -> Iterator[datetime]:
    """Yield the times of a schedule after `start`, without end. Raises ValueError for an invalid schedule."""
    if len(schedule.split()) != _FIELDS:
        raise ValueError("it must have six fields: second minute hour day month weekday")
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- only apps with timers need it

    try:
        return CronSim(schedule, start)
    except CronSimError as error:
        raise ValueError(str(error)) from error


class Monitor:
    """The last and the next due time of a timer, kept in `own` as `azure-webjobs-hosts/timers/…/status`."""

    def __init__(self, own_host_storage: HostStorage, host_id: str, function: Function) -> None:
        self._own = own_host_storage
        self._blob = f"timers/{host_id}/{function.id}/status"

    def next_due(self) -> datetime | None:
        """Return the next due time of an earlier host; None without one, or when storage is unavailable."""
        try:
            blob = self._own.get_blob(HOST_CONTAINER, self._blob, kind="read note")
            return None if blob is None else datetime.fromisoformat(json.loads(blob)["Next"])
        except (StorageError, ValueError, LookupError) as error:
            logger.warning("the timer's status can't be read: %s", error)
            return None

    def note(self, last: datetime, following: datetime) -> None:
        """Store the last and the next due time."""
        status = {"Last": last.isoformat(), "Next": following.isoformat(), "LastUpdated": last.isoformat()}
        try:
            self._own.create_container(HOST_CONTAINER)
            self._own.put_blob(HOST_CONTAINER, self._blob, json.dumps(status).encode(), kind="write note")
        except StorageError as error:
            logger.warning("the timer's status can't be stored: %s", error)


class Timer:
    """One timer function; its invocations never overlap, and due times during a long one are skipped."""

    def __init__(self, function: Function, worker: WorkerProcess, monitor: Monitor | None) -> None:
        self._function, self._worker = function, worker
        self._schedule: str = function.trigger.data["schedule"]
        self._running: asyncio.Task[None] | None = None
        try:
            first, second = islice(occurrences(self._schedule, datetime.now(UTC)), 2)
        except ValueError as error:
            raise AppError([f"{function.name}/function.json: schedule {self._schedule!r}: {error}"]) from error
        self._monitor = monitor if second - first >= _MONITORED else None

    async def run(self) -> None:
        """Invoke it at its times until cancelled; a running invocation continues, see `finish`."""
        last = datetime.now(UTC)
        missed = await asyncio.to_thread(self._monitor.next_due) if self._monitor is not None else None
        if missed is not None and missed < last:
            await self._fire(missed, last, late=True)
        elif self._function.trigger.data.get("runOnStartup"):
            await self._fire(last, last)
        elif missed is None and self._monitor is not None:
            await self._note(last)
        due_time = last
        while True:
            now = datetime.now(UTC)
            due_time = next(occurrences(self._schedule, max(due_time, now)))
            await asyncio.sleep((due_time - now).total_seconds())
            await self._fire(due_time, last)
            last = due_time

    async def finish(self) -> None:
        """Wait for the invocation that runs."""
        if self._running is not None:
            await self._running

    async def _fire(self, due_time: datetime, last: datetime, *, late: bool = False) -> None:
        self._running = asyncio.create_task(self._invoke(due_time, last, late=late))
        await asyncio.shield(self._running)

    async def _invoke(self, due_time: datetime, last: datetime, *, late: bool) -> None:
        following = next(occurrences(self._schedule, due_time))
        status = {"Last": last.isoformat(), "Next": following.isoformat(), "LastUpdated": last.isoformat()}
        info = {"Schedule": {"AdjustForDST": True}, "ScheduleStatus": status, "IsPastDue": late}
        await self._worker.invoke(self._function, Datum(json.dumps(info), "json"), {})
        await self._note(datetime.now(UTC) if late else due_time)

    async def _note(self, last: datetime) -> None:
        if self._monitor is not None:
            await asyncio.to_thread(self._monitor.note, last, next(occurrences(self._schedule, last)))
