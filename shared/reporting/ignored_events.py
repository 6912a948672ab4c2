"""The events that the receiver ignored, in `ignored` and in the archive, with the reason.

No row names them and no blob's name has their run, so each one's bytes are read: narrow the times where there are many.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from shared.errors import Refused
from shared.events.archive import all_lines, is_index, job_in, unpacked
from shared.events.stored_runs import RunFilter, prefixes
from shared.openlineage.decoding import decode
from shared.reading.values import EventRecord
from shared.storage.port import Storage
from shared.storage_layout import ARCHIVE, IGNORED, StoredEvent, digest_in_ignored, reason_of_ignored, stored

_ARCHIVED = "ignored/"
_HOUR = len("2026/11/21/13")


def find_ignored(storage: Storage, wanted_run_filter: RunFilter) -> Iterator[EventRecord]:
    """The ignored events that are wanted, with their bytes and `reason`: the archive's first, each place by hour.

    An event whose bytes are damaged has neither run nor job, and is found where neither is asked for. Raises
    StorageUnavailable, and ArchiveMissing for a damaged file of the archive.
    """
    archived: set[str] = set()
    hours = tuple(prefixes(wanted_run_filter.since, wanted_run_filter.before))
    for fact in (fact for hour in hours for fact in storage.blobs(ARCHIVE, f"{_ARCHIVED}{hour}")):
        if not is_index(fact.name):
            for line in all_lines(storage, fact.name):
                archived.add(line.blob)
                yield from _record(line.blob, line.raw, wanted_run_filter, container=ARCHIVE, file=fact.name)
    for fact in (fact for hour in hours for fact in storage.blobs(IGNORED, hour)):
        if fact.name not in archived:  # one that is being archived is in both
            raw = unpacked(storage.get(IGNORED, fact.name))
            yield from _record(fact.name, raw, wanted_run_filter, container=IGNORED, file=fact.name)


def _record(blob: str, raw: bytes | None, run_filter: RunFilter, *, container: str, file: str) -> Iterator[EventRecord]:
    event = _event(blob, raw)
    job = job_in(raw) if raw else ""
    if run_filter.holds(event.time) and run_filter.fits(job) and run_filter.run_id in {"", event.run_id}:
        yield EventRecord(event=event, job=job, container=container, blob=file, raw=raw, reason=reason_of_ignored(blob))


def _event(blob: str, raw: bytes | None) -> StoredEvent:
    digest = digest_in_ignored(blob)
    try:
        return stored(decode(raw or b""), digest)
    except Refused:  # damaged: only the hour is known
        hour = datetime.strptime(blob[:_HOUR], "%Y/%m/%d/%H").replace(tzinfo=UTC)
        return StoredEvent(application="", run_id="", time=hour, type="", digest=digest)
