"""Retention: files of the archive that are old enough are deleted. Their lineage stays on record."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from shared.errors import ContentLost
from shared.events.archive_index import NAMES, Archived, ArchiveMissing, all_members_in
from shared.records.run_state import change_run_state
from shared.storage.port import Storage
from shared.storage_layout import ARCHIVE, CONTENTS, RUNS

_LOG = logging.getLogger("throughline.archive")


def delete_old(storage: Storage, before: datetime) -> Iterator[int]:
    """Delete the files that were written before then; how many events were in each, one by one as it is asked for.

    A run that lost events is never processed again. Its state records that first, then its rows are deleted, then the
    file: after a crash the deletion is repeated. A file that is damaged stays, because it does not say which runs lose
    events; so does one with a run whose state is lost, because `verify --fix` restores that from its events.
    """
    for fact in storage.blobs(ARCHIVE):
        if fact.arrived >= before:
            continue
        file = storage.get(ARCHIVE, fact.name)
        if file is None:
            continue
        try:
            events = _delete(storage, fact.name, file)
        except (ArchiveMissing, ContentLost) as error:
            _LOG.error("kept in the archive file=%s error=%s", fact.name, error)
            continue
        _LOG.info("deleted from the archive file=%s events=%d", fact.name, events)
        yield events


def _delete(storage: Storage, name: str, file: bytes) -> int:
    """Delete a file: how many events were in it. Raises ArchiveMissing for a damaged one, and ContentLost."""
    batch = name.rpartition("/")[2].partition(".")[0]
    events = 0
    for member in all_members_in(name, file):
        archived = Archived.of_member(batch, member)
        if not archived.ignored:
            _mark_gone(storage, archived.partition, frozenset(line.digest for line in member.lines))
        row = archived.row(storage)
        storage.delete(RUNS, row.partition, row.key)
        if overflow := NAMES.blob(row):
            storage.delete_blob(CONTENTS, overflow)
        events += len(member.lines)
    storage.delete_blob(ARCHIVE, name)
    return events


def _mark_gone(storage: Storage, run: str, digests: frozenset[str]) -> None:
    change_run_state(storage, run, lambda state: state and replace(state, expired=True, merged=state.merged - digests))
