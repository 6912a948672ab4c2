"""Checks of storage, settings and the counts, from this machine."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from shared.bootstrap import Worker
from shared.errors import Misconfigured, StorageForbidden, StorageUnavailable
from shared.records.control import settings_on_record
from shared.reporting.status import Status, status
from shared.settings.reading import differing
from shared.storage.port import Storage
from shared.storage_layout import CONTROL, EVENTS
from shared.sweeping.closing import ClosingOptions
from shared.sweeping.listing import SWEEP
from throughline.cli.checks.findings import CheckResult, Places, bad, good
from throughline.cli.checks.types import catalog_error
from throughline.cli.context.effective_settings import recorded_text

_BY_REFUSAL = {"AuthorizationFailure": "storage-network", "AuthorizationPermissionMismatch": "storage-role"}


def check_storage(storage: Storage, places: Places) -> Iterator[CheckResult]:
    """Whether tables and blobs can be read."""
    role = "Storage Table Data Reader"
    try:
        storage.read(CONTROL, "doctor", "nothing")
        role = "Storage Blob Data Reader"
        any_event = next(iter(storage.blobs(EVENTS)), None)
    except StorageUnavailable as error:
        yield _storage_away(error, {**places, "role": role})
    else:
        yield good("storage", "answers, " + ("holds events" if any_event else "has no event yet"))


def _storage_away(error: StorageUnavailable, places: Places) -> CheckResult:
    code = "storage-away"
    if isinstance(error, StorageForbidden):
        code = _BY_REFUSAL.get(error.code, "storage-identity")
    return bad(code, "storage", str(error), **places)


_TOO_LONG = timedelta(minutes=15)
_SWEPT_BY_NOW = timedelta(minutes=20)
"""A sweep comes each minute and looks at what is ten minutes old."""


def check_counts(storage: Storage, places: Places) -> Iterator[CheckResult]:
    """What delays events that were received."""
    try:
        event_counts = status(storage)
        swept = SWEEP.load(storage)
        first = next(iter(storage.blobs(EVENTS)), None)
    except StorageUnavailable as error:
        yield _storage_away(error, places)
        return
    yield from judge_counts(event_counts)
    if first and not swept and datetime.now(UTC) - first.arrived > _SWEPT_BY_NOW:
        problem = f"no sweep is on record, and the first event came at {first.arrived:%Y-%m-%d %H:%M} UTC"
        yield bad("sweep-missing", "sweeper", problem, **places)


def judge_counts(event_counts: Status) -> Iterator[CheckResult]:
    """Findings from the counts themselves."""
    sum_up = (
        f"{event_counts.received:,} received = {event_counts.published:,} published + {event_counts.skipped:,} skipped"
        f" + {event_counts.waiting:,} waiting + {event_counts.dead:,} dead"
    )
    differs, dead = not event_counts.reconciles, event_counts.dead
    yield bad("counts-differ", "counts", sum_up.replace("=", "≠")) if differs else good("counts", sum_up)
    yield bad("dead-letters", "dead letters", f"{dead:,}") if dead else good("dead letters", "none")
    yield _in_progress(event_counts)
    yield from filter(None, map(catalog_error, event_counts.last_errors))  # the others are not of the catalog


def forgetting(closing: ClosingOptions) -> CheckResult:
    """What is forgotten, and by which rule."""
    if closing.quiet is None:
        return good(
            "forgetting", "nothing is forgotten, since nothing is archived (THROUGHLINE_ARCHIVE_AFTER_HOURS is 0)"
        )
    hours, days = closing.quiet // timedelta(hours=1), closing.keep_runs.days
    files = f"{closing.keep.days} days" if closing.keep else "for ever"
    return good(
        "forgetting",
        f"runs are closed after {hours} quiet hours, and on record for {days} days more; what later closed applications"
        f" supersede is forgotten; archived events are kept {files}",
    )


_IN_PROGRESS = "waiting events"


def _in_progress(event_counts: Status) -> CheckResult:
    """Whether events are in progress for too long; the others wait for their run's end or for shadow mode to end."""
    number, oldest = event_counts.in_progress, event_counts.oldest_waiting
    waited = datetime.now(UTC) - oldest if oldest and number else timedelta()
    others = event_counts.waiting - number
    is_late = waited > _TOO_LONG
    texts = (
        f"{number:,} events in progress" if number else "",
        f", the oldest for {waited.total_seconds() / 60:.0f} min" if is_late else "",
        "; " if number and others else "",
        f"{others:,} waiting for their run's end or for the end of shadow mode" if others else "",
    )
    text = "".join(texts) or "no event waits"
    return bad("work-late", _IN_PROGRESS, text) if is_late else good(_IN_PROGRESS, text)


_SUBJECT = "settings"


def check_settings(parts: Worker) -> Iterator[CheckResult]:
    """One finding. Raises StorageUnavailable."""
    try:
        settings = settings_on_record(parts.storage)
        different = differing(settings.texts) if settings else ()
    except Misconfigured as error:
        yield bad("settings-unreadable", _SUBJECT, str(error))
        return
    if settings is None:
        yield good(_SUBJECT, "none on record: the functions put theirs there when they start")
    elif different:
        names = tuple(difference.name for difference in different)
        yield bad("settings-differ", _SUBJECT, "; ".join(map(str, different)), names=names)
    else:
        yield good(_SUBJECT, recorded_text(settings))
