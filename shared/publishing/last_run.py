"""What people want to see of the last run of a process that is written: read only where something is written."""

import logging

from shared.events.archive_index import ArchiveMissing
from shared.events.run_loader import gather
from shared.openlineage.merging import merge
from shared.publishing.options import PublishOptions
from shared.publishing.planner import Plan
from shared.records.run_state import RunState
from shared.storage.port import Storage
from shared.storage_layout import RUNS, STATE
from shared.telemetry.port import SILENT
from shared.translation.run.facts import describe_run

_LOG = logging.getLogger("throughline.last_run")


def last_run(storage: Storage, how: PublishOptions, plan: Plan) -> str:
    """The facts of the run that spoke last of a process, in a few lines; empty where none are known. A point read, and
    where its SQL is to be shown its events.
    """
    found = storage.read(RUNS, plan.speaker, STATE) if plan.speaker and plan.process else None
    facts = RunState.of(found, storage).facts if found else None
    if facts is None or plan.process is None:
        return ""
    return describe_run(facts, plan.process, _statement(storage, plan.speaker) if how.with_statement else "")


def _statement(storage: Storage, run_id: str) -> str:
    """The SQL of a run, from its events; empty where they are gone."""
    try:
        events = gather(storage, run_id, {}, SILENT).events
    except ArchiveMissing as error:
        _LOG.warning("statement not shown run=%s error=%s", run_id, error)
        return ""
    return merge(events).statement if events else ""
