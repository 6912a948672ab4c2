"""What a sweep looks at: events by listing `events`, which shows late and missed ones, and applications by their time.

The listing goes by folders of an hour: those of the last two hours first, the others in turn, a bounded number of blobs
in each sweep. An application is due when one of its events has arrived since its folder was listed last (a late event
counts at once), and again when such an event is older than the grace of a trigger (a missed one). Once a day all
applications of a folder are: a worker may have died, and no host delivers an event for ever.

Applications that the sweeper looks at by itself have a row of `control` each, by the time when that is due. Those with
runs that wait for their end are open; of closed ones something may be forgotten. The times are rounded up, so that an
application that is looked at again and again does not leave a row for each time. A row too many only costs a look.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from shared.errors import Quarantined
from shared.events.dead_letters import add_dead_letter
from shared.records.cells import cells_of, record_of
from shared.records.control import Checkpoint
from shared.storage.port import Row, Storage, upsert_all
from shared.storage_layout import CONTROL, EVENTS, StoredEvent, digest_of, moment, stamp, stored_from_blob
from shared.telemetry.port import SILENT, Telemetry

_PARTITION, _CLOSED = "open", "closed"
_SOON = timedelta(hours=2)
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEntry:
    """An application to be looked at when it is `due`. `waiting`: its runs that wait for their end, of which the one
    that waits longest got its last event at `oldest`.
    """

    application: str
    due: datetime
    waiting: int = 0
    oldest: datetime | None = None

    def row(self) -> Row:
        """As a row of `control`."""
        values = cells_of(self, omitted=("application", "due"))
        return Row(partition=_PARTITION, key=f"{stamp(self.due)}|{self.application}", values=values)

    @classmethod
    def of(cls, row: Row) -> "OpenEntry":
        """From a row of `control`."""
        due_text, application = row.key.split("|")
        return record_of(cls, row, application=application, due=moment(due_text))


def rounded(time: datetime, now: datetime) -> datetime:
    """A time that is not earlier: a whole minute, or a whole hour where it is far away."""
    step = _HOUR if time - now > _SOON else _MINUTE
    remainder = (time - EPOCH) % step
    return time + step - remainder if remainder else time


def due_entries(storage: Storage, until: datetime) -> Iterator[OpenEntry]:
    """The entries that are due until a time, the earliest first."""
    rows = storage.partition(CONTROL, _PARTITION, before=stamp(until + timedelta(microseconds=1)))
    return (OpenEntry.of(row) for row in rows)


def put_entries(storage: Storage, added: Iterable[OpenEntry], removed: Iterable[OpenEntry]) -> None:
    """Add entries, and remove others."""
    rows = {entry.row().key: entry.row() for entry in added}
    upsert_all(storage, CONTROL, rows.values())
    for key in {entry.row().key for entry in removed} - rows.keys():
        storage.delete(CONTROL, _PARTITION, key)


def put_closed(storage: Storage, application: str, due_time: datetime) -> None:
    """Have an application looked at when something of it may be forgotten."""
    storage.upsert(CONTROL, Row(partition=_CLOSED, key=f"{stamp(due_time)}|{application}"))


def closed_due(storage: Storage, now: datetime) -> list[tuple[str, str]]:
    """The keys and applications of which something may be forgotten now."""
    rows = storage.partition(CONTROL, _CLOSED, before=stamp(now + timedelta(microseconds=1)))
    return [(row.key, row.key.split("|")[1]) for row in rows]


def delete_closed(storage: Storage, key: str) -> None:
    """Remove the entry with this key."""
    storage.delete(CONTROL, _CLOSED, key)


_DAY = timedelta(days=1)
_DEPTH = len(("month", "day", "hour"))
"""Folders below that of a year."""
_MAX_FOLDERS = 200
"""Folders of which the last visit is remembered."""
EPOCH = datetime(1971, 1, 1, tzinfo=UTC)
"""Earlier than any event arrived, and late enough to subtract a time from."""


class Visit(msgspec.Struct, frozen=True, array_like=True):
    """When a folder was listed last, and when all of its applications were looked at."""

    listed: datetime
    checked: datetime


class SweepPosition(msgspec.Struct, frozen=True, kw_only=True):
    """The last visits of the folders of `events`, the `last_folder`, after which the next sweep goes on, and whether
    the last one could not list all of the last two hours.
    """

    visits: dict[str, Visit] = {}
    last_folder: str = ""
    is_behind: bool = False


SWEEP = Checkpoint(name="sweep", position=SweepPosition)


@dataclass(slots=True, kw_only=True)
class ListedRun:
    """A run's events in one application as the listing shows them, and the last of their arrivals. `overdue`: the
    events of which the trigger should have ended since the last visit.
    """

    events: dict[str, StoredEvent] = field(default_factory=dict)
    overdue: dict[str, StoredEvent] = field(default_factory=dict)
    arrived: datetime = EPOCH


@dataclass(slots=True, kw_only=True)
class Listing:
    """What the listing shows: runs by application; the applications with a late or a missed event, perhaps."""

    applications: dict[str, dict[str, ListedRun]] = field(default_factory=dict)
    applications_due: dict[str, None] = field(default_factory=dict)
    closable: dict[str, set[str]] = field(default_factory=dict)
    """By folder: applications of which no event of the folder has arrived for long."""
    blobs: int = 0
    places: dict[str, set[str]] = field(default_factory=dict)
    """By run: the applications in which its events lie, and itself where it is one; only where these are several."""

    def find_split_runs(self) -> None:
        """Note the runs with events in several applications."""
        places: dict[str, set[str]] = {}
        for application, runs in self.applications.items():
            for run_id in runs:
                places.setdefault(run_id, {run_id} & self.applications.keys()).add(application)
        self.places = {run_id: applications for run_id, applications in places.items() if len(applications) > 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lister:
    """Lists events. `grace`: how long a trigger may take; `quiet`: after what time without an arrival applications may
    be closed (None: never); `most_blobs`: how many are listed at the most; `unfinished`: applications at which a sweep
    looks again, perhaps since an earlier one could not, so that all old enough events of them are overdue.
    """

    storage: Storage
    grace: timedelta
    quiet: timedelta | None
    most_blobs: int
    unfinished: frozenset[str] = frozenset()
    telemetry: Telemetry = SILENT

    def list(self, position: SweepPosition, now: datetime) -> tuple[Listing, SweepPosition]:
        """List the folders of the last two hours, and as many of the others as are due and within the bound."""
        listing = Listing()
        recent = [_folder(now), _folder(now - _HOUR)]
        older = [folder for folder in self._folders() if folder not in recent]
        turn = [folder for folder in older if folder > position.last_folder] + [
            folder for folder in older if folder <= position.last_folder
        ]
        visits = dict(position.visits)
        last_folder, is_behind = position.last_folder, False
        for folder in (*recent, *turn):
            if listing.blobs >= self.most_blobs:
                is_behind = is_behind or folder in recent
                break
            visit = visits.get(folder) or Visit(EPOCH, EPOCH)
            is_check = now - visit.checked >= _DAY
            self._list_folder(folder, listing, Visit(EPOCH, EPOCH) if is_check else visit, now)
            visits[folder] = Visit(now, now if is_check else visit.checked)
            last_folder = folder if folder not in recent else last_folder
        listing.find_split_runs()
        stored = {*recent, *older}
        by_visit = sorted(stored & visits.keys(), key=lambda folder: visits[folder].listed)
        visits = {folder: visits[folder] for folder in by_visit[-_MAX_FOLDERS:]}
        return listing, SweepPosition(visits=visits, last_folder=last_folder, is_behind=is_behind)

    def _folders(self, prefix: str = "", depth: int = 0) -> Iterator[str]:
        """The folders of all hours, by name; of a folder or blob with a foreign name that name."""
        for name in self.storage.children(EVENTS, prefix):
            is_date = name.removeprefix(prefix).rstrip("/").isdecimal() and name.endswith("/")
            if is_date and depth < _DEPTH:
                yield from self._folders(name, depth + 1)
            else:
                yield name

    def _list_folder(self, folder: str, listing: Listing, visit: Visit, now: datetime) -> None:
        last: dict[str, datetime] = {}
        for fact in self.storage.blobs(EVENTS, folder):
            listing.blobs += 1
            try:
                event = stored_from_blob(fact.name)
            except Quarantined as error:
                name = digest_of(fact.name.encode())
                add_dead_letter(self.storage, fact.name, name, error, self.telemetry)
                continue
            run = listing.applications.setdefault(event.application, {}).setdefault(event.run_id, ListedRun())
            run.events[event.digest] = event
            is_new = fact.arrived > visit.listed - self.grace or event.application in self.unfinished
            if is_overdue := is_new and now - fact.arrived >= self.grace:
                run.overdue[event.digest] = event
            run.arrived = max(run.arrived, fact.arrived)
            last[event.application] = max(last.get(event.application, EPOCH), fact.arrived)
            if is_overdue or visit.listed < fact.arrived:
                listing.applications_due[event.application] = None
        if self.quiet is not None:
            closable = {application for application, arrived in last.items() if now - arrived >= self.quiet}
            if closable:
                listing.closable[folder] = closable


def _folder(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y/%m/%d/%H}/"
