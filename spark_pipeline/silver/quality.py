"""Silver, `quality`: the tests and measures of data sets in events, from bronze."""

from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.naming.names import BUILT_IN, Names
from shared.naming.rules.identity import NO_ENVIRONMENT
from shared.naming.user_rules import parse_names
from shared.openlineage.decoding import Event
from shared.translation.run.datasets import Place
from shared.translation.run.quality import TEST, quality_results
from spark_pipeline.bronze.decoded_events import contents, event_of
from spark_pipeline.engine.arrow import stream
from spark_pipeline.engine.arrow_cells import Record, Row
from spark_pipeline.silver.run_merging import UNUSABLE
from spark_pipeline.tables.declaration import struct
from spark_pipeline.tables.lake import Lake
from spark_pipeline.tables.schemas import EVENTS, QUALITY

_FOUND = struct(QUALITY.content)


def refine_quality(lake: Lake, names: tuple[str, str] | None, *, batch: int, since: int) -> int:
    """Add what events after the batch `since` say. Of several events of a run the last one counts. Returns how many
    rows changed. `names`: the text of a file of naming rules and its path.
    """
    counts = f.col("ignored").isNull() & ~f.col("late")
    events = lake.read(EVENTS).where((f.col("batch") > since) & f.col("has_quality") & counts)
    if events.isEmpty():
        return 0
    fresh = stream(contents(events).select("content", "plain"), _Reading(names), _FOUND, weigh="name")
    with lake.kept("quality_found", fresh) as found:
        runs = found.select("run_id").distinct()
        known = lake.read(QUALITY).join(runs, "run_id", "left_semi").select(*_FOUND.names)
        return lake.put(QUALITY, _latest(found.unionByName(known), *QUALITY.keys), batch=batch)


def last_tests(lake: Lake) -> DataFrame:
    """The last result of each test, of whatever run: rows of QUALITY."""
    return _latest(lake.read(QUALITY).where(f.col("kind") == TEST), "qualified_name", "column", "name")


def failed_tests(lake: Lake) -> DataFrame:
    """The tests whose last result is a failure: rows of QUALITY."""
    return last_tests(lake).where("not success")


def _latest(rows: DataFrame, *keys: str) -> DataFrame:
    """Of the rows with the same keys the one of the last event; of several at one time the greatest."""
    others = [each for each in rows.columns if each not in {"at", *keys}]
    newest = f.max(f.struct("at", *others)).alias("newest")
    return rows.groupBy(*keys).agg(newest).select(*keys, "newest.*").select(*rows.columns)


class _Reading:
    """Events in, rows of QUALITY out."""

    def __init__(self, names: tuple[str, str] | None) -> None:
        self._names = names

    def __call__(self, rows: Iterator[Record]) -> Iterable[Row]:
        names: Names = parse_names(*self._names) if self._names else BUILT_IN
        place = Place(names=names, environment=NO_ENVIRONMENT)
        for row in rows:
            try:
                yield from _rows(event_of(row), place)
            except UNUSABLE:
                continue  # the run is on record as unusable


def _rows(event: Event, place: Place) -> Iterator[Row]:
    body = event.body
    if body is None:
        return
    for each in quality_results(body, place):
        yield {
            "run_id": event.run_id,
            "qualified_name": each.qualified_name,
            "column": each.column,
            "kind": each.kind,
            "name": each.name,
            "at": event.time,
            "namespace": each.namespace,
            "dataset": each.dataset,
            "job_namespace": body.job.namespace,
            "job": body.job.name,
            "success": each.success,
            "severity": each.severity,
            "expected": each.expected,
            "actual": each.actual,
            "value": each.value,
        }
