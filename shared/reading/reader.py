"""The one way in which reports, queries, watching and commands read what is on record."""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.events.archive_index import stored_packed
from shared.events.stored_runs import RunFilter
from shared.reading.events import wanted_events
from shared.reading.located_run import locate_run
from shared.reading.progress import Progress, no_progress
from shared.reading.received import ReceivedEvents
from shared.reading.runs import all_applications, runs_of
from shared.reading.values import EventRecord, LocatedRun, RecordedRun
from shared.storage.port import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReader:
    """Reads runs and events. Every method raises StorageUnavailable; those that read the archive raise ArchiveMissing
    for a file that is missing or damaged.
    """

    storage: Storage

    def runs(self, progress: Progress = no_progress) -> Iterator[RecordedRun]:
        """All runs on record: one scan of `applications`; one application is in memory at a time. A run whose record is
        damaged counts as not folded: `verify` finds it.
        """
        for application in all_applications(self.storage, progress):
            yield from runs_of(application)

    def run(self, run_id: str, progress: Progress = no_progress, *, application: str = "") -> LocatedRun | None:
        """One run with its events; None where nothing of it is stored. `application`: one that an event of it names;
        `shared/reading/located_run.py` says how it is looked for without that. Raises ContentLost where the state of
        its application can't be read.
        """
        return locate_run(self.storage, run_id, application, progress)

    def events(self, run_filter: RunFilter, *, content: bool = False) -> Iterator[EventRecord]:
        """The stored events that are wanted, ordered by hour, application and run, with their bytes where `content` is
        asked for: a listing, the archive's indexes of these hours, and a point read for each run and hour. At most the
        events of one run and hour are in memory.
        """
        return wanted_events(self.storage, run_filter, content=content)

    def received(self, progress: Progress = no_progress) -> ReceivedEvents:
        """Every event that was acknowledged and is stored, in blobs or the archive: each once."""
        return ReceivedEvents(storage=self.storage, progress=progress)

    def packed(self, blob: str) -> bytes | None:
        """The gzip of an event, by the name that its blob has or had in `events`; None where it is not stored."""
        return stored_packed(self.storage, blob)
