"""What a run needs to know of its application, read from the application's rows. See `application_entries`."""

from collections.abc import Iterable

from shared.naming.names import Names
from shared.openlineage.run import MergedRun
from shared.records.application_entries import batches_after, note_unsourced
from shared.records.application_record import Application, ReadApplication, read_application
from shared.storage.port import Storage
from shared.translation.application.context import (
    AT_ONCE,
    RunContext,
    StreamBatch,
    application_facts_of,
    enclosing_batches,
)
from shared.translation.run.changes import names_no_source


def read_context(
    storage: Storage, run: MergedRun, names: Names, application: ReadApplication = read_application
) -> RunContext:
    """What the runs of its application, this one included, found out so far that concerns this run."""
    if names_no_source(run):
        note_unsourced(storage, run)
    return context_of(storage, run, application(storage, run.application_run), names)


def context_of(storage: Storage, run: MergedRun, known: Application, names: Names) -> RunContext:
    """What concerns this run of what is `known` of its application."""
    streams = known.has_batches and names_no_source(run)
    batches = _first_enclosing(batches_after(storage, run), run) if streams else ()
    return RunContext(facts=known.facts | application_facts_of(run), batches=batches, names=names)


def _first_enclosing(batches: Iterable[StreamBatch], run: MergedRun) -> tuple[StreamBatch, ...]:
    """As `enclosing_batches`, of batches in the order of their ends: no more are read than may enclose the run."""
    found: list[StreamBatch] = []
    for batch in batches:
        if found and batch.seen.last > found[0].seen.last + AT_ONCE:
            break
        found += enclosing_batches((batch,), run)
    return enclosing_batches(found, run)
