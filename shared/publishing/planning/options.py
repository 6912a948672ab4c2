"""Options of publishing: what is shown, how the catalog is called, and hooks for the caller."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.concurrency.parallel_map import ParallelMap
from shared.openlineage.glob_filter import MATCH_ALL, GlobFilter
from shared.records.asset_matches import AssetMatch
from shared.telemetry.port import SILENT, Telemetry
from shared.translation.aggregate import SupersessionPolicy


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionOptions:
    """How to resolve: whether to search too, and how long hits and misses are remembered."""

    search: bool = True
    hits: timedelta = timedelta(days=7)
    misses: timedelta = timedelta(hours=6)

    def believed(self, found: AssetMatch) -> timedelta:
        """How long this match is remembered."""
        return self.hits if found.scanned else self.misses


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """How to publish.

    Content: `with_indirect`: show columns that only filter, join or sort; `with_statement`: show the last run's SQL;
    `paths`: the data sets to publish; `patience`: when an application run is superseded; `finding`: how data sets are
    resolved to catalog assets. `shadow`: run everything except catalog writes.

    Calls: `batch`: entities in one call; `call_bound`: the time after which a call is certainly over; `pause`: the
    shortest pause after a failure; `debounce`: the longest debounce time; `parallel`: parallel calls to storage.

    Hooks: `heartbeat`: called regularly during long work, to hold a lease; `stopped`: whether to stop early; `note`:
    called with the counts after each batch; `now`: the clock; `seconds`: a monotonic clock; `telemetry`: where to
    report.
    """

    batch: int = 50
    call_bound: timedelta = timedelta(seconds=120)
    with_indirect: bool = False
    with_statement: bool = False
    paths: GlobFilter = MATCH_ALL
    shadow: bool = False
    patience: SupersessionPolicy = field(default_factory=SupersessionPolicy)
    pause: timedelta = timedelta(seconds=15)
    debounce: timedelta = timedelta(0)
    finding: ResolutionOptions = field(default_factory=ResolutionOptions)
    parallel: ParallelMap = field(default_factory=ParallelMap)
    heartbeat: Callable[[], object] = lambda: None
    stopped: Callable[[], bool] = lambda: False
    note: Callable[[Any], None] = lambda _: None
    now: Callable[[], datetime] = _utc_now
    seconds: Callable[[], float] = time.monotonic
    telemetry: Telemetry = SILENT
