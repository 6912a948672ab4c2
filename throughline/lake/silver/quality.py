"""Silver, `quality`: the tests and measures of data sets in events, from bronze."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import asdict
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.naming.stores.families import NO_ENVIRONMENT
from shared.openlineage.decoding import Event
from shared.translation.run.datasets import TEST, Place, quality_results
from throughline.lake.bronze.decoded_events import contents, event_of
from throughline.lake.engine.arrow import stream
from throughline.lake.engine.arrow_cells import Record, Row
from throughline.lake.silver.run_merging import UNUSABLE
from throughline.lake.silver.translation import names_of
from throughline.lake.tables.declaration import struct
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import EVENTS, QUALITY

_FOUND = struct(QUALITY.content)


def refine_quality(lake: Lake, names: tuple[str, str] | None, *, batch: int, since: int) -> int:
    """Add what events after the batch `since` say. Of several events of a run the last one counts. Returns how many
    rows changed. `names`: the text of a file of naming rules and its path.
    """
    counts = f.col("ignored").isNull() & ~f.col("late")
    events = lake.changed(EVENTS, since).where(f.col("has_quality") & counts)
    if events.isEmpty():
        return 0
    fresh_rows = stream(contents(events).select("content", "plain"), partial(_results, names), _FOUND, weigh="name")
    with lake.kept("quality_found", fresh_rows) as rows:
        runs = rows.select("run_id").distinct()
        known_rows = lake.read(QUALITY).join(runs, "run_id", "left_semi").select(*_FOUND.names)
        return lake.put(QUALITY, _latest(rows.unionByName(known_rows), *QUALITY.keys), batch=batch)


def last_tests(lake: Lake) -> DataFrame:
    """The last result of each test, of whatever run: rows of QUALITY."""
    return _latest(lake.read(QUALITY).where(f.col("kind") == TEST), "qualified_name", "column", "name")


def failed_tests(lake: Lake) -> DataFrame:
    """The tests whose last result is a failure: rows of QUALITY."""
    return last_tests(lake).where("not success")


def _latest(rows: DataFrame, *keys: str) -> DataFrame:
    """Of the rows with the same keys the one of the last event; of several at one time the greatest."""
    other_columns = [column for column in rows.columns if column not in {"at", *keys}]
    newest = f.max(f.struct("at", *other_columns)).alias("newest")
    return rows.groupBy(*keys).agg(newest).select(*keys, "newest.*").select(*rows.columns)


def _results(file: tuple[str, str] | None, rows: Iterator[Record]) -> Iterator[Row]:
    """Rows of QUALITY from events. `file`: the text of a file of naming rules and its path."""
    place = Place(names=names_of(file), environment=NO_ENVIRONMENT)
    for row in rows:
        try:
            yield from _of_event(event_of(row), place)
        except UNUSABLE:
            continue  # the run is on record as unusable


def _of_event(event: Event, place: Place) -> Iterator[Row]:
    if body := event.body:
        common_values = {
            "run_id": event.run_id,
            "at": event.time,
            "job_namespace": body.job.namespace,
            "job": body.job.name,
        }
        yield from (common_values | asdict(quality_result) for quality_result in quality_results(body, place))
