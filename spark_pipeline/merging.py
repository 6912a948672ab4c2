"""Events -> runs: the events of each run that was touched, merged by the core, one run after the other."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.openlineage import MergedRun, decode, merge
from shared.translation import NOTHING_TOLD, names_no_source, told_by
from spark_pipeline.arrow import grouped, shape, stream
from spark_pipeline.cells import Row
from spark_pipeline.lake import Lake
from spark_pipeline.schemas import EVENTS, RUNS
from spark_pipeline.thinning import TooManyEventsError, thinned
from spark_pipeline.values import pack

UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError, TooManyEventsError)
"""What the core raises when it meets what nobody thought of: the run is unusable, and the others go on."""

_STREAMING = "STREAMING"

MERGED = shape(
    "\n".join(
        f"{each.name} {each.type} -"
        for each in RUNS.columns
        if each.name not in {"fates", "word", "reason", "batch", "arrived"}
    )
    + "\narrived timestamp -\nproblem string -"
)


def touched_runs(lake: Lake, since: int) -> DataFrame:
    """The runs (by run_id) of which something came after this batch."""
    news = lake.read(EVENTS).where((f.col("batch") > since) & f.col("ignored").isNull() & (f.col("run_id") != ""))
    return news.select("run_id").distinct()


def merged_runs(lake: Lake, touched: DataFrame, since: int, days: Sequence[Any] | None) -> DataFrame:
    """The touched runs, merged from all their events: those that came after this batch, and those before it, which
    happened on these `days`; None when they are not known. A run of which no event counts any more is not among them.
    """
    events = lake.read(EVENTS).where(f.col("ignored").isNull() & ~f.col("late"))
    if days is not None:
        came = f.col("batch") > since
        events = events.where(came | f.col("day").isin(days) if days else came)
    own = events.join(touched, on="run_id", how="left_semi")
    largest = own.agg(f.max("size")).head()
    then = ("event_time", "event_type", "digest")
    ordered = lake.engine.in_order(own, ("run_id",), then, keep=("run_id", "arrived", "day", "text"))
    return stream(ordered, _merge_all, MERGED, largest=largest[0] if largest else None, weigh="merged")


def _merge_all(rows: Iterator[Row]) -> Iterable[Row]:
    for run_id, own in grouped(rows, "run_id"):
        seen: dict[str, Any] = {"days": set(), "arrived": None, "events": 0}
        try:
            run = merge(thinned(decode(text.encode()) for text in _noted(own, seen)))
            yield _row(run, seen)
        except UNUSABLE as error:
            for _ in _noted(own, seen):
                pass
            yield {"run_id": run_id, "application_run": run_id, **_seen(seen), "problem": _sentence(error)}


def _noted(rows: Iterator[Row], seen: dict[str, Any]) -> Iterator[str]:
    for row in rows:
        seen["days"].add(row["day"])
        seen["events"] += 1
        arrived = row["arrived"]
        seen["arrived"] = arrived if seen["arrived"] is None else max(seen["arrived"], arrived)
        yield row["text"]


def _seen(seen: dict[str, Any]) -> Row:
    return {"days": sorted(seen["days"]), "arrived": seen["arrived"], "events": seen["events"]}


def _row(run: MergedRun, seen: dict[str, Any]) -> Row:
    told = told_by(run)
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
        "speaks": run.ended is not None and told != NOTHING_TOLD,
        "streams": _may_be_a_batch(run),
        "alone": names_no_source(run),
        "told": pack(told) if told != NOTHING_TOLD else None,
        "merged": pack(run),
        **_seen(seen),
    }


def _may_be_a_batch(run: MergedRun) -> bool:
    return bool(run.ended and run.processing_type.upper() == _STREAMING and run.inputs and not run.outputs)


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:1000]
