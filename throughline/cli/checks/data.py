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
    yield (
        good("counts", sum_up) if event_counts.reconciles else bad("counts-differ", "counts", sum_up.replace("=", "≠"))
    )
    yield (
        good("dead letters", "none")
        if not event_counts.dead
        else bad("dead-letters", "dead letters", f"{event_counts.dead:,}")
    )
    yield _in_progress(event_counts)
    for sentence in event_counts.last_errors:
        finding = catalog_error(sentence)
        if finding:  # the others are dead letters or rejected requests
            yield finding


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
    waited = (
        datetime.now(UTC) - event_counts.oldest_waiting
        if event_counts.oldest_waiting and event_counts.in_progress
        else timedelta()
    )
    number_waiting = event_counts.waiting - event_counts.in_progress
    waiting_text = (
        f"{number_waiting:,} waiting for their run's end or for the end of shadow mode" if number_waiting else ""
    )
    if waited > _TOO_LONG:
        minutes = waited.total_seconds() / 60
        late = f"{event_counts.in_progress:,} events in progress, the oldest for {minutes:.0f} min"
        return bad("work-late", _IN_PROGRESS, f"{late}; {waiting_text}" if waiting_text else late)
    now = f"{event_counts.in_progress:,} events in progress" if event_counts.in_progress else ""
    return good(_IN_PROGRESS, "; ".join(filter(None, (now, waiting_text))) or "no event waits")


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
