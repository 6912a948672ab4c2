"""The stored runs between two times, by the names of the blobs in `events` and by what the files of the archive hold: a
folder (an hour and a run) at a time.
"""

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from heapq import merge
from itertools import groupby

from shared.errors import Refused
from shared.events.archive_format import DAMAGED
from shared.events.archive_index import archived_of, members_in, stored_packed
from shared.openlineage.decoding import Event, decode
from shared.storage.port import Row, Storage
from shared.storage_layout import ARCHIVE, EVENTS, RUNS, StoredEvent, event_of_blob, stored_from_row

_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
"""No event has a time outside of these: the decoder refuses it."""

_HOUR = "%Y/%m/%d/%H/"
_BEGIN = "0000/01/01/00/"
"""How a unit of time ends in a name that begins with it: behind a year, `01/01/00/`."""


def _years(number: int) -> Callable[[datetime], datetime]:
    return lambda moment: moment.replace(year=moment.year + number)


_UNITS: tuple[tuple[int, Callable[[datetime], datetime]], ...] = (
    (len("20"), _years(100)),
    (len("202"), _years(10)),
    (len("2026/"), _years(1)),
    (len("2026/11/"), lambda moment: (moment + timedelta(days=31)).replace(day=1)),
    (len("2026/11/21/"), lambda moment: moment + timedelta(days=1)),
    (len("2026/11/21/13/"), lambda moment: moment + timedelta(hours=1)),
)
"""The length of a unit of time in a blob's name, and where the next unit begins; the longest unit first."""


def prefixes(since: datetime | None, before: datetime | None) -> Iterator[str]:
    """The prefixes of the names of all blobs with events between two times, in order: as few as possible, so that a
    listing reads few others. Whole hours at both ends.
    """
    if since is None and before is None:
        yield ""
        return
    end = min(before or _LATEST, _LATEST)
    moment = max(since or _EARLIEST, _EARLIEST).replace(minute=0, second=0, microsecond=0)
    while moment < end:
        name = f"{moment:{_HOUR}}"
        length, follows = next(
            (length, follows(moment))
            for length, follows in _UNITS
            if length == len(name) or (name[length:] == _BEGIN[length:] and follows(moment) <= end)
        )
        yield name[:length]
        moment = follows


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs: those with an event at or after `since` and before `before` (both in UTC), of a job whose name
    matches the glob `job`, or this one run.
    """

    since: datetime | None = None
    before: datetime | None = None
    job: str = ""
    run_id: str = ""

    def holds(self, moment: datetime) -> bool:
        """Whether this is between the two times."""
        return (self.since is None or self.since <= moment) and (self.before is None or moment < self.before)

    def fits(self, job: str) -> bool:
        """Whether a job of this name is meant. Capitals count, as in the names of jobs themselves."""
        return not self.job or fnmatchcase(job, self.job)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """The events of a run within one hour. `folder` is where they lie: folders come in the order of their names."""

    folder: str
    run_id: str
    events: tuple[StoredEvent, ...]

    @property
    def hour(self) -> datetime:
        """The hour in which they lie."""
        return hour_of(self.folder)


def hour_of(folder: str) -> datetime:
    """The hour that a folder is of."""
    return datetime.strptime(folder[: len("2026/11/21/13")], "%Y/%m/%d/%H").replace(tzinfo=UTC)


def stored_runs(storage: Storage, wanted: RunFilter, *, after: str = "") -> Iterator[StoredRun]:
    """The runs that are wanted as far as the names of blobs say (not the job), from behind the folder `after`.

    A run comes once for each hour in which it has events. What has a foreign name is passed over.
    """
    for prefix in _prefixes(storage, wanted, hour_of(after) if after else wanted.since):
        names = merge((fact.name for fact in storage.blobs(EVENTS, prefix)), archived_names(storage, prefix))
        for folder, found in groupby(names, key=lambda name: name.rpartition("/")[0]):
            if after and folder <= after:
                continue
            places = map(event_of_blob, dict.fromkeys(found))
            events = tuple(place for place in places if place and wanted.holds(place.time))
            if events and wanted.run_id in {"", events[0].run_id}:
                yield StoredRun(folder=folder, run_id=events[0].run_id, events=events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A stored event: `event` is None for a name that is none of ours, `arrived` once it lies in the archive."""

    name: str
    event: StoredEvent | None
    arrived: datetime | None

    @classmethod
    def of(cls, name: str, arrived: datetime | None) -> "Arrived":
        """From a blob's name."""
        return cls(name=name, event=event_of_blob(name), arrived=arrived)


def arrivals(storage: Storage, prefix: str = "") -> Iterator[Arrived]:
    """The blobs in `events` whose names start with `prefix`, in order."""
    return (Arrived.of(fact.name, fact.arrived) for fact in storage.blobs(EVENTS, prefix))


def last_arrival(storage: Storage, events: Iterable[StoredEvent]) -> datetime | None:
    """When the last of these events of one run arrived; None when all that is stored of them is archived."""
    wanted = set(events)
    found = (each for folder in sorted({_folder(event) for event in wanted}) for each in arrivals(storage, folder))
    return max((each.arrived for each in found if each.arrived and each.event in wanted), default=None)


def packed_event(storage: Storage, event: StoredEvent) -> bytes | None:
    """The bytes of an event, as they were packed; None when they are not stored (any more)."""
    return stored_packed(storage, event.blob)


def readable_event(storage: Storage, place: StoredEvent) -> Event | None:
    """A stored event, decoded; None where it is not stored (any more), or can't be used."""
    packed = packed_event(storage, place)
    try:
        return decode(gzip.decompress(packed)) if packed else None
    except (Refused, *DAMAGED):
        return None  # processing makes a dead letter of it


def archived_names(storage: Storage, prefix: str) -> Iterator[str]:
    """The names that archived events had in `events` and that start with `prefix`, in order. For an hour its files are
    read, one at a time; for the folder of a run its rows have the names.
    """
    hour, run = prefix[: len("2026/11/21/13/")], prefix[len("2026/11/21/13/") :].rstrip("/")
    if run:
        names = (name for archived in archived_of(storage, run) for name in archived.blobs)
        yield from sorted(name for name in names if name.startswith(prefix))
        return
    files = (fact.name for fact in storage.blobs(ARCHIVE, hour) if not fact.name.startswith("ignored/"))
    for _, group in groupby(files, key=lambda name: name.rpartition("/")[0]):
        members = (member for name in group for member in members_in(storage, name))
        yield from sorted(line.blob for member in members for line in member.lines if line.blob.startswith(prefix))


def _prefixes(storage: Storage, wanted: RunFilter, since: datetime | None) -> Iterable[str]:
    """Where to look: for one run in the folders that its rows name, if there are any."""
    places = noted(storage, wanted.run_id).events if wanted.run_id else ()
    return sorted({_folder(place) for place in places}) or prefixes(since, wanted.before)


def _folder(place: StoredEvent) -> str:
    return f"{place.blob.rpartition('/')[0]}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What the rows of a run say: the events that were noted, and the names of its jobs."""

    events: tuple[StoredEvent, ...]
    jobs: frozenset[str]

    def missing(self, events: Iterable[StoredEvent]) -> tuple[StoredEvent, ...]:
        """The events without a row."""
        known = set(self.events)
        return tuple(event for event in events if event not in known)


def noted(storage: Storage, run_id: str) -> Noted:
    """The events of a run by its rows: two queries, for it may be archived."""
    events: list[StoredEvent] = []
    jobs: set[str] = set()
    for archived in archived_of(storage, run_id):
        events += archived.events
        jobs.add(archived.job)
    for row in storage.partition(RUNS, run_id, since="event|", before="event|~"):
        place = stored_from_row(run_id, row.key)
        if place:
            events.append(place)
            jobs.add(str(row.values.get("job", "")))
    return Noted(events=tuple(events), jobs=frozenset(jobs - {""}))


def note_events(storage: Storage, events: Iterable[StoredEvent]) -> None:
    """Insert the rows of events whose blobs the receiver did not write, so that processing finds them."""
    for event in events:
        storage.insert(RUNS, Row(partition=event.run_id, key=event.row_key))
