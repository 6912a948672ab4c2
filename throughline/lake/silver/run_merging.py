"""Events -> runs: the core merges the events of each touched run, one run after the other.

A run with very many events is held in little memory: they are folded again and again while they come.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.errors import Refused
from shared.openlineage.decoding import Event
from shared.openlineage.merging import fold
from shared.openlineage.run import MergedRun
from shared.openlineage.wire import STREAMING
from shared.translation.run.application import NO_APPLICATION_FACTS, application_facts_of
from shared.translation.run.columns import merge_run
from shared.translation.run.translate import names_no_source
from throughline.lake.bronze.decoded_events import contents, event_of
from throughline.lake.engine.arrow import grouped, stream
from throughline.lake.engine.arrow_cells import Record, Row
from throughline.lake.tables.declaration import columns, struct
from throughline.lake.tables.encoding import pack
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import EVENTS, RUNS

FEW = 256
"""So many events of a run are held as they are."""

MOST = 20_000
"""Events of a run that differ in what counts. A run with more is no job's: a worker must not die of it."""


class TooManyEventsError(Exception):
    """A run has more different events than a worker may hold."""


def thinned(events: Iterable[Event]) -> list[Event]:
    """Events of one run that merge to the same as these. Raises TooManyEventsError."""
    coming = iter(events)
    kept_events: tuple[Event, ...] = ()
    while True:
        step = max(FEW, len(kept_events))
        waiting = list(islice(coming, step))
        if len(waiting) < step:
            return [*kept_events, *waiting]
        kept_events = fold((*kept_events, *waiting))
        if len(kept_events) > MOST:
            raise TooManyEventsError(f"more than {MOST} events of one run that differ")


UNUSABLE = (Refused, RecursionError, ValueError, TypeError, LookupError, ArithmeticError, TooManyEventsError)
"""What the core raises for events that no rule foresees: the run is unusable, and the others go on."""


NOT_TRANSLATED = tuple(
    lake_column
    for lake_column in RUNS.content
    if lake_column.name not in {"lifecycle_events", "columns_by", "outcome", "reason"}
)
"""The columns of runs that translation does not compute."""

MERGED = struct(
    (
        *NOT_TRANSLATED,
        *columns("""
            problem string Why the events could not be merged
            weight int The bytes of the merged run"""),
    )
)


def touched_runs(lake: Lake, since: int) -> DataFrame:
    """The ids of the runs that got events after this batch."""
    news = lake.changed(EVENTS, since).where(f.col("ignored").isNull() & (f.col("run_id") != ""))
    return news.select("run_id").distinct()


def merged_runs(lake: Lake, runs_touched: DataFrame, since: int, days: Sequence[Any] | None) -> DataFrame:
    """The touched runs, merged from all their events: those that came after this batch, and those before it, which
    happened on these `days`; None when they are not known. A run of which no event counts any more is not among them.
    """
    events = lake.read(EVENTS).where(f.col("ignored").isNull() & ~f.col("late"))
    if days is not None:
        came = f.col("batch") > since
        events = events.where(came | f.col("day").isin(days) if days else came)
    known_rows = contents(events)
    # at first all runs are touched, and the events need not go through a join
    own_rows = (
        known_rows.join(runs_touched, on="run_id", how="left_semi")
        if since
        else known_rows.where(f.col("run_id") != "")
    )
    largest = lake.engine.largest(own_rows, f.col("size"))
    sort_columns = ("event_time", "event_type", "digest")
    ordered = lake.engine.in_order(
        own_rows, ("run_id",), sort_columns, keep=("run_id", "arrived", "day", "content", "plain")
    )
    return stream(ordered, merge_all, MERGED, largest=largest, weigh="merged")


def merge_all(rows: Iterator[Record]) -> Iterable[Row]:
    """Rows of MERGED from the events of runs, run after run: `run_id`, `arrived`, `day`, `content` and `plain` of each.
    Of a run that the core cannot take there is a row with its `problem`.
    """
    for run_id, run_rows in grouped(rows, "run_id"):
        progress = _Seen()
        try:
            row = _row(merge_run(thinned(map(event_of, progress.each(run_rows)))))
        except UNUSABLE as error:
            for _ in progress.each(run_rows):
                pass
            row = {"run_id": run_id, "application_run": run_id, "problem": reason_of(error)}
        row["days"], row["arrived"], row["events"] = sorted(progress.days), progress.arrived, progress.count
        yield row


class _Seen:
    """What is known of a run's events beside what they say: their days, the last arrival, how many they are."""

    __slots__ = ("arrived", "count", "days")

    def __init__(self) -> None:
        self.days: set[int] = set()
        self.arrived = 0
        self.count = 0

    def each(self, rows: Iterable[Record]) -> Iterator[Record]:
        """The same rows, one after the other, each noted as it is read."""
        for row in rows:
            self.days.add(row.day)
            self.count += 1
            self.arrived = max(self.arrived, row.arrived)
            yield row


def _row(run: MergedRun) -> Row:
    facts, merged = application_facts_of(run), pack(run)
    has_facts = facts != NO_APPLICATION_FACTS
    return {
        "run_id": run.run_id,
        "application_run": run.application_run,
        "application": run.application.name if run.application else None,
        "job_namespace": run.job.namespace,
        "job": run.job.name,
        "integration": run.integration,
        "job_type": run.job_type,
        "processing_type": run.processing_type,
        "first": run.first,
        "last": run.last,
        "ended": run.ended,
        "has_context": has_facts and run.counts,
        "may_enclose": _may_be_a_batch(run),
        "lacks_sources": names_no_source(run),
        "context": pack(facts) if has_facts else None,
        "merged": merged,
        "weight": len(merged),
    }


def _may_be_a_batch(run: MergedRun) -> bool:
    return bool(run.counts and run.processing_type.upper() == STREAMING and run.inputs and not run.outputs)


def reason_of(error: BaseException) -> str:
    """Why a run is unusable, from what the core raised."""
    return f"{type(error).__name__}: {error}"[:1000]
