"""Stored events: load the events of a run, compact and archive them, and keep dead letters.

Imports records.
"""

from shared.events.archive_format import Member, job_in, members_of
from shared.events.archive_index import ARCHIVED, CLOSED, Archived, ArchiveMissing, Kept, is_stored, stored_packed
from shared.events.archiver import ArchiveOptions, archive
from shared.events.blob_cache import AtHand, BlobCache, Known
from shared.events.dead_letters import (
    DISCARDED,
    GIVEN_UP,
    LONGEST_ERROR,
    DeadLetter,
    count_again,
    dead_letter,
    dead_letters,
    discard,
    let_go,
    note_letter,
    report_dead_letter,
)
from shared.events.run_loader import Gathered, add_dead_letter, gather, heard_digest, readable
from shared.events.stored_runs import (
    Arrived,
    Noted,
    StoredRun,
    Wanted,
    arrivals,
    last_arrival,
    note_events,
    noted,
    packed_event,
    stored_runs,
)

__all__ = [
    "ARCHIVED",
    "CLOSED",
    "DISCARDED",
    "GIVEN_UP",
    "LONGEST_ERROR",
    "ArchiveMissing",
    "ArchiveOptions",
    "Archived",
    "Arrived",
    "AtHand",
    "BlobCache",
    "DeadLetter",
    "Gathered",
    "Kept",
    "Known",
    "Member",
    "Noted",
    "StoredRun",
    "Wanted",
    "add_dead_letter",
    "archive",
    "arrivals",
    "count_again",
    "dead_letter",
    "dead_letters",
    "discard",
    "gather",
    "heard_digest",
    "is_stored",
    "job_in",
    "last_arrival",
    "let_go",
    "members_of",
    "note_events",
    "note_letter",
    "noted",
    "packed_event",
    "readable",
    "report_dead_letter",
    "stored_packed",
    "stored_runs",
]
