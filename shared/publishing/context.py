"""What every step of publishing works with: storage, catalog, options, and the counts that it gives; the publisher's
lease, and the removal of placeholders under it.

Placeholders are known by the records and by their description. Assets that a scan found, or whose description a person
changed, are never touched.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from shared.applications.rows import FoldMemory
from shared.catalog.port import AssetKey, Catalog, Placeholder, batches
from shared.concurrency import ParallelMap
from shared.errors import CatalogRefused, CatalogUnavailable, WriteConflict
from shared.openlineage.selection import MATCH_ALL, GlobFilter
from shared.records.asset_record import AssetRecord
from shared.records.assets import AssetRows
from shared.records.waits import NEVER, Landing
from shared.storage.port import LeaseSession, Storage, start_session
from shared.telemetry.port import SILENT, Telemetry
from shared.translation.aggregate import SupersessionPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionOptions:
    """How to resolve: whether to search too, and how long hits and misses are remembered."""

    search: bool = True
    hits: timedelta = timedelta(days=7)
    misses: timedelta = timedelta(hours=6)

    def believed(self, record: AssetRecord) -> timedelta:
        """How long this match is remembered."""
        return self.hits if record.scanned else self.misses


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """How to publish.

    Content: `with_indirect`: show columns that only filter, join or sort; `with_statement`: show the last run's SQL;
    `paths`: the data sets to publish; `patience`: when an application run is superseded; `finding`: how data sets are
    resolved to catalog assets. `shadow`: run everything except catalog writes. `documents`: leave marks for the
    document of what is published. `foreign_depth`: how many data sets away from ours foreign lineage is read; 0: none.

    Calls: `batch`: entities in one call; `call_bound`: the time after which a call is certainly over; `pause`: the
    shortest pause after a failure; `debounce`: the longest debounce time; `parallel`: parallel calls to storage;
    `only`: the targets that may be published, also while publishing is held back.

    Hooks: `heartbeat`: called regularly during long work, to hold a lease; `stopped`: whether to stop early; `note`:
    called with the counts after each batch; `now`: the clock; `seconds`: a monotonic clock; `rest`: waits (seconds);
    `telemetry`: where to report.
    """

    batch: int = 50
    call_bound: timedelta = timedelta(seconds=120)
    with_indirect: bool = False
    with_statement: bool = False
    paths: GlobFilter = MATCH_ALL
    shadow: bool = False
    documents: bool = False
    foreign_depth: int = 0
    patience: SupersessionPolicy = field(default_factory=SupersessionPolicy)
    pause: timedelta = timedelta(seconds=15)
    debounce: timedelta = timedelta(0)
    finding: ResolutionOptions = field(default_factory=ResolutionOptions)
    parallel: ParallelMap = field(default_factory=ParallelMap)
    only: Callable[[str], bool] | None = None
    heartbeat: Callable[[], object] = lambda: None
    stopped: Callable[[], bool] = lambda: False
    note: Callable[[Any], None] = lambda _: None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = time.monotonic
    rest: Callable[[float], None] = time.sleep
    telemetry: Telemetry = SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishContext:
    """The records in a `storage`, the `catalog` that they are published to, and the options of `publishing`.

    In the memory of this process: `assets`: the rows of data sets; `memory`: what was folded.
    """

    storage: Storage
    catalog: Catalog
    publishing: PublishOptions
    assets: AssetRows = field(default_factory=AssetRows)
    memory: FoldMemory = field(default_factory=FoldMemory)

    def after(self, calls: int) -> timedelta:
        """After what time so many calls to the catalog in a row are certainly over."""
        return calls * self.publishing.call_bound

    def is_in_time(self, lands: datetime, calls: int = 1) -> bool:
        """Whether so many calls in a row that begin now are over by then."""
        return self.publishing.now() + self.after(calls) <= lands

    def landed(self, landing: Landing, error: CatalogRefused | CatalogUnavailable | None = None) -> Landing:
        """After the last call of a write, which this thread made, and its `error`: without an answer, that call is
        waited for, since no other one of its write follows; a try of it whose answer was lost may take effect later,
        although the call succeeded.
        """
        now, bound = self.publishing.now(), self.publishing.call_bound
        if error and not error.over:
            return landing.unanswered(now, bound)
        return landing.answered(now + bound if self.catalog.may_still_land() else NEVER)


_NAMED = 100


@dataclass(slots=True, kw_only=True)
class Published:
    """Counts of processes that one or several drains published; `error`: why the last one stopped early. `changes`: the
    qualified names of the first that were written (`+`) and removed (`-`), for people.
    """

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    refused: int = 0
    postponed: int = 0
    held: int = 0
    error: str = ""
    changes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def progress(self) -> int:
        """How many processes are done: published, refused or held back by shadow mode."""
        return self.written + self.unchanged + self.removed + self.refused + self.held

    def count(self, state: str, number: int) -> None:
        """Count processes that are in this state now."""
        setattr(self, state, getattr(self, state) + number)

    def add(self, addition: "Published") -> None:
        """Add the counts of a later drain, and take over its error."""
        for state in ("written", "unchanged", "removed", "refused", "postponed", "held"):
            self.count(state, getattr(addition, state))
        self.error = addition.error
        for sign, process in addition.changes:
            self.note(sign, process)

    def note(self, sign: str, process: str) -> None:
        """Note a change, unless many are noted: `replay --all` makes hundreds of thousands."""
        if len(self.changes) < _NAMED:
            self.changes.append((sign, process))


PUBLISHER = "publisher"
"""The name of the lease that allows writes to the catalog, and to the records of data sets."""

_TRIES = 60
_SECONDS = 3.0


@contextmanager
def turn(context: PublishContext, *, tries: int = _TRIES) -> Iterator[LeaseSession]:
    """Hold the publisher's lease. A running publisher releases it within three minutes, in which it is tried `tries`
    more times. Raises WriteConflict after that.
    """
    while (session := start_session(context.storage, PUBLISHER)) is None:
        if not tries:
            raise WriteConflict("Another publisher held the lease for three minutes; run the command again", after=60)
        tries -= 1
        context.publishing.rest(_SECONDS)
    try:
        context.assets.claim(context.storage)
        yield session
    finally:
        session.lease.release()


def placeholders(catalog: Catalog, keys: Iterable[AssetKey], size: int) -> Iterator[dict[AssetKey, Placeholder]]:
    """The placeholders among these assets, batch by batch."""
    for batch in batches(sorted(keys), size):
        yield catalog.placeholders(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceholderRemoval:
    """Placeholders that were removed, and those that were kept because something is linked to them."""

    removed: frozenset[AssetKey]
    kept: frozenset[AssetKey]


def remove_unlinked(context: PublishContext, keys: Sequence[AssetKey]) -> PlaceholderRemoval:
    """Remove the unlinked placeholders among these assets. The publisher's lease is held, since a publisher creates
    data sets before it writes the processes that use them.
    """
    storage, rows = context.storage, context.assets
    own_placeholders = context.catalog.placeholders(keys)
    unlinked = {key: placeholder for key, placeholder in sorted(own_placeholders.items()) if not placeholder.links}
    if unlinked:
        for record in rows.read(storage, unlinked).values():
            if not record.scanned:
                rows.put(structs.replace(record, at=NEVER, shown=""))
        rows.flush(storage)
        context.catalog.remove(
            [guid for placeholder in unlinked.values() for guid in (placeholder.guid, *placeholder.parts)]
        )
    return PlaceholderRemoval(removed=frozenset(unlinked), kept=frozenset(own_placeholders.keys() - unlinked.keys()))
