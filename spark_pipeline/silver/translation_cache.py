"""What one run says, as columns of a row; and what was said before in the same words."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from shared.model import Process, RunLineage
from shared.openlineage.run import MergedRun
from shared.translation.application.context import NO_APPLICATION_FACTS, RunContext
from shared.translation.run.changes import lifecycle_events_in
from shared.translation.run.datasets import Datasets
from shared.translation.run.schemas import schemas_in
from shared.translation.run.translate import Skip, translate
from spark_pipeline.engine.arrow_cells import Row
from spark_pipeline.engine.port import SMALL_ROW_BYTES
from spark_pipeline.tables.encoding import digest, pack

MOST = 32 * 1024 * 1024
"""Bytes, about, that are remembered of runs at once: then all is forgotten."""

_COLUMN, _RUN = 256, 1024
"""Bytes that Python holds, about, of a column of a schema, and of a run beside its words."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Sayings:
    """What runs said. Most runs of an estate do what one before them did, and say the same of it: a job that runs each
    hour, the batches of a stream. What a run says depends neither on its id nor on its times, if it did nothing to data
    sets as wholes, so only what is new is translated.
    """

    def __init__(self, most: int = MOST) -> None:
        self._known: dict[tuple[Any, ...], Row] = {}
        self._most, self._held = most, 0

    def of(self, run: MergedRun, around: RunContext, *, timed_out: bool) -> Row:
        """As `said_by`, with the same names of data sets for all runs. The rows are shared: not to be changed."""
        if around.batches:
            return said_by(run, around, timed_out=timed_out)
        words = pack(replace(run, run_id="", application_run="", first=_NEVER, last=_NEVER))
        told = pack(around.told) if around.told != NO_APPLICATION_FACTS else b""
        key = (words, told, run.is_application, timed_out)
        known = self._known.get(key)
        if known:
            return known
        found = said_by(run, around, timed_out=timed_out)
        if found["fates"] is None:
            self._remember(key, found, len(words) + len(told) + _size(found))
        return found

    def _remember(self, key: tuple[Any, ...], found: Row, size: int) -> None:
        if size > min(SMALL_ROW_BYTES, self._most):
            return
        if self._held + size > self._most:
            self._known.clear()
            self._held = 0
        self._held += size
        self._known[key] = found


def _size(found: Row) -> int:
    columns = sum(len(each[-1]) for each in found["schemas"])
    return _RUN + sum(len(each[-1]) for each in found["said"]) + columns * _COLUMN


def said_by(run: MergedRun, around: RunContext, *, timed_out: bool) -> Row:
    """`word`, `reason`, `fates`, `said` and `schemas` of one run. Raises what the core raises."""
    names_any = run.inputs or run.outputs
    datasets = Datasets.of(run, around) if run.ended == "COMPLETE" and names_any else None
    word = translate(run, around, timed_out=timed_out, datasets=datasets)
    fates = lifecycle_events_in(run, around)
    seen = schemas_in(datasets) if datasets else ()
    return {
        "word": "said" if isinstance(word, RunLineage) else "skipped" if isinstance(word, Skip) else "waiting",
        "reason": None if isinstance(word, RunLineage) else word.reason,
        "fates": pack(fates) if fates else None,
        "said": [_saying(each) for each in word.processes] if isinstance(word, RunLineage) else [],
        "schemas": [(each.asset.qualified_name, each.written, each.columns) for each in seen],
    }


def _saying(content: Process) -> tuple[str, str, bool, bytes]:
    data = pack(content)
    return content.qualified_name, digest(data), bool(content.wanted), data
