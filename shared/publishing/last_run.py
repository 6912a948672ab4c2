"""Facts of the last run of a process, shown in its description. Only processes that are written need them."""

import gzip
import logging

from shared.applications.partition import read_record
from shared.errors import ThroughlineError
from shared.events.archive_format import DAMAGED
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from shared.publishing.context import PublishContext
from shared.publishing.planning import Plan
from shared.storage.port import Storage
from shared.storage_layout import EVENTS, event_of_reference
from shared.translation.run.facts import describe_run

_LOG = logging.getLogger("throughline.last_run")


def last_run(context: PublishContext, plan: Plan) -> str:
    """The facts of the last run in a few lines; empty where unknown. Its events are read where its SQL is shown."""
    if plan.latest is None or plan.process is None:
        return ""
    application, run = plan.latest
    statement = statement_of(context.storage, application, run.run_id) if context.publishing.with_statement else ""
    return describe_run(run.facts, plan.process, statement)


def statement_of(storage: Storage, application: str, run_id: str) -> str:
    """The SQL of a run of an application, from its events; empty where these were archived or can't be read."""
    try:
        record = read_record(storage, application, run_id)
        events = _events(storage, run_id, record.events) if record and not record.values else ()
    except (ThroughlineError, *DAMAGED) as error:
        _LOG.warning("statement not shown run=%s error=%s", run_id, error)
        return ""
    events = (*(record.values if record else ()), *events)
    return merge(events).statement if events else ""


def _events(storage: Storage, run_id: str, references: tuple[str, ...]) -> tuple[Event, ...]:
    blobs = (storage.get(EVENTS, event_of_reference(run_id, reference).blob) for reference in references)
    return tuple(decode(gzip.decompress(packed)) for packed in blobs if packed)
