"""When the processes of the current lineage have started, for their rhythm."""

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import functions as f

from throughline.lake.tables.encoding import moment
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import CURRENT, RUN_CONTRIBUTIONS, RUNS

MAX_STARTS = 2_000
"""The last so many runs of a process count."""


def starts_in(lake: Lake) -> Mapping[str, tuple[datetime, ...]]:
    """By qualified name of the process: when its runs began, sorted."""
    runs = lake.live(RUN_CONTRIBUTIONS).join(lake.live(CURRENT).select("process"), "process", "left_semi")
    times = f.slice(f.sort_array(f.collect_set(f.unix_micros("first")), asc=False), 1, MAX_STARTS)
    rows = runs.groupBy("process").agg(times.alias("times"))
    return {row["process"]: tuple(moment(time) for time in reversed(row["times"])) for row in rows.toLocalIterator()}


def newest_event(lake: Lake) -> datetime | None:
    """The time of the last event in the lake; None without any. Of later times the lake knows nothing."""
    row = lake.read(RUNS).agg(f.unix_micros(f.max("last")).alias("last")).head()
    return None if row is None or row["last"] is None else moment(row["last"])
