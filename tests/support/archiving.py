"""Helpers for tests of archiving."""

import gzip
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.events.archive import Line, is_index, lines_of
from shared.publishing.context import PublishOptions
from shared.reporting.status import status
from shared.storage_layout import ARCHIVE, StoredEvent
from shared.sweeping.closing import ClosingOptions
from shared.sweeping.sweep import SweepOptions, SweepResult, sweep
from shared.translation.aggregate import SupersessionPolicy
from tests.support.processing import deliver_event, post

PUBLISHING = PublishOptions(patience=SupersessionPolicy(quiet=timedelta(days=100_000)))


def archiving(**options: Any) -> ClosingOptions:
    """Close at once, and archive at each sweep."""
    return ClosingOptions(**{"quiet": timedelta(0), "every": timedelta(0), **options})


def archive(storage: Any, options: ClosingOptions) -> SweepResult:
    """Sweep a day later, with these options of closing."""
    later_moment = datetime.now(UTC) + timedelta(days=1)
    return sweep(storage, SweepOptions(end_timeout=timedelta(days=100_000), closing=options, now=lambda: later_moment))


def post_and_deliver(storage: Any, *bodies: bytes) -> list[StoredEvent]:
    events = post(storage, *bodies)
    for event in events:
        deliver_event(storage, event)
    return events


def names(storage: Any, container: str) -> list[str]:
    return [fact.name for fact in storage.blobs(container)]


def archived_lines(storage: Any) -> list[Line]:
    """Return all lines of all files, read without the index of gzip members."""
    files = [storage.get(ARCHIVE, name) for name in names(storage, ARCHIVE) if not is_index(name)]
    texts = [text for file in files for text in gzip.decompress(file).split(b"\n") if text]
    return [line for text in texts for line in lines_of(gzip.compress(text + b"\n"))]


def counts(storage: Any) -> dict[str, Any]:
    """Return the counts of the status that do not depend on where events are stored."""
    current_status = status(storage)
    assert current_status.reconciles
    return {
        "received": current_status.received,
        "published": current_status.published,
        "skipped": current_status.skipped_because,
        "waiting": current_status.waiting_for,
        "dead": current_status.dead,
    }
