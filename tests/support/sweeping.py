"""Helpers for tests of sweeping."""

from datetime import UTC, datetime, timedelta
from typing import Any

from shared.processing.sweeper import SweepOptions, SweepResult, sweep
from shared.storage.memory import MemoryStorage
from tests.support.events import run_id
from tests.support.processing import Watched


def storage_failing_for_run(storage: MemoryStorage, run: str, error: BaseException) -> Watched:
    """Return storage on which one run can't be processed."""
    seen = Watched(storage)

    def step_in(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "partition" and arguments == ("runs", run_id(run)):
            raise error

    seen.step_in = step_in
    return seen


class SweepClock:
    """A clock that tests set; it starts after all events were received."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC) + timedelta(days=1)

    def __call__(self) -> datetime:
        return self.at

    def sweep(self, storage: Any, minutes: float = 1, **options: Any) -> SweepResult:
        self.at += timedelta(minutes=minutes)
        return sweep(storage, SweepOptions(end_timeout=timedelta(days=100), now=self, **options))
