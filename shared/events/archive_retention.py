"""Retention: files of the archive that are old enough are deleted, with their counts. Their lineage stays on record."""

import logging
from collections.abc import Iterator
from datetime import datetime

from shared.events.archive_index import ArchiveMissing, all_members_in, is_index, read_index
from shared.events.archive_writer import delete_file
from shared.storage.port import Storage
from shared.storage_layout import ARCHIVE

_LOG = logging.getLogger("throughline.archive")


def delete_old(storage: Storage, moment_before: datetime) -> Iterator[int]:
    """Delete the files that were written before then; how many events were in each, one by one as it is asked for.

    A file that is damaged stays, because it may be mended from a copy; one that an immutability policy keeps stays
    until the policy lets it go.
    """
    kept = 0
    for fact in storage.blobs(ARCHIVE):
        if fact.arrived >= moment_before or is_index(fact.name):
            continue
        try:
            events = sum(len(run.names) for run in read_index(storage, fact.name))
            if not events:
                file = storage.get(ARCHIVE, fact.name) or b""
                events = sum(len(member.lines) for member in all_members_in(fact.name, file))
        except ArchiveMissing as error:
            _LOG.error("kept in the archive file=%s error=%s", fact.name, error)
            continue
        if not delete_file(storage, fact.name):
            kept += 1
            continue
        _LOG.info("deleted from the archive file=%s events=%d", fact.name, events)
        yield events
    if kept:
        _LOG.info("kept in the archive by an immutability policy files=%d", kept)
