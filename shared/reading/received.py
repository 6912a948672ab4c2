"""The events that were acknowledged: those of which a blob is stored, and the counts of those in the archive.

While events are archived they are counted once: those that were listed are left out of the counts of a file that was
written meanwhile.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from shared.events.archive_index import IndexedRun, read_index
from shared.events.archive_writer import CountedFile, counted_files, pending_batch
from shared.reading.progress import Progress, counted
from shared.reading.values import ArchivedEvents, ReceivedEvent
from shared.records.digest_set import DigestSet, combined_digest
from shared.storage.port import Storage
from shared.storage_layout import EVENTS, IGNORED, event_of_blob, reason_of_ignored

_DAY = len("2026-11-21")


@dataclass(slots=True, kw_only=True)
class ReceivedEvents:
    """One reading of all events: first those with a blob, then those in the archive.

    `listed`: digests of the names of the blobs; `settled`: the batches whose blobs were deleted before the listing.
    """

    storage: Storage
    progress: Progress
    listed: DigestSet = field(default_factory=DigestSet)
    settled: frozenset[str] = frozenset()

    def stored(self) -> Iterator[ReceivedEvent]:
        """Each event with a blob: one listing of `events`, and one of `ignored`."""
        batches = frozenset(counted_files(self.storage))
        pending = pending_batch(self.storage)
        self.settled = batches - {pending.name if pending else ""}
        for fact in counted(self.progress, "events", self.storage.blobs(EVENTS)):
            self.listed.add(combined_digest(EVENTS, fact.name))
            yield ReceivedEvent(name=fact.name, arrived=fact.arrived, event=event_of_blob(fact.name))
        for fact in counted(self.progress, "ignored", self.storage.blobs(IGNORED)):
            self.listed.add(combined_digest(IGNORED, fact.name))
            yield ReceivedEvent(name=fact.name, arrived=fact.arrived, ignored=reason_of_ignored(fact.name))

    def archived(self, *, by_job: bool) -> Iterator[ArchivedEvents]:
        """The events in the archive, once those with a blob were read: a row for each file, whose index is read
        `by_job`.
        """
        files = counted_files(self.storage)
        for batch, file in counted(self.progress, "archive", files.items()):
            if by_job or batch not in self.settled:
                yield from self._indexed(file)
            else:
                yield from _of_states(file)

    def _indexed(self, file: CountedFile) -> Iterator[ArchivedEvents]:
        numbers: Counter[tuple[str, str, str, str]] = Counter()
        for run in read_index(self.storage, file.file):
            container = IGNORED if run.ignored else EVENTS
            for blob, (state, reason) in zip(run.blobs, run.states, strict=True):
                if not self.listed.meet(combined_digest(container, blob)):
                    numbers[_day(run, blob), state, reason, run.job] += 1
        for (day, state, reason, job), number in numbers.items():
            yield ArchivedEvents(day=day, state=state, reason=reason, number=number, job=job)


def _of_states(file: CountedFile) -> Iterator[ArchivedEvents]:
    for day, states in file.states.items():
        for name, number in states.items():
            state, _, reason = name.partition("|")
            yield ArchivedEvents(day=day, state=state, reason=reason, number=number)


def _day(run: IndexedRun, blob: str) -> str:
    """The day of an archived event: an ignored one's by its folder."""
    if run.ignored:
        return blob[:_DAY].replace("/", "-")
    stamp = blob.rpartition("/")[2]
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}"
