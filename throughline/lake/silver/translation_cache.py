"""The translation of one run as columns of a row, and a cache of it for equal runs."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from shared.model import Process, RunLineage
from shared.openlineage.run import MergedRun
from shared.translation.run.application import NO_APPLICATION_FACTS, RunContext
from shared.translation.run.datasets import Datasets, schemas_in
from shared.translation.run.facts import columns_by, is_by_rdd
from shared.translation.run.translate import Skip, lifecycle_events_in, translate
from throughline.lake.engine.arrow_cells import Row
from throughline.lake.engine.port import SMALL_ROW_BYTES
from throughline.lake.tables.encoding import digest, pack

MAX_CACHED_BYTES = 32 * 1024 * 1024
"""About this many bytes are cached; then the cache is emptied."""

_COLUMN, _RUN = 256, 1024
"""About the bytes that Python holds for a column of a schema, and for a run beside its packed content."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class TranslationCache:
    """Translations by the content of runs. Most runs repeat an earlier one: a job that runs each hour, the batches of a
    stream. A translation depends neither on the run's id nor on its times, unless it has lifecycle events, so each
    distinct content is translated once.
    """

    def __init__(self, limit: int = MAX_CACHED_BYTES) -> None:
        self._known: dict[tuple[Any, ...], Row] = {}
        self._most, self._held = limit, 0

    def of(self, run: MergedRun, context: RunContext, *, timed_out: bool) -> Row:
        """As `translated_run`, with the same naming rules for all runs. The row is shared: do not change it."""
        if context.batches:
            return translated_run(run, context, timed_out=timed_out)
        content = pack(replace(run, run_id="", application_run="", first=_NEVER, last=_NEVER))
        facts = pack(context.facts) if context.facts != NO_APPLICATION_FACTS else b""
        key = (content, facts, run.is_application, timed_out)
        known_row = self._known.get(key)
        if known_row:
            return known_row
        translated_row = translated_run(run, context, timed_out=timed_out)
        if translated_row["lifecycle_events"] is None:
            self._remember(key, translated_row, len(content) + len(facts) + _size(translated_row))
        return translated_row

    def _remember(self, key: tuple[Any, ...], translated_row: Row, size: int) -> None:
        if size > min(SMALL_ROW_BYTES, self._most):
            return
        if self._held + size > self._most:
            self._known.clear()
            self._held = 0
        self._held += size
        self._known[key] = translated_row


def _size(translated_row: Row) -> int:
    columns = sum(len(schema[-1]) for schema in translated_row["schemas"])
    return _RUN + sum(len(contribution[-1]) for contribution in translated_row["contributions"]) + columns * _COLUMN


def translated_run(run: MergedRun, context: RunContext, *, timed_out: bool) -> Row:
    """`outcome`, `reason`, `lifecycle_events`, `contributions`, `schemas`, `columns_by` of a run. Raises what the core
    raises.
    """
    names_any = run.inputs or run.outputs
    datasets = Datasets.of(run, context) if run.ended == "COMPLETE" and names_any else None
    outcome_found = translate(run, context, timed_out=timed_out, datasets=datasets)
    if isinstance(outcome_found, RunLineage):
        outcome, reason, processes = "translated", None, outcome_found.processes
    else:
        outcome, reason, processes = (
            "skipped" if isinstance(outcome_found, Skip) else "waiting",
            outcome_found.reason,
            (),
        )
    lifecycle_events = lifecycle_events_in(run, context)
    return {
        "outcome": outcome,
        "reason": reason,
        "lifecycle_events": pack(lifecycle_events) if lifecycle_events else None,
        "contributions": [_contribution(process) for process in processes],
        "schemas": list(schemas_in(datasets)) if datasets else [],
        "columns_by": _columns_by(run),
    }


def _columns_by(run: MergedRun) -> str | None:
    """Who gave the columns of a run of Spark, as `shared.translation.run.facts` names them; None of others."""
    if by_plan := columns_by(run):
        return by_plan
    if is_by_rdd(run):
        return "rdd"
    if run.plan_gaps:
        return "both"
    return "listener" if run.integration.upper() == "SPARK" else None


def _contribution(content: Process) -> tuple[str, str, bool, bytes]:
    data = pack(content)
    return content.qualified_name, digest(data), bool(content.unresolved_tables), data
