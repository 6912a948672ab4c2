"""Bronze: read new files, and store every event once with its text."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from throughline.lake.bronze.decoded_events import DECODER, kept
from throughline.lake.bronze.event_files import LARGEST_EVENT, Broken, Read, Reader
from throughline.lake.engine.arrow import BATCH_BYTES, stream
from throughline.lake.engine.arrow_cells import Record, Row
from throughline.lake.engine.port import LISTING_TASKS_PER_CORE, together, union_of
from throughline.lake.tables.declaration import struct
from throughline.lake.tables.encoding import moment
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import EVENTS, FILES, QUARANTINE

_SMALL = 256 * 1024
"""Files of at most this size in bytes are read many at a time."""

_SMALL_TOGETHER = 200
_LARGE_TOGETHER = 2
_PARTITION = 32 * 1024 * 1024
_PER_FILE = 64 * 1024

_READ = struct(
    (*(lake_column for lake_column in QUARANTINE.content if lake_column.name in {"line", "reason"}), *EVENTS.content)
)
"""A row is an event, or a line that could not be read."""


def ingest(lake: Lake, sources: Sequence[str], *, batch: int, largest: int = LARGEST_EVENT) -> dict[str, int]:
    """Read the files below `sources` that are new or have changed since they were read. Returns the numbers of files
    read, of new events, and of lines that could not be read or now can be (`quarantined`).

    May be interrupted anywhere and repeated: an event is identified by run and digest, a broken line by its place, and
    a file counts as read only after all its rows are stored.
    """
    with lake.kept("new_files", _new_files(lake, sources, batch)) as files:
        count = int(files.count())
        if not count:
            return {"files": 0, "events": 0, "quarantined": 0}
        with lake.kept("lines_read", _parsed(lake, files, Reader(largest=largest))) as parsed:
            events, quarantined = together(
                lake.engine,
                lambda: _put_events(lake, parsed, batch),
                lambda: _put_broken(lake, files, parsed, batch),
            )
        lake.put(FILES, files.select("path", "length", "modified"), batch=batch)
    return {"files": count, "events": events, "quarantined": quarantined}


def _put_events(lake: Lake, parsed: DataFrame, batch: int) -> int:
    with lake.kept("events_repeated", _repeated(parsed)) as repeated:
        events = _once(parsed, repeated)
        return lake.put(EVENTS, events, batch=batch, compared=("late", "ignored"), replacing=_NEWS)


def _put_broken(lake: Lake, files: DataFrame, parsed: DataFrame, batch: int) -> int:
    """Lines of these files that were broken when they were read before, and no longer are, leave the quarantine."""
    broken = parsed.where("line is not null").select("path", "line", "reason", "text")
    return lake.put(QUARANTINE, broken, batch=batch, scope=files.select("path"))


def _new_files(lake: Lake, sources: Sequence[str], batch: int) -> DataFrame:
    """The files that are new or changed, and those that this same step had read before it was interrupted."""
    listed: list[DataFrame] = []
    for source in sources:
        try:
            listed.append(lake.engine.listed(source))
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
    if not listed:
        return lake.session.createDataFrame([], "path string, length bigint, modified timestamp")
    known_files = lake.read(FILES).where(f.col("batch") != batch).select("path", "length", "modified")
    name = f.element_at(f.split("path", "/"), -1)
    visible = ~name.startswith("_") & ~name.startswith(".")
    return (
        union_of(*listed)
        .where(visible)
        .distinct()
        .join(known_files, on=["path", "length", "modified"], how="left_anti")
    )


def _parsed(lake: Lake, files: DataFrame, reader: Reader) -> DataFrame:
    """The contents of these files: small ones many at a time, large ones few."""
    sizes = {row["small"]: row["paths"] for row in _by_size(files).collect()}
    lake.session.conf.set("spark.sql.files.maxPartitionBytes", str(_PARTITION))
    lake.session.conf.set("spark.sql.files.openCostInBytes", str(_PER_FILE))
    listers = str(LISTING_TASKS_PER_CORE * lake.engine.cores)
    lake.session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", listers)
    parts: list[DataFrame] = []
    for small, at_once in ((True, _SMALL_TOGETHER), (False, _LARGE_TOGETHER)):
        if paths := sizes.get(small):
            content = lake.engine.contents(paths)
            rows = content.select("path", f.col("modificationTime").alias("modified"), "content")
            largest = BATCH_BYTES // at_once
            parts.append(stream(rows, partial(_lines, reader), _READ, largest=largest, weigh="text"))
    return union_of(*parts)


def _by_size(files: DataFrame) -> DataFrame:
    small = files.withColumn("small", f.col("length") <= _SMALL)
    return small.groupBy("small").agg(f.sort_array(f.collect_list("path")).alias("paths"))


def _lines(reader: Reader, files: Iterator[Record]) -> Iterator[Row]:
    """The events and the broken lines of files."""
    for file in files:
        for line_read in reader.read(file.path, file.content, moment(file.modified)):
            if isinstance(line_read, Broken):
                yield {"path": file.path, "line": line_read.line, "reason": line_read.reason, "text": line_read.text}
            else:
                yield _event_row(file.path, line_read)


def _event_row(path: str, line_read: Read) -> Row:
    event = line_read.event
    counts = not line_read.late and line_read.ignored is None
    decoded = kept(event) if counts else None
    return {
        "path": path,
        "day": event.time.astimezone(UTC).date(),
        "run_id": event.run_id,
        "digest": line_read.digest,
        "event_time": event.time,
        "event_type": event.type,
        "parent": line_read.parent,
        "job": event.body.job.name if event.body else "",
        "arrived": line_read.arrived,
        "late": line_read.late,
        "ignored": line_read.ignored,
        "size": line_read.size,
        "text": line_read.text,
        "decoded": decoded,
        "decoded_by": DECODER if decoded or not counts else None,
        "has_quality": line_read.has_quality,
    }


_KEYS = ("day", "run_id", "digest")

_NEWS = "(late and not was_late) or (ignored is null and was_ignored is not null)"
"""When the reading of a stored event replaces it, by the rules of `_once`."""


def _repeated(parsed: DataFrame) -> DataFrame:
    """The keys of events that were read more than once: usually few, so the texts of all others need no shuffle."""
    counted = parsed.where("line is null").groupBy(*_KEYS).agg(f.count("*").alias("times"))
    return counted.where("times > 1").select(*_KEYS)


def _once(parsed: DataFrame, repeated: DataFrame) -> DataFrame:
    """Each event once. It may be in `events` and in the archive at once; the archive says whether it was late. It is
    ignored if all that have it say so: an event that was ignored is sent again when the setting was wrong.
    """
    events = parsed.where("line is null").drop("line", "reason")
    first = ("event_time", "event_type", "parent", "job", "size", "text", "has_quality")
    accepted = f.col("ignored").isNull()
    repeated_rows = (
        events.join(repeated, list(_KEYS), "left_semi")
        .groupBy(*_KEYS)
        .agg(
            *(f.first(name).alias(name) for name in first),
            f.min("arrived").alias("arrived"),
            f.max("late").alias("late"),
            f.when(f.count_if(accepted) == 0, f.min("ignored")).alias("ignored"),
            f.first("decoded", ignorenulls=True).alias("decoded"),
            f.first(f.when(accepted, f.col("decoded_by")), ignorenulls=True).alias("decoded_by"),
            f.min("path").alias("path"),
        )
    )
    return events.join(repeated, list(_KEYS), "left_anti").unionByName(repeated_rows)
