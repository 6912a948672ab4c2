"""Facts of the last run of a process, shown in its description. Read only for processes that are written."""

import logging

from shared.errors import ContentLost
from shared.events.archive_index import ArchiveMissing
from shared.events.run_loader import gather
from shared.openlineage.merging import merge
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.planner import Plan
from shared.records.run_state import readable_run_state
from shared.storage.port import Storage
from shared.storage_layout import RUNS, STATE
from shared.telemetry.port import SILENT
from shared.translation.run.facts import describe_run

_LOG = logging.getLogger("throughline.last_run")


def last_run(context: PublishContext, plan: Plan) -> str:
    """The facts of the last supporting run in a few lines; empty where unknown or not readable. One point read, and the
    run's events where its SQL is shown.
    """
    storage = context.storage
    state = readable_run_state(storage.read(RUNS, plan.last_supporter, STATE), storage) if plan.last_supporter else None
    if state is None or state.facts is None or plan.process is None:
        return ""
    return describe_run(
        state.facts,
        plan.process,
        statement_of(storage, plan.last_supporter) if context.publishing.with_statement else "",
    )


def statement_of(storage: Storage, run_id: str) -> str:
    """The SQL of a run, from its events; empty where these were purged or cannot be read."""
    try:
        events = gather(storage, run_id, {}, SILENT).events
    except (ArchiveMissing, ContentLost) as error:
        _LOG.warning("statement not shown run=%s error=%s", run_id, error)
        return ""
    return merge(events).statement if events else ""
