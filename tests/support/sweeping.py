"""Helpers for tests of sweeping."""

from datetime import UTC, datetime, timedelta
from typing import Any

from shared.sweeping.sweep import SweepOptions, SweepResult, sweep


class SweepClock:
    """A clock that tests set; it starts after all events were received."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC) + timedelta(days=1)

    def __call__(self) -> datetime:
        return self.at

    def sweep(self, storage: Any, minutes: float = 1, **options: Any) -> SweepResult:
        self.at += timedelta(minutes=minutes)
        return sweep(storage, SweepOptions(end_timeout=timedelta(days=100), now=self, **options))
