"""Helpers for tests of archiving."""

import gzip
from datetime import timedelta
from typing import Any

from shared.events.archive_format import Line, lines_of
from shared.events.archiver import ArchiveOptions
from shared.publishing.planning.options import PublishOptions
from shared.reporting.status import status
from shared.storage_layout import ARCHIVE, StoredEvent
from shared.translation.aggregate import SupersessionPolicy
from tests.support.processing import post, settle

AT_ONCE = ArchiveOptions(after=timedelta(0), every=timedelta(0))

PUBLISHING = PublishOptions(patience=SupersessionPolicy(quiet=timedelta(days=100_000)))


def archiving(**options: Any) -> ArchiveOptions:
    return ArchiveOptions(**{"after": timedelta(0), "every": timedelta(0), **options})


def post_and_settle(storage: Any, *bodies: bytes) -> list[StoredEvent]:
    places = post(storage, *bodies)
    for place in places:
        settle(storage, place)
    return places


def names(storage: Any, container: str) -> list[str]:
    return [fact.name for fact in storage.blobs(container)]


def archived_lines(storage: Any) -> list[Line]:
    """Return all lines of all files, read without the index of gzip members."""
    files = [storage.get(ARCHIVE, name) for name in names(storage, ARCHIVE)]
    texts = [text for file in files for text in gzip.decompress(file).split(b"\n") if text]
    return [line for text in texts for line in lines_of(gzip.compress(text + b"\n"))]


def counts(storage: Any) -> dict[str, Any]:
    """Return the counts of the status that do not depend on where events are stored."""
    found = status(storage)
    assert found.reconciles
    return {
        "received": found.received,
        "published": found.published,
        "skipped": found.skipped_because,
        "waiting": found.waiting_for,
        "dead": found.dead,
    }
