"""The stored events between two times, by the names of the blobs in `events` and by the indexes of the archive: a
folder (an hour, an application and a run) at a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from heapq import merge
from itertools import groupby
from operator import itemgetter

from shared.events.archive import IndexedRun, indexes_below
from shared.storage.port import Storage
from shared.storage_layout import EVENTS, StoredEvent, event_of_blob

_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
"""No event has a time outside of these: the decoder refuses it."""

_HOUR = "%Y/%m/%d/%H/"
_HOUR_LENGTH = len("2026/11/21/13/")
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


def prefixes(since: datetime | None, moment_before: datetime | None) -> Iterator[str]:
    """The prefixes of the names of all blobs with events between two times, in order: as few as possible, so that a
    listing reads few others. Whole hours at both ends.
    """
    if since is None and moment_before is None:
        yield ""
        return
    end = min(moment_before or _LATEST, _LATEST)
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
class ArchivedRun:
    """The events of a run in a file of the archive."""

    file: str
    run: IndexedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """The events of a run within one hour, as they name their `application`: those with a blob in `events`, and those
    that are `archived`. `folder` is where their blobs lie or lay: folders come in the order of their names. `arrived`:
    when the last of the blobs did.
    """

    folder: str
    application: str
    run_id: str
    events: tuple[StoredEvent, ...] = ()
    archived: tuple[ArchivedRun, ...] = ()
    arrived: datetime | None = None


_Item = tuple[str, tuple[StoredEvent, datetime] | ArchivedRun]
"""A folder with what lies in it: an event and the arrival of its blob, or archived events."""


def stored_runs(storage: Storage, wanted_run_filter: RunFilter) -> Iterator[StoredRun]:
    """The runs that are wanted as far as the names of blobs say (not the job). A run comes once for each hour in which
    it has events. What has a foreign name is passed over.
    """
    for prefix in prefixes(wanted_run_filter.since, wanted_run_filter.before):
        for run in runs_below(storage, prefix):
            events = tuple(event for event in run.events if wanted_run_filter.holds(event.time))
            archived = tuple(
                archived_run
                for archived_run in run.archived
                if any(wanted_run_filter.holds(event.time) for event in archived_run.run.events)
            )
            if (events or archived) and wanted_run_filter.run_id in {"", run.run_id}:
                yield replace(run, events=events, archived=archived)


def runs_below(
    storage: Storage, prefix: str, archived_runs: Iterable[ArchivedRun] | None = None
) -> Iterator[StoredRun]:
    """The runs with events whose names begin so: one listing of `events`, and the archive's indexes of these hours,
    unless it is given what they say (`archived_runs`).
    """
    if archived_runs is None:
        archived_runs = archived_below(storage, prefix)
    facts = ((fact, event_of_blob(fact.name)) for fact in storage.blobs(EVENTS, prefix))
    stored: Iterator[_Item] = ((event.folder, (event, fact.arrived)) for fact, event in facts if event)
    archived: Iterator[_Item] = ((archived_run.run.folder, archived_run) for archived_run in archived_runs)
    for folder, entries in groupby(merge(stored, archived, key=itemgetter(0)), key=itemgetter(0)):
        items = [item for _, item in entries]
        files = tuple(item for item in items if isinstance(item, ArchivedRun))
        moved = {event for file in files for event in file.run.events}
        blobs = {item[0]: item[1] for item in items if isinstance(item, tuple) and item[0] not in moved}
        _, application, run_id = folder.rsplit("/", 2)
        yield StoredRun(
            folder=folder,
            application=application,
            run_id=run_id,
            events=tuple(blobs),
            archived=files,
            arrived=max(blobs.values(), default=None),
        )


def archived_below(storage: Storage, prefix: str) -> Iterator[ArchivedRun]:
    """What the archive's files hold, by folder; the indexes of one hour are in memory."""
    files = indexes_below(storage, prefix[:_HOUR_LENGTH])
    for _, hour in groupby(files, key=lambda file: file[0].rpartition("/")[0]):
        runs = [ArchivedRun(file=file, run=run) for file, runs in hour for run in runs if not run.ignored]
        yield from sorted(
            (archived_run for archived_run in runs if f"{archived_run.run.folder}/".startswith(prefix)),
            key=lambda run_archived: run_archived.run.folder,
        )
