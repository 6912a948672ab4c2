"""Combine the tables' small files and delete unused ones, by Delta's OPTIMIZE and VACUUM. Each step with new events
adds files; many of them slow down every later step.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.errors import PySparkException

from throughline.lake.engine.port import LISTING_TASKS_PER_CORE
from throughline.lake.tables.lake import Lake, LakeError
from throughline.lake.tables.schemas import LAKE


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedTable:
    """How many files of a table were combined, and into how many."""

    table: str
    files: int
    now: int


def compact(lake: Lake, *, note: Callable[[CompactedTable], None] = lambda _: None) -> tuple[CompactedTable, ...]:
    """Combine the small files of every table; `note` is called after each table. A table without small files is not
    written. Delta keeps replaced files for readers of older versions: a week by default.

    No run may use the lake meanwhile. May be interrupted anywhere. Raises LakeError if the engine cannot do it (Sail).
    """
    # otherwise VACUUM lists each table with 10,000 tasks, and records itself as two more versions of the table
    listing_tasks = str(LISTING_TASKS_PER_CORE * lake.engine.cores)
    lake.session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", listing_tasks)
    lake.session.conf.set("spark.databricks.delta.vacuum.logging.enabled", "false")
    compacted_tables: list[CompactedTable] = []
    for table in LAKE:
        if not lake.exists(table):
            continue
        place = f"delta.`{lake.root}/{table.place}`"
        try:
            row = lake.session.sql(f"OPTIMIZE {place}").select("metrics.*").head()
            lake.session.sql(f"VACUUM {place}")
        except PySparkException as error:
            raise LakeError(f"This engine cannot put files together ({error}): use Spark") from error
        files, now = (int(row["numFilesRemoved"]), int(row["numFilesAdded"])) if row else (0, 0)
        compacted_tables.append(CompactedTable(table=table.name, files=files, now=now))
        note(compacted_tables[-1])
    return tuple(compacted_tables)
