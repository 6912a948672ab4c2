"""The times of application runs, by which they are superseded. Reads only."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import structs

from shared.model import ApplicationTimes, Span
from shared.publishing.planning.options import PublishOptions
from shared.records.application.process_index import contributions_of, processes_written_by
from shared.records.run_state import run_state_of
from shared.storage.port import Storage
from shared.storage_layout import RUNS, stored_from_row


def application_times(
    storage: Storage, spans: Mapping[str, Span], options: PublishOptions, cache: dict[str, ApplicationTimes]
) -> dict[str, ApplicationTimes]:
    """The times of the application runs that may count, by run; `spans`: when each contributed; `cache`: the
    stored times that were read already.

    Latest first: a run that completed and began after another one's last contribution supersedes that one, so that the
    search ends there, however many older runs there are.
    """
    if len(spans) == 1:
        ((run, span),) = spans.items()
        if span.last - span.first <= options.patience.unseen:
            return {run: ApplicationTimes()}  # one short run: nothing supersedes it
    facts: dict[str, ApplicationTimes] = {}
    superseded_before: datetime | None = None
    for run in sorted(spans, key=lambda each: (spans[each].last, each), reverse=True):
        if superseded_before and spans[run].last < superseded_before:
            break
        if run not in cache:
            cache[run] = _known(storage, run)
        known = cache[run]
        if known.ended == "COMPLETE":
            began = min(known.first or spans[run].first, spans[run].first)
            superseded_before = max(superseded_before or began, began)
        elif known.ended is None:
            own = spans[run]
            last = max(own.last, known.last or own.last)
            if last + options.patience.quiet <= options.now():
                last = _last_activity(storage, run, last)
            known = structs.replace(known, first=known.first or own.first, last=last)
        facts[run] = known
    return facts


def _known(storage: Storage, application_run: str) -> ApplicationTimes:
    """The times of an application run from its own events: a point read once it has ended."""
    state = run_state_of(storage, application_run)
    if state and state.settled and state.seen:
        return ApplicationTimes(first=state.seen.first, last=state.seen.last, ended=state.end)
    found_events = storage.partition(RUNS, application_run, since="event|", before="event|~")
    rows = (stored_from_row(application_run, row.key) for row in found_events)
    times = [place.time for place in rows if place]
    return ApplicationTimes(
        first=min(times, default=None), last=max(times, default=None), ended=state.end if state else None
    )


def _last_activity(storage: Storage, application_run: str, last: datetime) -> datetime:
    """When an application run that seems quiet last contributed to any process."""
    for process in processes_written_by(storage, application_run):
        for _, record in contributions_of(storage, process, application_run):
            last = max(last, record.seen.last) if record.seen else last
    return last
